import t from 'tap'
import { neededForLast, pictureAt } from '../../../core/pictures/choice.ts'
import type { KeptFile } from '../../../core/ports.ts'
import { h264 } from '../../../wire/h264.ts'
import { h265 } from '../../../wire/h265.ts'
import type { FragmentPlace } from '../../../wire/mp4-read.ts'
import { writeFragment } from '../../../wire/mp4-write.ts'
import { type VideoCodec, withLengths } from '../../../wire/pictures.ts'

const START = 1_900_000_000_000.4
const SECOND = 90_000
const sets = { codec: h264, units: [Uint8Array.of(0x67), Uint8Array.of(0x68)] }

/** Pictures of 100 ms, each named by a byte. @param names in the order of decoding, with offsets in pictures */
function fragmentOf(at: number, isKey: boolean, names: readonly [name: number, offset?: number][]) {
  const samples = names.map(([name, offset = 0], place) => ({
    data: withLengths([Uint8Array.of(0x65, name)]),
    ...{ isKey: isKey && place === 0, durationTicks: 9000, offsetTicks: offset * 9000 },
  }))
  const time = { decodeTicks: at * SECOND, wallMs: START + at * 1000 }
  const bytes = writeFragment({ sequence: 1, samples, ...time })
  const place = { ...time, offset: at, length: bytes.length, durationTicks: names.length * 9000, isKey }
  return { bytes, place }
}

/** One file from START on: a group of ten, a group in two parts of five, one with pictures that are shown before others. */
const fragments = [
  fragmentOf(
    0,
    true,
    [...Array(10).keys()].map((name) => [name]),
  ),
  fragmentOf(
    1,
    true,
    [10, 11, 12, 13, 14].map((name) => [name]),
  ),
  fragmentOf(
    1.5,
    false,
    [15, 16, 17, 18, 19].map((name) => [name]),
  ),
  fragmentOf(2, true, [[20], [22, 1], [21, -1], [23]]),
]
const file: KeptFile = {
  ...{ camera: 'door', path: 'one', startAt: START, endAt: START + 2400, bytes: 1 },
  fragments: fragments.map(({ place }) => place),
}
const later: KeptFile = { ...file, path: 'two', startAt: START + 5000, endAt: START + 6000, fragments: [] }

async function chosen(at: number, mostBytes = 10_000) {
  const { group, shownAt } = await pictureAt({
    ...{ at: Math.round(START) + at, files: [file, later] },
    setsOf: async () => sets,
    mostBytes,
    bytesOf: async (_: KeptFile, place: FragmentPlace) =>
      fragments.find((one) => one.place === place)?.bytes ?? new Uint8Array(),
  })
  return { names: group.pictures.map(({ units: [unit] }) => unit?.[1]), shownAt: shownAt - Math.round(START) }
}

t.test('decoding goes from the key frame to the last picture at or before the moment', async (t) => {
  t.same(await chosen(0), { names: [0], shownAt: 0 })
  t.same(await chosen(99), { names: [0], shownAt: 0 })
  t.same(await chosen(100), { names: [0, 1], shownAt: 100 })
  t.match(await chosen(999), { names: { length: 10 }, shownAt: 900 })
  t.match(await chosen(1000), { names: [10], shownAt: 1000 })
})

t.test('a group in parts is decoded from the part with its key frame', async (t) => {
  t.same(await chosen(1600), { names: [10, 11, 12, 13, 14, 15, 16], shownAt: 1600 })
})

t.test('a picture that is shown before another one that it needs is decoded after that', async (t) => {
  t.same(await chosen(2100), { names: [20, 22, 21], shownAt: 2100 })
  t.same(await chosen(2250), { names: [20, 22], shownAt: 2200 })
})

t.test('A.rules.1 in a hole there is none', async (t) => {
  for (const at of [-1, 2400, 4999, 6001]) await t.rejects(chosen(at), { code: 'no_footage' }, `${at}`)
})

t.test('a camera that sends no second key frame makes nobody decode without end', async (t) => {
  await t.rejects(chosen(1600, fragments[1]?.bytes.length), {
    code: 'picture_too_large',
    message: /key frame interval/,
  })
})

/** @param heads of the units of each picture @returns the places of those that are decoded for the last one */
function needed(codec: VideoCodec, heads: readonly (readonly number[])[][]): number[] {
  const pictures = heads.map((units, shownMs) => ({ units: units.map((head) => Uint8Array.from(head)), shownMs }))
  return neededForLast({ sets: { codec, units: [] }, pictures }).map(({ shownMs }) => shownMs)
}

t.test('a picture that no other refers to is decoded only where it is the one', async (t) => {
  const [key, referred, alone, beside] = [[0x65], [0x41], [0x01], [0x06]]
  t.same(needed(h264, [[key], [alone], [referred], [beside, alone], [alone, alone], [referred]]), [0, 2, 5])
  t.same(needed(h264, [[key], [alone], [alone]]), [0, 2])
  t.same(needed(h264, [[key], [alone, referred], [referred]]), [0, 1, 2], 'one of its fields is')
})

t.test('of H.265 only those of the highest temporal layer are left out', async (t) => {
  const of = (kind: number, layer: number) => [kind << 1, layer + 1]
  const [key, referred] = [of(19, 0), of(1, 0)]
  t.same(needed(h265, [[key], [of(0, 0)], [of(8, 0)], [referred], [of(0, 0)]]), [0, 3, 4])
  t.same(needed(h265, [[key], [of(0, 0)], [of(2, 1)], [of(3, 1)], [referred]]), [0, 1, 3, 4])
})
