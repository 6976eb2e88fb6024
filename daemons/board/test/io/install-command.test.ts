import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
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

t.test('B.ota the command gets its arguments and the path, untouched by any shell', async (t) => {
  const folder = folderFor(t)
  const program = script(folder, `printf '%s|' "$@" >${folder}/got`)
  await byCommand([program, '--slot', 'a b; $(reboot)'], 5000).handOver('/state/image')
  t.equal(readFileSync(join(folder, 'got'), 'utf8'), '--slot|a b; $(reboot)|/state/image|')
})

t.test('B.ota a command that fails, hangs or is missing is reported with its output', async (t) => {
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
  t.ok(isGone(), 'with all processes it had started')
})

t.test(
  'B.ota a command that cannot be ended, because it runs as another user, is reported and abandoned',
  async (t) => {
    const folder = folderFor(t)
    const hanging = script(folder, 'exec sleep 60')
    const { kill } = process
    const groups: number[] = []
    t.teardown(() => {
      process.kill = kill
      for (const group of groups) process.kill(group, 'SIGKILL')
    })
    process.kill = (group) => {
      groups.push(group)
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    }
    await t.rejects(byCommand([hanging], 50).handOver('x'), {
      code: 'install_command_failed',
      message: /took longer than 50 ms, and still runs: it cannot be ended \(EPERM\)$/,
    })
    t.equal(groups.length, 1)
  },
)

t.test('B.ota a command without a free file descriptor is reported, and the board keeps running', async (t) => {
  const firmware = new URL('../../io/firmware.ts', import.meta.url)
  const program = `
    import { openSync } from 'node:fs'
    import { byCommand } from '${firmware}'
    try { for (;;) openSync('/dev/null') } catch {}
    const message = await byCommand(['/bin/true'], 5000).handOver('x').catch((fault) => fault.message)
    setTimeout(() => process.stdout.write(message), 10)`
  const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, program]
  const { stdout } = await promisify(execFile)('sh', words)
  t.match(stdout, /true could not be run: .*EMFILE/)
})

t.test('B.ota without a command, or without the program of the helper, a board is not set up', async (t) => {
  await t.rejects(byCommand([], 5000).refuseUnready(), { code: 'ota_not_set_up', message: /ota\.command/ })
  await byCommand(['x'], 5000).refuseUnready()
  const helper = fakeHelper()
  await t.rejects(byHelper(helper, '/nonexistent/install').refuseUnready(), { code: 'ota_not_set_up' })
  await byHelper(helper, '/bin/sh').refuseUnready()
  t.same(helper.asked, [])
})

t.test('B.ota on its own machine the board asks the helper', async (t) => {
  const helper = fakeHelper()
  await byHelper(helper).handOver('/var/lib/plantroom/board/firmware/image')
  t.same(helper.asked, ['install /var/lib/plantroom/board/firmware/image'])
  helper.answers('install', { reason: 'busy' })
  await t.rejects(byHelper(helper).handOver('x'), { code: 'helper_refused' })
})
