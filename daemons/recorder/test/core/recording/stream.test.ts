import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { rangesOf } from '../../../core/footage/footage.ts'
import type { FootageFile, Fragment, FragmentTime } from '../../../core/ports.ts'
import { createStream } from '../../../core/recording/stream.ts'
import { createStreamMemory } from '../../../core/recording/stream-memory.ts'
import { createWall } from '../../../core/recording/timeline.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import { alaw, h264Sets } from '../../parameter-sets.ts'

const limits = {
  ...{ reorderPackets: 8, reorderBytes: 100_000, reorderMs: 300 },
  ...{ pictureBytes: 10_000, slewPpm: 500, toleranceMs: 2000 },
  ...{ fileMs: 60_000, groupBytes: 100_000, soundBytes: 100_000, filesPerMinute: 30 },
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Of the wall clock when a test begins. */
const BEGIN_AT = 1_900_000_000_000

function stage() {
  const clock = fakeClock()
  const files: { bytes: Uint8Array[] }[] = []
  const stream = createStream({
    ...{ camera: 'c', clock, limits, memory: createStreamMemory(1e9), onPicture() {} },
    wall: { at: (ms) => BEGIN_AT + ms, epoch: () => 0, aheadMs: () => 0 },
    tap: { picture() {}, hear() {}, sound() {}, lost() {} },
    store: {
      isReady: () => true,
      isBehind: () => false,
      begin({ head }): FootageFile {
        const file = { bytes: [head] }
        files.push(file)
        return { append: ({ pieces }) => file.bytes.push(Buffer.concat(pieces)) > 0, close() {} }
      },
    },
  })
  stream.onOpened({
    ...{ payloadType: 96, clockRate: 90_000, codec: h264Sets.codec, known: h264Sets.units },
    sound: { payloadType: 8, format: alaw },
  })
  const scans = () =>
    files.map(({ bytes }) => {
      const all = Buffer.concat(bytes)
      return scanMp4((offset, length) => all.subarray(offset, offset + length), all.length)
    })
  return { clock, scans, stream }
}

const packetOf = (type: number, sequence: number, timestamp: number, payload: number[]) =>
  Uint8Array.from([
    ...[0x80, 0x80 | type, (sequence >> 8) & 0xff, sequence & 0xff],
    ...[(timestamp >>> 24) & 0xff, (timestamp >>> 16) & 0xff, (timestamp >>> 8) & 0xff, timestamp & 0xff, 0, 0, 0, 1],
    ...payload,
  ])

/** Ten pictures a second with a key frame each second, and sound. @param isLost says of a picture whether it gets lost */
async function seconds(count: number, { clock, stream }: ReturnType<typeof stage>, isLost = (_: number) => false) {
  for (let at = 0; at < count * 10; at++) {
    const payload = at % 10 === 0 ? [0x65, 1, 2, 3] : [0x41, 1, 2]
    if (!isLost(at)) stream.onPacket(packetOf(96, at, at * 9000, payload), 'pictures')
    stream.onPacket(
      packetOf(
        8,
        at,
        at * 800,
        Array.from({ length: 800 }, () => at & 0xff),
      ),
      'sound',
    )
    await clock.run(100)
  }
}

t.test('what is lost is counted, and costs the pictures up to the next key frame', async (t) => {
  const all = stage()
  await seconds(6, all, (at) => at === 23)
  all.stream.onEnded()
  t.match(all.stream.counts(), { pictures: 59, lostPackets: 1, droppedPictures: 1, brokenPackets: 0 })
  const fragments = all.scans().flatMap(({ fragments }) => fragments)
  t.same(
    fragments.map(({ durationTicks }) => durationTicks / 90),
    [1000, 1000, 300, 1000, 1000, 1000],
    'the rest of the third second refers to what is missing',
  )
})

t.test('pictures and sound are in one file, and packets that make no sense are counted', async (t) => {
  const all = stage()
  await seconds(4, all)
  all.stream.onPacket(Uint8Array.of(1, 2, 3), 'pictures')
  all.stream.onPacket(packetOf(8, 40, 0, [...new Uint8Array(20_000)]), 'sound')
  all.stream.onEnded()
  t.match(all.stream.counts(), { brokenPackets: 2, lostPackets: 0 })
  t.match(
    all.scans().map(({ tracks }) => tracks?.sound?.codec),
    [undefined, 'alaw'],
    'the first key frame came before any sound',
  )
  t.equal(all.stream.sound(), undefined, 'the session is over')
})

interface DayWish {
  /** By how much the camera's clock runs wrong. */
  ppm: number
  beginAt?: number
  /** The end of what is recorded already. */
  notBeforeAt?: number
  /** The wall clock is set by so much, so long after the start. */
  step?: { afterMs: number; byMs: number }
}

/** A day of a camera with a picture a second and a key frame each ten, over a network that delays by up to 80 ms. */
function dayOf({ beginAt = BEGIN_AT, notBeforeAt = 0, ppm, step }: DayWish) {
  const clock = fakeClock(beginAt)
  const wall = createWall(clock, notBeforeAt)
  const kept: { startAt: number; endAt: number }[] = []
  const append = (_: Fragment, { durationTicks, wallMs }: FragmentTime) =>
    kept.push({ startAt: wallMs, endAt: wallMs + durationTicks / 90 }) > 0
  const stream = createStream({
    ...{ camera: 'c', clock, wall, limits, memory: createStreamMemory(1e9), onPicture() {} },
    tap: { picture() {}, hear() {}, sound() {}, lost() {} },
    store: { isReady: () => true, isBehind: () => false, begin: () => ({ append, close() {} }) },
  })
  stream.onOpened({
    ...{ payloadType: 96, clockRate: 90_000, codec: h264Sets.codec, known: h264Sets.units, sound: undefined },
  })
  for (let at = 0; at < 86_400; at++) {
    const takenMs = at * 1000
    if (step && takenMs === step.afterMs) clock.stepEpoch(step.byMs)
    clock.advance(takenMs + ((at * 37) % 80) - clock.monotonicMs())
    const stamp = (0xffff_0000 + Math.round(takenMs * 90 * (1 + ppm / 1e6))) >>> 0
    stream.onPacket(packetOf(96, at & 0xffff, stamp, at % 10 === 0 ? [0x65, 1] : [0x41, 1]), 'pictures')
  }
  stream.onEnded()
  wall.close()
  const overlaps = kept.filter(({ startAt }, at) => startAt < (kept[at - 1]?.endAt ?? 0) - 1)
  return { ranges: rangesOf(kept, 0, Number.MAX_SAFE_INTEGER), overlaps, counts: stream.counts() }
}

/** Whether an instant is right but for what the network delays. */
const isTrue = (at: number | undefined, truth: number) => at !== undefined && Math.abs(at - truth) < 100

for (const ppm of [500, -500]) {
  t.test(
    `a day of a clock that is ${ppm} ppm wrong is one stretch, though the wall clock is set a day back`,
    async (t) => {
      for (const step of [undefined, { afterMs: 6 * HOUR_MS, byMs: -DAY_MS }]) {
        const { counts, overlaps, ranges } = dayOf({ ppm, ...(step && { step }) })
        t.same([ranges.length, overlaps, counts.lostGroups, counts.pictures], [1, [], 0, 86_400])
        t.ok(isTrue(ranges[0]?.start, BEGIN_AT), `begins ${(ranges[0]?.start ?? 0) - BEGIN_AT} ms off`)
        t.ok(isTrue(ranges[0]?.end, BEGIN_AT + DAY_MS), `ends ${(ranges[0]?.end ?? 0) - BEGIN_AT - DAY_MS} ms off`)
      }
    },
  )

  t.test(`of a clock that is ${ppm} ppm wrong nothing overlaps where the wall clock is set a day on`, async (t) => {
    const setAt = BEGIN_AT + 6 * HOUR_MS
    const { counts, overlaps, ranges } = dayOf({ ppm, step: { afterMs: 6 * HOUR_MS, byMs: DAY_MS } })
    t.same([ranges.length, overlaps, counts.lostGroups], [2, [], 0])
    const [before, after] = ranges
    t.ok(isTrue(before?.start, BEGIN_AT) && isTrue(after?.end, BEGIN_AT + 2 * DAY_MS))
    const holeMs = (after?.start ?? 0) - (before?.end ?? 0)
    t.ok(Math.abs(holeMs - DAY_MS) < 2, `the only hole is the day that never was: ${holeMs} ms`)
    const followedMs = (before?.end ?? 0) - setAt
    t.ok(followedMs > 59_000 && followedMs < 90_000, `followed after ${followedMs} ms, at a key frame`)
  })
}

t.test(
  'where the time comes late at boot, what is recorded before it overlaps nothing, and all after it is true',
  async (t) => {
    const lateMs = 5 * 60_000
    for (const [beginAt, notBeforeAt] of [
      // Without a clock that runs while it is off: with footage of before, and without.
      [0, BEGIN_AT - 30_000],
      [0, 0],
      // With one that is an hour slow.
      [BEGIN_AT - HOUR_MS, BEGIN_AT - 30_000],
    ] as const) {
      const step = { afterMs: lateMs, byMs: BEGIN_AT - beginAt }
      const { counts, overlaps, ranges } = dayOf({ ppm: 200, beginAt, notBeforeAt, step })
      t.same([ranges.length, overlaps, counts.lostGroups], [2, [], 0])
      const [early, late] = ranges
      const firstAt = Math.max(beginAt, notBeforeAt)
      t.ok(isTrue(early?.start, firstAt), 'behind what is recorded already')
      t.ok(isTrue(late?.end, BEGIN_AT + DAY_MS))
      const recordedMs = ranges.reduce((sum, { end, start }) => sum + end - start, 0)
      t.ok(Math.abs(recordedMs - DAY_MS) < 100, `nothing is lost of it: ${recordedMs} ms are kept`)
    }
  },
)
