import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Value } from 'typebox/value'
import { imageTable, updateTable } from '#kit/release/update-settings.ts'
import { updatingKeys } from '../../daemons/controller/core/update-keys.ts'
import { updating } from '../../daemons/recorder/core/updating/keys.ts'
import { placeOfUnitFile } from '../cli/units.ts'

const folder = join(import.meta.dirname, '../../systemd')
const units = readdirSync(folder).filter((name) => name.endsWith('.service'))
const analyze = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
/** `--offline` came with systemd 250. */
const isAble = analyze.status === 0 && Number(/systemd (\d+)/.exec(analyze.stdout)?.[1]) >= 250

/** The values of a setting in a unit, each word. */
function wordsOf(unit: string, setting: string): string[] {
  const lines = readFileSync(join(folder, unit), 'utf8').split('\n')
  return lines
    .filter((line) => line.startsWith(`${setting}=`))
    .flatMap((line) => line.slice(setting.length + 1).split(' '))
}

t.test('there is a unit to look at', async (t) => t.not(units.length, 0))

/** They are root, to replace what root runs and to act as each daemon's user; one drop-in is the sandbox of all. */
const UPDATERS = units.filter((name) => name.startsWith('plantroom-update-'))
const SANDBOX = 'plantroom-update-sandbox.conf'

/** The units as they stand on a machine, with what is dropped into them. */
const placed = t.testdir({})
for (const name of readdirSync(folder)) {
  const path = join(placed, placeOfUnitFile(name))
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(join(folder, name), path)
}

for (const unit of units) {
  const most = UPDATERS.includes(unit) ? 3 : 2
  const skip = isAble ? false : 'systemd-analyze 250 or newer is not installed'
  t.test(`${unit} exposes at most ${most}.0`, { skip }, async (t) => {
    const args = ['security', '--offline=true', '--no-pager', join(placed, placeOfUnitFile(unit))]
    const { stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    const level = Number(/exposure level for .*: ([0-9.]+)/.exec(stdout)?.[1])
    t.ok(level > 0 && level <= most, `exposure is ${level} ${stderr}`)
  })
}

t.test('the board may ask the helper, by the group that the socket is for', async (t) => {
  const [group] = wordsOf('plantroom-helper.socket', 'SocketGroup')
  t.ok(group)
  t.same(wordsOf('plantroom-helper.socket', 'SocketMode'), ['0660'])
  t.ok(wordsOf('plantroom-board.service', 'SupplementaryGroups').includes(group ?? ''))
  t.match(readFileSync(join(folder, 'plantroom.sysusers'), 'utf8'), new RegExp(`^g ${group} - -$`, 'm'))
  t.match(wordsOf('plantroom-helper.service', 'ExecStart').join(' '), new RegExp(`--group ${group}$`))
})

t.test('the helper has no power of root but to read an image, and no network', async (t) => {
  t.same(wordsOf('plantroom-helper.service', 'CapabilityBoundingSet'), ['CAP_DAC_READ_SEARCH'])
  t.same(wordsOf('plantroom-helper.service', 'IPAddressDeny'), ['any'])
  t.same(wordsOf('plantroom-helper.service', 'DevicePolicy'), ['closed'])
})

t.test('the helper writes what its verbs write, and nothing else of the kernel’s', async (t) => {
  t.same(wordsOf('plantroom-helper.service', 'ProtectKernelTunables'), ['yes'])
  t.same(wordsOf('plantroom-helper.service', 'ReadWritePaths'), [
    '-/etc/systemd/network',
    '-/sys/bus/usb/drivers',
    '-/sys/devices',
  ])
})

t.test('C.1 controller and recorder alone may ask for updates, by a group that no other unit is in', async (t) => {
  t.same(wordsOf('plantroom-update.socket', 'Service'), ['plantroom-update-asked.service'])
  const [group] = wordsOf('plantroom-update.socket', 'SocketGroup')
  t.ok(group)
  t.same(wordsOf('plantroom-update.socket', 'SocketMode'), ['0660'])
  t.same(wordsOf('plantroom-update.socket', 'SocketUser'), ['root'])
  const others = units.filter((unit) => wordsOf(unit, 'SupplementaryGroups').includes(group ?? ''))
  t.same(others, ['plantroom-controller.service', 'plantroom-recorder.service'])
  t.match(readFileSync(join(folder, 'plantroom.sysusers'), 'utf8'), new RegExp(`^g ${group} - -$`, 'm'))
})

t.test('what the controller asks, and where it is asked, are where the settings say', async (t) => {
  const socket = Value.Create(updatingKeys.properties.socket)
  t.same(wordsOf('plantroom-update.socket', 'ListenStream'), [socket])
  t.same(Value.Create(updating.properties.socket), socket, 'the recorder asks there too')
  const { handed_file: handed, quiet_socket: quiet } = Value.Create(updateTable)
  const [state] = wordsOf('plantroom-recorder.service', 'StateDirectory')
  t.equal(handed, `/var/lib/${state}/upload.release`, 'root looks where the recorder leaves it')
  t.same(
    wordsOf('plantroom-controller.service', 'RuntimeDirectory').map((name) => `/run/${name}/quiet.sock`),
    [quiet],
  )
  t.same(wordsOf('plantroom-controller.service', 'RuntimeDirectoryMode'), ['0700'])
  const { socket: images } = Value.Create(imageTable)
  t.same(
    wordsOf('plantroom-board.service', 'RuntimeDirectory').map((name) => `/run/${name}/ota.sock`),
    [images],
  )
  t.same(wordsOf('plantroom-board.service', 'RuntimeDirectoryMode'), ['0700'])
})

t.test('the services of updates have one sandbox, and nothing of it is written twice', async (t) => {
  t.equal(UPDATERS.length, 4)
  const settings = (name: string) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/^([A-Z]\w+)=/gm)].map(([, setting = '']) => setting)
  const shared = new Set(settings(SANDBOX))
  t.ok(shared.has('CapabilityBoundingSet') && shared.has('SystemCallFilter') && shared.has('MemoryMax'))
  t.equal(
    placeOfUnitFile(SANDBOX),
    join(dirname(placeOfUnitFile(UPDATERS[0] ?? '')), 'plantroom-update-.service.d/sandbox.conf'),
  )
  for (const unit of UPDATERS)
    t.same(
      settings(unit).filter((setting) => shared.has(setting)),
      [],
      unit,
    )
})

t.test(
  'the timer asks in the hours of a machine, each machine at a time of its own, and starts nothing unasked',
  async (t) => {
    t.same(wordsOf('plantroom-update.timer', 'Unit'), ['plantroom-update-timed.service'])
    t.same(wordsOf('plantroom-update.timer', 'RandomizedDelaySec'), ['1h'])
    t.same(wordsOf('plantroom-update.timer', 'Persistent'), ['yes'])
    t.match(wordsOf('plantroom-update-timed.service', 'ExecStart').join(' '), /plantroom update --timed$/)
    t.match(readFileSync(join(folder, 'plantroom.preset'), 'utf8'), /^disable plantroom-update\.timer$/m)
  },
)

t.test('an update that was killed is ended, and by the release before if the new one cannot', async (t) => {
  for (const unit of ['plantroom-update-asked.service', 'plantroom-update-timed.service'])
    t.same(wordsOf(unit, 'OnFailure'), ['plantroom-update-settle.service'])
  t.same(wordsOf('plantroom-update-settle.service', 'OnFailure'), ['plantroom-update-undo.service'])
  t.same(wordsOf('plantroom-update-settle.service', 'WantedBy'), ['multi-user.target'])
  const [release, image] = ['pending', 'image'].map((name) => `/var/lib/plantroom/update/${name}.json`)
  const either = [`|${release}`, `|${image}`]
  t.same(wordsOf('plantroom-update-settle.service', 'ConditionPathExists'), either, 'nothing at other starts')
  // The image before has its own programs: there is nothing to take back.
  t.same(wordsOf('plantroom-update-undo.service', 'ConditionPathExists'), [release])
  for (const unit of ['plantroom-update-settle.service', 'plantroom-update-undo.service'])
    t.same(wordsOf(unit, 'Type'), ['oneshot'])
})

t.test('the program of the release before is found by the link of the command', async (t) => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'plantroom-undo-')))
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  for (const version of ['1.0.0', '1.1.0']) {
    mkdirSync(join(place, 'releases', version), { recursive: true })
    writeFileSync(join(place, 'releases', version, 'plantroom'), `#!/bin/sh\necho ${version} "$@"\n`, { mode: 0o755 })
  }
  symlinkSync('releases/1.1.0', join(place, 'current'))
  symlinkSync('releases/1.0.0', join(place, 'previous'))
  symlinkSync(join(place, 'current/plantroom'), join(place, 'command'))
  const [, script = ''] = /'(.*)'$/.exec(wordsOf('plantroom-update-undo.service', 'ExecStart').join(' ')) ?? []
  // As systemd reads it.
  const text = script.replaceAll('$$', '$').replaceAll('%%', '%').replace('/usr/bin/plantroom', join(place, 'command'))
  t.equal(spawnSync('sh', ['-c', text], { encoding: 'utf8' }).stdout, '1.0.0 update --settle\n')
})
