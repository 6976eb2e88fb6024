import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { holds, opOf } from '../../../core/macros/values.ts'

const rows: [Json, string, Json, boolean][] = [
  ['21.5', '=', 21.5, true],
  ['007', '==', 7, true],
  ['0x7', 'eq', 7, false],
  ['', 'eq', 0, false],
  ['true', 'eq', true, true],
  ['1', 'eq', true, false],
  [null, 'eq', null, true],
  [null, 'eq', 'null', false],
  [null, '!=', 0, true],
  [null, '<', 1, false],
  [null, '>=', null, false],
  ['9', '<', '10', true],
  ['9a', '<', '10', false],
  ['b', '>', 'a', true],
  [5, '<=', 5, true],
  [5, 'gte', 6, false],
  ['b', 'in', ['a', 'b'], true],
  [2, 'in', ['1', '2'], true],
  ['c', 'in', ['a', 'b'], false],
  ['b', 'in', 'abc', false],
  ['abc', 'contains', 'b', true],
  [['a', 1], 'contains', '1', true],
  [null, 'contains', 'u', false],
  [[1], 'eq', [1], true],
  // Card numbers have more digits than a double.
  ['12345678901234567890', 'eq', '12345678901234567891', false],
  ['12345678901234567890', 'ne', '12345678901234567891', true],
  ['12345678901234567890', '<', '12345678901234567891', true],
  ['9007199254740993', 'in', ['9007199254740992', '9007199254740994'], false],
  ['99999999999999999', '<', '100000000000000000', true],
  ['+0012345678901234567890', 'eq', '12345678901234567890', true],
  ['-12345678901234567891', '<', '-12345678901234567890', true],
  ['10000000000000000000', 'eq', '1e19', true],
]
for (const [left, op, right, expected] of rows)
  t.test(`${JSON.stringify(left)} ${op} ${JSON.stringify(right)} is ${expected}`, async (t) => {
    const known = opOf(op)
    t.equal(known !== undefined && holds(left, known, right), expected)
  })

t.test('a name of Object is not a comparison', async (t) => {
  for (const op of ['constructor', '__proto__', '', null, 1]) t.equal(opOf(op), undefined)
})
