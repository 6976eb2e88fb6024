import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { type Cell, compareCells, testOf } from '../../../core/data/matching.ts'
import type { Json } from '../../../core/json.ts'
import type { ColumnType } from '../../../core/site/column.ts'
import { type Operator, valueOfJson, valueOfText } from '../../../wire/query.ts'

function finds(type: ColumnType, operator: Operator, texts: readonly string[]): (value: Json) => boolean {
  return testOf({ column: 'a', operator, values: texts.map(valueOfText) }, type)
}

t.test('1 Modifiers values are in the order of SQLite: null, numbers, texts by code points', async (t) => {
  const database = new DatabaseSync(':memory:')
  const compare = database.prepare('SELECT (?1 < ?2) AS less, (?1 > ?2) AS more')
  const text = fc.array(fc.constantFrom('a', 'B', 'é', '\ue000', '\uffff', '😀', '𝒳', ''), { maxLength: 3 })
  const cell = fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.constantFrom(0.5, -1.5),
    text.map((all) => all.join('')),
  )
  holds(
    t,
    fc.property(cell, cell, (one, other) => {
      const found = compare.get(one, other)
      return Math.sign(compareCells(one, other)) === Number(found?.more) - Number(found?.less)
    }),
    { numRuns: 2000 },
  )
  const sorted: Cell[] = [null, -1, 0, 2, '', 'A', 'a']
  t.same(sorted.toReversed().sort(compareCells), sorted)
  database.close()
})

const cases: [string, ColumnType, Operator, string[], Json[], Json[]][] = [
  ['007 looks for 7 in texts', 'text', 'in', ['007'], ['7'], ['007', '7.0', null, 'x']],
  [
    'digits beyond 2^53 are distinguished',
    'text',
    'in',
    ['12345678901234567890'],
    ['12345678901234567890'],
    ['12345678901234567891'],
  ],
  ['a number in numbers', 'integer', 'in', ['007'], [7], [70, null]],
  ['a text in numbers is none of them', 'integer', 'in', ['x'], [], [0, 7, null]],
  ['true and 1 are the same flag', 'boolean', 'in', ['true'], [true], [false, null]],
  ['1 is true', 'boolean', 'in', ['1'], [true], [false, null]],
  ['TRUE is not a flag', 'boolean', 'in', ['TRUE'], [], [true, false, null]],
  ['case counts in texts', 'text', 'in', ['Hall'], ['Hall'], ['hall', 'Hall ']],
  ['no pattern finds null', 'text', 'like', ['n%'], ['null', 'n'], [null, 'x']],
  ['different takes null', 'text', 'notequal', ['a'], ['b', null, ''], ['a']],
  ['different of two', 'text', 'notequal', ['a', 'b'], ['c', null], ['a', 'b']],
  ['none of takes null', 'integer', 'notin', ['1', '2'], [3, null], [1, 2]],
  ['greater among numbers', 'real', 'gt', ['1.5'], [1.6, 2], [1.5, 1, null]],
  [
    'a number against texts that are numbers',
    'text',
    'gt',
    ['20'],
    ['100', '20.5', '1e3'],
    ['3', '20', 'off', '', null],
  ],
  ['between takes both ends', 'text', 'between', ['2', '10'], ['2', '9.5', '010'], ['1', '11', 'x', null]],
  ['a text against texts', 'text', 'gte', ['b'], ['b', 'c'], ['a', 'B', null]],
  ['null is less than nothing', 'integer', 'lt', ['5'], [4], [5, null]],
  ['no more than', 'integer', 'lte', ['5'], [4, 5], [6, null]],
  ['is null', 'text', 'null', ['true'], [null], ['', 'a']],
  ['is not null', 'text', 'null', ['false'], ['', 'a'], [null]],
  ['like on numbers', 'integer', 'like', ['1%'], [1, 10], [2, 21, null]],
  ['like on what is shown of a flag', 'boolean', 'like', ['tr%'], [true], [false, null]],
  ['contains in JSON as it is shown', 'json', 'contains', ['"port":80'], [{ port: 80 }], [{ port: 81 }, null]],
]

for (const [title, type, operator, texts, found, missed] of cases)
  t.test(`1 Modifiers ${title}`, async (t) => {
    const values = operator === 'null' ? [texts[0] === 'true'] : texts.map(valueOfText)
    const values2 = operator === 'like' || operator === 'contains' ? texts : values
    const test = testOf({ column: 'a', operator, values: values2 }, type)
    for (const value of found) t.ok(test(value), JSON.stringify(value))
    for (const value of missed) t.notOk(test(value), JSON.stringify(value))
  })

t.test('1 Modifiers a value in JSON counts by its type', async (t) => {
  const test = (type: ColumnType, json: null | boolean | number | string) =>
    testOf({ column: 'a', operator: 'in', values: [valueOfJson(json)] }, type)
  t.ok(test('text', '007')('007'))
  t.ok(test('integer', '7')(7))
  t.ok(test('boolean', true)(true))
  t.ok(test('boolean', 0)(false))
  t.ok(test('text', null)(null))
  t.notOk(test('text', null)('null'))
  t.ok(finds('json', 'in', ['5'])(5))
})
