/** Tests of how meters move: up at once, down 20 dB a second, the peak held for a second and a half. */
import t from 'tap'
import { createLevels, fallen, isClipped, isSilent, moved, restingNeedle } from '../../web/levels.ts'
import { channelNames } from '../../web/mixer.ts'

t.test('a needle rises at once and falls 20 dB a second', async (t) => {
  const up = moved(restingNeedle(0), { rmsDb: -20, peakDb: -6 }, 0)
  t.match(up, { levelDb: -20, peakDb: -6 })
  t.equal(fallen(up, 1000).levelDb, -40)
  const again = moved(up, { rmsDb: -50, peakDb: -30 }, 500)
  t.equal(again.levelDb, -30, 'a quieter level does not pull it down')
  t.equal(moved(up, { rmsDb: -10, peakDb: -3 }, 500).levelDb, -10)
  t.equal(fallen(up, 60_000).levelDb, -90, 'it ends at the silent end of the scale')
})

t.test('a peak is held for 1.5 s and then falls; a higher one starts again', async (t) => {
  const up = moved(restingNeedle(0), { rmsDb: -20, peakDb: -6 }, 0)
  t.equal(fallen(up, 1500).peakDb, -6)
  t.equal(fallen(up, 2000).peakDb, -16)
  t.equal(fallen(fallen(up, 1700), 2000).peakDb, -16, 'however often it was drawn meanwhile')
  const lower = moved(up, { rmsDb: -30, peakDb: -10 }, 1000)
  t.equal(fallen(lower, 1500).peakDb, -6)
  const higher = moved(up, { rmsDb: -30, peakDb: -2 }, 1000)
  t.equal(fallen(higher, 2500).peakDb, -2)
  t.equal(fallen(higher, 2600).peakDb, -4)
})

t.test('clipping and silence are shown as long as their mark is held', async (t) => {
  const clip = moved(restingNeedle(0), { rmsDb: -3, peakDb: 0 }, 0)
  t.ok(isClipped(clip))
  t.ok(isClipped(fallen(clip, 1500)))
  t.notOk(isClipped(fallen(clip, 1600)))
  const quiet = moved(restingNeedle(0), { rmsDb: null, peakDb: null }, 0)
  t.ok(isSilent(quiet))
  t.notOk(isSilent(moved(quiet, { rmsDb: -80, peakDb: -70 }, 10)))
})

t.test('levels are unknown before the first message and soon after the last', async (t) => {
  const levels = createLevels()
  t.equal(levels.at(0), null)
  levels.hear({ peak_db: [-6, null], rms_db: [-20, null] }, 100)
  t.equal(levels.at(100)?.[0]?.levelDb, -20)
  t.equal(levels.at(1600)?.[0]?.levelDb, -50)
  t.equal(levels.at(1601), null)
  levels.hear({ peak_db: Array(5000).fill(-6), rms_db: [] }, 2000)
  t.equal(levels.at(2000)?.length, 64, 'no more channels than this are kept')
})

t.test('two channels are left and right, others are numbered', async (t) => {
  t.same(channelNames(2), ['Left', 'Right'])
  t.same(channelNames(3), ['1', '2', '3'])
  t.same(channelNames(0), [])
})
