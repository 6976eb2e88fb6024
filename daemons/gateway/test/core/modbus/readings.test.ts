/** A test read: what registers may mean, and how they are asked for. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { TestRead } from '../../../core/modbus/master.ts'
import { registerPoints } from '../../../core/modbus/points.ts'
import { type Reading, readingsOf } from '../../../core/modbus/readings.ts'
import { defaultLimits } from '../../../core/modbus/settings.ts'
import { pointFaults } from '../../../core/points/book.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import type { PointValue } from '../../../wire/point-value.ts'
import { act } from '../act.ts'
import { modbusLine } from './modbus-line.ts'

const { reader } = registerPoints({ mergeGap: 0, mergeRegisters: 125 })

/** The point that somebody makes who chooses this reading. */
function pointOf(fields: Pick<PointDefinition, 'fc' | 'address'>, reading: Reading): PointDefinition {
  const { type, wordOrder, byteOrder, bit, length } = reading
  const more = { scale: 1, offset: 0, noValue: [], unit: null, decimals: null, pollMs: 1000, deadband: 0 }
  const place = { ...fields, type, wordOrder, byteOrder, bit, length }
  return { name: 'chosen', unitId: 1, maxRegisters: null, template: null, ...place, ...more }
}

/** What that point would give of the same reply; null where it had no value. */
function givenBy(point: PointDefinition, address: number, values: readonly number[]): PointValue | null | undefined {
  try {
    return reader(point)({ unitId: 1, fc: point.fc, address, values })
  } catch (error) {
    if (error instanceof Fault && error.code === 'point_no_value') return null
    throw error
  }
}

/** Registers as they come: any words, words with letters, and the patterns that no device means. */
const word = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.tuple(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0x7e })).map(([a, b]) => (a << 8) | b),
  fc.constantFrom(0, 0x8000, 0x7fff, 0xffff, 0x7f80, 0x7fc0, 0xff80),
)

t.test('each reading is what a point with that type and order gives, and the book takes that point', async (t) => {
  const asked = fc.record({
    fc: fc.constantFrom(3 as const, 4 as const),
    address: fc.integer({ min: 0, max: 60_000 }),
    values: fc.array(word, { minLength: 1, maxLength: 12 }),
  })
  holds(
    t,
    fc.property(asked, ({ fc, address, values }) =>
      readingsOf({ fc, address, values }).every(({ address: at, value, readings }) => {
        const isRight = (reading: Reading) => {
          const point = pointOf({ fc, address: at }, reading)
          const given = givenBy(point, address, values)
          return Object.is(given, reading.value) && pointFaults([point]).length === 0
        }
        return value === values[at - address] && readings.every(isRight)
      }),
    ),
  )
})

t.test('every type is shown in all its orders, as far as registers were read', async (t) => {
  const counts = (values: number[]) =>
    readingsOf({ fc: 4, address: 7, values }).map(({ readings }) =>
      Object.entries(Object.groupBy(readings, ({ type }) => type))
        .map(([type, of]) => `${type} ${of?.length}`)
        .join(' '),
    )
  const one = 'u16 2 s16 2 string 2 bit 16'
  const two = 'u16 2 s16 2 u32 4 s32 4 f32 4 string 2 bit 16'
  const four = 'u16 2 s16 2 u32 4 s32 4 f32 4 u64 4 s64 4 f64 4 string 2 bit 16'
  t.strictSame(counts([1, 2, 3, 4, 5]), [four, four, two, two, one])
})

t.test('coils and inputs are bits alone', async (t) => {
  t.strictSame(
    readingsOf({ fc: 2, address: 9, values: [1, 0] }).map(({ address, readings }) => [
      address,
      readings.map(({ type, bit, value, text }) => [type, bit, value, text]),
    ]),
    [
      [9, [['bit', null, true, 'on']]],
      [10, [['bit', null, false, 'off']]],
    ],
  )
})

/** The reading of this type and order at the first address. */
function first(values: number[], wanted: Partial<Reading>): Reading {
  const [register] = readingsOf({ fc: 3, address: 0, values })
  const found = register?.readings.find((one) =>
    Object.entries(wanted).every(([key, value]) => one[key as keyof Reading] === value),
  )
  if (!found) throw new Error(`no reading is ${JSON.stringify(wanted)}`)
  return found
}

t.test('a reading that is hardly meant says why, and is kept', async (t) => {
  const big = { wordOrder: 'big', byteOrder: 'big' } as const
  const volts = [0x4366, 0x199a]
  t.match(first(volts, { type: 'f32', ...big }), { value: 230.1, text: '230.1', doubt: null })
  t.match(first(volts, { type: 'f32', ...big, wordOrder: 'little' }), { value: /e-23$/, doubt: /too near to zero/ })
  t.match(first(volts, { type: 'f32', ...big, byteOrder: 'little' }), { value: /e\+23$/, doubt: /too large/ })
  t.match(first([0, 1], { type: 'f32', ...big }), { value: 1.4013e-45, doubt: /too near to zero/ }, 'subnormal')
  t.match(first([0x7149, 0xf2ca], { type: 'f32', ...big }), { value: 1e30, doubt: /too large/ })
  t.match(first([0x7fc0, 0], { type: 'f32', ...big }), { value: null, text: null, doubt: /not a number/ })
  t.match(first([0, 0], { type: 'f32', ...big }), { value: 0, doubt: null })
  t.match(first([0xffff], { type: 'u16', ...big }), { value: 65_535, doubt: /no value/ })
  t.match(first([0xffff], { type: 's16', ...big }), { value: -1, doubt: null })
  t.match(first([0x8000], { type: 's16', ...big }), { value: -32_768, doubt: /no value/ })
  t.match(first([0x7fff, 0xffff], { type: 's32', ...big }), { value: 2_147_483_647, doubt: /no value/ })
  t.match(first([0x20, 0, 0, 1], { type: 's64', ...big }), { value: '9007199254740993', doubt: /more digits/ })
  t.match(first([0xffff, 0xffff, 0xffff, 0xffff], { type: 'u64', ...big }), { doubt: /no value/ })
})

t.test('a text ends where its characters do, in either byte order', async (t) => {
  const big = { type: 'string', byteOrder: 'big' } as const
  t.match(first([0x4232, 0x3320, 0x0000, 0x4141], big), { value: 'B23', length: 3, doubt: null })
  t.match(first([0x4232, 0x3300, 0x4141], big), { value: 'B23', length: 2 })
  t.match(first([0x4232, 0x3305], big), { value: 'B2', length: 1 })
  t.match(first([0x3242, 0x2033], { ...big, byteOrder: 'little' }), { value: 'B23', length: 2 })
  t.match(first([0x0142], big), { value: null, length: 1, doubt: /byte 1 at 0/ })
  t.match(first([0], big), { value: '', doubt: /empty/ })
})

t.test('a test read is one request, and refuses more registers than it shows', async (t) => {
  const holding = [0x4366, 0x199a]
  const on = await modbusLine({ units: [simulatedUnit({ unitId: 17, holding, coils: [1, 0] })] })
  const ask = async (body: object) => {
    const asked = act(on.adapter, 'test-read', body) as Promise<TestRead>
    const outcome = asked.catch((fault: Fault) => fault)
    await on.clock.run(2000)
    return outcome
  }
  const body = { unitId: 17, fc: 3, address: 0, quantity: 2 }
  const answer = await ask(body)
  t.match(answer, { ...body, registers: [{ address: 0, value: 0x4366 }, { address: 1 }] })
  t.equal(on.line.written.length, 1)
  const most = defaultLimits.test_registers
  const tooMany = { code: 'bad_fields', details: { fields: [{ field: 'quantity' }] } }
  t.match(await ask({ ...body, quantity: most + 1 }), tooMany)
  t.match(await ask({ ...body, fc: 1, quantity: 16 * most + 1 }), tooMany)
  t.match(await ask({ ...body, address: 65_535 }), { code: 'bad_fields', details: { fields: [{ field: 'address' }] } })
  t.equal(on.line.written.length, 1, 'none of them was sent')
  t.match(await ask({ ...body, address: 9 }), { code: 'modbus_exception' })
  t.match(await ask({ ...body, unitId: 18 }), { code: 'modbus_timeout' })
})
