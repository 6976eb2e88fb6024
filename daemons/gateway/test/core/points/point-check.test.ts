import t from 'tap'
import { pointFaults, refuseBadPoints } from '../../../core/points/book.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { point as meterPoint } from '../mbus/mbus-line.ts'
import { point } from './points.ts'

const wrong: [string, Partial<PointDefinition>, string, RegExp][] = [
  [
    'registers beyond the last',
    { type: 'u32', address: 65_535 },
    'address',
    /with 2 from there the last is beyond 65535/,
  ],
  [
    'more registers than its unit gives',
    { type: 'f64', maxRegisters: 2 },
    'maxRegisters',
    /is 2; the point alone has 4/,
  ],
  ['a number in coils', { fc: 1 }, 'type', /is u16; coils and discrete inputs/],
  ['a bit of a register without its number', { type: 'bit' }, 'bit', /is missing; .* 0 \(lowest\) to 15/],
  ['a bit number of a coil', { type: 'bit', fc: 2, bit: 3 }, 'bit', /is 3; a coil or discrete input is one bit/],
  ['a bit number of a number', { bit: 3 }, 'bit', /u16 has no single bit/],
  ['a text without a length', { type: 'string' }, 'length', /is missing/],
  ['a length of a number', { length: 2 }, 'length', /only a text has a length/],
  ['a scale of zero', { scale: 0 }, 'scale', /is 0; it is at least 1e-12/],
  ['a text with its words turned', { type: 'string', length: 2, wordOrder: 'little' }, 'wordOrder', /order of its/],
  ['a text with a scale', { type: 'string', length: 2, scale: 2 }, 'scale', /string is not a number/],
  ['a bit with a deadband', { type: 'bit', bit: 1, deadband: 1 }, 'deadband', /bit is not a number/],
  ['a bit with decimals', { type: 'bit', bit: 1, decimals: 1 }, 'decimals', /bit is not a number/],
  ['a bit with a mark for no value', { type: 'bit', bit: 1, noValue: ['0001'] }, 'noValue', /bit is not a number/],
  ['a mark for no value of another size', { type: 'u32', noValue: ['8000'] }, 'noValue', /4 digits; u32 has 8/],
]
for (const [what, keys, field, message] of wrong)
  t.test(`refuses ${what}`, async (t) => {
    t.match(pointFaults([point('a'), point('b', keys)]), [{ field: `points[1].${field}`, message }])
  })

t.test('accepts every type where it fits', async (t) => {
  const points = [
    point('a', { fc: 1, type: 'bit', address: 65_535 }),
    point('b', { type: 'bit', bit: 15 }),
    point('c', { type: 'string', length: 125 }),
    point('d', { type: 'f64', address: 65_532, noValue: ['FFFFFFFFFFFFFFFF'] }),
    point('e', { type: 's32', scale: -0.1, offset: 3, decimals: 2, deadband: 0.5, wordOrder: 'little' }),
  ]
  t.same(pointFaults(points), [])
  t.doesNotThrow(() => refuseBadPoints(points))
})

t.test('names are unique, and all faults are reported at once', async (t) => {
  const points = [point('a', { scale: 0, length: 1 }), point('b'), point('a'), point('a', { fc: 2 })]
  t.throws(() => refuseBadPoints(points), {
    code: 'bad_fields',
    message: /and 2 more/,
    details: {
      fields: [
        { field: 'points[0].length' },
        { field: 'points[0].scale' },
        { field: 'points[3].type' },
        { field: 'points[2].name', message: /is "a", as is that of points\[0\]/ },
        { field: 'points[3].name' },
      ],
    },
  })
})

t.test('a point of a meter names one meter, and no wildcard', async (t) => {
  const faults = (unitId: number) => pointFaults([meterPoint('volume', 'volume', { unitId })])
  for (const unitId of [0, 250, 1000, 12_345_678, 100_000_005, 1_000_000_000 + 0x0500023e]) t.same(faults(unitId), [])
  const anyMeter = 1_000_000_000 + 0xffff_ffff
  const another = [251, 999, 100_001_000, 112_345_678, 1_000_000_000 + 0x12345678, 1_000_000_000 + 0x1f345678, anyMeter]
  for (const unitId of another) t.match(faults(unitId), [{ field: 'points[0].unitId', message: /of no meter/ }])
})
