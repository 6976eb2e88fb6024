import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const folder = join(import.meta.dirname, '../../systemd')
/** What updates Plantroom is root: it restarts daemons, restores their states as their users, and swaps what they run. */
const OF_ROOT = ['plantroom-settle.service']
const units = readdirSync(folder).filter((name) => name.endsWith('.service') && !OF_ROOT.includes(name))
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

for (const unit of units) {
  const skip = isAble ? false : 'systemd-analyze 250 or newer is not installed'
  t.test(`${unit} exposes at most 2.0`, { skip }, async (t) => {
    const args = ['security', '--offline=true', '--no-pager', join(folder, unit)]
    const { stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    const level = Number(/exposure level for .*: ([0-9.]+)/.exec(stdout)?.[1])
    t.ok(level > 0 && level <= 2, `exposure is ${level} ${stderr}`)
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
