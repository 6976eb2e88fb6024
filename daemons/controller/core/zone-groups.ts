/** The zones of a person by room: groups in the order of the building, zones in the order of their room. */
import type { LiveBook } from './live.ts'
import type { Book, Row } from './row.ts'
import type { Session } from './session.ts'
import { createOffers, type Offer } from './zone-verbs.ts'
import { type ZoneView, zoneState } from './zone-view.ts'

/** One room with its zones. */
export interface ZoneGroup {
  /** Null for zones that belong to none. */
  id: number | null
  name: string | null
  /** Names of the groups it stands in, outermost first. */
  within: readonly string[]
  zones: readonly ZoneView[]
}

/** Groups in groups are followed no deeper. */
const DEEPEST = 16

/** @param scope ids of the zones that are seen; groups without any are left out */
export function groupZones(
  { book, live }: { book: Book; live: Pick<LiveBook, 'zone' | 'device'> },
  session: Session,
  scope: ReadonlySet<number> | 'all',
): ZoneGroup[] {
  const offers = createOffers(book, session)
  const seen = book.rows('zone').filter(({ id }) => scope === 'all' || scope.has(id))
  const groups = inOrder(book.rows('zone_group'))
  const known = new Map(groups.map((group, at) => [group.id, at]))
  const byGroup = Map.groupBy(seen, ({ zone_group_id: id }) => (typeof id === 'number' ? (known.get(id) ?? -1) : -1))
  const zonesAt = (at: number) => {
    const rows = [...(byGroup.get(at) ?? [])].sort(byPosition)
    return rows.map((zone) => viewOf(zone, offers(zone), live))
  }
  const rooms = groups.map((group, at) => ({
    id: group.id,
    name: text(group.name),
    within: ancestors(group, book).map(({ name }) => String(name)),
    zones: zonesAt(at),
  }))
  const others = { id: null, name: null, within: [], zones: zonesAt(-1) }
  return [...rooms, others].filter(({ zones }) => zones.length > 0)
}

function viewOf(zone: Row, offer: Offer, live: Pick<LiveBook, 'zone' | 'device'>): ZoneView {
  return {
    ...zoneState(zone, live),
    name: text(zone.name) ?? `Zone ${zone.id}`,
    type: text(zone.type),
    unit: text(zone.unit),
    min: number(zone.min),
    max: number(zone.max),
    ...offer,
  }
}

/** Each group before those that stand in it, side by side by position. A group that stands in itself stands alone. */
function inOrder(groups: readonly Row[]): Row[] {
  const ids = new Set(groups.map(({ id }) => id))
  const parentOf = ({ parent_id: id }: Row) => (typeof id === 'number' && ids.has(id) ? id : null)
  const below = Map.groupBy([...groups].sort(byPosition), parentOf)
  const ordered = new Set<Row>()
  const add = (group: Row, depth: number) => {
    if (ordered.has(group)) return
    ordered.add(group)
    if (depth < DEEPEST) for (const one of below.get(group.id) ?? []) add(one, depth + 1)
  }
  for (const group of below.get(null) ?? []) add(group, 0)
  for (const group of groups) add(group, 0)
  return [...ordered]
}

function ancestors(group: Row, book: Book): Row[] {
  const above: Row[] = []
  let at = group
  while (above.length < DEEPEST && typeof at.parent_id === 'number') {
    const parent = book.row('zone_group', at.parent_id)
    if (!parent || parent === group || above.includes(parent)) break
    above.unshift(parent)
    at = parent
  }
  return above
}

function byPosition(one: Row, other: Row): number {
  return (
    (number(one.position) ?? Number.MAX_SAFE_INTEGER) - (number(other.position) ?? Number.MAX_SAFE_INTEGER) ||
    (text(one.name) ?? '').localeCompare(text(other.name) ?? '') ||
    one.id - other.id
  )
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
