/** The macros that a person finds on the page: those of the UIs their roles allow, or all for elevated sessions. */
import type { Book, Row } from './row.ts'
import type { Session } from './session.ts'

/** A macro with a button of its own. */
export interface MacroView {
  id: number
  name: string
  description: string | null
}

/** @returns by their place on the UIs; none where the role does not allow macros */
export function listMacros(book: Book, session: Session): MacroView[] {
  if (!session.may('macro')) return []
  return rowsFor(book, session)
    .filter(({ enabled, elevated }) => enabled !== false && (session.isElevated || elevated !== true))
    .map(({ id, name, description }) => ({
      id,
      name: typeof name === 'string' && name !== '' ? name : `Macro ${id}`,
      description: typeof description === 'string' && description !== '' ? description : null,
    }))
}

function rowsFor(book: Book, session: Session): Row[] {
  if (session.isElevated) return [...book.rows('macro')]
  const uis = new Set<unknown>(session.uis.map(({ id }) => id))
  const placed = book.rows('ui_macro').filter(({ ui_id: ui }) => uis.has(ui))
  const ids = placed.sort((one, other) => Number(one.position ?? 0) - Number(other.position ?? 0))
  const unique = new Set(ids.map(({ macro_id: id }) => id))
  return [...unique].flatMap((id) => (typeof id === 'number' ? (book.row('macro', id) ?? []) : []))
}
