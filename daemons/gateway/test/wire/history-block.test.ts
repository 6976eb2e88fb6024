import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import {
  decodePoints,
  decodeUnits,
  encodePoints,
  encodeUnits,
  type PointSlot,
  type UnitSlot,
} from '../../wire/history-block.ts'

const SLOT_MS = 60_000
const plain = { noNullPrototype: true } as const
const number = fc.double({ noNaN: true })
const timeMs = fc.integer({ min: 0, max: SLOT_MS })
const pointSlot: fc.Arbitrary<PointSlot | null> = fc.option(
  fc.record(
    {
      recordedMs: timeMs,
      goodMs: timeMs,
      value: fc.option(
        fc.oneof(
          fc.record({ min: number, mean: number, max: number, last: number }, plain),
          fc.constantFrom(1, 2).map((same) => ({ min: same, mean: same, max: same, last: same })),
        ),
      ),
    },
    plain,
  ),
)
const counter = fc.integer({ min: 0, max: 100_000 })
const unitSlot: fc.Arbitrary<UnitSlot | null> = fc.option(
  fc.record(
    {
      ...{ recordedMs: timeMs, requests: counter, replies: counter, exceptions: counter, missing: counter },
      damaged: counter,
      state: fc.constantFrom('unknown', 'well', 'slow', 'noisy', 'failing', 'silent', 'probing'),
    },
    plain,
  ),
)
const runsOf = <Slot>(slot: fc.Arbitrary<Slot | null>) =>
  fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 100_000 }), slots: fc.array(slot, { maxLength: 8 }) }), {
    selector: ({ id }) => id,
    maxLength: 6,
  })

t.test('what was written of each series is read again, to the last bit', async (t) => {
  fc.assert(
    fc.property(runsOf(pointSlot), runsOf(unitSlot), (points, units) => {
      const pointBytes = encodePoints(points, SLOT_MS)
      for (const { id, slots } of points)
        t.ok(
          isDeepStrictEqual(
            decodePoints(pointBytes, SLOT_MS, (each) => each === id),
            new Map([[id, slots]]),
          ),
        )
      const unitBytes = encodeUnits(units)
      for (const { id, slots } of units)
        t.ok(
          isDeepStrictEqual(
            decodeUnits(unitBytes, (each) => each === id),
            new Map([[id, slots]]),
          ),
        )
    }),
    { numRuns: 200 },
  )
})

t.test('a series that the block does not have has no slots', async (t) => {
  const block = encodePoints([{ id: 1, slots: [null] }], SLOT_MS)
  t.equal(decodePoints(block, SLOT_MS, (id) => id === 2).size, 0)
  t.equal(decodeUnits(new Uint8Array(), () => true).size, 0)
})

t.test('a value that stands still takes one byte a slot', async (t) => {
  const still = { recordedMs: SLOT_MS, goodMs: SLOT_MS, value: { min: 21.5, mean: 21.5, max: 21.5, last: 21.5 } }
  t.equal(encodePoints([{ id: 1, slots: [still, still, still, still, still] }], SLOT_MS).length, 2 + 9 + 4)
})

t.test('damaged bytes are a fault with a name, or other numbers, and nothing else', async (t) => {
  const outcomes = { read: 0, refused: 0 }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const all = () => true
      for (const decode of [() => decodePoints(bytes, SLOT_MS, all), () => decodeUnits(bytes, all)]) {
        try {
          decode()
          outcomes.read++
        } catch (error) {
          if (!(error instanceof Fault) || error.code !== 'history_damaged') throw error
          outcomes.refused++
        }
      }
    }),
    { numRuns: 5000 },
  )
  t.equal(outcomes.read + outcomes.refused, 10_000)
  t.ok(outcomes.refused > outcomes.read, JSON.stringify(outcomes))
  t.ok(outcomes.read > 0, JSON.stringify(outcomes))
})
