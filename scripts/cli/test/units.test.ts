/** plantroom units, on a machine whose systemd is a script of the test. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { placeOfUnitFile, placeUnits, units } from '../units.ts'
import { runCommand } from './world.ts'

const OWN = join(import.meta.dirname, '../../../systemd')
const READY = '[Service]\nExecStart=/usr/bin/plantroom one\n[Install]\nWantedBy=multi-user.target\n'

/** A machine with a release whose units are these. */
function machine(t: Test, files: Readonly<Record<string, string>>) {
  const folder = t.testdir({ base: {}, bin: {}, calls: '', root: { releases: { one: { systemd: {} } } } })
  const release = join(folder, 'root/releases/one')
  const give = (more: Readonly<Record<string, string>>) => {
    rmSync(join(release, 'systemd'), { recursive: true })
    mkdirSync(join(release, 'systemd'))
    for (const [name, text] of Object.entries(more)) writeFileSync(join(release, 'systemd', name), text)
  }
  give(files)
  for (const name of ['systemctl', 'systemd-sysusers']) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\necho "${name} $*" >>"$CALLS"\n[ "$1" != "$FAILS" ]\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, CALLS: join(folder, 'calls') }
  const world = { out() {}, err() {}, daemonsFolder: release, env, readPassword: async () => '' }
  const base = join(folder, 'base')
  return {
    ...{ base, give },
    path: (name: string) => join(base, placeOfUnitFile(name)),
    async place(fails = '') {
      writeFileSync(env.CALLS, '')
      await placeUnits(
        { ...world, env: { ...env, FAILS: fails } },
        { root: '/opt/plantroom', list: join(folder, 'list'), base },
      )
      return readFileSync(env.CALLS, 'utf8').replaceAll(`${base}/`, '/').split('\n').slice(0, -1)
    },
  }
}

const FIRST = {
  'plantroom-one.service': READY,
  'plantroom-two.service': READY,
  'plantroom-helper.service': '[Service]\nExecStart=/usr/lib/plantroom/plantroom-helper --group plantroom\n',
  'plantroom.preset': 'enable plantroom-one.service\ndisable plantroom-two.service\n',
  'plantroom.sysusers': 'g plantroom - -\n',
}
const ALWAYS = ['systemd-sysusers /usr/local/lib/sysusers.d/plantroom.conf', 'systemctl daemon-reload']

t.test('the first time, units start the programs of the release, and those of the preset run', async (t) => {
  const { path, place } = machine(t, FIRST)
  t.same(await place(), [
    ...ALWAYS,
    'systemctl preset plantroom-one.service plantroom-two.service',
    'systemctl start plantroom-one.service',
  ])
  t.match(readFileSync(path('plantroom-one.service'), 'utf8'), 'ExecStart=/opt/plantroom/current/plantroom one\n')
  t.match(
    readFileSync(path('plantroom-helper.service'), 'utf8'),
    /ExecStart=\/opt\/plantroom\/current\/native\/helper\/prebuilds\/linux-(x64|arm64)\/plantroom-helper --group plantroom\n/,
  )
  t.equal(statSync(path('plantroom-one.service')).mode & 0o777, 0o644)
})

t.test('a file that a cut has left to root alone is readable for all after the next time', async (t) => {
  const { path, place } = machine(t, { ...FIRST, 'plantroom-recorder.rules': '// a rule' })
  await place()
  chmodSync(path('plantroom-recorder.rules'), 0o600)
  t.same(await place(), ALWAYS)
  t.equal(statSync(path('plantroom-recorder.rules')).mode & 0o777, 0o644)
})

t.test('from then on nothing is switched on, off or started', async (t) => {
  const { give, place } = machine(t, FIRST)
  await place()
  t.same(await place(), ALWAYS)
  give({ ...FIRST, 'plantroom-one.service': READY.replace('one', 'one --more') })
  t.same(await place(), ALWAYS, 'whoever updates restarts what runs')
})

t.test('a unit that is new begins as the preset says, and one that is gone is stopped and removed', async (t) => {
  const { give, path, place } = machine(t, FIRST)
  await place()
  const { 'plantroom-one.service': _, ...rest } = FIRST
  give({
    ...rest,
    'plantroom-new.path': '[Path]\n[Install]\n',
    'plantroom.preset': 'enable plantroom-new.path\ndisable plantroom-two.service\n',
  })
  t.same(await place(), [
    'systemctl disable --now plantroom-one.service',
    ...ALWAYS,
    'systemctl preset plantroom-new.path',
    'systemctl start plantroom-new.path',
  ])
  t.notOk(existsSync(path('plantroom-one.service')))
  give({ ...rest, 'plantroom-new.path': '[Path]\nPathExists=/run\n[Install]\n' })
  t.match(await place(), [...ALWAYS, 'systemctl try-restart plantroom-new.path'], 'what only waits learns what is new')
})

t.test('a service of updates that is gone is not stopped: it may be the one that updates', async (t) => {
  const { give, path, place } = machine(t, { ...FIRST, 'plantroom-update-old.service': READY })
  await place()
  give(FIRST)
  t.same(await place(), ['systemctl disable plantroom-update-old.service', ...ALWAYS])
  t.notOk(existsSync(path('plantroom-update-old.service')))
})

t.test('after a cut, or a start that failed, a unit is new once more', async (t) => {
  const { place } = machine(t, FIRST)
  await t.rejects(place('start'), {
    code: 'units_failed',
    message: /systemctl start plantroom-one\.service ended with 1/,
  })
  t.equal((await place()).at(-1), 'systemctl start plantroom-one.service')
})

t.test('each file of systemd/ has a place, and each unit that can be switched on is in the preset', async (t) => {
  const names = readdirSync(OWN)
  const text = (name: string) => readFileSync(join(OWN, name), 'utf8')
  for (const name of names) t.ok(placeOfUnitFile(name))
  const preset = text('plantroom.preset').split('\n')
  const named = preset.flatMap((line) => /^(?:enable|disable) (.+)$/.exec(line)?.[1] ?? []).sort()
  const switchable = names.filter((name) => /^\[Install\]$/m.test(text(name)))
  t.same(named, switchable.sort())
  t.throws(() => placeOfUnitFile('plantroom.txt'), { code: 'units_failed' })
})

t.test('in a folder of its own, an installation has no part in the systemd of its machine', async (t) => {
  const releases = t.testdir({ releases: { one: { systemd: { 'plantroom-one.service': READY } } } })
  const given = { daemonsFolder: join(releases, 'releases/one'), env: { PLANTROOM_BASE: releases, PATH: '' } }
  t.match(await runCommand(units, [], given), { code: 0 })
})

t.test('a checkout has no units to put anywhere', async (t) => {
  t.match(await runCommand(units, []), { code: 'update_not_ours' })
})
