/** Tests of core/ptp/clock-fit.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSteering, MOST_RATE_PPB } from '../../../core/ptp/clock-fit.ts'
import { fakeAudioClock } from './fake-audio-clock.ts'

const limits = { settleNs: 1e9, smallNs: 100_000, slewPpb: 400_000 }

function rig() {
  const clock = fakeClock()
  const audio = fakeAudioClock(clock)
  const ahead = audio.read().audioNs - audio.read().monotonicNs
  const steering = createSteering(audio, limits)
  const follow = (byNs: bigint, jumpNs = 2_000_000, ratePpb = 0) =>
    steering.follow({ differenceAt: () => ahead + byNs, jumpNs, ratePpb })
  return { clock, audio, steering, follow, ahead }
}

t.test('a small difference is corrected without a jump or overshoot', async (t) => {
  const { audio, clock, follow, ahead } = rig()
  let last = audio.read().audioNs
  for (let i = 0; i < 100; i++) {
    t.equal(follow(100_000n).jumped, false)
    clock.advance(125)
    const now = audio.read().audioNs
    t.ok(now > last, 'never back')
    last = now
  }
  const { audioNs, monotonicNs } = audio.read()
  const errorNs = Number(audioNs - monotonicNs - ahead - 100_000n)
  t.ok(Math.abs(errorNs) < 100, `${errorNs} ns left`)
})

t.test('a larger difference is corrected as fast as is allowed, and ends gently', async (t) => {
  const { audio, clock, follow, ahead } = rig()
  const off = () => Number(audio.read().audioNs - audio.read().monotonicNs - ahead) - 900_000
  for (let i = 0; i < 20; i++) {
    follow(900_000n)
    clock.advance(100)
  }
  t.ok(Math.abs(off() + 100_000) < 41_000, `${off()} ns after two seconds`)
  for (let i = 0; i < 40; i++) {
    follow(900_000n)
    t.ok(off() < 0, 'not beyond')
    clock.advance(100)
  }
  t.ok(off() > -10_000, `${off()} ns after six`)
})

t.test('catches up no faster than is allowed', async (t) => {
  const { audio, follow } = rig()
  follow(-1_900_000n)
  t.equal(audio.calibrations.at(-1)?.ratePpb, -400_000)
  follow(1_900_000n, 2_000_000, 90_000)
  t.equal(audio.calibrations.at(-1)?.ratePpb, 490_000)
  follow(1_900_000n, 2_000_000, 300_000)
  t.equal(audio.calibrations.at(-1)?.ratePpb, MOST_RATE_PPB)
})

t.test('jumps once if it would be late for too long', async (t) => {
  const { audio, follow, ahead } = rig()
  t.same(follow(-3_000_000n), { errorNs: 3_000_000, jumped: true })
  t.equal(audio.read().audioNs - audio.read().monotonicNs, ahead - 3_000_000n)
  t.same(follow(-3_000_000n), { errorNs: 0, jumped: false })
})

t.test('keeps running from where it is', async (t) => {
  const { audio, clock, steering } = rig()
  const { audioNs } = audio.read()
  steering.coast(100_000)
  clock.advance(10_000)
  t.equal(audio.read().audioNs - audioNs, 10_001_000_000n)
})
