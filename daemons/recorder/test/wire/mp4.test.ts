import fc from 'fast-check'
import t from 'tap'
import { headBytesOf, type Retiming, retimed, scanMp4 } from '../../wire/mp4-read.ts'
import { writeFragment, writeHead } from '../../wire/mp4-write.ts'
import { type ParameterSets, withLengths } from '../../wire/pictures.ts'
import type { SoundFormat } from '../../wire/sound.ts'
import { alaw, h264Sets, h265Sets } from '../parameter-sets.ts'

const headOf = (sets: ParameterSets) => writeHead({ sets, facts: sets.codec.factsOf(sets.units), hiddenTicks: 0 })
const head = headOf(h264Sets)

const sample = (isKey: boolean, length: number) => ({
  data: withLengths([new Uint8Array(length).fill(0x65)]),
  ...{ isKey, durationTicks: 6000, offsetTicks: 0 },
})
const fragments = [0, 1, 2].map((at) =>
  writeFragment({
    ...{ sequence: at + 1, decodeTicks: at * 12_000, wallMs: 1_900_000_000_000.25 + (at * 12_000) / 90 },
    samples: [sample(at !== 1, 40 + at), sample(false, 7)],
  }),
)
const file = Buffer.concat([head, ...fragments])
const scan = (bytes: Uint8Array) => scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length)

t.test('finds in a file what was written to it', async (t) => {
  const { fragments: found, tracks, wholeBytes } = scan(file)
  t.same(tracks, { sets: h264Sets, sound: undefined })
  t.same(scan(headOf(h265Sets)).tracks?.sets, h265Sets)
  t.equal(wholeBytes, file.length)
  t.match(
    found.map(({ decodeTicks, durationTicks, isKey, length }) => ({ decodeTicks, durationTicks, isKey, length })),
    fragments.map(({ length }, at) => ({ decodeTicks: at * 12_000, durationTicks: 12_000, isKey: at !== 1, length })),
  )
  t.ok(Math.abs((found[0]?.wallMs ?? 0) - 1_900_000_000_000.25) < 0.001, 'its time keeps fractions of a millisecond')
})

t.test('a file cut at any byte has every fragment before the cut, and ends behind the last', async (t) => {
  const ends = [head.length]
  for (const { length } of fragments) ends.push((ends.at(-1) ?? 0) + length)
  for (let length = 0; length <= file.length; length++) {
    const { fragments: found, wholeBytes } = scan(file.subarray(0, length))
    const whole = ends.filter((end) => end <= length)
    if (found.length !== Math.max(0, whole.length - 1) || wholeBytes !== (whole.at(-1) ?? 0)) t.fail(`cut at ${length}`)
  }
})

t.test('bytes that were changed end the whole part, and throw nothing', async () => {
  fc.assert(
    fc.property(fc.nat(file.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }), (at, noise) => {
      const mutated = Uint8Array.from(file)
      mutated.set(noise.subarray(0, mutated.length - at), at)
      return scan(mutated).wholeBytes <= file.length
    }),
  )
})

/** A fragment with more bytes in its moof: in its last traf, or behind it. */
function fattened(fragment: Uint8Array, more: Uint8Array, isInside: boolean): Buffer {
  const bytes = Buffer.from(fragment)
  const moof = bytes.readUInt32BE(0)
  const end = moof + bytes.readUInt32BE(moof)
  bytes.writeUInt32BE(end - moof + more.length, moof)
  const traf = bytes.lastIndexOf('traf', end) - 4
  if (isInside) bytes.writeUInt32BE(bytes.readUInt32BE(traf) + more.length, traf)
  return Buffer.concat([bytes.subarray(0, end), more, bytes.subarray(end)])
}

t.test('a fragment that is laid out in another way is none: what reads it would not come to its end', async (t) => {
  const [whole = new Uint8Array()] = fragments
  const box = (type: string) => Buffer.from(`\0\0\0\x08${type}`)
  t.equal(scan(Buffer.concat([head, fattened(whole, new Uint8Array(), false)])).fragments.length, 1)
  for (const more of [new Uint8Array(8), box('free'), box('traf'), box('trun'), new Uint8Array(1)])
    for (const isInside of [true, false]) {
      const found = scan(Buffer.concat([head, fattened(whole, more, isInside), whole]))
      t.same([found.fragments, found.wholeBytes], [[], head.length], `${more.length} ${isInside}`)
    }
  const third = heard.subarray(Buffer.from(heard).lastIndexOf('traf') - 4, Buffer.from(heard).lastIndexOf('mdat') - 4)
  t.same(scan(Buffer.concat([head, fattened(heard, third, false)])).fragments, [], 'a third run')
})

t.test('a fragment of more than any camera sends is none', async (t) => {
  const [whole = new Uint8Array()] = fragments
  const bytes = Buffer.from(whole)
  const size = 2 ** 27
  bytes.writeUInt32BE(size, bytes.indexOf('trun') + 20)
  bytes.writeUInt32BE(7 + 4 + 8 + size, bytes.indexOf('mdat') - 4)
  const all = Buffer.concat([head, bytes])
  // Such a file has a hole, and takes no room on its disk.
  t.same(scanMp4((at, length) => all.subarray(at, at + length), 2 ** 32).fragments, [])
})

/** A whole fragment for another file. */
function moved(fragment: Uint8Array, to: Retiming): Buffer {
  const made = retimed(fragment.subarray(0, headBytesOf(fragment)), 1_900_000_000_000, to)
  return Buffer.concat([made.head, ...made.data.map(({ from, to: end }) => fragment.subarray(from, end))])
}

t.test('a fragment is timed anew for another file', async (t) => {
  const to = { sequence: 1, decodeTicks: 4_500_000_000, endTicks: Number.POSITIVE_INFINITY, soundRate: undefined }
  const other = Buffer.concat([head, moved(fragments[2] ?? new Uint8Array(), to)])
  t.match(scan(other).fragments, [{ decodeTicks: 4_500_000_000, durationTicks: 12_000 }])
  t.equal(scan(file).fragments[2]?.decodeTicks, 24_000, 'the one it was made from is as it was')
})

const sounds: SoundFormat[] = [
  alaw,
  { entry: 'mp4a', codec: 'mp4a.40.2', rate: 16_000, channels: 1, frameTicks: 1024, config: Uint8Array.of(0x14, 0x08) },
]

t.test('a file with sound says what it is, and is read as one without', async (t) => {
  for (const sound of sounds) {
    const facts = h264Sets.codec.factsOf(h264Sets.units)
    const bytes = writeHead({ sets: h264Sets, facts, sound, hiddenTicks: 90_000 })
    t.same(scan(Buffer.concat([bytes, heard])), {
      tracks: { sets: h264Sets, sound },
      fragments: [
        {
          ...{ offset: bytes.length, length: heard.length, decodeTicks: 90_000, durationTicks: 12_000 },
          ...{ wallMs: 1_900_000_000_000, isKey: true },
        },
      ],
      wholeBytes: bytes.length + heard.length,
    })
  }
})

/** Pictures at 90,000 and 96,000; sound of 8000 a second from 7200 on, that is 0.1 s before. */
const heard = writeFragment({
  ...{ sequence: 1, decodeTicks: 90_000, wallMs: 1_900_000_000_000, samples: [sample(true, 40), sample(false, 7)] },
  sound: {
    decodeTicks: 7200,
    frames: Array.from({ length: 8 }, (_, at) => ({ durationTicks: 400, bytes: new Uint8Array(400).fill(at) })),
  },
})

t.test('pictures and sound are timed anew together, and end at the same moment', async (t) => {
  const to = { sequence: 4, decodeTicks: 180_000, endTicks: 186_000, soundRate: 8000 }
  const both = moved(heard, to)
  t.match(scan(Buffer.concat([head, both])).fragments, [{ decodeTicks: 180_000, durationTicks: 6000 }])
  const second = both.indexOf('tfdt', both.indexOf('tfdt') + 4)
  t.equal(Number(both.readBigUInt64BE(second + 8)), 15_200)
  const trun = both.indexOf('trun', both.indexOf('trun') + 4)
  t.equal(both.readUInt32BE(trun + 8), 4, 'from 15,200 up to 16,533')
  t.same(both.subarray(-1600), Buffer.concat([0, 1, 2, 3].map((at) => new Uint8Array(400).fill(at))))
  const silent = moved(heard, { ...to, soundRate: undefined })
  t.match(scan(Buffer.concat([head, silent])).fragments, [{ durationTicks: 6000 }])
  const whole = moved(heard, { sequence: 1, decodeTicks: 90_000, endTicks: 1e9, soundRate: 8000 })
  t.same(whole, Buffer.from(heard))
})
