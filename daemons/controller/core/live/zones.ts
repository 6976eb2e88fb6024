/** Zones and macros as a page shows them: the current state of each zone and its available commands, by room. */
import type { Session } from '../access/accounts.ts'
import type { Json } from '../json.ts'
import { NAME_RULES, seenValue } from '../secrets.ts'
import { type Book, derived, groupedBy, type Row } from '../site/book.ts'
import { usualVerbs } from '../usual-verbs.ts'
import type { DeviceState, LiveBook, LiveDevice, LiveZone } from './live-book.ts'

// A zone: what it is, its current state, and its available commands.

/** The live values that pages receive. Drivers report more, which may contain what no page should learn. */
const SHOWN = [
  'state',
  'on',
  'level',
  'setpoint',
  'temperature',
  'humidity',
  'value',
  'mode',
  'position',
  'volume',
  'mute',
  'source',
] as const

/** Longer texts are cut: a device may say anything. */
const LONGEST_TEXT = 120

/** Live values by name: only texts, numbers and booleans. */
type ZoneValues = Readonly<Partial<Record<(typeof SHOWN)[number], string | number | boolean>>>

/** The current state of a zone. */
export interface ZoneState {
  id: number
  values: ZoneValues
  /** The state of its device; null if it has none. */
  device: { state: DeviceState; lastSeenAt: number | null } | null
  /** Of a sound zone, what it plays; null if nothing, or no source that is known. */
  sourceId?: number | null
}

/** A zone, with the properties that do not change by themselves. */
export interface ZoneView extends ZoneState {
  name: string
  type: string | null
  unit: string | null
  min: number | null
  max: number | null
  /** Commands this person may send, such as `on`, `level`; empty if the person may not command it. */
  verbs: readonly string[]
  /** Why there are none, if rights are the reason. */
  refused: 'role' | 'elevation' | null
  /** Of a sound zone, the sources that this person may select for it. */
  sources?: readonly SourceView[]
  /** Of a sound zone with a limit. */
  maxVolume?: number
}

interface SourceView {
  id: number
  name: string
}

/** The rows of av_zone of a zone. */
export type SoundsOf = (zoneId: number) => readonly Row[]

export function soundsByZone(book: Book): SoundsOf {
  const index = derived(book, ['av_zone'], () => groupedBy(book.rows('av_zone'), 'zone_id'))
  return (zoneId) => index().get(zoneId) ?? []
}

export function zoneState(zone: Row, live: Pick<LiveBook, 'zone' | 'device'>, sounds: SoundsOf): ZoneState {
  const deviceId = zone.device_id
  const device = typeof deviceId === 'number' ? deviceOf(live.device(deviceId)) : null
  const [sound] = sounds(zone.id)
  const playing = sound === undefined ? {} : { sourceId: number(sound.source_id) }
  return { id: zone.id, values: shownOf(live.zone(zone.id)), device, ...playing }
}

function deviceOf({ state, lastSeenAt }: LiveDevice): ZoneState['device'] {
  return { state, lastSeenAt }
}

function shownOf(live: LiveZone): ZoneValues {
  const values: Record<string, string | number | boolean> = {}
  for (const name of SHOWN) {
    const value = Object.hasOwn(live, name) ? plain(live[name]) : undefined
    if (value !== undefined) values[name] = value
  }
  return values
}

function plain(value: Json | undefined): string | number | boolean | undefined {
  if (typeof value === 'string') return seenText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  return typeof value === 'boolean' ? value : undefined
}

/** The text as REST shows it to callers who are not elevated, whoever is signed in: a page may hang on a wall. */
function seenText(text: string): string | undefined {
  const seen = seenValue(NAME_RULES, text)
  return typeof seen === 'string' ? seen.slice(0, LONGEST_TEXT).toWellFormed() : undefined
}

// Verbs: the commands that the building defines for a zone, or those usual for its type.

/** What a page may offer for a zone, or why it offers nothing. */
type Offer = Pick<ZoneView, 'verbs' | 'refused'>

/** @returns a function that lists what this person may ask of a zone; the gates decide again when it is asked */
function createOffers(book: Book, session: Session): (zone: Row) => Offer {
  const commands = book.rows('command').filter(({ enabled }) => enabled !== false)
  const mayCommand = session.may('command')
  return (zone) => {
    if (!mayCommand) return { verbs: [], refused: 'role' }
    if (!session.isElevated && isElevated(book, zone)) return { verbs: [], refused: 'elevation' }
    const own = commands.filter((command) => isFor(command, zone))
    const allowed = own.filter(({ elevated }) => session.isElevated || elevated !== true)
    const verbs = own.length === 0 ? usualVerbs(zone.type) : [...new Set(allowed.map(({ name }) => String(name)))]
    return { verbs, refused: null }
  }
}

/** Whether only elevated sessions may command it. */
export function isElevated(book: Book, zone: Row): boolean {
  const device = typeof zone.device_id === 'number' ? book.row('device', zone.device_id) : undefined
  return zone.elevated === true || device?.elevated === true
}

/** Sources in the order of the building; of those on elevated devices only elevated sessions may select. */
function sourcesFor(book: Book, session: Session): readonly SourceView[] {
  return [...book.rows('av_source')].sort(byPosition).flatMap(({ id, name, device_id: deviceId }) => {
    const device = typeof deviceId === 'number' ? book.row('device', deviceId) : undefined
    const isOpen = device?.enabled !== false && (session.isElevated || device?.elevated !== true)
    return isOpen ? [{ id, name: text(name) ?? `Source ${id}` }] : []
  })
}

/** What a page offers for a sound zone besides its verbs. */
function soundOffer(rows: readonly Row[], sources: readonly SourceView[]): Pick<ZoneView, 'sources' | 'maxVolume'> {
  if (rows.length === 0) return {}
  const limits = rows.flatMap(({ max_volume: most }) => number(most) ?? [])
  return { sources, ...(limits.length > 0 ? { maxVolume: Math.min(...limits) } : {}) }
}

/** A command row without any restriction is meant for devices, not zones. Called for every zone and every command. */
function isFor({ zone_type: type, device_id: device, subsystem_id: subsystem }: Row, zone: Row): boolean {
  return (
    (isNamed(type) || isNamed(device) || isNamed(subsystem)) &&
    (!isNamed(type) || type === zone.type) &&
    (!isNamed(device) || device === zone.device_id) &&
    (!isNamed(subsystem) || subsystem === zone.subsystem_id)
  )
}

function isNamed(value: unknown): boolean {
  return value !== null && value !== undefined
}

// Rooms: groups in the order of the building, zones in the order of their room.

/** One room with its zones. */
export interface ZoneGroup {
  /** Null for zones without a room. */
  id: number | null
  name: string | null
  /** Names of the enclosing groups, outermost first. */
  within: readonly string[]
  zones: readonly ZoneView[]
}

/** Nested groups are followed no deeper. */
const DEEPEST = 16

/** @param scope ids of the visible zones; groups without any are left out */
export function groupZones(
  { book, live }: { book: Book; live: Pick<LiveBook, 'zone' | 'device'> },
  session: Session,
  scope: ReadonlySet<number> | 'all',
): ZoneGroup[] {
  const offers = createOffers(book, session)
  const sounds = soundsByZone(book)
  const sources = sourcesFor(book, session)
  const seen = book.rows('zone').filter(({ id }) => scope === 'all' || scope.has(id))
  const groups = inOrder(book.rows('zone_group'))
  const known = new Map(groups.map((group, at) => [group.id, at]))
  const byGroup = Map.groupBy(seen, ({ zone_group_id: id }) => (typeof id === 'number' ? (known.get(id) ?? -1) : -1))
  const zonesAt = (at: number) => {
    const rows = [...(byGroup.get(at) ?? [])].sort(byPosition)
    return rows.map((zone) => ({
      ...viewOf(zone, offers(zone), zoneState(zone, live, sounds)),
      ...soundOffer(sounds(zone.id), sources),
    }))
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

function viewOf(zone: Row, offer: Offer, state: ZoneState): ZoneView {
  return {
    ...state,
    name: text(zone.name) ?? `Zone ${zone.id}`,
    type: text(zone.type),
    unit: text(zone.unit),
    min: number(zone.min),
    max: number(zone.max),
    ...offer,
  }
}

/** Each group before its subgroups, siblings ordered by position. A group that contains itself is placed at the end. */
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

// Macros: those of the UIs that a person's roles allow, or all for elevated sessions.

/** A macro with a button of its own. */
export interface MacroView {
  id: number
  name: string
  description: string | null
}

/** @returns ordered by position on the UIs; empty if the role does not allow macros */
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
