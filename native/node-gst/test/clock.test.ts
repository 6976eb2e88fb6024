import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { type AudioClock, createAudioClock, startGst } from '../index.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()
/** 2026, in TAI. */
const NOW_NS = 1_795_307_716_248_781_733n
const TRILLION = 1_000_000_000_000n

t.test('starts, as often as it is asked', { skip }, async (t) => {
  t.match(startGst(), { version: /^GStreamer 1\./ })
  t.same(startGst(), startGst())
})

t.test('begins with the wall clock of the machine', { skip }, async (t) => {
  const clock = createAudioClock()
  const { realtimeNs, audioNs } = clock.read()
  const apartNs = audioNs - realtimeNs
  t.ok(apartNs > -1_000_000n && apartNs < 1_000_000n, `${apartNs} ns apart`)
  t.equal(clock.audioAt(clock.read().monotonicNs) > 0n, true)
})

t.test('tells the audio time of any instant to the nanosecond, at any rate', { skip }, async () => {
  const clock = createAudioClock()
  const instant = fc.bigInt(-(10n ** 17n), 10n ** 17n)
  const property = fc.property(
    fc.integer({ min: -500_000_000, max: 500_000_000 }),
    instant,
    instant,
    (ratePpt, sinceNs, offsetNs) => {
      const monotonicNs = 24_051_975_144_472n
      clock.calibrate({ monotonicNs, audioNs: NOW_NS + offsetNs, ratePpb: ratePpt / 1000 })
      const number = sinceNs * (TRILLION + BigInt(Math.round((ratePpt / 1000) * 1000)))
      const passed = number / TRILLION - (number < 0n && number % TRILLION !== 0n ? 1n : 0n)
      const audioNs = NOW_NS + offsetNs + passed
      if (clock.audioAt(monotonicNs + sinceNs) !== audioNs) return false
      // And back: the first instant of the machine's clock at which it is that time.
      const back = clock.monotonicAt(audioNs)
      return clock.audioAt(back) >= audioNs && clock.audioAt(back - 1n) < audioNs
    },
  )
  fc.assert(property, { numRuns: 500 })
})

t.test('keeps the time it was calibrated with, fast or slow', { skip }, async (t) => {
  const clock: AudioClock = createAudioClock()
  const begun = clock.read()
  clock.calibrate({ monotonicNs: begun.monotonicNs, audioNs: 5_000_000_000n, ratePpb: 100_000 })
  await sleep(20)
  const { monotonicNs, audioNs } = clock.read()
  const passedNs = monotonicNs - begun.monotonicNs
  t.equal(audioNs, 5_000_000_000n + passedNs + passedNs / 10_000n)
})

t.test('refuses rates that no crystal has, and is of no use once closed', { skip }, async (t) => {
  const clock = createAudioClock()
  const { monotonicNs, audioNs } = clock.read()
  for (const ratePpb of [500_001, -500_001, Number.NaN])
    t.throws(() => clock.calibrate({ monotonicNs, audioNs, ratePpb }), RangeError)
  clock.close()
  t.throws(() => clock.read(), { message: 'the audio clock is closed' })
})
