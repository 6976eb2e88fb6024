import fc from 'fast-check'
import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { overlapOf, type SeenBox } from '../../../core/sight/boxes.ts'
import { matchPairs } from '../../../core/sight/matching.ts'
import { sightRows } from '../../../core/sight/memory.ts'
import { createTracker, type Track, type TrackerNews } from '../../../core/sight/tracker.ts'
import { boxOf, chanceOf, seenOf, type Thing } from './scenes.ts'

const limits = { score: 0.4, agree: 2, lostMs: 3000, tracks: 32 }
const START = 1_000_000

/** Things that pass, each picture with boxes in another order; which track each of them was, picture by picture. */
function watch(things: readonly Thing[], { everyMs, pictures, seed, noise = 0.05, missed = 0.05 }: WatchWish) {
  const chance = chanceOf(seed)
  const tracker = createTracker(limits)
  const numbers = things.map((): number[] => [])
  const all: TrackerNews[] = []
  for (let picture = 0; picture < pictures; picture++) {
    const atMs = picture * everyMs
    const boxes = things.flatMap((thing) => seenOf(thing, atMs, { chance, noise, missed }))
    const news = tracker.update(
      START + atMs,
      boxes.toSorted(() => chance() - 0.5),
    )
    all.push(news)
    for (const [place, thing] of things.entries()) {
      const fits = (track: Track) => overlapOf(track.box, boxOf(thing, atMs))
      const [best] = news.seen.toSorted((a, b) => fits(b) - fits(a))
      // While two cover each other, nobody could tell.
      const isAlone = things.every(
        (other) => other === thing || overlapOf(boxOf(other, atMs), boxOf(thing, atMs)) < 0.05,
      )
      if (best && isAlone && fits(best) > 0.4) numbers[place]?.push(best.trackId)
    }
  }
  return { all, numbers, tracker }
}

interface WatchWish {
  everyMs: number
  pictures: number
  seed: number
  noise?: number
  missed?: number
}

const person = (from: [number, number], perS: [number, number]): Thing => ({
  label: 'person',
  from,
  perS,
  size: [0.08, 0.25],
})

t.test('identities are kept through crossings, with noise and with pictures on which one is missed', async (t) => {
  let kept = 0
  const RUNS = 60
  for (let seed = 1; seed <= RUNS; seed++) {
    const speed = 0.08 + (seed % 5) * 0.03
    const things = [person([0.05, 0.5], [speed, 0]), person([0.05 + 5 * speed, 0.52], [-speed, 0.004])]
    const { numbers } = watch(things, { everyMs: 250, pictures: 20, seed })
    const sets = numbers.map((list) => new Set(list))
    t.ok(
      numbers.every((list) => list.length > 6),
      'each is followed',
    )
    if (sets.every((set) => set.size === 1) && [...(sets[0] ?? [])][0] !== [...(sets[1] ?? [])][0]) kept++
  }
  // One that is missed just where they cover each other cannot be told from the other.
  t.ok(kept >= RUNS * 0.9, `${kept} of ${RUNS} crossings`)
})

t.test('one that walks is one track at one picture a second too', async (t) => {
  const { numbers, all } = watch([person([0.1, 0.5], [0.09, 0])], { everyMs: 1000, pictures: 9, seed: 3, missed: 0 })
  t.equal(new Set(numbers[0]).size, 1)
  t.equal(all.flatMap(({ begun }) => begun).length, 1)
})

t.test('a label is believed once two pictures agree, and what stands still is no news', async (t) => {
  const dog = { ...person([0.2, 0.5], [0.1, 0]), label: 'dog' }
  const tracker = createTracker(limits)
  t.same(tracker.update(START, [{ label: 'dog', score: 0.9, box: boxOf(dog, 0) }]).begun, [], 'one picture')
  t.same(tracker.update(START + 500, []).begun, [], 'a rock')
  const begun = tracker.update(START + 1000, [{ label: 'dog', score: 0.9, box: boxOf(dog, 1000) }]).begun
  t.match(begun, [
    { track: { label: 'dog', group: 'animal', trackId: 1 }, before: [{ at: START }, { at: START + 1000 }] },
  ])
  const parked = createTracker(limits)
  const car: SeenBox = { label: 'car', score: 0.9, box: [0.4, 0.4, 0.6, 0.6] }
  for (let picture = 0; picture < 20; picture++) t.same(parked.update(START + picture * 500, [car]).begun, [])
})

t.test('what names a thing counts more than that something moves, and a weak box begins nothing', async (t) => {
  const tracker = createTracker(limits)
  const walk = person([0.1, 0.5], [0.1, 0])
  for (let picture = 0; picture < 6; picture++) {
    const label = picture % 2 === 0 ? 'person' : 'other'
    tracker.update(START + picture * 500, [{ label, score: 0.6, box: boxOf(walk, picture * 500) }])
  }
  t.match(tracker.update(START + 3000, [{ label: 'other', score: 0.9, box: boxOf(walk, 3000) }]).seen, [
    { label: 'person' },
  ])
  const weak = createTracker(limits)
  for (let picture = 0; picture < 6; picture++)
    t.same(
      weak.update(START + picture * 500, [{ label: 'person', score: 0.3, box: boxOf(walk, picture * 500) }]).begun,
      [],
    )
  const [before] = tracker.update(START + 3500, [{ label: 'person', score: 0.2, box: boxOf(walk, 3500) }]).seen
  t.equal(before?.trackId, 1, 'but it keeps a track')
})

t.test('a track is over when it was not seen for a while, and when no picture comes', async (t) => {
  const { tracker } = watch([person([0.1, 0.5], [0.1, 0])], { everyMs: 500, pictures: 5, seed: 1, missed: 0 })
  t.same(tracker.expire(START + 4000), [])
  t.match(tracker.expire(START + 5500), [{ trackId: 1, lastAt: START + 2000, firstAt: START }])
  t.same(tracker.update(START + 100, []), { seen: [], begun: [], ended: [] }, 'an older picture tells nothing')
})

t.test('pairs are those with the greatest sum', async () => {
  const brute = (likeness: number[][]): number => {
    const [first, ...rest] = likeness
    if (!first) return 0
    const skipped = brute(rest)
    const taken = first.map(
      (value, at) => value + brute(rest.map((row) => row.map((one, place) => (place === at ? 0 : one)))),
    )
    return Math.max(skipped, ...taken)
  }
  const rows = fc.integer({ min: 1, max: 4 }).chain((columns) =>
    fc.array(
      fc.array(
        fc.integer({ min: 0, max: 100 }).map((n) => n / 100),
        { minLength: columns, maxLength: columns },
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
  )
  fc.assert(
    fc.property(rows, (likeness) => {
      const pairs = matchPairs(likeness)
      const sum = pairs.reduce((all, [row, column]) => all + (likeness[row]?.[column] ?? 0), 0)
      return Math.abs(sum - brute(likeness)) < 1e-9 && new Set(pairs.map(([, column]) => column)).size === pairs.length
    }),
  )
})

t.test(
  'whatever comes, there are no more tracks than the limit, and they take what the memory plan says',
  async (t) => {
    const grid = (at: number): SeenBox[] =>
      Array.from({ length: 100 }, (_, place) => {
        const [x, y] = [(place % 10) / 10 + 0.01 * (at % 3), Math.floor(place / 10) / 10]
        return { label: 'car', score: 0.9, box: [x, y, x + 0.05, y + 0.05] }
      })
    const bytes = await heapBytesOf(() => {
      const tracker = createTracker(limits)
      for (let picture = 0; picture < 40; picture++) tracker.update(START + picture * 200, grid(picture))
      t.ok(tracker.update(START + 9000, grid(1)).seen.length <= limits.tracks)
      return tracker
    })
    const row = rowOf(sightRows(), 'things that are followed', { 'detector.tracks': limits.tracks, 'cameras.max': 1 })
    t.ok(bytes <= row.allBytes, `${bytes} of ${row.allBytes}`)
  },
)
