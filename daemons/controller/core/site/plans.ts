/** Floor plans: pages of UIs with a picture on which zones are placed; who sees what of them, and the rows they are made of. */
import { Fault } from '#kit/pure/fault.ts'
import { isPictureName, PICTURE_KINDS, readPicture } from '#kit/pure/picture.ts'
import type { PictureFolder } from '#kit/store/picture-folder.ts'
import type { Session } from '../access/accounts.ts'
import { isObject, isSameJson, type Json } from '../json.ts'
import { type Book, derived, groupedBy, type Row } from './book.ts'
import type { RowsPage, RowView } from './browse.ts'

// A plan in the rows: `layout` of a page names its picture, widgets of the page place zones on it.

/** Of `ui_widget`: a zone on a plan. Widgets of other types have places of another kind. */
const WIDGET_TYPE = 'plan_zone'
/** Places are in thousandths of the picture's width and height. */
export const PLACES = 1000
/** Most zones on one plan: nobody finds one among more. */
export const MOST_ON_PLAN = 500

/** The picture of a plan; the size is that in which it is shown, in pixels. */
interface PlanPicture {
  name: string
  width: number
  height: number
}

/** Where a zone is on a plan, from the left and from the top, 0 to `PLACES`. */
export interface PlanPlace {
  zone_id: number
  x: number
  y: number
}

function pictureOf(layout: Json | undefined): PlanPicture | undefined {
  const plan = isObject(layout) ? layout.plan : undefined
  if (!isObject(plan)) return undefined
  const { picture: name, width, height } = plan
  if (typeof name !== 'string' || !isPictureName(name)) return undefined
  return isLength(width) && isLength(height) ? { name, width, height } : undefined
}

function isLength(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}

function placeOf({ zone_id: zoneId, x, y }: Readonly<Record<string, Json>>): PlanPlace | undefined {
  const isPlace = (value: Json | undefined) => typeof value === 'number' && value >= 0 && value <= PLACES
  return typeof zoneId === 'number' && isPlace(x) && isPlace(y)
    ? { zone_id: zoneId, x: Number(x), y: Number(y) }
    : undefined
}

// What a person sees: plans of the own UIs, and on them the own zones.

/** A plan as a page shows it. */
export interface PlanView {
  id: number
  name: string
  width: number
  height: number
  /** Another one for another picture. */
  version: string
  zones: readonly PlanPlace[]
}

/** Plans as they are applied. */
export interface Plans {
  /**
   * Plans of the UIs that the session's roles allow, in their order, each with the zones of `scope` alone. One without
   * any of them is left out: it would be the floor of somebody else.
   */
  list(session: Session, scope: ReadonlySet<number> | 'all'): readonly PlanView[]
  /** The name of the picture of one of these plans; undefined for any other. */
  picture(session: Session, scope: ReadonlySet<number> | 'all', planId: number): string | undefined
}

export function createPlans(book: Book): Plans {
  const placesByPage = derived(book, ['ui_page_widget', 'ui_widget'], () => {
    const types = new Map(book.rows('ui_widget').map(({ id, type }) => [id as Json, type]))
    const rows = book.rows('ui_page_widget').filter(({ widget_id: id }) => types.get(id ?? null) === WIDGET_TYPE)
    return groupedBy(rows, 'page_id')
  })

  function zonesOn(page: Row, scope: ReadonlySet<number> | 'all'): PlanPlace[] {
    const places = (placesByPage().get(page.id) ?? []).flatMap((row) => placeOf(row) ?? [])
    const isSeen = (id: number) => (scope === 'all' ? book.row('zone', id) !== undefined : scope.has(id))
    const byZone = new Map(places.filter(({ zone_id: id }) => isSeen(id)).map((place) => [place.zone_id, place]))
    return [...byZone.values()].slice(0, MOST_ON_PLAN)
  }

  function pagesFor(session: Session): Row[] {
    const uis = new Set<unknown>(session.uis.map(({ id }) => id))
    return book.rows('ui_page_ui').filter(({ ui_id: id }) => session.isElevated || uis.has(id))
  }

  function viewOf(
    page: Row,
    session: Session,
    scope: ReadonlySet<number> | 'all',
  ): [PlanView, PlanPicture] | undefined {
    const picture = pictureOf(page.layout)
    if (picture === undefined) return undefined
    const zones = zonesOn(page, scope)
    if (zones.length === 0 && !session.isElevated) return undefined
    const { name: file, width, height } = picture
    const view = { id: page.id, name: String(page.name), width, height, version: file.slice(0, 12), zones }
    return [view, picture]
  }

  return {
    list: (session, scope) =>
      pagesFor(session)
        .toSorted(inOrder)
        .flatMap((page) => viewOf(page, session, scope)?.[0] ?? []),
    picture(session, scope, planId) {
      const page = pagesFor(session).find(({ id }) => id === planId)
      return page && viewOf(page, session, scope)?.[1].name
    },
  }
}

function inOrder(one: Row, other: Row): number {
  const placeOfRow = ({ position }: Row) => (typeof position === 'number' ? position : Number.MAX_SAFE_INTEGER)
  return placeOfRow(one) - placeOfRow(other) || one.id - other.id
}

// Pictures: checked here, kept in a folder.

/**
 * Keeps what somebody sent as the picture of a plan.
 * @param mostPixels a browser needs four bytes of memory for each
 * @throws Fault `picture_refused`, `picture_large`, `plans_full`
 */
export async function keepPicture(
  folder: Pick<PictureFolder, 'put'>,
  bytes: Uint8Array,
  mostPixels: number,
): Promise<PlanPicture> {
  const { kind, width, height, bytes: plain } = readPicture(bytes, PICTURE_KINDS)
  if (width * height > mostPixels)
    throw new Fault(
      'picture_large',
      `The picture has ${width} by ${height} pixels, together at most ${mostPixels} are taken. Save it smaller: 2000 by 1500 shows a floor well.`,
    )
  return { name: await folder.put(plain, kind), width, height }
}

/** Every picture that a page names, of these rows. */
export function picturesIn(layouts: Iterable<Json | undefined>): ReadonlySet<string> {
  return new Set([...layouts].flatMap((layout) => pictureOf(layout)?.name ?? []))
}

// Changing plans: as rows that wait for Apply All.

/** A plan as it will be after Apply All. */
export interface PlanDraft {
  id: number
  name: string
  ui_id: number
  picture: PlanPicture
  pending: RowView['pending']
  zones: readonly PlanPlace[]
}

/** A plan as somebody wants it; without `id` a new one. */
export interface PlanWish {
  id?: number | undefined
  name: string
  ui_id: number
  picture: PlanPicture
  zones: readonly PlanPlace[]
}

/** Rows to add or change, by table, and ids of rows to remove. */
interface PlanRows {
  rows: Readonly<Record<string, readonly Json[]>>
  remove: Readonly<Record<string, readonly number[]>>
}

/** The rows of a table as they will be after Apply All. */
export type DraftRows = (table: string) => RowsPage['rows']

/** Whether two say the same of a plan; the order of zones does not count. */
export function isSamePlan(one: Omit<PlanWish, 'id'>, other: Omit<PlanWish, 'id'>): boolean {
  const facts = ({ name, ui_id, picture, zones }: Omit<PlanWish, 'id'>): Json => [
    ...[name, ui_id, picture.name],
    zones.map(({ zone_id, x, y }) => [zone_id, x, y]).toSorted(([a = 0], [b = 0]) => a - b),
  ]
  return isSameJson(facts(one), facts(other))
}

/** In the order of their ids; without those that go. */
export function draftPlans(rows: DraftRows): PlanDraft[] {
  const widgets = widgetsOn(rows)
  return stayingOf(rows('ui_page_ui')).flatMap(({ id, name, pending, values }) => {
    const picture = pictureOf(values.layout)
    if (picture === undefined || typeof values.ui_id !== 'number') return []
    const own = widgets.filter(({ values: { page_id: page } }) => page === id)
    const changed = pending ?? (own.some((row) => row.pending !== null) ? 'change' : null)
    const zones = stayingOf(own).flatMap((row) => placeOf(row.values) ?? [])
    return [{ id, name: name ?? '', ui_id: values.ui_id, picture, pending: changed, zones }]
  })
}

/**
 * The rows that make a plan what somebody wants. A zone that is on it already keeps its row.
 * @param freeId an id for a new row of a table; the next ones are free too
 */
export function rowsOfPlan(wish: PlanWish, rows: DraftRows, freeId: (table: string) => number): PlanRows {
  const { name, ui_id, picture, zones } = wish
  const pageId = wish.id ?? freeId('ui_page_ui')
  const known = stayingOf(rows('ui_widget')).find(({ values: { type } }) => type === WIDGET_TYPE)
  const widgetId = known?.id ?? freeId('ui_widget')
  const own = stayingOf(widgetsOn(rows)).filter(({ values: { page_id: page } }) => page === pageId)
  const rowIdOf = new Map(own.map(({ id, values }) => [values.zone_id, id]))
  let nextId = freeId('ui_page_widget')
  const placed = zones.map(({ zone_id, x, y }) => {
    const id = rowIdOf.get(zone_id) ?? nextId++
    return { id, page_id: pageId, widget_id: widgetId, zone_id, x, y }
  })
  const kept = new Set(placed.map(({ id }) => id))
  const plan = { picture: picture.name, width: picture.width, height: picture.height }
  const before = rows('ui_page_ui').find(({ id }) => id === pageId)?.values.layout ?? null
  const layout = { ...(isObject(before) ? before : {}), plan }
  return {
    rows: {
      ...(known ? {} : { ui_widget: [{ id: widgetId, name: 'Zone on a plan', type: WIDGET_TYPE }] }),
      ui_page_ui: [{ id: pageId, ui_id, name, layout }],
      ...(placed.length > 0 ? { ui_page_widget: placed } : {}),
    },
    remove: removing(own.filter(({ id }) => !kept.has(id))),
  }
}

/** The rows whose removal takes a plan away: its page, and whatever is on that. */
export function rowsOfRemoval(id: number, rows: DraftRows): PlanRows {
  const own = stayingOf(rows('ui_page_widget')).filter(({ values: { page_id: page } }) => page === id)
  return { rows: {}, remove: { ...removing(own), ui_page_ui: [id] } }
}

function removing(rows: RowsPage['rows']): PlanRows['remove'] {
  return rows.length === 0 ? {} : { ui_page_widget: rows.map(({ id }) => id) }
}

function stayingOf(rows: RowsPage['rows']): RowView[] {
  return rows.filter(({ pending }) => pending !== 'remove')
}

/** The rows that place a zone on a plan, those that go too. */
function widgetsOn(rows: DraftRows): RowView[] {
  const types = new Map(rows('ui_widget').map(({ id, values: { type } }) => [id as Json, type]))
  return rows('ui_page_widget').filter(({ values: { widget_id: id } }) => types.get(id ?? null) === WIDGET_TYPE)
}
