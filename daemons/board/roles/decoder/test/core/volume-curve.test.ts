import fc from 'fast-check'
import t from 'tap'
import { dbOfVolume, gainOfDb, volumeOfDb } from '../../core/volume.ts'

t.test('B.limits both ends of the two views meet, and 0 is silence', async (t) => {
  t.equal(dbOfVolume(0), -80)
  t.equal(dbOfVolume(100), 12)
  t.equal(volumeOfDb(-80), 0)
  t.equal(volumeOfDb(12), 100)
  t.equal(gainOfDb(-80), 0)
  t.equal(gainOfDb(0), 1, 'samples pass as they are')
})

t.test('the curve is the documented one', async (t) => {
  const documented = [
    [10, -66.55],
    [25, -47.76],
    [50, -20.53],
    [74, -0.2],
    [75, 0.5],
    [90, 9.09],
  ] as const
  for (const [volume, db] of documented) t.equal(dbOfVolume(volume), db, `${volume}`)
})

t.test('each step of the fader is louder than the one below, and converts back', async (t) => {
  for (let volume = 0; volume <= 100; volume++) {
    t.equal(volumeOfDb(dbOfVolume(volume)), volume)
    if (volume > 0) t.ok(dbOfVolume(volume) > dbOfVolume(volume - 1), `${volume}`)
  }
})

t.test('louder in dB is never lower on the fader, and only silence is 0', async () => {
  const db = fc.integer({ min: -8000, max: 1200 }).map((hundredths) => hundredths / 100)
  fc.assert(
    fc.property(db, db, (one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)]
      return volumeOfDb(low) <= volumeOfDb(high) && (volumeOfDb(low) === 0) === (low === -80)
    }),
  )
})
