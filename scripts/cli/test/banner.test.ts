/** plantroom banner. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type Test, t } from 'tap'
import { banner } from '../banner.ts'
import { slot } from '../slot.ts'
import { status } from '../status.ts'
import { runCommand } from './world.ts'

const LINK = {
  ...{ ifname: 'none0', operstate: 'UP', flags: ['UP'] },
  addr_info: [{ family: 'inet', local: '192.0.2.7', prefixlen: 24, scope: 'global' }],
}

/** A machine with the daemon `small`, which says this, or nothing. */
async function machine(t: Test, says: object | undefined, { host = '0.0.0.0', hasIp = true } = {}) {
  let port = 1
  if (says) {
    const server = createServer((_, answer) => answer.end(JSON.stringify(says)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    port = (server.address() as AddressInfo).port
  }
  const settings = `[http]\nlisten = "${host}:${port}"\n`
  const folder = t.testdir({ bin: {}, etc: { plantroom: { 'small.toml': settings } } })
  const ip = `#!/bin/sh\ncase "$*" in *address*) echo '${JSON.stringify([LINK])}' ;; esac\n`
  if (hasIp) writeFileSync(join(folder, 'bin/ip'), ip)
  if (hasIp) chmodSync(join(folder, 'bin/ip'), 0o755)
  return { env: { PATH: join(folder, 'bin'), PLANTROOM_BASE: folder }, port }
}

const lobby = { version: '1.2.3', name: 'Lobby', role: 'decoder', verdict: { state: 'ok', text: 'Plays the tone.' } }

t.test('a login is told the name, the role, the state and the address of what runs', async (t) => {
  const { env, port } = await machine(t, lobby)
  const { code, out } = await runCommand(banner, [], { env })
  t.equal(code, 0)
  t.match(
    out,
    `Plantroom 1.2.3\n\n  small       Lobby, decoder: Plays the tone.\n              http://192.0.2.7:${port}/\n`,
  )
})

t.test('what listens on this machine alone is told as that, and without ip nothing is claimed', async (t) => {
  const alone = await machine(t, lobby, { host: '127.0.0.1' })
  t.match((await runCommand(banner, [], alone)).out, `http://127.0.0.1:${alone.port}/ (this machine alone)\n`)
  const blind = await machine(t, lobby, { hasIp: false })
  t.match(
    (await runCommand(banner, [], blind)).out,
    new RegExp(`http://(127\\.0\\.0\\.1|0\\.0\\.0\\.0):${blind.port}/\\n`),
  )
})

t.test('what does not answer is told with what to do, and a login goes on', async (t) => {
  const { code, out } = await runCommand(banner, [], await machine(t, undefined))
  t.equal(code, 0)
  t.match(out, /^Plantroom\n\n {2}small {7}does not answer: plantroom logs small\n\n/)
})

t.test('whoever else answers puts nothing onto the terminal', async (t) => {
  for (const odd of [
    { name: '\u001b[2J' },
    { role: '\u001b[2J' },
    { verdict: { state: 'ok', text: 'x\n\u001b[2J' } },
  ]) {
    const { out } = await runCommand(banner, [], await machine(t, { ...lobby, ...odd }))
    t.match(out, 'something else answers at its address')
    t.notMatch(out, '\u001b')
  }
})

t.test('the script of the package ends well whatever the command does', async (t) => {
  const script = join(import.meta.dirname, '../../deb/motd')
  const folder = t.testdir({ fails: { plantroom: '#!/bin/sh\necho said; exit 3\n' } })
  chmodSync(join(folder, 'fails/plantroom'), 0o755)
  const PATH = `${join(folder, 'fails')}:/usr/bin:/bin`
  t.equal(execFileSync('/bin/sh', [script], { encoding: 'utf8', env: { PATH } }), 'said\n')
  t.equal(execFileSync('/bin/sh', [script], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } }), '', 'no command')
})

t.test('a board that cannot keep what is set says so before anything else, and in its status and slots', async (t) => {
  const { env } = await machine(t, lobby)
  mkdirSync(join(env.PLANTROOM_BASE, 'data'))
  writeFileSync(join(env.PLANTROOM_BASE, 'data/.in-memory'), '')
  const warning = 'forgets at the next start what is set now'
  t.match(
    (await runCommand(banner, [], { env })).out,
    new RegExp(`^The data partition cannot be mounted: .*${warning}`),
  )
  t.match((await runCommand(status, [], { env })).out, warning)
  const bootState = join(env.PLANTROOM_BASE, 'usr/lib/plantroom-image/boot-state')
  mkdirSync(dirname(bootState), { recursive: true })
  writeFileSync(bootState, '#!/bin/sh\n[ "$1" = show ] && echo "ORDER=A B" || echo A\n', { mode: 0o755 })
  t.match((await runCommand(slot, ['show'], { env })).out, warning)
})
