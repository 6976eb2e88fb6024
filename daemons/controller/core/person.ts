/** A signed-in person as pages show them, and the site on the name plate. */
import type { Book } from './row.ts'
import type { Session } from './session.ts'

/** Answer of GET /ui/me. */
export interface PersonView {
  username: string
  full_name: string | null
  roles: string[]
  elevated: boolean
  site: SiteView
}

/** What the name plate says; told before anybody has signed in. */
export interface SiteView {
  name: string | null
  /** IANA name; null where the site names none. */
  time_zone: string | null
}

/** Who this is. Nothing of the account but its name goes out. */
export function personView(book: Book, session: Session): PersonView {
  return {
    username: session.username,
    full_name: text(book.row('auth_user', session.userId)?.full_name),
    roles: session.roles.map(({ name, id }) => text(name) ?? `Role ${id}`),
    elevated: session.isElevated,
    site: siteView(book),
  }
}

/** The first site: a controller serves one place, however many accounts it lists for it. */
export function siteView(book: Book): SiteView {
  const [site] = book.rows('site')
  return { name: text(site?.name), time_zone: text(site?.timezone) }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
