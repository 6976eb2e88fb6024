/** What a session may change over the socket: values of attributes at once, rows of the site by Apply All. */

import { Fault } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { counted } from '#kit/pure/text.ts'
import type { Session } from '../access/accounts.ts'
import type { AuditReason, Outcome } from '../audit.ts'
import type { Json } from '../json.ts'
import type { Sight } from '../live/socket-feed.ts'
import type { Book, Row } from '../site/book.ts'
import { overtakenRows } from '../site/browse.ts'
import type { Change } from '../site/changes.ts'
import type { AttributeWish, RowsWish, SocketWrites } from '../surfaces.ts'
import type { Gates } from './gates.ts'
import { resolveTarget, type Target } from './reading.ts'

/** What writing depends on. */
interface WritingParts {
  book: Book
  gates: Pick<Gates, 'isElevated'>
  /** What a session may see now. */
  sights(session: Session): Sight
  /** Durable when the promise resolves. */
  setAttribute(row: Row, value: Json): Promise<void>
  /** Changes that wait for Apply All. */
  waiting(): readonly Change[]
  /**
   * Adds to them.
   * @returns how many wait then
   * @throws Fault `site_faults`
   */
  stage(wish: RowsWish, author: string): Promise<number>
  limits: {
    /** Most characters of a value. */
    textChars: number
    /** Most rows of one message. */
    writeRows: number
  }
}

/** The caller must have checked the function of the role before. */
export function createWrites(parts: WritingParts): SocketWrites {
  return {
    setAttribute: (session, wish) => setAttribute(parts, session, wish),
    write: (session, wish) => write(parts, session, wish),
  }
}

/**
 * Sessions without elevation write what they may read, and where they may command: attributes of zones and devices in
 * their scope that are not elevated. An attribute that they may not see is refused like one that there is not.
 */
async function setAttribute(parts: WritingParts, session: Session, wish: AttributeWish): Promise<Outcome> {
  const { book, gates, sights, limits } = parts
  const rows = attributesOf(book, wish)
  const [row] = rows
  if (rows.length > 1)
    return refused(400, 'ambiguous target', 'bad_target', 'several attributes fit; name one by attribute_id')
  const isSeen = row !== undefined && sights(session).attribute(row.id) !== undefined
  if (row === undefined || !isSeen)
    return session.isElevated
      ? refused(400, 'unknown attribute', 'bad_target', 'there is no such attribute')
      : refused(403, 'unauthorized', row === undefined ? 'scope_denied' : hiddenReason(row), NOT_YOURS)
  const target = `attribute ${row.id}`
  const place = placeOf(book, row)
  if (!session.isElevated && isSensitiveName(String(row.name)))
    return { ...refused(403, 'unauthorized', 'secure_filtered', NOT_YOURS), target }
  if (!session.isElevated && (place === undefined || gates.isElevated(place)))
    return { ...refused(403, 'unauthorized', 'elevation_denied', NOT_YOURS), target }
  const chars = typeof wish.value === 'string' ? wish.value.length : JSON.stringify(wish.value).length
  if (chars > limits.textChars)
    return {
      ...refused(
        400,
        'invalid args',
        'bad_args',
        `value has ${counted(chars, 'character')}, at most ${limits.textChars} are taken`,
      ),
      target,
    }
  await parts.setAttribute(row, wish.value)
  const facts = {
    action: `set ${JSON.stringify(String(row.name).slice(0, LONGEST_NAME))}`,
    outcome: 'done',
    detail: null,
  } as const
  return { status: 200, body: { json: { success: true, attribute_id: row.id } }, reason: null, target, facts }
}

const NOT_YOURS = 'You may not set this attribute, or there is none.'
const LONGEST_NAME = 40

function hiddenReason(row: Row): AuditReason {
  return row.secure === false ? 'scope_denied' : 'secure_filtered'
}

function attributesOf(book: Book, { attribute_id: id, name, zone_id, device_id }: AttributeWish): readonly Row[] {
  if (id !== undefined) return [book.row('attribute', id) ?? []].flat()
  const [kind, targetId] =
    zone_id !== undefined ? ['zone', zone_id] : device_id !== undefined ? ['device', device_id] : ['controller', null]
  return book
    .named('attribute', name ?? '')
    .filter((row) => row.system_target === kind && (kind === 'controller' || row.target_id === targetId))
}

/** The zone or device that an attribute belongs to; undefined for one of the house itself. */
function placeOf(book: Book, { system_target: of, target_id: id }: Row): Target | undefined {
  if (of !== 'zone' && of !== 'device') return undefined
  const resolved = resolveTarget(book, { [`${of}_id`]: id })
  return 'target' in resolved ? resolved.target : undefined
}

/** Any table may be written, people and roles among them: so only elevated sessions may. */
async function write(
  { book, stage, waiting, limits }: WritingParts,
  session: Session,
  wish: RowsWish,
): Promise<Outcome> {
  if (!session.isElevated)
    return refused(403, 'unauthorized', 'elevation_denied', 'Writing rows needs a role with Elevated on.')
  const lists = [...Object.values(wish.rows), ...Object.values(wish.remove)]
  const count = lists.reduce((sum, list) => sum + list.length, 0)
  if (count === 0) return refused(400, 'invalid args', 'bad_args', 'there are neither rows to write nor ids to remove')
  if (count > limits.writeRows)
    return refused(
      400,
      'invalid args',
      'bad_args',
      `${count} rows in one message, at most ${limits.writeRows} are taken`,
    )
  // Nothing may come between this and `stage`, which refuses what another has staged since it began.
  const faults = overtakenRows(book, waiting(), wish)
  if (faults.length > 0)
    return badFields('Somebody else has changed these rows meanwhile, so none of them was kept.', faults)
  try {
    const pending = await stage(wish, session.username)
    const facts = { action: `write ${counted(count, 'row')}`, outcome: 'done', detail: null } as const
    return {
      status: 200,
      body: { json: { success: true, pending } },
      reason: null,
      target: 'pending_change',
      facts,
    }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'site_faults') throw error
    const faults = (error.details?.faults ?? []) as readonly { path: string; sentence: string }[]
    const fields = faults.map(({ path, sentence }) => ({ field: path, message: sentence }))
    return badFields('These rows do not fit the site, so none of them was kept.', fields)
  }
}

/** Most fields that one answer names. */
const MOST_FIELDS = 50

function badFields(message: string, fields: readonly { field: string; message: string }[]): Outcome {
  const json = { error: 'bad_fields', message, fields: fields.slice(0, MOST_FIELDS) }
  return { status: 400, body: { json }, reason: 'bad_fields' }
}

function refused(status: number, error: string, reason: AuditReason, message: string): Outcome {
  return { status, body: { json: { error, message } }, reason }
}
