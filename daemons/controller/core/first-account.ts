/** The first account of a controller that nobody could sign in to: what it becomes in the site. */
import type { Change } from './change.ts'
import type { Book, Json, Row } from './row.ts'
import { tableOf } from './schema/registry.ts'

/** Who is to look after the building; the password is hashed already. */
export interface FirstAccount {
  username: string
  hash: string
  salt: string
  /** What the building is called, where no site says so yet. */
  siteName: string
  /** IANA name of its time zone, where it is known. */
  timeZone: string | null
}

/** What the rows are made with. */
export interface FirstAccountWorld {
  book: Book
  nowMs: number
  /** Above every id that a table ever had. */
  nextId(table: string): number
}

/** What a building is called that nobody has named yet. */
export const UNNAMED_SITE = 'Building'

/** The role of the first account. */
const ROLE = 'Administrator'
const RULES = 'allow api *\nallow ui *\nallow socket *'

/** Whether there is no account at all: accounts that may not sign in are somebody's decision, and count. */
export function isWithoutAccounts(book: Book): boolean {
  return book.rows('auth_user').length === 0
}

/** The account with an elevated role and all sites there are; where there is none, the first site as well. */
export function firstAccount(account: FirstAccount, world: FirstAccountWorld): Change[] {
  const { username, hash, salt, siteName: name, timeZone: timezone } = account
  const sites = world.book.rows('site').map(({ id }) => id)
  const changes: Change[] = []
  const add = (table: string, columns: Record<string, Json>, place = 0): number => {
    const id = world.nextId(table) + place
    const row = { ...tableOf(table)?.empty, ...columns, id, created_at: world.nowMs, updated_at: world.nowMs } as Row
    changes.push({ kind: 'add', table, id, row })
    return id
  }
  if (sites.length === 0) sites.push(add('site', { name, timezone }))
  const role_id = add('auth_role', { name: freeName(world.book), elevated: true, rules: RULES })
  const user_id = add('auth_user', { username, hash, salt })
  add('auth_user_role', { user_id, role_id })
  for (const [place, site_id] of sites.entries()) add('auth_user_site', { user_id, site_id }, place)
  return changes
}

/** A role of that name may be there, and mean something else. */
function freeName(book: Book): string {
  let name = ROLE
  for (let n = 2; book.named('auth_role', name).length > 0; n++) name = `${ROLE} ${n}`
  return name
}
