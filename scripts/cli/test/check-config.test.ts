/** plantroom check-config. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { t } from 'tap'
import { checkConfig } from '../check-config.ts'
import { runCommand } from './world.ts'

t.test('says of every daemon that its settings are fine', async (t) => {
  t.match(await runCommand(checkConfig, []), {
    code: 0,
    out: /^small: fine \(no \/etc\/plantroom\/small.toml, defaults\)\n$/,
  })
})

t.test('of an installation in a folder of its own, the settings are in it', async (t) => {
  const base = t.testdir({ etc: { plantroom: { 'small.toml': '[http]\nbody_bytes = 1\n' } } })
  t.match(await runCommand(checkConfig, [], { env: { PLANTROOM_BASE: base } }), { code: 2, err: /http\.body_bytes/ })
})

t.test('prints every fault and ends with 2', async (t) => {
  const file = join(t.testdir(), 'small.toml')
  await writeFile(file, '[http]\nlisen = "x"\nbody_bytes = 1\n')
  const { code, err } = await runCommand(checkConfig, ['small', '--config', file, '--set', 'log.level=loud'])
  t.equal(code, 2)
  t.match(err.split('\n'), [
    /^small: http\.lisen .* line 2.*http\.listen$/,
    /^small: http\.body_bytes .* line 3.*1024/,
    /^small: log\.level \(command line\)/,
    '',
  ])
})

t.test('refuses a daemon that is not there, and names the nearest', async (t) => {
  t.match(await runCommand(checkConfig, ['smal']), { code: 'unknown_daemon', err: /did you mean small\?/ })
  t.match(await runCommand(checkConfig, ['xyz']), { code: 'unknown_daemon', err: /there are: small/ })
})

t.test('refuses wrong usage', async (t) => {
  t.match(await runCommand(checkConfig, ['--config', 'x']), { code: 'bad_usage', err: /need the daemon/ })
  t.match(await runCommand(checkConfig, ['--confg', 'x']), { code: 'bad_usage', err: /--confg/ })
  t.match(await runCommand(checkConfig, ['small', 'big']), {
    code: 'bad_usage',
    err: /expected: plantroom check-config/,
  })
})

t.test('says what the settings allow a daemon to hold, and what its unit needs therefore', async (t) => {
  const daemonsFolder = join(import.meta.dirname, '../../../daemons')
  const heldBy = async (...sets: string[]) => {
    const argv = ['gateway', '--config', join(t.testdir({ 'gateway.toml': '' }), 'gateway.toml')]
    const { code, out } = await runCommand(checkConfig, [...argv, ...sets.flatMap((set) => ['--set', set])], {
      daemonsFolder,
    })
    t.equal(code, 0)
    const figures = /^gateway: holds (\d+) MiB at most .* MemoryMax=(\d+)M and TasksMax=(\d+)$/m.exec(out)
    return (figures ?? []).slice(1).map(Number)
  }
  const [held = 0, memoryMax = 0, tasksMax = 0] = await heldBy()
  t.ok(held > 0 && memoryMax >= held && tasksMax > 0, `${held} ${memoryMax} ${tasksMax}`)
  t.equal((await heldBy('capture.max=14'))[0], held + 30)
  const [raised = 0, raisedMax = 0] = await heldBy('webhooks.held_bytes=1073741824')
  t.equal(raised, held + 992)
  t.ok(raisedMax > memoryMax)
})
