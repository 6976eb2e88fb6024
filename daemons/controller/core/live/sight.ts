/** What one session may see of the building while it listens: zones, devices and attributes, judged anew each time. */
import type { Session } from '../access/accounts.ts'
import { createScopes } from '../control/gates.ts'
import type { TableFace, Views } from '../data/views.ts'
import { isSameJson } from '../json.ts'
import { type Book, type Row, zonesByDevice } from '../site/book.ts'
import type { Sight } from './socket-feed.ts'

interface SightParts {
  book: Book
  views: Views
  /** The table `attribute`. */
  attributes: TableFace | undefined
}

/**
 * A zone is seen where it may be commanded. A device is seen through any of its zones, an attribute with its zone or its
 * device; one of a subsystem, a macro or the controller only by sessions without a scope. Attributes have their secrets
 * removed as in GET /api/data.
 * @source document 1, POST /api/control/:action, scope_denied; Guards 2 and 3
 */
export function createSights({ book, views, attributes }: SightParts): (session: Session) => Sight {
  const scopeOf = createScopes(book)
  const zonesOf = zonesByDevice(book)
  return (session) => {
    const scope = scopeOf(session)
    const zone = (id: number) => scope === 'open' || scope.has(id)
    const device = (id: number) => scope === 'open' || zonesOf(id).some((one) => zone(one.id))
    const isReached = ({ system_target: of, target_id: id }: Row) => {
      if (typeof id === 'number' && of === 'zone') return zone(id)
      if (typeof id === 'number' && of === 'device') return device(id)
      return scope === 'open'
    }
    const viewOf = (id: number) => {
      const row = book.row('attribute', id)
      if (row === undefined || attributes === undefined || !isReached(row)) return undefined
      const view = views.view(attributes, row, session.isElevated)
      return view.isHidden ? undefined : view
    }
    return {
      zone,
      device,
      attribute(id) {
        const view = viewOf(id)
        const names = attributes?.columns.keys() ?? []
        return view && Object.fromEntries([...names].map((name) => [name, view.cells[name] ?? null]))
      },
      attributeChange(id) {
        const view = viewOf(id)
        if (view === undefined || session.isElevated) return view !== undefined
        const { value = null, previous_value: before = null } = view.cells
        return !isSameJson(value, before)
      },
    }
  }
}
