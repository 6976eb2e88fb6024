import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { createScopes } from '../../../core/control/gates.ts'
import type { Row } from '../../../core/site/book.ts'
import { bookOf } from '../site/book-of.ts'
import { stage } from './stage.ts'

function reach(tables: Record<string, readonly Record<string, unknown>[]>, uis: readonly Record<string, unknown>[]) {
  const scope = createScopes(bookOf(tables))({ ...stage().session(), uis: uis as unknown as Row[] })
  return scope === 'open' ? 'open' : [1, 2, 3, 4].filter((id) => scope.has(id))
}

const zone = [
  { id: 1, zone_group_id: 10 },
  { id: 2, zone_group_id: 11 },
  { id: 3, zone_group_id: 12 },
  { id: 4, zone_group_id: null },
]
const zone_group = [
  { id: 10, parent_id: null },
  { id: 11, parent_id: 10 },
  { id: 12, parent_id: 11 },
]

t.test('1 POST control zones of a group and of all groups below it are in scope', async (t) => {
  const tables = { zone, zone_group, ui_zone_group_ui: [{ id: 1, ui_id: 1, zone_group_id: 11 }] }
  t.strictSame(reach(tables, [{ id: 1 }]), [2, 3])
})

t.test('1 POST control scopes of several UIs add up', async (t) => {
  const ui_zone = [
    { id: 1, ui_id: 1, zone_id: 1 },
    { id: 2, ui_id: 2, zone_id: 4 },
  ]
  t.strictSame(reach({ zone, ui_zone }, [{ id: 1 }, { id: 2 }]), [1, 4])
  t.strictSame(reach({ zone, ui_zone }, [{ id: 2 }]), [4])
})

t.test('1 POST control a UI without a scope opens all, no UI opens nothing', async (t) => {
  const ui_zone = [{ id: 1, ui_id: 1, zone_id: 1 }]
  t.equal(reach({ zone, ui_zone }, [{ id: 1 }, { id: 2 }]), 'open')
  t.strictSame(reach({ zone, ui_zone }, []), [])
})

t.test('1 Audit denial reasons a UI that is disabled is not accessible', async (t) => {
  t.strictSame(reach({ zone }, [{ id: 1, enabled: false }]), [])
})

t.test('1 POST control a row that leads nowhere still counts as a scope', async (t) => {
  t.strictSame(reach({ zone, ui_zone: [{ id: 1, ui_id: 1, zone_id: null }] }, [{ id: 1 }]), [])
  t.strictSame(reach({ zone, ui_zone_group_ui: [{ id: 1, ui_id: 1, zone_group_id: 99 }] }, [{ id: 1 }]), [])
})

t.test("groups that are each other's parents do not loop for ever", async (t) => {
  const circle = [
    { id: 10, parent_id: 12 },
    { id: 11, parent_id: 10 },
    { id: 12, parent_id: 11 },
    { id: 13, parent_id: 13 },
  ]
  const tables = { zone, zone_group: circle, ui_zone_group_ui: [{ id: 1, ui_id: 1, zone_group_id: 12 }] }
  t.strictSame(reach(tables, [{ id: 1 }]), [1, 2, 3])
})

t.test('a change of a table takes effect at the next command', async (t) => {
  const book = bookOf({ zone, ui_zone: [{ id: 1, ui_id: 1, zone_id: 1 }] })
  const scopes = createScopes(book)
  const session = { ...stage().session(), uis: [{ id: 1 }] as unknown as Row[] }
  const has = (id: number) => {
    const scope = scopes(session)
    return scope === 'open' || scope.has(id)
  }
  t.strictSame([has(1), has(2)], [true, false])
  book.set('ui_zone', [{ id: 1, ui_id: 1, zone_id: 2 }])
  t.strictSame([has(1), has(2)], [false, true])
  book.set('ui_zone', [])
  t.equal(has(3), true)
})

t.test('a zone is in scope exactly if it, or a group above it, is on a UI', async (t) => {
  const id = fc.integer({ min: 1, max: 6 })
  const building = fc.record({
    parents: fc.array(fc.option(id), { minLength: 6, maxLength: 6 }),
    groupOf: fc.array(fc.option(id), { minLength: 4, maxLength: 4 }),
    zones: fc.array(fc.integer({ min: 1, max: 4 })),
    groups: fc.array(id, { minLength: 1 }),
  })
  const law = fc.property(building, ({ parents, groupOf, zones, groups }) => {
    const tables = {
      zone: groupOf.map((zone_group_id, i) => ({ id: i + 1, zone_group_id })),
      zone_group: parents.map((parent_id, i) => ({ id: i + 1, parent_id })),
      ui_zone: zones.map((zone_id, i) => ({ id: i, ui_id: 1, zone_id })),
      ui_zone_group_ui: groups.map((zone_group_id, i) => ({ id: i, ui_id: 1, zone_group_id })),
    }
    const isAbove = (group: number | null | undefined, left = 6): boolean =>
      group != null && (groups.includes(group) || (left > 0 && isAbove(parents[group - 1], left - 1)))
    const expected = [1, 2, 3, 4].filter((each) => zones.includes(each) || isAbove(groupOf[each - 1]))
    return JSON.stringify(reach(tables, [{ id: 1 }])) === JSON.stringify(expected)
  })
  holds(t, law)
})
