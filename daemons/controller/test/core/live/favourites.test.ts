/** Tests of core/live/favourites.ts. */
import t from 'tap'
import { chooseFavourite, favouritesOf, seenFavourites } from '../../../core/live/favourites.ts'
import type { Row } from '../../../core/site/book.ts'
import { elevatedCaller } from '../data/data-house.ts'

const limits = { favourites: 3, favouritesInAll: 5 }
const session = { ...elevatedCaller, userId: 1 }

function house() {
  const row = (id: number, more = {}): Row => ({ id, created_at: 0, updated_at: 0, ...more })
  const tables: Record<string, Row[]> = {
    auth_user: [row(1), row(2)],
    zone: [1, 2, 3, 4, 5].map((id) => row(id)),
    macro: [row(7)],
  }
  const book = {
    rows: (table: string) => tables[table] ?? [],
    row: (table: string, id: number) => tables[table]?.find((one) => one.id === id),
    named: () => [],
    revision: () => 0,
  }
  const keeper = {
    async change(table: string, id: number, columns: object) {
      tables[table] = (tables[table] ?? []).map((one) => (one.id === id ? ({ ...one, ...columns } as Row) : one))
    },
  }
  const choose = (userId: number, kind: 'zones' | 'macros', id: number, { isFavourite = true, isSeen = true } = {}) =>
    chooseFavourite({ book, keeper, limits }, { ...session, userId }, { kind, id, isFavourite }, () => isSeen)
  return { book, tables, choose, of: (userId: number) => favouritesOf(book, { userId }) }
}

t.test('each person has the own ones, in the order in which they were chosen', async (t) => {
  const { choose, of } = house()
  await choose(1, 'zones', 3)
  await choose(1, 'zones', 1)
  await choose(1, 'zones', 3)
  await choose(1, 'macros', 7)
  await choose(2, 'zones', 2)
  t.same(of(1), { zones: [3, 1], macros: [7] })
  t.same(of(2), { zones: [2], macros: [] })
  await choose(1, 'zones', 3, { isFavourite: false })
  await choose(1, 'zones', 5, { isFavourite: false })
  t.same(of(1), { zones: [1], macros: [7] })
})

t.test('what a person may not see is refused like what there is not, and shown to nobody', async (t) => {
  const { choose, of } = house()
  const refused = await choose(1, 'zones', 4, { isSeen: false }).catch((fault) => fault)
  t.match(refused, { code: 'bad_fields', message: 'zone_id is not the id of a zone of yours' })
  t.same(of(1), { zones: [], macros: [] })
  await choose(1, 'zones', 4)
  await choose(1, 'zones', 2)
  t.same(seenFavourites(of(1), { zones: new Set([2]), macros: new Set() }), { zones: [2], macros: [] })
  await choose(1, 'zones', 4, { isFavourite: false, isSeen: false })
  t.same(of(1), { zones: [2], macros: [] }, 'what is a favourite already may go')
})

t.test('there are so many of one person, and of all; those of removed zones make room', async (t) => {
  const { choose, of, tables } = house()
  for (const id of [1, 2, 3]) await choose(1, 'zones', id)
  t.match(await choose(1, 'zones', 4).catch((fault) => fault), { code: 'favourites_full' })
  tables.zone = tables.zone?.filter(({ id }) => id !== 2) ?? []
  await choose(1, 'zones', 4)
  t.same(of(1).zones, [1, 3, 4])
  for (const id of [1, 3]) await choose(2, 'zones', id)
  t.match(await choose(2, 'zones', 4).catch((fault) => fault), { code: 'favourites_full' }, 'five of all')
})

t.test('whatever stands in the column, a page gets lists of numbers', async (t) => {
  const { of, tables } = house()
  for (const favourites of [null, 'x', [1], { zones: 'x', macros: [1, 'x', null, 2] }]) {
    tables.auth_user = [{ id: 1, created_at: 0, updated_at: 0, favourites }]
    t.ok(Array.isArray(of(1).zones) && of(1).macros.every((id) => typeof id === 'number'))
  }
})
