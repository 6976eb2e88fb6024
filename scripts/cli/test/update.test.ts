/** plantroom update, on a machine whose systemd and packages are scripts of the test. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { lockUpdates } from '#kit/release/update-lock.ts'
import {
  filesOf,
  installRelease,
  publish,
  publisher,
  readState,
  type StageServer,
  stageServer,
  startedVersion,
} from '#kit/test/release/update-stage.ts'
import { until } from '#kit/test/until.ts'
import { update } from '../update.ts'
import { updateHooks } from '../update-hooks.ts'
import { type Outcome, runCommand } from './world.ts'

const people = publisher()

interface Machine {
  root: string
  state: string
  server: StageServer
  /** Calls of systemctl, and of the commands of Plantroom. */
  calls(): string[]
  /** systemd's state of the daemon. */
  setUnit(state: 'failed'): void
  /** It ended by itself, and systemd started it again. */
  letFall(): void
  /** Its next restart fails. */
  letStick(): void
  run(...argv: string[]): Promise<Outcome>
}

/** Writes down how it was called, and makes the file that it was to make. */
const PROGRAM = `import { appendFileSync, writeFileSync } from 'node:fs'
const [name, daemon, file] = process.argv.slice(2)
appendFileSync(process.env.CALLS, process.argv.slice(2, 4).join(' ') + '\\n')
if (name === 'backup') writeFileSync(file, '')
`

const SYSTEMCTL = `#!/bin/sh
case $1 in
  is-active) case $2 in *small*) cat "$UNIT" ;; *) exit 3 ;; esac ;;
  show) case $* in
    *NRestarts*) cat "$UNIT.fallen" 2>/dev/null || echo 0 ;;
    *Result*) echo timeout ;;
    *) printf 'LoadState=loaded\\nActiveState=%s\\nUnitFileState=enabled\\n' "$(cat "$UNIT")" ;; esac ;;
  restart) echo "$@" >> "$CALLS"; [ ! -e "$UNIT.stuck" ] || { rm "$UNIT.stuck"; exit 1; } ;;
  *) echo "$@" >> "$CALLS" ;;
esac
`

/** A database with a form, as far as its header goes. */
function database(form: number): Buffer {
  const header = Buffer.alloc(100)
  header.writeUInt32BE(form, 60)
  return header
}

async function machine(t: Test, { dpkg = 'exit 1' } = {}): Promise<Machine> {
  const folder = t.testdir({ bin: {}, root: { releases: {} }, states: { small: {} }, calls: '', unit: 'active' })
  const [root, state, bin] = [join(folder, 'root'), join(folder, 'update'), join(folder, 'bin')]
  const daemon = createServer((_, answer) => {
    void startedVersion(root).then((version) => answer.end(JSON.stringify({ version })))
  })
  await new Promise<void>((resolve) => daemon.listen(0, '127.0.0.1', resolve))
  t.teardown(() => daemon.close())
  const listen = `127.0.0.1:${(daemon.address() as AddressInfo).port}`
  const http = {
    type: 'object',
    properties: { listen: { type: 'string', default: listen }, tls: { type: 'boolean', default: false } },
  }
  const small = { config: { type: 'object', properties: { http } }, statusPath: '/api/status', commands: [] }
  const own = [
    { path: 'plantroom.mjs', bytes: Buffer.from(PROGRAM) },
    { path: 'small.mjs', bytes: Buffer.from(`export default ${JSON.stringify(small)}`) },
  ]
  const installed = installRelease(root, '1.0.0', [...filesOf('1.0.0', 1000), ...own])
  for (const [name, text] of Object.entries({
    systemctl: SYSTEMCTL,
    'dpkg-query': `#!/bin/sh\n${dpkg}\n`,
    timedatectl: '#!/bin/sh\necho yes\n',
  })) {
    writeFileSync(join(bin, name), text)
    chmodSync(join(bin, name), 0o755)
  }
  const server = await stageServer(t)
  server.offered = publish(people, '1.1.0', { files: [...filesOf('1.1.0', 1000), ...own], isSigned: false })
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    CALLS: join(folder, 'calls'),
    UNIT: join(folder, 'unit'),
  }
  const quick = ['probation_ms=0', 'probe_ms=10', 'unwell_ms=0'].flatMap((set) => ['--set', `update.${set}`])
  return {
    ...{ root, state, server },
    calls: () => readFileSync(env.CALLS, 'utf8').split('\n').slice(0, -1),
    setUnit(next) {
      // At once: a file that is written in place is empty for an instant.
      writeFileSync(`${env.UNIT}.next`, next)
      renameSync(`${env.UNIT}.next`, env.UNIT)
    },
    letFall: () => writeFileSync(`${env.UNIT}.fallen`, '1\n'),
    letStick: () => writeFileSync(`${env.UNIT}.stuck`, ''),
    run: (...argv) =>
      runCommand(update, ['--state', state, '--set', `update_url=${server.url}`, ...quick, ...argv], {
        daemonsFolder: join(root, 'releases', installed),
        env,
      }),
  }
}

t.test('without --yes it says what there is, and ends with 4', async (t) => {
  const { calls, root, run } = await machine(t)
  for (const argv of [[], ['--check']]) {
    const { code, out } = await run(...argv)
    t.equal(code, 4)
    t.equal(out, '[UPDATE] 1.1.0 is there, and 1.0.0 runs: plantroom update --yes applies it\n')
  }
  t.same(calls(), [])
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('where nothing is newer it says so, and ends with 0', async (t) => {
  const { calls, run, server } = await machine(t)
  server.offered = undefined
  for (const argv of [['--check'], ['--yes']])
    t.match(await run(...argv), { code: 0, out: '[UPDATE] already current, nothing to do\n' })
  t.same(calls(), [], 'no backup, no restart')
})

t.test('with --yes the update is applied: backup, restart, health', async (t) => {
  const { calls, root, run, state } = await machine(t)
  const { code, out } = await run('--yes')
  t.equal(code, 0)
  t.match(out, /^\[UPDATE\] 1\.1\.0 is there, 1\.0\.0 runs\n/)
  t.match(out, /\n\[UPDATE\] 1\.1\.0 runs, in the place of 1\.0\.0\n$/)
  t.same(calls(), ['backup small', 'units', 'restart plantroom-small.service'])
  t.same(readdirSync(join(state, 'backups/1.0.0-to-1.1.0')).sort(), ['forms.json', 'small.backup'])
  t.equal(await startedVersion(root), '1.1.0')
})

t.test('a daemon that ends takes the update back, and that ends with 1', async (t) => {
  const { calls, root, run, setUnit } = await machine(t)
  const running = run('--yes', '--set', 'update.probation_ms=600000')
  await until('the restart', () => calls().some((call) => call.startsWith('restart')))
  setUnit('failed')
  const { code, out } = await running
  t.equal(code, 1)
  t.match(
    out,
    /1\.1\.0 was taken back, and 1\.0\.0 runs again: small has ended: journalctl -u plantroom-small\.service\n$/,
  )
  t.same(
    calls().slice(3),
    ['stop plantroom-small.service', 'units', 'restart plantroom-small.service'],
    'its state has the same form',
  )
  t.equal(await startedVersion(root), '1.0.0')
  t.match(await run('--yes', '--json'), { code: 4, out: /^{"outcome":"bad","version":"1\.1\.0"/ })
})

t.test('C.roll back a daemon that ends by itself is not left to be started again and again', async (t) => {
  const { calls, letFall, root, run } = await machine(t)
  const running = run('--yes', '--set', 'update.probation_ms=600000')
  await until('the restart', () => calls().some((call) => call.startsWith('restart')))
  letFall()
  const { code, out } = await running
  t.equal(code, 1)
  t.match(
    out,
    /taken back, and 1\.0\.0 runs again: small ended by itself, and was started again: journalctl -u plantroom-small/,
  )
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('C.roll back of a daemon that does not start the reason is what systemd saw', async (t) => {
  const { letStick, root, run, state } = await machine(t)
  letStick()
  t.match(await run('--yes'), {
    code: 1,
    out: /small does not start \(timeout\): journalctl -u plantroom-small\.service\n$/,
  })
  t.match(readState(state, 'history.json'), { report: { rolled_back: '1.1.0', failed_step: 'restart' } })
  t.equal(await startedVersion(root), '1.0.0')
})

const hoursFrom = (hour: number) => {
  const two = (one: number) => String(one % 24).padStart(2, '0')
  return ['--set', `update.window=${two(hour)}:00-${two(hour + 1)}:00`]
}

t.test('by the clock it is applied in the hours that are set, and at other times looked for', async (t) => {
  const { calls, root, run } = await machine(t)
  const { code, out } = await run('--timed', ...hoursFrom(new Date().getHours() + 2))
  t.match([code, out], [4, /^\[UPDATE\] 1\.1\.0 is applied between \d\d:00 and \d\d:00\n\[UPDATE\] 1\.1\.0 is there/])
  t.same(calls(), [])
  t.match(await run('--timed', '--set', 'update.window=00:00-00:00'), { code: 0, out: /1\.1\.0 runs, in the place/ })
  t.equal(await startedVersion(root), '1.1.0')
  t.match(await run('--timed'), { code: 0, out: '[UPDATE] already current, nothing to do\n' })
})

t.test('by the clock nothing is done, and nothing has failed, while another update runs', async (t) => {
  const { calls, root, run } = await machine(t)
  const lock = await lockUpdates(root)
  t.teardown(() => lock.release())
  const whole = ['--set', 'update.window=00:00-00:00']
  t.match(await run('--timed', ...whole), { code: 0, out: '[UPDATE] an update is running already\n' })
  t.match(await run('--yes'), { code: 'update_running' })
  t.same(calls(), [])
})

t.test('what came of it is one JSON object, and the sentences go to standard error', async (t) => {
  const { run } = await machine(t)
  const { code, err, out } = await run('--yes', '--json')
  t.equal(code, 0)
  t.same(JSON.parse(out), { outcome: 'applied', version: '1.1.0', from: '1.0.0' })
  t.match(err, /^\[UPDATE\] 1\.1\.0 is there/)
})

t.test('on a machine with the Debian package it leaves that to apt', async (t) => {
  const { run, server, state } = await machine(t, { dpkg: 'echo "plantroom:amd64: $2"' })
  t.match(await run('--yes'), { code: 0, out: /belongs to the Debian package plantroom, and apt updates it/ })
  t.same(JSON.parse((await run('--check', '--json')).out), { outcome: 'debian', package: 'plantroom' })
  const refused = await run('--file', '/none/of.release')
  t.match(refused, { code: 'update_not_ours', err: /belongs to the Debian package/ }, 'a file is not taken in silence')
  t.same(server.checks, [], 'nothing is asked')
  t.notOk(existsSync(state))
})

t.test('an update that was cut off is ended at the start of the machine', async (t) => {
  const { calls, root, run, server, state } = await machine(t)
  t.match(await run('--settle'), { code: 0, out: '[UPDATE] no update was cut off, nothing to do\n' })
  t.same(server.checks, [])
  await run('--yes')
  const { offered } = server
  const { checksum } = offered?.offer ?? {}
  const [from] = readdirSync(join(root, 'releases'))
  const pending = {
    ...{ phase: 'proving', version: '1.1.0', bundle: offered?.bundle, checksum, from, from_version: '1.0.0' },
    ...{ before: null, backup: null, daemons: ['small'], tries: 3 },
  }
  writeFileSync(join(state, 'pending.json'), JSON.stringify(pending))
  t.match(await run('--settle'), { code: 1, out: /1\.1\.0 was taken back, and 1\.0\.0 runs again/ })
  t.match(readState(state, 'history.json'), { bad: [{ version: '1.1.0' }] })
  t.equal(calls().at(-1), 'restart plantroom-small.service')
})

t.test('a checkout is not updated', async (t) => {
  t.match(await runCommand(update, ['--check', '--state', t.testdir()]), { code: 'update_not_ours' })
})

t.test('wrong usage and wrong settings are refused before anything is asked', async (t) => {
  const { run, server } = await machine(t)
  t.match(await run('--check', '--yes'), { code: 'bad_usage' })
  t.match(await run('now'), { code: 'bad_usage' })
  t.match(await run('--set', 'update.tries=0'), { code: 'config_refused' })
  t.match(await run('--set', 'update_url=https://name:word@updates.example.org'), { code: 'config_refused' })
  t.same(server.checks, [])
})

t.test('a state whose form has moved is put back; one that has not is left as it is', async (t) => {
  const folder = t.testdir({
    root: { current: {} },
    states: { small: { 'small.db': database(3) } },
    calls: '',
    unit: 'active',
    bin: {},
  })
  writeFileSync(join(folder, 'root/current/plantroom.mjs'), PROGRAM)
  writeFileSync(join(folder, 'bin/systemctl'), SYSTEMCTL)
  chmodSync(join(folder, 'bin/systemctl'), 0o755)
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    CALLS: join(folder, 'calls'),
    UNIT: join(folder, 'unit'),
  }
  const world = { out() {}, err() {}, daemonsFolder: folder, env, readPassword: async () => '' }
  const states = (name: string) => join(folder, 'states', name)
  const hooks = updateHooks(world, {
    root: join(folder, 'root'),
    state: join(folder, 'update'),
    kept: 2,
    stateOf: states,
    ...{ quietSocket: '', macroWaitMs: 0 },
  })
  const backup = (await hooks.backup(['small'], { from: '1.0.0', to: '1.1.0' })) ?? ''
  await hooks.restore(backup, ['small'])
  writeFileSync(join(folder, 'states/small/small.db'), database(4))
  await hooks.restore(backup, ['small'])
  writeFileSync(join(folder, 'states/small/small.db'), database(3))
  writeFileSync(join(folder, 'states/small/small.db-wal'), 'x')
  await hooks.restore(backup, ['small'])
  const stop = 'stop plantroom-small.service'
  t.same(readFileSync(env.CALLS, 'utf8').split('\n'), [
    'backup small',
    stop,
    stop,
    'restore small',
    stop,
    'restore small',
    '',
  ])
  execFileSync('mkfifo', [join(folder, 'states/small/pipe.db')])
  symlinkSync('/dev/zero', join(folder, 'states/small/device.db'))
  symlinkSync('/nowhere', join(folder, 'states/small/gone.db-wal'))
  for (const to of ['1.2.0', '1.3.0', '1.4.0']) {
    mkdirSync(join(folder, 'update/backups'), { recursive: true })
    await hooks.backup(['small'], { from: '1.0.0', to })
  }
  t.equal(readdirSync(join(folder, 'update/backups')).length, 2, 'of so many updates')
  for (const name of readdirSync(join(folder, 'update/backups')))
    utimesSync(join(folder, 'update/backups', name), 2e9, 2e9)
  const late = (await hooks.backup(['small'], { from: '1.0.0', to: '1.5.0' })) ?? ''
  t.ok(existsSync(join(late, 'forms.json')), 'the one made now, by a clock that is behind, is not the oldest')
  const forms = JSON.parse(readFileSync(join(late, 'forms.json'), 'utf8'))
  t.same(forms, { small: { 'small.db': 3 } }, 'what a daemon put there that is no file is not opened')
})
