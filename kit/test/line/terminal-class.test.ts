/** Which files are allowed to be opened as a line at all. */
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openPty } from '#native/serial/index.ts'
import { requireTerminal } from '../../line/serial-line.ts'

t.test('lets a pty and a UART pass', async (t) => {
  const pty = openPty()
  t.teardown(() => pty.close())
  await t.resolves(requireTerminal(pty.path))
  if (existsSync('/dev/ttyS0') && existsSync('/sys/class/tty/ttyS0')) await t.resolves(requireTerminal('/dev/ttyS0'))
})

t.test('refuses files, folders, and devices of other classes, by whatever name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'class-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ttyUSB0')
  writeFileSync(file, '')
  const link = join(folder, 'ttyUSB1')
  symlinkSync('/dev/null', link)
  for (const path of [folder, file, link, '/dev/null', '/dev/random'])
    await t.rejects(requireTerminal(path), { code: 'line_not_tty' }, path)
})

t.test('refuses consoles and the pty multiplexer', async (t) => {
  for (const path of ['/dev/tty', '/dev/ptmx', '/dev/tty1'].filter((path) => existsSync(path)))
    await t.rejects(requireTerminal(path), { code: 'line_not_tty' }, path)
})

t.test('says that a path leads nowhere', async (t) => {
  await t.rejects(requireTerminal('/dev/ttyUSB987'), { code: 'line_absent' })
  await t.rejects(requireTerminal('/dev/null/x'), { code: 'line_absent' })
})
