import fc from 'fast-check'
import t from 'tap'
import { retimed, scanMp4 } from '../../wire/mp4-read.ts'
import { writeFragment, writeHead } from '../../wire/mp4-write.ts'
import type { ParameterSets } from '../../wire/pictures.ts'
import { h264Sets, h265Sets } from '../parameter-sets.ts'

const headOf = (sets: ParameterSets) => writeHead({ sets, facts: sets.codec.factsOf(sets.units), hiddenTicks: 0 })
const head = headOf(h264Sets)

const sample = (isKey: boolean, length: number) => ({
  units: [new Uint8Array(length).fill(0x65)],
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
  const { fragments: found, sets, wholeBytes } = scan(file)
  t.same(sets, h264Sets)
  t.same(scan(headOf(h265Sets)).sets, h265Sets)
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

t.test('a fragment is timed anew for another file', async (t) => {
  const moved = Buffer.concat([head, retimed(fragments[2] ?? new Uint8Array(), 1, 4_500_000_000)])
  t.match(scan(moved).fragments, [{ decodeTicks: 4_500_000_000, durationTicks: 12_000 }])
  t.equal(scan(file).fragments[2]?.decodeTicks, 24_000, 'the one it was made from is as it was')
})
