/** Tests of core/ptp/course.ts. */
import t from 'tap'
import { createRealtimeWatch } from '../../../core/ptp/course.ts'

const AHEAD_NS = 1_900_000_000_000_000_000n

t.test('one reading that was interrupted is not a step', async (t) => {
  const watch = createRealtimeWatch({ monotonicNs: 5n, realtimeNs: 5n + AHEAD_NS })
  t.equal(watch.differenceNs(), AHEAD_NS)
  for (const lateNs of [0n, 300n, 40_000_000n, -200n, 0n, 100n])
    t.equal(watch.see({ monotonicNs: 5n, realtimeNs: 5n + AHEAD_NS + lateNs }), 0n)
  t.equal(watch.differenceNs(), AHEAD_NS + 100n)
})

t.test('a step is reported once, and counts from then on', async (t) => {
  const watch = createRealtimeWatch({ monotonicNs: 0n, realtimeNs: AHEAD_NS })
  const stepped = { monotonicNs: 0n, realtimeNs: AHEAD_NS - 3_000_000n }
  const same = { monotonicNs: 0n, realtimeNs: AHEAD_NS }
  for (let i = 0; i < 4; i++) watch.see(same)
  const told = Array.from({ length: 8 }, () => watch.see(stepped)).filter((ns) => ns !== 0n)
  t.same(told, [-3_000_000n])
  t.equal(watch.differenceNs(), AHEAD_NS - 3_000_000n)
})
