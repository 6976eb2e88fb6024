/** Which zone or device a command is for: four forms of a name, and what becomes of two. */
import { putKey } from '../json-kind.ts'
import type { Book, Json, Row } from '../row.ts'

/** What is commanded. A zone comes with its device, where it has one; a device alone is commanded as a whole. */
export interface Target {
  readonly zone?: Row
  readonly device?: Row
}

/** The four forms of a target, in a body and in the args of a macro's step. @source document 1, Command payload */
export const TARGET_KEYS = ['zone_id', 'zone', 'device_id', 'device'] as const
export type TargetKey = (typeof TARGET_KEYS)[number]

/**
 * - `none` no form was used
 * - `unknown` one of the forms names nothing, or is of a wrong type
 * - `ambiguous` forms disagree, or a name is that of several
 */
export type TargetFault = 'none' | 'unknown' | 'ambiguous'

/**
 * What came of it; `sentence` says what was seen and what was expected, `named` is each zone and each device that a form
 * means, by itself.
 */
export type Resolved = { target: Target } | { fault: TargetFault; sentence: string; named: readonly Target[] }

/**
 * Finds what is named. Each form has to name something, all have to agree, and one must remain: a name that several
 * zones have does where another form (`device`, `zone_id`) leaves one of them. Names are matched exactly.
 * @param named an object with any of the four keys; others are not looked at, nor are inherited ones
 * @source document 1, Command payload
 */
export function resolveTarget(book: Book, named: Readonly<Record<string, unknown>>): Resolved {
  const found = new Map<TargetKey, readonly Row[]>()
  for (const key of TARGET_KEYS) {
    if (!states(named, key)) continue
    const rows = candidates(book, key, named[key])
    if (typeof rows === 'string') return { fault: 'unknown', sentence: rows, named: [] }
    found.set(key, rows)
  }
  if (found.size === 0)
    return { fault: 'none', sentence: `no target, expected one of ${TARGET_KEYS.join(', ')}`, named: [] }
  const devices = inBoth(found.get('device_id'), found.get('device'))
  const zones = inBoth(found.get('zone_id'), found.get('zone'))
  const commanded = zones && devices ? zones.filter((zone) => devices.some(({ id }) => id === zone.device_id)) : zones
  const left = commanded ?? devices ?? []
  const [one, other] = left
  if (!one || other) {
    const named = [...found].flatMap(([key, rows]) =>
      rows.map((row) => (key === 'zone' || key === 'zone_id' ? zoneTarget(book, row) : { device: row })),
    )
    const forms = [...found.keys()].join(' and ')
    return { fault: 'ambiguous', sentence: one ? `${forms} may be ${left.length} rows` : `${forms} disagree`, named }
  }
  return { target: commanded ? zoneTarget(book, one) : { device: one } }
}

/** A zone with its device. */
export function zoneTarget(book: Book, zone: Row): Target {
  const device = typeof zone.device_id === 'number' ? book.row('device', zone.device_id) : undefined
  return device ? { zone, device } : { zone }
}

/** As audit and answers name it: `zone 12`, `device 3`. */
export function nameOf({ zone, device }: Target): string {
  return zone ? `zone ${zone.id}` : `device ${device?.id}`
}

/**
 * Whether a field of a body is stated. Null stands for one that is left out: some clients write every field that there is.
 * @source document 1, Command payload
 */
export function states(body: Readonly<Record<string, unknown>>, key: string): boolean {
  return Object.hasOwn(body, key) && body[key] !== null
}

/** What was asked for where it could not be found: ids only, a name is text of the caller's own. */
export function askedFor(named: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of ['zone_id', 'device_id'] as const)
    if (Object.hasOwn(named, key) && Number.isSafeInteger(named[key])) return `${key.slice(0, -3)} ${named[key]}`
  return undefined
}

/** The same args without what looks like a target. The result has no prototype: its keys are the caller's. */
export function withoutTargets(args: Readonly<Record<string, Json>>): Record<string, Json> {
  const clean: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(args)) if (!isTargetKey(key)) putKey(clean, key, value)
  return clean
}

export function isTargetKey(key: string): key is TargetKey {
  return (TARGET_KEYS as readonly string[]).includes(key)
}

/** Rows that one form names, or why it names none. */
function candidates(book: Book, key: TargetKey, value: unknown): readonly Row[] | string {
  const table = key === 'zone' || key === 'zone_id' ? 'zone' : 'device'
  if (key === table) {
    if (typeof value !== 'string') return `${key} is ${kindOf(value)}, expected the name of a ${table}`
    const rows = book.named(table, value)
    return rows.length > 0 ? rows : `there is no ${table} by the name given`
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    return `${key} is ${typeof value === 'number' ? 'no whole number' : kindOf(value)}, expected the id of a ${table}`
  const row = book.row(table, value)
  return row ? [row] : `there is no ${table} ${value}`
}

function inBoth(some: readonly Row[] | undefined, others: readonly Row[] | undefined): readonly Row[] | undefined {
  if (!some || !others) return some ?? others
  return some.filter((row) => others.includes(row))
}

/** What a value is, for a sentence. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return { string: 'text', number: 'a number', boolean: 'true or false' }[typeof value as string] ?? 'an object'
}
