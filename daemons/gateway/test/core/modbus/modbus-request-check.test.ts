import t from 'tap'
import { createCheck } from '#kit/http/check.ts'
import { modbusRequestBody } from '../../../api/action-routes.ts'
import { type RequestBody, requestOfBody } from '../../../core/modbus/master.ts'

const base = { unitId: 1, address: 0 }

/** What is refused, and the field that the fault names. */
const refused: [string, RequestBody, string[]][] = [
  ['a function that is not spoken', { ...base, fc: 8, quantity: 1 }, ['fc']],
  ['a reserved unit', { ...base, unitId: 248, fc: 3, quantity: 1 }, ['unitId']],
  ['a read by broadcast', { ...base, unitId: 0, fc: 3, quantity: 1 }, ['unitId']],
  ['23 by broadcast', { ...base, unitId: 0, fc: 23, quantity: 1, write_address: 0, values: [1] }, ['unitId']],
  ['a read without quantity', { ...base, fc: 1 }, ['quantity']],
  ['2001 coils', { ...base, fc: 1, quantity: 2001 }, ['quantity']],
  ['126 registers', { ...base, fc: 4, quantity: 126 }, ['quantity']],
  ['a read over the end', { ...base, fc: 3, address: 65_535, quantity: 2 }, ['address']],
  ['a write without values', { ...base, fc: 6, quantity: 1 }, ['values']],
  ['two values for one coil', { ...base, fc: 5, values: [1, 0] }, ['values']],
  ['a coil of 2', { ...base, fc: 15, values: [1, 2] }, ['values[1]']],
  ['a register that is true', { ...base, fc: 16, values: [true] }, ['values[0]']],
  ['values that are not as many as quantity', { ...base, fc: 16, quantity: 3, values: [1] }, ['values']],
  ['124 registers written', { ...base, fc: 16, values: new Array(124).fill(0) }, ['quantity']],
  ['values with a read', { ...base, fc: 3, quantity: 1, values: [1] }, ['values']],
  [
    '122 registers written by 23',
    { ...base, fc: 23, quantity: 1, write_address: 0, values: new Array(122).fill(0) },
    ['values'],
  ],
  ['23 without write_address', { ...base, fc: 23, quantity: 1, values: [1] }, ['write_address']],
  [
    '23 writing over the end',
    { ...base, fc: 23, quantity: 1, write_address: 65_535, values: [1, 2] },
    ['write_address'],
  ],
  ['22 with one mask', { ...base, fc: 22, and_mask: 1 }, ['or_mask']],
  ['a mask with 6', { ...base, fc: 6, values: [1], or_mask: 1 }, ['or_mask']],
  ['read device id code 5', { ...base, fc: 43, quantity: 5 }, ['quantity']],
  ['43 without a code', { ...base, fc: 43 }, ['quantity']],
  ['object 256', { ...base, fc: 43, address: 256, quantity: 1 }, ['address']],
  [
    'everything wrong at once',
    { unitId: 250, fc: 3, address: 0, quantity: 200, values: [1] },
    ['unitId', 'quantity', 'values'],
  ],
]

for (const [what, body, fields] of refused)
  t.test(`refuses ${what}, naming ${fields.join(', ')}`, async (t) => {
    t.throws(() => requestOfBody(body), { code: 'bad_fields', details: { fields: fields.map((field) => ({ field })) } })
  })

t.test('accepts the largest value of everything', async (t) => {
  const bodies: RequestBody[] = [
    { ...base, fc: 1, quantity: 2000 },
    { ...base, fc: 3, address: 65_535 - 124, quantity: 125 },
    { ...base, unitId: 247, fc: 15, values: new Array(1968).fill(true) },
    { ...base, unitId: 0, fc: 16, values: new Array(123).fill(65_535) },
    { ...base, fc: 23, quantity: 125, write_address: 65_536 - 121, values: new Array(121).fill(0) },
    { ...base, fc: 43, address: 255, quantity: 4 },
  ]
  for (const body of bodies) t.doesNotThrow(() => requestOfBody(body), JSON.stringify(body).slice(0, 60))
})

t.test('fills in what a write leaves out', async (t) => {
  t.match(requestOfBody({ ...base, fc: 15, values: [true, false, 1] }), { quantity: 3, values: [1, 0, 1] })
  t.match(requestOfBody({ ...base, fc: 5, quantity: 1, values: [false] }), { quantity: 1, values: [0] })
  t.match(requestOfBody({ ...base, fc: 22, and_mask: 1, or_mask: 2 }), { quantity: 1, andMask: 1, orMask: 2 })
})

t.test('A.protocol the body of the interface document passes its schema, and unknown fields do not', async (t) => {
  const check = createCheck(modbusRequestBody)
  t.strictSame(check({ unitId: 1, fc: 3, address: 0, quantity: 2 }).faults, [])
  t.strictSame(check({ unitId: 1, fc: 16, address: 0, values: [1, 65_535] }).faults, [])
  t.match(check({ unitId: 1, fc: 3, address: 0, quantity: 2, count: 3 }).faults, [{ field: 'count' }])
  t.match(check({ unitId: '1', fc: 3, address: 0, quantity: 2 }).faults, [{ field: 'unitId' }])
  t.match(check({ unitId: 1, fc: 3, quantity: 2 }).faults, [{ field: 'address' }])
  t.not(check({ unitId: 1, fc: 16, address: 0, values: [70_000] }).faults.length, 0)
})
