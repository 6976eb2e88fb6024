import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSoundTimeline, createTimeline, createWall } from '../../../core/recording/timeline.ts'

const parts = { ticksPerS: 90_000, slewPpm: 500, toleranceMs: 2000 }

/** A camera of 10 pictures a second whose clock is wrong by so much, over a network that delays by up to 80 ms. */
function played(ppm: number, seconds: number, delayOf = (at: number) => (at * 37) % 80) {
  const { place } = createTimeline(parts)
  const firstStamp = 0xffff_0000
  return Array.from({ length: seconds * 10 }, (_, at) => {
    const takenMs = at * 100
    const stamp = (firstStamp + Math.round(takenMs * 90 * (1 + ppm / 1e6))) >>> 0
    return { takenMs, ...place(stamp, 5000 + takenMs + delayOf(at)) }
  })
}

t.test(
  'a clock that is wrong by 500 ppm either way is followed for a day, without overlap, hole or break',
  async (t) => {
    for (const ppm of [500, -500]) {
      const places = played(ppm, 86_400)
      const steps = places.slice(1).map(({ positionMs }, at) => positionMs - (places[at]?.positionMs ?? 0))
      t.ok(
        steps.every((ms) => ms > 99.8 && ms < 100.2),
        `${ppm} ppm: each picture is a tenth of a second long`,
      )
      t.equal(places.filter(({ isBreak }) => isBreak).length, 1, 'the first alone begins something')
      const worstMs = places.reduce(
        (worst, { positionMs, takenMs }) => Math.max(worst, Math.abs(positionMs - takenMs - 5000)),
        0,
      )
      t.ok(worstMs < 100, `${ppm} ppm: never further than ${worstMs} ms from the truth`)
    }
  },
)

t.test('what a network held back for some seconds is placed when it was taken', async (t) => {
  const places = played(0, 60, (at) => (at >= 200 && at < 240 ? (240 - at) * 100 : 0))
  t.equal(places.filter(({ isBreak }) => isBreak).length, 1)
  t.ok(places.every(({ positionMs, takenMs }) => Math.abs(positionMs - takenMs - 5000) < 5))
})

t.test('stamps that leap begin anew, and never before what was there', async (t) => {
  const { place } = createTimeline(parts)
  place(0, 1000)
  const before = place(90_000, 2000).positionMs
  t.same(place(90_000 * 1000, 2100), { positionMs: 2100, isBreak: true })
  t.match(place(0, 2050), { isBreak: true })
  t.ok(place(9000, 2150).positionMs > before)
})

t.test('a picture that is shown before the one sent earlier keeps its place', async (t) => {
  const { place } = createTimeline(parts)
  place(0, 0)
  place(9000, 100)
  t.same(place(4500, 101), { positionMs: 50, isBreak: false })
})

/** An hour of pictures and sound, whose stamps run wrong by so much, over a network that delays sound by 300 ms. */
function heard(ppm: { pictures: number; sound: number }, reportsOf: (second: number) => boolean) {
  const pictures = createTimeline(parts)
  const sound = createSoundTimeline({ ...parts, ticksPerS: 8000, pictures })
  const stampOf = (takenMs: number, rate: number, wrong: number) =>
    (0xfff0_0000 + Math.round((takenMs * rate * (1 + wrong / 1e6)) / 1000)) >>> 0
  return Array.from({ length: 36_000 }, (_, at) => {
    const takenMs = at * 100
    const stamps = { pictures: stampOf(takenMs, 90_000, ppm.pictures), sound: stampOf(takenMs, 8000, ppm.sound) }
    const { positionMs } = pictures.place(stamps.pictures, 5000 + takenMs)
    if (at % 50 === 20 && reportsOf(at / 10)) {
      // A clock of the camera's own, far from ours.
      const ntpS = 77 + takenMs / 1000
      sound.pictureReported({ source: 1, ntpS, timestamp: stamps.pictures })
      sound.soundReported({ source: 2, ntpS, timestamp: stamps.sound })
    }
    return { apartMs: sound.place(stamps.sound, 5300 + takenMs).positionMs - positionMs, at }
  })
}

t.test('sound stays beside its pictures for an hour, although both clocks are wrong', async (t) => {
  const all = heard({ pictures: 300, sound: -300 }, () => true)
  const worst = all.slice(100).reduce((most, { apartMs }) => Math.max(most, Math.abs(apartMs)), 0)
  t.ok(worst < 10, `never further than ${worst} ms`)
})

t.test('without reports, or with reports that make no sense, sound is where it came', async (t) => {
  const silent = heard({ pictures: 0, sound: 100 }, () => false)
  t.ok(silent.every(({ apartMs }) => Math.abs(apartMs - 300) < 20))
  const { place, pictureReported, soundReported } = createSoundTimeline({
    ...{ ...parts, ticksPerS: 8000, pictures: { positionOf: () => 1000 } },
  })
  place(0, 1000)
  pictureReported({ source: 1, ntpS: 5, timestamp: 0 })
  soundReported({ source: 2, ntpS: 4_000_000_000, timestamp: 0 })
  t.same(place(8000, 2000), { positionMs: 2000, isBreak: false })
})

t.test('reports that begin late are stepped to once, and later ones are followed slowly', async (t) => {
  const all = heard({ pictures: 0, sound: 0 }, (second) => second > 100)
  const steps = all.slice(1).map(({ apartMs }, at) => apartMs - (all[at]?.apartMs ?? 0))
  t.equal(steps.filter((ms) => Math.abs(ms) > 2).length, 1)
  t.ok(Math.abs(all.at(-1)?.apartMs ?? 99) < 1)
})

t.test('a stepped wall clock moves nothing that is recorded', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const wall = createWall(clock, 0)
  clock.stepEpoch(-86_400_000)
  await clock.run(200_000)
  t.equal(wall.at(clock.monotonicMs()), 1_900_000_200_000, 'set back: there is a recording of that day already')
  t.equal(wall.epoch(), 0)
  t.equal(Math.round(wall.aheadMs()), -86_400_000)
  wall.close()
})

t.test('a clock that is set right after the start is followed a minute later, once', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const wall = createWall(clock, 0)
  clock.stepEpoch(3_600_000)
  await clock.run(55_000)
  t.equal(wall.epoch(), 0)
  await clock.run(100_000)
  t.equal(wall.epoch(), 1)
  t.equal(wall.at(clock.monotonicMs()), clock.epochMs())
  wall.close()
})

t.test('a clock behind what is recorded already begins behind it', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const wall = createWall(clock, 1_900_000_500_000.5)
  t.equal(wall.at(clock.monotonicMs()), 1_900_000_500_001)
  wall.close()
})
