/** What the role keeps on the disk. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#kit/log.ts'
import { parseAllowList } from '#kit/net/address.ts'
import { createUsbipFiles } from '../../io/usbip-files.ts'

function folderOf(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'usbip-files-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return { folder, open: () => createUsbipFiles(folder, silentLog, (text) => parseAllowList(text, 64)) }
}

t.test('an empty folder shares nothing', async (t) => {
  const files = folderOf(t).open()
  t.same(await files.settings.load(), { enabled: false, allow: '', device: '' })
  t.same(await files.bound.load(), [])
})

t.test('saved settings are there at the next start', async (t) => {
  const { open } = folderOf(t)
  const settings = { enabled: true, allow: '10.0.0.0/8, fd00::7', device: '0403:6001:A5' }
  const first = open()
  await first.settings.load()
  await first.bound.load()
  await first.settings.save(settings)
  await first.bound.save(['1-1', '1-1.4'])
  t.same(await open().settings.load(), settings)
  t.same(await open().bound.load(), ['1-1', '1-1.4'])
})

t.test('settings that cannot be understood count as damaged, and the previous ones are used', async (t) => {
  const { folder, open } = folderOf(t)
  const first = open()
  await first.settings.load()
  await first.settings.save({ enabled: true, allow: '10.0.0.1', device: '' })
  await first.settings.save({ enabled: true, allow: '10.0.0.2', device: '' })
  const path = join(folder, 'usbip.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('10.0.0.2', 'kiosk'))
  t.match(await open().settings.load(), { allow: '10.0.0.1' })
})

t.test('the list of bound devices gives only bus ids: they go to a program that runs as root', async (t) => {
  const { folder, open } = folderOf(t)
  writeFileSync(
    join(folder, 'usbip-bound.json'),
    JSON.stringify({ version: 1, bound: ['1-1', '../../x', '1-1 reboot'] }),
  )
  t.same(await open().bound.load(), ['1-1'])
})
