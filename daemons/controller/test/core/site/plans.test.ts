/** Tests of core/site/plans.ts. */
import t from 'tap'
import { hugePng, png } from '#kit/test/pictures.ts'
import type { Json } from '../../../core/json.ts'
import type { Row } from '../../../core/site/book.ts'
import type { RowView } from '../../../core/site/browse.ts'
import {
  createPlans,
  draftPlans,
  keepPicture,
  picturesIn,
  rowsOfPlan,
  rowsOfRemoval,
} from '../../../core/site/plans.ts'
import { elevatedCaller, plainCaller } from '../data/data-house.ts'

const NAME = `${'a'.repeat(64)}.png`
const layout = (name: string = NAME) => ({ plan: { picture: name, width: 400, height: 300 } })

function bookOf(changed: Record<string, Record<string, Json>[]> = {}) {
  const tables: Record<string, Record<string, Json>[]> = {
    ui: [{ id: 1 }, { id: 2 }],
    zone: [1, 2, 3].map((id) => ({ id })),
    ui_widget: [
      { id: 5, type: 'plan_zone' },
      { id: 6, type: 'clock' },
    ],
    ui_page_ui: [
      { id: 10, ui_id: 1, name: 'Ground', position: 2, layout: layout() },
      { id: 11, ui_id: 2, name: 'First', position: 1, layout: layout() },
      { id: 12, ui_id: 1, name: 'No plan', layout: { columns: 3 } },
    ],
    ui_page_widget: [
      { id: 1, page_id: 10, widget_id: 5, zone_id: 1, x: 100, y: 200 },
      { id: 2, page_id: 10, widget_id: 5, zone_id: 2, x: 0, y: 1000 },
      { id: 3, page_id: 11, widget_id: 5, zone_id: 2, x: 5, y: 5 },
      { id: 4, page_id: 10, widget_id: 6, zone_id: 3, x: 1, y: 1 },
    ],
    ...changed,
  }
  const rows = (table: string) =>
    (tables[table] ?? []).map((row) => ({ id: 0, created_at: 0, updated_at: 0, ...row }) as Row)
  return {
    rows,
    row: (table: string, id: number) => rows(table).find((row) => row.id === id),
    named: () => [],
    revision: () => 0,
  }
}

const ui = (id: number) => ({ id, created_at: 0, updated_at: 0 }) as Row
const person = { ...plainCaller, isElevated: false, uis: [ui(1)] }

t.test('a person sees the plans of the own UIs, with the own zones alone', async (t) => {
  const plans = createPlans(bookOf())
  const seen = plans.list(person, new Set([1]))
  t.same(seen, [
    {
      id: 10,
      name: 'Ground',
      width: 400,
      height: 300,
      version: 'a'.repeat(12),
      zones: [{ zone_id: 1, x: 100, y: 200 }],
    },
  ])
  t.same(plans.list(person, new Set([3])), [], 'a floor with none of them is the floor of somebody else')
  t.same(plans.list({ ...person, uis: [] }, 'all'), [])
  t.same(
    plans.list(elevatedCaller, 'all').map(({ name, zones }) => [name, zones.length]),
    [
      ['First', 1],
      ['Ground', 2],
    ],
    'in their order; widgets of another type are none of it',
  )
})

t.test('what others have on a plan changes nothing of what a person gets', async (t) => {
  const others: Record<string, Json>[] = [
    { id: 1, page_id: 10, widget_id: 5, zone_id: 1, x: 100, y: 200 },
    { id: 9, page_id: 10, widget_id: 5, zone_id: 3, x: 7, y: 7 },
    { id: 10, page_id: 10, widget_id: 5, zone_id: 99, x: 7, y: 7 },
  ]
  const with_ = createPlans(bookOf({ ui_page_widget: others })).list(person, new Set([1]))
  const without = createPlans(bookOf({ ui_page_widget: others.slice(0, 1) })).list(person, new Set([1]))
  t.same(with_, without)
})

t.test('a picture is for whom its plan is for', async (t) => {
  const plans = createPlans(bookOf())
  t.equal(plans.picture(person, new Set([1]), 10), NAME)
  t.equal(plans.picture(person, new Set([3]), 10), undefined)
  t.equal(plans.picture(person, new Set([1]), 11), undefined, 'of a UI that is not allowed')
  t.equal(plans.picture(person, new Set([1]), 12), undefined)
  t.equal(plans.picture(elevatedCaller, 'all', 11), NAME)
  for (const bad of ['../controller.db', null, 3])
    t.same(
      createPlans(bookOf({ ui_page_ui: [{ id: 10, ui_id: 1, name: 'x', layout: layout(bad as string) }] })).list(
        elevatedCaller,
        'all',
      ),
      [],
    )
})

t.test('a place outside of the picture, or none at all, is not shown', async (t) => {
  const places = [-1, 1001, null, 'x'].map((x, id) => ({ id, page_id: 10, widget_id: 5, zone_id: 1, x, y: 5 }))
  t.same(createPlans(bookOf({ ui_page_widget: places })).list(person, new Set([1])), [])
})

t.test('a picture is kept without what is none of it, and not beyond so many pixels', async (t) => {
  const kept: string[] = []
  const folder = { put: async (bytes: Uint8Array, kind: string) => `${kept.push(kind)} ${bytes.length}` }
  const bytes = png(40, 30)
  t.same(await keepPicture(folder, bytes, 1200), { name: `1 ${bytes.length}`, width: 40, height: 30 })
  t.match(await keepPicture(folder, bytes, 1199).catch((fault) => fault), { code: 'picture_large' })
  t.match(await keepPicture(folder, hugePng(2 ** 31 - 1, 2 ** 31 - 1), 1e8).catch((fault) => fault), {
    code: 'picture_large',
  })
  t.match(await keepPicture(folder, Buffer.from('<svg/>'), 1e8).catch((fault) => fault), { code: 'picture_refused' })
  t.equal(kept.length, 1)
  t.same(picturesIn([layout(), { plan: { picture: 'x' } }, null, undefined]), new Set([NAME]))
})

const draftsOf =
  (book: ReturnType<typeof bookOf>, gone: readonly number[] = []) =>
  (table: string) =>
    book.rows(table).map(
      ({ id, name = null, created_at: _c, updated_at: _u, ...values }): RowView => ({
        ...{ id, name: name as string | null, values, secrets: [], names: {} },
        pending: table === 'ui_page_widget' && gone.includes(id) ? 'remove' : null,
      }),
    )

t.test('a plan becomes rows: zones that stay keep theirs, others come and go', async (t) => {
  const rows = draftsOf(bookOf())
  t.match(draftPlans(rows), [
    { id: 10, name: 'Ground', ui_id: 1, zones: [{ zone_id: 1 }, { zone_id: 2 }] },
    { id: 11, zones: [{ zone_id: 2 }] },
  ])
  const wish = {
    ...{ id: 10, name: 'Ground', ui_id: 1, picture: { name: NAME, width: 400, height: 300 } },
    zones: [
      { zone_id: 2, x: 1, y: 2 },
      { zone_id: 3, x: 3, y: 4 },
    ],
  }
  t.same(
    rowsOfPlan(wish, rows, () => 50),
    {
      rows: {
        ui_page_ui: [{ id: 10, ui_id: 1, name: 'Ground', layout: layout() }],
        ui_page_widget: [
          { id: 2, page_id: 10, widget_id: 5, zone_id: 2, x: 1, y: 2 },
          { id: 50, page_id: 10, widget_id: 5, zone_id: 3, x: 3, y: 4 },
        ],
      },
      remove: { ui_page_widget: [1] },
    },
  )
  t.match(draftPlans(draftsOf(bookOf(), [1])), [{ pending: 'change', zones: [{ zone_id: 2 }] }, { pending: null }])
  t.same(rowsOfRemoval(10, rows), { rows: {}, remove: { ui_page_widget: [1, 2, 4], ui_page_ui: [10] } })
})

t.test('the first plan brings its kind of widget, and a page keeps what else is in its layout', async (t) => {
  const page = { id: 12, ui_id: 1, name: 'No plan', layout: { columns: 3 } }
  const rows = draftsOf(bookOf({ ui_widget: [], ui_page_widget: [], ui_page_ui: [page] }))
  const picture = { name: NAME, width: 400, height: 300 }
  t.match(rowsOfPlan({ name: 'New', ui_id: 1, picture, zones: [{ zone_id: 1, x: 0, y: 0 }] }, rows, () => 70).rows, {
    ui_widget: [{ id: 70, type: 'plan_zone' }],
    ui_page_ui: [{ id: 70, name: 'New' }],
    ui_page_widget: [{ id: 70, page_id: 70, widget_id: 70 }],
  })
  t.same(rowsOfPlan({ id: 12, name: 'x', ui_id: 1, picture, zones: [] }, rows, () => 70).rows.ui_page_ui, [
    { id: 12, ui_id: 1, name: 'x', layout: { columns: 3, ...layout() } },
  ])
})
