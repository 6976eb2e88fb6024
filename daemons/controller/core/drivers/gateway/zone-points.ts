/** A zone made of points of a gateway: what it does by their values, and which point a command sets to what. */
import { Fault } from '#kit/pure/fault.ts'
import type { PointLink, PointPlace, PointReading } from '../../../wire/gateway.ts'
import { readPointAddress } from '../../../wire/gateway.ts'
import { foldedName } from '../../control/reading.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import type { DriverCommand } from '../driver.ts'
import { givenIn, refuseBeyond, switchedBy } from '../zone-values.ts'

export interface ZonePoints {
  id: number
  /** Path of its port on the gateway. */
  port: string
  links: readonly PointLink[]
  type: string
  /** What off is where the point is a number; above it is on. */
  off: number
}

/** What is known of a point. */
export interface KnownPoint {
  reading?: PointReading
  place?: PointPlace
}

type KnownPoints = (point: string) => KnownPoint | undefined

/** @param line the port of zones whose address names none. @throws Fault `point_address` */
export function zonePointsOf({ id, address, type, min }: Row, line: string): ZonePoints {
  const { port, links } = readPointAddress(typeof address === 'string' ? address : '', line)
  const off = typeof min === 'number' ? min : 0
  return { id, port, links, type: typeof type === 'string' ? type.toLowerCase() : '', off }
}

// What the zone does.

/** Fields of a number by words of the zone's type; the first that fits. */
const NUMBER_FIELDS: readonly (readonly [words: readonly string[], field: string])[] = [
  [['dimmer', 'light', 'lamp', 'dali', 'fan', 'valve'], 'level'],
  [['blind', 'shutter', 'shade', 'curtain', 'awning'], 'position'],
  [['humid'], 'humidity'],
  [['temperature', 'thermostat', 'climate', 'hvac', 'heat', 'cool'], 'temperature'],
  [['audio', 'music', 'speaker', 'sound'], 'volume'],
]
/** Words for on and off by words of the zone's type. */
const STATES: readonly (readonly [words: readonly string[], on: string, off: string])[] = [
  [['unlock'], 'unlocked', 'locked'],
  [['lock'], 'locked', 'unlocked'],
  [['door', 'gate', 'window', 'contact', 'valve', 'blind', 'shutter', 'shade', 'curtain', 'awning'], 'open', 'closed'],
]

/** What a zone does now. A value that is not that of now is null, `state` is unknown then, and `error` says why. */
export function readingsPatch(zone: ZonePoints, known: KnownPoints): Record<string, Json> {
  const patch: Record<string, Json> = { error: null, quality: 'good' }
  let state: Json = 'ok'
  for (const link of zone.links) {
    const reading = known(link.point)?.reading
    const isGood = reading?.quality === 'good'
    const value = isGood ? reading.value : null
    const field = link.field ?? mainField(zone, known(link.point))
    patch[field] = field === 'on' && value !== null ? isTrue(value) : value
    if (link.field === null) patch.value = value
    if (reading?.unit && link.field === null) patch.unit = reading.unit
    if (field === 'on' && value !== null) state = stateWord(zone, isTrue(value))
    if (field === 'state' && value !== null) state = value
    if (isGood) continue
    patch.quality = reading?.quality ?? 'unknown'
    patch.error = whyNot(link.point, reading)
  }
  patch.state = patch.error === null ? state : 'unknown'
  return patch
}

/** What a point without a field is for its zone. */
function mainField({ type }: ZonePoints, point: KnownPoint | undefined): string {
  if (isBit(point)) return 'on'
  const found = NUMBER_FIELDS.find(([words]) => words.some((word) => type.includes(word)))
  return found?.[1] ?? 'value'
}

/** By its definition; of one that is not known, by its value. */
function isBit(point: KnownPoint | undefined): boolean {
  return point?.place ? point.place.type === 'bit' : typeof point?.reading?.value === 'boolean'
}

function isTrue(value: string | number | boolean): boolean {
  return typeof value === 'number' ? value > 0 : value === true || value === 'on'
}

function stateWord({ type }: ZonePoints, isOn: boolean): string {
  const [, on, off] = STATES.find(([words]) => words.some((word) => type.includes(word))) ?? [[], 'on', 'off']
  return isOn ? on : off
}

function whyNot(point: string, reading: PointReading | undefined): string {
  if (reading === undefined) return `the gateway has no point "${point}" there`
  const words = { unknown: 'was not read yet', stale: 'has an old value', bad: 'has no value', good: '' }
  return `point "${reading.name}" ${words[reading.quality]}${reading.fault === null ? '' : `: ${reading.fault}`}`
}

// What a command sets.

/** Verbs that set the one value that a zone has. */
const VALUE_VERBS: ReadonlySet<string> = new Set(['level', 'setpoint', 'position', 'volume', 'value'])

/**
 * The point that a command is for, and its new value.
 * @throws Fault `driver_value`, `point_unwritable`
 */
export function wantedOf(
  zone: ZonePoints,
  command: DriverCommand,
  known: KnownPoints,
): { point: string; value: number | string | boolean } {
  const { verb, args } = command
  const name = foldedName(verb)
  const given = givenIn(name, args)
  const isSwitched = switchedBy(command)
  if (isSwitched !== undefined || name === 'toggle') {
    const link = linkOf(zone, 'on') ?? linkOf(zone, 'state') ?? firstLink(zone)
    const isOn = isSwitched ?? !isOnNow(zone, link, known)
    return { point: link.point, value: switchedTo(known(link.point), isOn, [zone.off, mostOf(command)]) }
  }
  const link = linkOf(zone, name) ?? (VALUE_VERBS.has(name) ? linkOf(zone, null) : undefined)
  if (link === undefined)
    throw new Fault('driver_value', `no point of zone ${zone.id} takes ${JSON.stringify(verb)}: ${takenBy(zone)}`)
  if (given === 'toggle') return { point: link.point, value: !isOnNow(zone, link, known) }
  if (typeof given !== 'number' && typeof given !== 'string' && typeof given !== 'boolean')
    throw new Fault('driver_value', `${JSON.stringify(verb)} needs a value, as ${JSON.stringify({ [verb]: 1 })}`)
  refuseBeyond(command, { field: name, value: given }, zone.links.length)
  return { point: link.point, value: given }
}

function linkOf({ links }: ZonePoints, field: string | null): PointLink | undefined {
  return links.find((link) => link.field === field)
}

function firstLink(zone: ZonePoints): PointLink {
  return linkOf(zone, null) ?? (zone.links[0] as PointLink)
}

function isOnNow(zone: ZonePoints, { point }: PointLink, known: KnownPoints): boolean {
  const reading = known(point)?.reading
  if (reading?.quality !== 'good' || reading.value === null)
    throw new Fault('point_unwritable', `zone ${zone.id} cannot be toggled: ${whyNot(point, reading)}`)
  const { value } = reading
  return typeof value === 'number' ? value > zone.off : isTrue(value)
}

/** @param ends what off and on are where the point is a number */
function switchedTo(
  point: KnownPoint | undefined,
  isOn: boolean,
  [off, on]: readonly [off: number, on: number],
): number | boolean {
  if (isBit(point)) return isOn
  return isOn ? on : off
}

/** By the row that came with the command: the gates may have lowered its maximum. */
function mostOf({ zone }: DriverCommand): number {
  return typeof zone?.max === 'number' ? zone.max : 100
}

function takenBy({ links }: ZonePoints): string {
  const fields = links.flatMap(({ field }) => field ?? [])
  return ['on, off, toggle', ...(links.some(({ field }) => field === null) ? ['level'] : []), ...fields].join(', ')
}
