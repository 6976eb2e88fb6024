/** Tests of core/ptp/ptp.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { audioTimeAt } from '../../../core/ptp/ptp.ts'
import { fakeAudioClock } from './fake-audio-clock.ts'

t.test('runs at the given rate, from the given instant', async (t) => {
  const at = { monotonicNs: 1_000_000_000n, audioNs: 1_900_000_000_000_000_000n, ratePpb: 100_000 }
  t.equal(audioTimeAt(at, 1_000_000_000n), 1_900_000_000_000_000_000n)
  t.equal(audioTimeAt(at, 2_000_000_000n), 1_900_000_001_000_100_000n)
  t.equal(audioTimeAt(at, 0n), 1_899_999_998_999_900_000n)
})

t.test('is exact over years', async (t) => {
  const yearNs = 31_536_000n * 1_000_000_000n
  t.equal(audioTimeAt({ monotonicNs: 0n, audioNs: 0n, ratePpb: 1 }, 3n * yearNs), 3n * yearNs + 94_608_000n)
})

t.test('an uncalibrated clock reads the time of day', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const audio = fakeAudioClock(clock)
  clock.advance(250)
  t.same(audio.read(), {
    monotonicNs: 250_000_000n,
    realtimeNs: 1_900_000_000_250_000_000n,
    audioNs: 1_900_000_000_250_000_000n,
  })
  audio.calibrate({ monotonicNs: 250_000_000n, audioNs: 5n, ratePpb: 0 })
  clock.advance(1)
  t.equal(audio.read().audioNs, 1_000_005n)
})
