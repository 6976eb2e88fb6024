import { spawnSync } from 'node:child_process'
import t from 'tap'
import { endedCpuS, idlePercent, readTicks, stolenPercent } from '../stolen-time.ts'

t.test('tells how much of the time went to others', async (t) => {
  const before = { all: 1000, stolen: 10, idle: 400 }
  t.equal(stolenPercent(before, { all: 1200, stolen: 35, idle: 400 }), 12.5)
  t.equal(stolenPercent(before, before), 0)
})

t.test('tells how much of the time nothing wanted', async (t) => {
  const before = { all: 1000, stolen: 10, idle: 400 }
  t.equal(idlePercent(before, { all: 1200, stolen: 10, idle: 500 }), 50)
  t.equal(idlePercent(before, before), 0)
})

t.test('reads what the kernel of this machine says', async (t) => {
  const { all, idle, stolen } = readTicks()
  t.ok(all > 0 && stolen >= 0 && idle > 0 && stolen + idle < all, `${stolen} and ${idle} of ${all}`)
})

t.test('counts the processor time of what has ended, and of what that had started', async (t) => {
  const before = endedCpuS()
  const busy = `while (process.cpuUsage().user < 300_000);`
  const inside = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}])`
  spawnSync(process.execPath, ['-e', inside])
  t.ok(endedCpuS() - before >= 0.25, `${endedCpuS() - before} s`)
})
