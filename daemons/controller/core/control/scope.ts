/** Which zones the UIs of a session reach: a session that is not elevated commands nothing beyond. */
import { derived, groupedBy } from '../derived.ts'
import type { Book, Row } from '../row.ts'
import type { Session } from '../session.ts'

/** What a session may command. `open` is everything. */
export type Scope = 'open' | { has(zoneId: number): boolean }

/**
 * A scope is the union of those of all UIs that the roles allow and that are enabled. A UI without any row in ui_zone
 * and ui_zone_group_ui carries none and opens everything; no UI at all opens nothing. A row for a group counts for
 * the zones of its subgroups too. A row that leads nowhere still makes its UI a scoped one.
 * @source document 1, POST /api/control/:action, scope_denied
 */
export function createScopes(book: Book): (session: Session) => Scope {
  const zonesOfUi = derived(book, ['ui_zone', 'ui_zone_group_ui', 'zone_group', 'zone'], () => zonesByUi(book))
  return (session) => {
    if (session.isElevated) return 'open'
    const scopes = session.uis.filter((ui) => ui.enabled !== false).map((ui) => zonesOfUi().get(ui.id))
    if (scopes.some((scope) => !scope)) return 'open'
    return { has: (zoneId) => scopes.some((scope) => scope?.has(zoneId)) }
  }
}

function zonesByUi(book: Book): Map<number, Set<number>> {
  const zones = new Map<number, Set<number>>()
  for (const [uiId, rows] of groupedBy(book.rows('ui_zone'), 'ui_id'))
    zones.set(uiId, new Set(rows.map((row) => row.zone_id).filter((id) => typeof id === 'number')))
  const subgroups = groupedBy(book.rows('zone_group'), 'parent_id')
  const zonesOfGroup = groupedBy(book.rows('zone'), 'zone_group_id')
  for (const [uiId, rows] of groupedBy(book.rows('ui_zone_group_ui'), 'ui_id')) {
    const own = zones.get(uiId) ?? new Set()
    zones.set(uiId, own)
    for (const group of groupsBelow(rows, subgroups)) for (const zone of zonesOfGroup.get(group) ?? []) own.add(zone.id)
  }
  return zones
}

/** The groups named and all below them; each once, whatever circles there are. */
function groupsBelow(rows: readonly Row[], subgroups: Map<number, Row[]>): Set<number> {
  const groups = new Set(rows.map((row) => row.zone_group_id).filter((id) => typeof id === 'number'))
  // A set hands out what is added to it on the way.
  for (const group of groups) for (const { id } of subgroups.get(group) ?? []) groups.add(id)
  return groups
}
