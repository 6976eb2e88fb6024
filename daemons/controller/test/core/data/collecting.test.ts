import fc from 'fast-check'
import t from 'tap'
import { cellOf, compareCells } from '../../../core/data/matching.ts'
import { createCollector } from '../../../core/data/query.ts'
import type { Steps } from '../../../core/data/turns.ts'
import type { View } from '../../../core/data/views.ts'
import type { Json } from '../../../core/json.ts'
import type { Row } from '../../../core/site/book.ts'
import type { Query } from '../../../wire/query.ts'

function viewOf(id: number, a: Json, b: Json): View {
  return { row: { id } as Row, cells: { id, a, b }, isHidden: false, json: undefined, ready: undefined }
}

function queryOf(limit: number, offset: number, order: Query['order']): Query {
  return {
    where: { conditions: [], either: [] },
    limit,
    offset,
    order,
    fields: undefined,
    count: false,
    isInstance: false,
  }
}

function end<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

t.test(
  '1 Modifiers, _orderby, _limit, _offset: the first in order are those that sorting all of them gives',
  async (t) => {
    const value = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', 'y'), fc.boolean())
    const rows = fc.array(fc.tuple(value, value), { maxLength: 60 })
    const asked = fc.record({
      limit: fc.integer({ min: 1, max: 70 }),
      offset: fc.nat(70),
      isDescending: fc.tuple(fc.boolean(), fc.boolean()),
    })
    const property = fc.property(rows, asked, (given, { limit, offset, isDescending: [x, y] }) => {
      const order = [
        { column: 'a', isDescending: x },
        { column: 'b', isDescending: y },
      ]
      const views = given.map(([a, b], at) => viewOf(at + 1, a, b))
      const collector = createCollector(queryOf(limit, offset, order), false)
      for (const view of views) collector.take(view)
      const sorted = views.toSorted((one, other) => {
        for (const { column, isDescending } of order) {
          const found = compareCells(cellOf(one.cells[column]), cellOf(other.cells[column]))
          if (found !== 0) return isDescending ? -found : found
        }
        return one.row.id - other.row.id
      })
      const found = end(collector.views()).map(({ row }) => row.id)
      const expected = sorted.slice(offset, offset + limit).map(({ row }) => row.id)
      return JSON.stringify(found) === JSON.stringify(expected)
    })
    t.doesNotThrow(() => fc.assert(property))
  },
)

t.test('a JSON value is serialised once for each row, not for each comparison', async (t) => {
  let written = 0
  const json = (at: number) => ({
    toJSON() {
      written++
      return at
    },
  })
  const collector = createCollector(queryOf(100, 0, [{ column: 'a', isDescending: false }]), false)
  for (let at = 0; at < 500; at++) collector.take(viewOf(at, json((at * 7) % 500) as unknown as Json, null))
  t.equal(end(collector.views()).length, 100)
  t.equal(written, 500)
})
