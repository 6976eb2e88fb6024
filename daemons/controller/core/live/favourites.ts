/** Favourites: the zones and macros that a person wants first, kept in the account. */
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import type { Session } from '../access/accounts.ts'
import { isList, isObject, type Json } from '../json.ts'
import type { Book, Keeper } from '../site/book.ts'

/** Ids of zones and of macros, in the order in which they were chosen. */
export interface Favourites {
  zones: readonly number[]
  macros: readonly number[]
}

/** A zone or a macro to become a favourite, or to be none any more. */
export interface FavouriteWish {
  kind: keyof Favourites
  id: number
  isFavourite: boolean
}

interface FavouriteParts {
  book: Book
  keeper: Keeper
  limits: {
    /** Most of one account. */
    favourites: number
    /** Most of all accounts together. */
    favouritesInAll: number
  }
}

/** The column of auth_user. */
const COLUMN = 'favourites'

/** The favourites of a session's account, those too that it cannot reach now: they come back with the zone. */
export function favouritesOf(book: Pick<Book, 'row'>, { userId }: Pick<Session, 'userId'>): Favourites {
  return readFavourites(book.row('auth_user', userId)?.[COLUMN])
}

/** What of them a person sees: nothing that is not on the page anyway. */
export function seenFavourites(
  { zones, macros }: Favourites,
  seen: { [Kind in keyof Favourites]: ReadonlySet<number> },
) {
  return { zones: zones.filter((id) => seen.zones.has(id)), macros: macros.filter((id) => seen.macros.has(id)) }
}

/**
 * Keeps a choice; durable when the promise resolves.
 * @param isSeen whether this person sees such a zone or macro; others are refused like one that there is not
 * @throws Fault `bad_fields`, `favourites_full`, `row_gone`
 */
export async function chooseFavourite(
  { book, keeper, limits }: FavouriteParts,
  session: Session,
  { kind, id, isFavourite }: FavouriteWish,
  isSeen: () => boolean,
): Promise<void> {
  const before = stillThere(book, favouritesOf(book, session))
  const others = before[kind].filter((one) => one !== id)
  if (!isFavourite && others.length === before[kind].length) return
  if (isFavourite) {
    if (others.length < before[kind].length) return
    if (!isSeen()) throw unseen(kind)
    const own = before.zones.length + before.macros.length
    const all = book.rows('auth_user').reduce((sum, user) => sum + countOf(readFavourites(user[COLUMN])), 0)
    if (own >= limits.favourites || all >= limits.favouritesInAll)
      throw new Fault(
        'favourites_full',
        `You have ${counted(own, 'favourite')}, and no more are kept. Remove one first.`,
      )
  }
  const after = { ...before, [kind]: isFavourite ? [...others, id] : others }
  await keeper.change('auth_user', session.userId, { [COLUMN]: after as unknown as Json })
}

/** Ids of rows that were removed are never given again. */
function stillThere(book: Pick<Book, 'row'>, { zones, macros }: Favourites): Favourites {
  const isIn = (table: string) => (id: number) => book.row(table, id) !== undefined
  return { zones: zones.filter(isIn('zone')), macros: macros.filter(isIn('macro')) }
}

function unseen(kind: keyof Favourites): Fault {
  const field = kind === 'zones' ? 'zone_id' : 'macro_id'
  const message = `is not the id of a ${kind === 'zones' ? 'zone' : 'macro'} of yours`
  return new Fault('bad_fields', `${field} ${message}`, { details: { fields: [{ field, message }] } })
}

function countOf({ zones, macros }: Favourites): number {
  return zones.length + macros.length
}

function readFavourites(value: Json | undefined): Favourites {
  return isObject(value) ? { zones: idsIn(value.zones), macros: idsIn(value.macros) } : { zones: [], macros: [] }
}

function idsIn(value: Json | undefined): number[] {
  return isList(value) ? value.filter((id) => typeof id === 'number') : []
}
