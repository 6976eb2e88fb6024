/** An update on a machine with the built controller, the built updater behind its socket, and an update server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { installedAt } from '#kit/release/installed.ts'
import { filesOf, publish, publisher, type StageServer, stageServer } from '#kit/test/release/update-stage.ts'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite } from './rest-site.ts'
import { installedController } from './update-machine.ts'

const ACTIVATE = '/usr/bin/systemd-socket-activate'
const skip = existsSync(ACTIVATE) ? false : `${ACTIVATE} is missing`

/** A release whose command has no units to put in place. */
const files = [...filesOf('0.2.0', 1000), { path: 'plantroom.mjs', bytes: Buffer.from('// nothing') }]

/** The updater as its unit runs it: systemd's own program hands it the socket. */
function updater(t: Test, command: string, folder: string, url: string): { socket: string; told: string } {
  const [socket, state, bin] = [join(folder, 'update.sock'), join(folder, 'update'), join(folder, 'bin')]
  mkdirSync(bin)
  for (const name of ['systemctl', 'dpkg-query', 'timedatectl']) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexit 1\n')
    chmodSync(join(bin, name), 0o755)
  }
  const sets = [`update_url=${url}`, 'update.probation_ms=1500', 'update.probe_ms=10', 'update.ask_gap_ms=0']
  const words = ['update', '--asked', '--state', state, ...sets.flatMap((set) => ['--set', set])]
  // As systemd does: whenever somebody connects while it does not run.
  const loop = `while :; do ${ACTIVATE} -l "$0" "$@" || exit; rm -f "$0"; done`
  const child = spawn('setsid', ['sh', '-c', loop, socket, command, ...words], {
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    stdio: 'ignore',
  })
  t.teardown(async () => {
    process.kill(-(child.pid ?? 0))
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  return { socket, told: join(`${state}-told`, 'told.json') }
}

interface Machine {
  site: RestSite
  server: StageServer
  root: string
  socket: string
  /** Lines about updates in the log of the controller. */
  log(): string[]
}

async function machine(t: Test): Promise<Machine> {
  const { command, folder, root } = installedController(t)
  const server = await stageServer(t)
  const { socket, told } = updater(t, command, folder, server.url)
  await until('the socket is there', () => existsSync(socket))
  const sets = [`updating.socket=${socket}`, `updating.told_file=${told}`, 'updating.watch_ms=50', 'updating.look_ms=0']
  const site = await openRestSite(t, { command, sets })
  const log = () => [...site.output().matchAll(/notice +(\[UPDATE\].*)$/gm)].map(([, line = '']) => line)
  return { site, server, root, socket, log }
}

t.test('C.1 C.2 SIGUSR2 updates a machine, and says so in the log', { skip }, async (t) => {
  const { log, root, server, site } = await machine(t)
  const usr2 = () => void process.kill(site.pid(), 'SIGUSR2')
  usr2()
  await until('it is current', () => log().length > 0)
  t.same(log(), ['[UPDATE] signal: already current, nothing to do'])

  server.offered = publish(publisher(), '0.2.0', { files, isSigned: false })
  usr2()
  await until('it has begun', () => log().length > 1)
  usr2()
  await until('it has ended', () => log().some((line) => /0\.2\.0 runs/.test(line)))
  const told = log().slice(1)
  const ignored = '[UPDATE] signal: an update is running already, this signal is ignored'
  t.ok(told.includes(ignored), 'a signal while it runs is logged and ignored')
  t.same(
    told.filter((line) => line !== ignored).map((line) => line.replace(/\d+\.\d MB/, 'N MB')),
    [
      '0.2.0 is there, 0.1.0 runs',
      'N MB of 0.2.0 are here',
      '0.2.0 is what its checksum says',
      '4 files of 0.2.0 are unpacked',
      '0.2.0 is in the place of 0.1.0',
      'restarting nothing, as no daemon runs',
      '0.2.0 answers; it is watched for 2 s',
      '0.2.0 is applied',
      '0.2.0 runs, in the place of 0.1.0',
    ].map((line) => `[UPDATE] signal: ${line}`),
  )
  t.equal((await installedAt(root).current()).mark.version, '0.2.0')
  t.equal(server.pulls.length, 1)
  const journal = readFileSync(join(site.stateFolder, 'journal.jsonl'), 'utf8')
  t.match(journal, /update asked for/)
})

t.test('C.3 an elevated session updates; another session, and another word, do not', { skip }, async (t) => {
  const { log, root, server, site, socket } = await machine(t)
  server.offered = publish(publisher(), '0.2.0', { files, isSigned: false })
  const [ada, ben] = [await site.pageOf('ada'), await site.pageOf('olga')]
  for (const path of ['/ui/update/look', '/ui/update/apply', '/ui/restart'])
    t.match(await ben('POST', path, {}), { status: 403, body: { error: 'not_elevated' } })
  t.match(await ben('GET', '/ui/update'), { status: 403 })
  const stranger = connect({ path: socket })
  stranger.write('settle\n')
  t.equal(await text(stranger), 'unknown\n')
  t.equal(server.checks.length, 0)

  t.match(await ada('POST', '/ui/update/look', {}), { status: 200 })
  const view = async () => (await ada('GET', '/ui/update')).body
  await until('it is there', async () => (await view()).looked?.newest === '0.2.0')
  t.match(await view(), { state: 'idle', version: '0.1.0', run: { task: 'check', end: { outcome: 'available' } } })
  t.match(await ada('POST', '/ui/update/apply', {}), { status: 200, body: { state: 'applying' } })
  await until('it has ended', async () => (await view()).run.end !== null)
  t.match(await view(), {
    last: { outcome: 'applied', text: '0.2.0 runs, in the place of 0.1.0' },
    looked: { newest: null },
  })
  t.equal((await installedAt(root).current()).mark.version, '0.2.0')
  await until('the log has it', () => log().at(-1) === '[UPDATE] page: 0.2.0 runs, in the place of 0.1.0')
})

t.test('C.3 Restart is for an elevated session, and everybody signs in again', async (t) => {
  const site = await openRestSite(t)
  const ada = await site.pageOf('ada')
  const pid = site.pid()
  t.match(await ada('POST', '/ui/restart', {}), { status: 200, body: { success: true } })
  await until('it has started anew', () => /starting anew reason="asked for by ada".*listening/s.test(site.output()))
  t.match(await ada('GET', '/ui/update'), { status: 401 })
  t.equal(site.pid(), pid)
})

t.test('C.2 where no updater is, the signal is answered in the log, and the controller goes on', async (t) => {
  const site = await openRestSite(t)
  process.kill(site.pid(), 'SIGUSR2')
  await until('it is told', () =>
    /\[UPDATE\] signal: this Plantroom runs from \S+build, which its installer did not make/.test(site.output()),
  )
  t.match(await site.call('GET', '/api/health'), { status: 200 })
})
