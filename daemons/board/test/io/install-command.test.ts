import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { byCommand, byHelper } from '../../io/firmware.ts'
import { fakeHelper } from '../fake-helper.ts'

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'install-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

function script(folder: string, text: string): string {
  const path = join(folder, 'install')
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

t.test('B.ota the command gets its words and the path, untouched by any shell', async (t) => {
  const folder = folderFor(t)
  const program = script(folder, `printf '%s|' "$@" >${folder}/got`)
  await byCommand([program, '--slot', 'a b; $(reboot)'], 5000).handOver('/state/image')
  t.equal(readFileSync(join(folder, 'got'), 'utf8'), '--slot|a b; $(reboot)|/state/image|')
})

t.test('B.ota a command that fails, hangs or is not there is told with what it said', async (t) => {
  const folder = folderFor(t)
  const failing = script(folder, 'echo slot B is not there >&2; exit 3')
  await t.rejects(byCommand([failing], 5000).handOver('x'), {
    code: 'install_command_failed',
    message: /install ended with 3: slot B is not there$/,
  })
  await t.rejects(byCommand([join(folder, 'absent')], 5000).handOver('x'), { message: /absent could not be run/ })
  const hanging = script(folder, `sleep 60 & echo $! >${folder}/pid; wait`)
  await t.rejects(byCommand([hanging], 300).handOver('x'), { message: /took longer than 300 ms/ })
  const stat = join('/proc', readFileSync(join(folder, 'pid'), 'utf8').trim(), 'stat')
  const isGone = () => !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8'))
  for (let tries = 0; tries < 200 && !isGone(); tries++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.ok(isGone(), 'with all that it had started')
})

t.test('B.ota without a command, or without the program of the helper, a board is not set up', async (t) => {
  await t.rejects(byCommand([], 5000).refuseUnready(), { code: 'ota_not_set_up', message: /ota\.command/ })
  await byCommand(['x'], 5000).refuseUnready()
  const helper = fakeHelper()
  await t.rejects(byHelper(helper, '/nonexistent/install').refuseUnready(), { code: 'ota_not_set_up' })
  await byHelper(helper, '/bin/sh').refuseUnready()
  t.same(helper.asked, [])
})

t.test('B.ota on a machine of its own the helper is asked', async (t) => {
  const helper = fakeHelper()
  await byHelper(helper).handOver('/var/lib/plantroom/board/firmware/image')
  t.same(helper.asked, ['install /var/lib/plantroom/board/firmware/image'])
  helper.answers('install', { reason: 'busy' })
  await t.rejects(byHelper(helper).handOver('x'), { code: 'helper_refused' })
})
