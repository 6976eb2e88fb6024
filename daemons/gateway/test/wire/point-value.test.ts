import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import {
  createPointReader,
  type Order,
  type PointFormat,
  type PointType,
  type PointValue,
  pointLength,
  pointTypes,
  valueText,
} from '../../wire/point-value.ts'

const plain: PointFormat = {
  type: 'u16',
  wordOrder: 'big',
  byteOrder: 'big',
  bit: null,
  length: null,
  scale: 1,
  offset: 0,
  noValue: [],
}

function read(format: Partial<PointFormat>, words: number[]): PointValue {
  return createPointReader({ ...plain, ...format })(words)
}

/** The inverse of a reader: bytes of a value as the registers of a device with these orders. */
function registersOf(bytes: Uint8Array, wordOrder: Order, byteOrder: Order): number[] {
  const words = Array.from({ length: bytes.length / 2 }, (_, at) => {
    const [first = 0, second = 0] = bytes.subarray(2 * at)
    return byteOrder === 'big' ? (first << 8) | second : (second << 8) | first
  })
  return wordOrder === 'big' ? words : words.reverse()
}

const written: Partial<Record<PointType, (view: DataView, value: never) => void>> = {
  u16: (view, value) => view.setUint16(0, value),
  s16: (view, value) => view.setInt16(0, value),
  u32: (view, value) => view.setUint32(0, value),
  s32: (view, value) => view.setInt32(0, value),
  u64: (view, value) => view.setBigUint64(0, value),
  s64: (view, value) => view.setBigInt64(0, value),
  f32: (view, value) => view.setFloat32(0, value),
  f64: (view, value) => view.setFloat64(0, value),
}

function encoded(type: PointType, value: number | bigint, orders: { wordOrder: Order; byteOrder: Order }): number[] {
  const bytes = new Uint8Array(2 * pointLength({ type, length: null }))
  written[type]?.(new DataView(bytes.buffer), value as never)
  return registersOf(bytes, orders.wordOrder, orders.byteOrder)
}

const order = fc.constantFrom<Order>('big', 'little')
const orders = fc.record({ wordOrder: order, byteOrder: order })
const single = fc.float({ noNaN: true, noDefaultInfinity: true })

t.test('every type in every order is read back as it was written', async (t) => {
  const values: [PointType, fc.Arbitrary<number>][] = [
    ['u16', fc.integer({ min: 0, max: 65_535 })],
    ['s16', fc.integer({ min: -32_768, max: 32_767 })],
    ['u32', fc.integer({ min: 0, max: 0xffff_ffff })],
    ['s32', fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff })],
    ['f64', fc.double({ noNaN: true, noDefaultInfinity: true })],
  ]
  for (const [type, arbitrary] of values)
    holds(
      t,
      fc.property(
        arbitrary,
        orders,
        (value, by) => read({ type, ...by }, encoded(type, value, by)) === (value === 0 ? 0 : value),
      ),
    )
  holds(
    t,
    fc.property(single, orders, (value, by) =>
      Object.is(Math.fround(Number(read({ type: 'f32', ...by }, encoded('f32', value, by)))), value === 0 ? 0 : value),
    ),
  )
})

t.test('a u64 or s64 is a number while a double holds it, and its exact text beyond', async (t) => {
  holds(
    t,
    fc.property(fc.bigInt(0n, 2n ** 64n - 1n), orders, (value, by) => {
      const found = read({ type: 'u64', ...by }, encoded('u64', value, by))
      return typeof found === 'string'
        ? BigInt(found) === value && value > 2n ** 53n - 1n
        : BigInt(Number(found)) === value
    }),
  )
  t.equal(read({ type: 'u64' }, [0, 0, 0, 7]), 7)
  t.equal(read({ type: 's64' }, [0xffff, 0xffff, 0xffff, 0xfff9]), -7)
  t.equal(read({ type: 's64' }, [0xffdf, 0xffff, 0xffff, 0xffff]), '-9007199254740993')
  t.equal(read({ type: 'u64' }, [0x0020, 0, 0, 1]), '9007199254740993')
  t.equal(read({ type: 'u64', scale: 0.001 }, [0x0020, 0, 0, 1]), '9007199254740.993')
})

t.test('a single-precision float is read as the decimal that the device means', async (t) => {
  t.equal(read({ type: 'f32' }, [0x4366, 0x199a]), 230.1)
  t.equal(read({ type: 'f32', wordOrder: 'little' }, [0x199a, 0x4366]), 230.1)
  t.equal(read({ type: 'f32', wordOrder: 'little', byteOrder: 'little' }, [0x9a19, 0x6643]), 230.1)
  t.equal(read({ type: 'f32', scale: 1000 }, [0x4366, 0x199a]), 230_100)
})

t.test('scale and offset add no noise to a decimal', async (t) => {
  t.equal(read({ scale: 0.1 }, [2301]), 230.1)
  t.equal(read({ type: 's16', scale: 0.1 }, [0xff9c]), -10)
  t.equal(read({ scale: 0.01, offset: -40 }, [6123]), 21.23)
  t.equal(read({ type: 'f64', scale: 0.1 }, [0x4008, 0, 0, 0]), 0.3)
  holds(
    t,
    fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), fc.integer({ min: 1, max: 6 }), (raw, decimals) => {
      const words = [raw >>> 16, raw & 0xffff]
      return read({ type: 'u32', scale: 10 ** -decimals }, words) === Number(`${raw}e-${decimals}`)
    }),
  )
})

t.test('a float that is not a number, or infinite, has no value and says so', async (t) => {
  const cases: [PointType, number[], RegExp][] = [
    ['f32', [0x7fc0, 0], /The device sent not a number/],
    ['f32', [0xff80, 0], /infinity/],
    ['f64', [0x7ff8, 0, 0, 1], /not a number/],
    ['f64', [0x7ff0, 0, 0, 0], /infinity/],
  ]
  for (const [type, words, message] of cases) t.throws(() => read({ type }, words), { code: 'point_no_value', message })
  t.throws(() => read({ type: 'f64', scale: 1e12 }, [0x7fe0, 0, 0, 0]), { code: 'point_no_value' })
})

t.test('what a device sends for no value is no value, in either order', async (t) => {
  const overflow = { type: 's32', wordOrder: 'little', noValue: ['7FFFFFFF'] } as const
  t.throws(() => read(overflow, [0xffff, 0x7fff]), { code: 'point_no_value', message: /0x7FFFFFFF/ })
  t.equal(read(overflow, [0xfffe, 0x7fff]), 0x7fff_fffe)
  t.throws(() => read({ type: 's16', scale: 0.1, noValue: ['8000'] }, [0x8000]), { message: /0x8000/ })
  t.throws(() => read({ type: 'u64', noValue: ['FFFFFFFFFFFFFFFF'] }, [65_535, 65_535, 65_535, 65_535]), Fault)
  t.throws(() => read({ type: 'f32', noValue: ['C2C80000'] }, [0xc2c8, 0]), { message: /0xC2C80000/ })
})

t.test('a bit is one bit of a register, or a coil', async (t) => {
  for (const bit of Array.from({ length: 16 }, (_, at) => at)) {
    t.equal(read({ type: 'bit', bit }, [1 << bit]), true)
    t.equal(read({ type: 'bit', bit }, [0xffff ^ (1 << bit)]), false)
  }
  t.equal(read({ type: 'bit', bit: 0, byteOrder: 'little' }, [0x0100]), true)
  t.equal(read({ type: 'bit' }, [1]), true)
  t.equal(read({ type: 'bit' }, [0]), false)
})

t.test('a text ends at its first zero, and is trimmed', async (t) => {
  const text = { type: 'string', length: 4 } as const
  t.equal(read(text, [0x2041, 0x4220, 0x4300, 0x7a7a]), 'AB C')
  t.equal(read({ ...text, byteOrder: 'little' }, [0x4241, 0x2043, 0, 0]), 'ABC')
  t.equal(read(text, [0, 0, 0, 0]), '')
  t.throws(() => read(text, [0x4107, 0, 0, 0]), { code: 'point_no_value', message: /byte 7 at 1/ })
  t.throws(() => read(text, [0xffff, 0xffff, 0xffff, 0xffff]), { code: 'point_no_value' })
  holds(
    t,
    fc.property(fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' }), order, (value, byteOrder) => {
      const bytes = new Uint8Array(20)
      bytes.set(Buffer.from(value, 'latin1'))
      return read({ type: 'string', length: 10, byteOrder }, registersOf(bytes, 'big', byteOrder)) === value.trim()
    }),
  )
})

t.test('whatever the registers hold, there is a value or a Fault', async (t) => {
  const anyFormat = fc.record({
    type: fc.constantFrom(...pointTypes),
    wordOrder: order,
    byteOrder: order,
    scale: fc.constantFrom(1, 0.1, -0.001, 1e12, 1e-12, 3),
    offset: fc.constantFrom(0, -40, 1e12, 0.5),
  })
  holds(
    t,
    fc.property(
      anyFormat,
      fc.array(fc.integer({ min: 0, max: 65_535 }), { minLength: 8, maxLength: 8 }),
      (by, words) => {
        const format: PointFormat = {
          ...plain,
          ...by,
          bit: by.type === 'bit' ? 3 : null,
          length: by.type === 'string' ? 8 : null,
        }
        try {
          const value = createPointReader(format)(words.slice(0, pointLength(format)))
          return typeof value !== 'number' || Number.isFinite(value)
        } catch (error) {
          return error instanceof Fault && error.code === 'point_no_value'
        }
      },
    ),
    { numRuns: 2000 },
  )
})

t.test('a value in words has its decimals, and no minus before zero', async (t) => {
  t.equal(valueText(230.1, 2), '230.10')
  t.equal(valueText(-0.04, 1), '0.0')
  t.equal(valueText(230.1, null), '230.1')
  t.equal(valueText(true, null), 'on')
  t.equal(valueText(false, null), 'off')
  t.equal(valueText('9007199254740993', 2), '9007199254740993')
})
