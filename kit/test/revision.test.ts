import fc from 'fast-check'
import t from 'tap'
import { revisionOf } from '../revision.ts'

t.test('the same values have the same revision, whatever the order of their keys', async (t) => {
  t.equal(revisionOf({ a: 1, b: { c: [1, 2], d: null } }), revisionOf({ b: { d: null, c: [1, 2] }, a: 1 }))
  t.match(revisionOf({}), /^[0-9a-f]{14}$/)
  t.match(revisionOf(undefined), /^[0-9a-f]{14}$/)
})

t.test('a list in another order, a number for a text and a missing key are other values', async (t) => {
  const all = [[1, 2], [2, 1], ['1', 2], [], {}, null, '', 0, { a: null }, { a: [] }, { b: null }]
  t.equal(new Set(all.map(revisionOf)).size, all.length)
})

t.test('no two of many values have the same revision', async (t) => {
  const seen = new Map<string, string>()
  const isAlone = (value: unknown) => {
    const text = JSON.stringify(JSON.parse(JSON.stringify(value)), (_, each) =>
      each && typeof each === 'object' && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    )
    const before = seen.get(revisionOf(value))
    seen.set(revisionOf(value), text)
    return before === undefined || before === text
  }
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 2 }), isAlone), { numRuns: 5000 })
  for (let i = 0; i < 100_000; i++) if (!isAlone(i)) t.fail(`${i} has the revision of another number`)
  t.pass('none of 100,000 numbers')
})
