/**
 * What devices of zigbee2mqtt expose, as fields of zones: which properties a zone has, and which values they take.
 * @source zigbee2mqtt, Exposes: access bits 1 published, 2 set; brightness 0 to value_max; covers, locks, climate
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { decimalOf } from '../../control/reading.ts'
import { isList, isObject, type Json, kindOf } from '../../json.ts'
import { fromPercent, toPercent } from '../template.ts'
import type { Setting } from '../zone-values.ts'

/** One property of a zone. */
interface Property {
  /** Its name in messages: `state_l1`. */
  name: string
  kind: 'switch' | 'percent' | 'number' | 'choice' | 'text'
  isSettable: boolean
  isPublished: boolean
  /** What a switch says for true, and for false. */
  on: Json
  off: Json
  toggle: Json | undefined
  range: readonly [number, number]
  choices: readonly Json[]
}

/** The properties of one zone, by field. */
export type Exposed = ReadonlyMap<string, Property>

/** Most properties that are read of one device, most choices of one, and most characters of a text. */
const MOST_PROPERTIES = 64
const MOST_CHOICES = 64
const LONGEST_TEXT = 256

/**
 * @param list the message of `bridge/devices`
 * @param addresses those of the zones: a friendly name, with `#endpoint` for one part of a device
 * @returns what each of them exposes; an address that is not in the list is missing
 */
export function readExposes(list: Json | undefined, addresses: ReadonlySet<string>): Map<string, Exposed> {
  const found = new Map<string, Exposed>()
  if (!isList(list)) return found
  const byName = Map.groupBy(addresses, (address) => nameOf(address))
  for (const device of list) {
    if (!isObject(device) || typeof device.friendly_name !== 'string') continue
    const own = byName.get(device.friendly_name)
    if (!own) continue
    const definition = isObject(device.definition) ? device.definition : {}
    for (const address of own) found.set(address, exposedBy(definition.exposes, endpointOf(address)))
  }
  return found
}

/** The friendly name in an address; topics have no `#`. */
export function nameOf(address: string): string {
  return address.split('#', 1)[0] ?? ''
}

function endpointOf(address: string): string | undefined {
  return address.includes('#') ? address.slice(address.indexOf('#') + 1) : undefined
}

function exposedBy(exposes: Json | undefined, endpoint: string | undefined): Exposed {
  const properties = new Map<string, Property>()
  for (const expose of isList(exposes) ? exposes : []) {
    if (!isObject(expose)) continue
    const features = isList(expose.features) ? expose.features : [expose]
    for (const feature of features) {
      if (!isObject(feature) || properties.size >= MOST_PROPERTIES) continue
      if ((feature.endpoint ?? expose.endpoint ?? undefined) !== endpoint) continue
      const property = propertyOf(feature)
      const field = property && fieldOf(String(expose.type ?? ''), feature, property.name)
      if (field !== undefined && !properties.has(field)) properties.set(field, property as Property)
    }
  }
  return properties
}

const KINDS: Readonly<Record<string, Property['kind']>> = {
  binary: 'switch',
  numeric: 'number',
  enum: 'choice',
  text: 'text',
}

function propertyOf(feature: { readonly [key: string]: Json }): Property | undefined {
  const { property, type, access, value_on, value_off, value_toggle, value_min, value_max, values, name } = feature
  const kind = typeof type === 'string' && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  if (!kind || typeof property !== 'string' || property === '' || property.length > LONGEST_TEXT) return undefined
  const bits = typeof access === 'number' ? access : 1
  const isPercent = name === 'brightness' && kind === 'number'
  const least = typeof value_min === 'number' ? value_min : isPercent ? 0 : Number.NEGATIVE_INFINITY
  const most = typeof value_max === 'number' ? value_max : isPercent ? 254 : Number.POSITIVE_INFINITY
  return {
    name: property,
    kind: isPercent ? 'percent' : kind,
    isPublished: (bits & 1) !== 0,
    isSettable: (bits & 2) !== 0,
    on: isChoice(value_on) ? value_on : true,
    off: isChoice(value_off) ? value_off : false,
    toggle: isChoice(value_toggle) ? value_toggle : undefined,
    range: isPercent ? [0, most > 0 ? most : 254] : [least, most],
    choices: (isList(values) ? values : []).slice(0, MOST_CHOICES).filter(isChoice),
  }
}

function isChoice(value: Json | undefined): value is string | number | boolean {
  return typeof value === 'string'
    ? value.length <= LONGEST_TEXT
    : typeof value === 'number' || typeof value === 'boolean'
}

/** Names that mean the same as fields of zones. */
const FIELDS: Readonly<Record<string, string>> = {
  brightness: 'level',
  local_temperature: 'temperature',
  occupied_heating_setpoint: 'setpoint',
  current_heating_setpoint: 'setpoint',
  occupied_cooling_setpoint: 'cooling_setpoint',
  system_mode: 'mode',
}

function fieldOf(kind: string, { name, endpoint }: { readonly [key: string]: Json }, property: string): string {
  const plain = typeof name === 'string' && name !== '' ? name : property
  const bare =
    typeof endpoint === 'string' && plain.endsWith(`_${endpoint}`) ? plain.slice(0, -endpoint.length - 1) : plain
  if (bare === 'state' && kind === 'lock') return 'locked'
  if (bare === 'state' && kind === 'cover') return 'cover'
  if (bare === 'state' && (kind === 'light' || kind === 'switch' || kind === 'fan')) return 'on'
  return Object.hasOwn(FIELDS, bare) ? (FIELDS[bare] as string) : plainText(bare, 64)
}

// Messages of a device.

/** The values of a zone in a message; what is not as it was exposed is left out. */
export function valuesIn(message: Json | undefined, exposed: Exposed): [field: string, value: Json][] {
  if (!isObject(message)) return []
  const values: [string, Json][] = []
  for (const [field, property] of exposed) {
    const said = Object.hasOwn(message, property.name) ? message[property.name] : undefined
    const value = property.isPublished ? valueOfProperty(property, said) : undefined
    if (value === undefined) continue
    if (field === 'cover') {
      if (!exposed.has('position')) values.push(['position', value === 'OPEN' ? 100 : 0])
    } else values.push([field, value])
  }
  const isOff = values.some(([field, value]) => field === 'on' && value === false)
  return values.map(([field, value]) => [field, field === 'level' && isOff ? 0 : value])
}

function valueOfProperty(property: Property, said: Json | undefined): Json | undefined {
  const { kind, on, off, range, choices } = property
  if (kind === 'switch') return said === on ? true : said === off ? false : undefined
  if (kind === 'percent') return isNumber(said, range) ? Math.round(toPercent(said, range)) : undefined
  if (kind === 'number') return isNumber(said, [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]) ? said : undefined
  if (typeof said !== 'string') return undefined
  return kind === 'choice' && !choices.includes(said) ? undefined : plainText(said, LONGEST_TEXT)
}

function isNumber(said: Json | undefined, [least, most]: readonly [number, number]): said is number {
  return typeof said === 'number' && Number.isFinite(said) && said >= least && said <= most
}

/**
 * What is sent to a device so that it takes a value.
 * @param verb as it was called, for the sentence
 * @throws Fault `driver_value` for what it does not expose, or a value that it does not take
 */
export function messageFor(setting: Setting, verb: string, exposed: Exposed): Record<string, Json> {
  const cover = exposed.get('cover')
  const word = { open: 'OPEN', close: 'CLOSE', stop: 'STOP' }[verb]
  if (cover?.isSettable && word !== undefined) return { [cover.name]: word }
  const on = exposed.get('on')
  if (verb === 'toggle' && on?.isSettable && on.toggle !== undefined) return { [on.name]: on.toggle }
  // Brightness 0 is a lamp that is off.
  if (setting.field === 'level' && decimalOf(setting.value) === 0 && on?.isSettable) return { [on.name]: on.off }
  const property = exposed.get(setting.field)
  if (!property?.isSettable) throw unfit(`${setting.field} cannot be set: it takes ${settable(exposed)}`)
  return { [property.name]: sentValue(setting, property) }
}

function settable(exposed: Exposed): string {
  const names = [...exposed].filter(([, property]) => property.isSettable).map(([field]) => field)
  return names.join(', ') || 'nothing'
}

function sentValue({ field, value }: Setting, { kind, on, off, range, choices }: Property): Json {
  if (kind === 'switch') {
    if (typeof value === 'boolean') return value ? on : off
    throw unfit(`${field} has to be true or false`)
  }
  if (kind === 'choice') {
    if (choices.includes(value)) return value
    throw unfit(`${field} has to be one of ${choices.map((one) => plainText(String(one), 32)).join(', ')}`)
  }
  if (kind === 'text') {
    if (typeof value === 'string') return value
    throw unfit(`${field} is ${kindOf(value)}, expected text`)
  }
  const [least, most] = kind === 'percent' ? [0, 100] : range
  const number = decimalOf(value)
  if (number === undefined || number < least || number > most)
    throw unfit(`${field} has to be a number${Number.isFinite(most - least) ? ` from ${least} to ${most}` : ''}`)
  return kind === 'percent' ? Math.round(fromPercent(number, range)) : number
}

function unfit(sentence: string): Fault {
  return new Fault('driver_value', sentence)
}
