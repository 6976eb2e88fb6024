import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const folder = join(import.meta.dirname, '../../systemd')
const units = readdirSync(folder).filter((name) => name.endsWith('.service'))
const analyze = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
/** `--offline` came with systemd 250. */
const isAble = analyze.status === 0 && Number(/systemd (\d+)/.exec(analyze.stdout)?.[1]) >= 250

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
