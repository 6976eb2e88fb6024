import fc from 'fast-check'
import t from 'tap'
import { createUnitLatency } from '../../../core/bus/unit-health.ts'

t.test('nothing is known before the first reply', async (t) => {
  const latency = createUnitLatency()
  t.equal(latency.view(), null)
  t.ok(latency.histogram().every(({ count }) => count === 0))
  t.equal(latency.histogram().at(-1)?.leMs, null)
})

t.test('p50 bounds half of the replies, and p95 bounds 95 of 100', async (t) => {
  const latency = createUnitLatency()
  for (let n = 1; n <= 100; n++) latency.add(n)
  t.strictSame(latency.view(), { last: 100, p50: 50, p95: 100, max: 100 })
})

t.test('a bound never exceeds the longest time that was seen', async (t) => {
  const latency = createUnitLatency()
  latency.add(12.34)
  t.strictSame(latency.view(), { last: 12.3, p50: 12.3, p95: 12.3, max: 12.3 })
  latency.add(70_000)
  t.match(latency.view(), { last: 70_000, p50: 15, max: 70_000 })
})

t.test('the histogram holds each reply once and its bounds are true', async (t) => {
  const tookMs = fc.array(fc.double({ min: 0, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(tookMs, (all) => {
      const latency = createUnitLatency()
      for (const one of all) latency.add(one)
      for (const { leMs, count } of latency.histogram()) {
        const wanted = all.filter((one) => leMs === null || one <= leMs).length
        if (count !== wanted) throw new Error(`${count} at most ${leMs}, wanted ${wanted}`)
      }
      const { p50 = 0, p95 = 0, max = 0 } = latency.view() ?? {}
      const share = (bound: number) => all.filter((one) => one <= bound + 0.05).length / all.length
      if (share(p50) < 0.5 || share(p95) < 0.95 || p50 > p95 || p95 > max) throw new Error('a bound is wrong')
    }),
  )
  t.pass('held')
})
