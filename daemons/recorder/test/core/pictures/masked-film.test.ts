import t from 'tap'
import type { Cut } from '../../../core/footage/footage.ts'
import { maskedFilm } from '../../../core/pictures/masked-film.ts'
import type { FilmWish, KeptFile } from '../../../core/ports.ts'
import { h264 } from '../../../wire/h264.ts'
import type { Mask } from '../../../wire/mask.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import { picturesOf } from '../../../wire/mp4-samples.ts'
import { writeFragment } from '../../../wire/mp4-write.ts'
import { withLengths } from '../../../wire/pictures.ts'

const START = 1_900_000_000_000
const sps = Uint8Array.from(Buffer.from('6764000cacb40a0fd80880000003008000000f478a1550', 'hex'))
const sets = { codec: h264, units: [sps, Uint8Array.from(Buffer.from('68ef0fcb', 'hex'))] }
const file = { camera: 'door', path: 'one' } as unknown as KeptFile

/** Groups of ten pictures of 100 ms from START on, each picture named by a byte; the third in two parts of five. */
const fragments = [0, 1, 2, 2.5].map((second, group) => {
  const count = group < 2 ? 10 : 5
  const samples = Array.from({ length: count }, (_, at) => ({
    data: withLengths([Uint8Array.of(0x65, second * 10 + at)]),
    ...{ isKey: at === 0 && group < 3, durationTicks: 9000, offsetTicks: 0 },
  }))
  const time = { decodeTicks: second * 90_000, wallMs: START + second * 1000 }
  const bytes = writeFragment({ sequence: 1, samples, ...time })
  const place = { ...time, offset: group, length: bytes.length, durationTicks: count * 9000, isKey: group < 3 }
  return { bytes, place }
})
/** As `cutOf` makes it: from the group at the beginning on, up to the end. */
function cutOf(fromMs: number, toMs: number): Cut {
  const within = fragments.filter(({ place: { durationTicks, isKey, wallMs } }) => {
    const untilMs = wallMs + durationTicks / 90 + (isKey && wallMs === START + 2000 ? 500 : 0)
    return wallMs < START + toMs && untilMs > START + fromMs
  })
  return {
    hiddenTicks: 0,
    endTicks: 0,
    tracks: { sets, sound: undefined },
    fragments: within.map(({ place }) => ({ file, place, decodeTicks: 0 })),
  }
}

const mask: Mask = [
  [0, 0],
  [1, 0],
  [1, 1],
]

/** Over a decoder that gives back what it is given, from the moment on that it is told. */
async function filmed(fromMs: number, toMs: number, masks: () => readonly Mask[] = () => [mask], mostBytes = 10_000) {
  const wishes: FilmWish[] = []
  const pieces: Uint8Array[] = []
  const film = maskedFilm({
    ...{ camera: 'door', cut: cutOf(fromMs, toMs), startAt: START + fromMs, endAt: START + toMs, masks, mostBytes },
    decoder: {
      async film(wish) {
        wishes.push(wish)
        const { pictures } = wish.group
        return { sets, pictures: pictures.filter(({ shownMs }) => shownMs >= wish.fromMs) }
      },
    },
    bytesOf: async (_, place) => fragments.find((one) => one.place === place)?.bytes ?? new Uint8Array(),
    signal: new AbortController().signal,
  })
  for await (const piece of film) pieces.push(piece)
  const [head, ...rest] = pieces
  const whole = Buffer.concat(pieces)
  const { fragments: found } = scanMp4((offset, length) => whole.subarray(offset, offset + length), whole.length)
  const shown = rest.flatMap((bytes, at) =>
    picturesOf(bytes).map(({ durationTicks, shownTicks, units: [unit] }) => ({
      name: unit?.[1],
      at: Math.round(((found[at]?.decodeTicks ?? 0) + shownTicks) / 90),
      ms: durationTicks / 90,
    })),
  )
  return { wishes, shown, head, found }
}

t.test('A.rules.2 footage of a masked camera starts at the moment asked for', async (t) => {
  const { found, shown, wishes } = await filmed(150, 1250)
  t.match(shown[0], { name: 1, at: 0, ms: 50 }, 'the picture that was shown then, for what is left of it')
  t.match(shown[1], { name: 2, at: 50, ms: 100 })
  t.equal(shown.at(-1)?.name, 12, 'up to the one that is shown at the end')
  t.same(
    shown.map(({ name }) => name),
    Array.from({ length: 12 }, (_, at) => at + 1),
  )
  t.equal(
    found.every(({ isKey }) => isKey),
    true,
    'each group begins with a key frame',
  )
  t.equal(found[0]?.wallMs, START + 150)
  t.same(
    wishes.map(({ group: { pictures }, masks }) => [pictures.length, masks.length]),
    [
      [10, 1],
      [3, 1],
    ],
    'from the key frame on, and none behind the end',
  )
})

t.test('a group in parts is decoded as a whole, and one that is too long is refused', async (t) => {
  const { shown, wishes } = await filmed(2600, 2800)
  t.same(
    shown.map(({ name }) => name),
    [26, 27],
  )
  t.equal(wishes[0]?.group.pictures.length, 8)
  await t.rejects(filmed(2600, 2800, undefined, fragments[3]?.bytes.length), { code: 'picture_too_large' })
})

t.test('masks that are set meanwhile count from the next group on, and a camera that is gone ends it', async (t) => {
  let asked = 0
  const { wishes } = await filmed(0, 2000, () => (++asked === 1 ? [mask] : [mask, mask]))
  t.same(
    wishes.map(({ masks }) => masks.length),
    [1, 2],
  )
  const gone = () => {
    throw Object.assign(new Error('gone'), { code: 'unknown_camera' })
  }
  await t.rejects(filmed(0, 2000, gone), { code: 'unknown_camera' })
})
