/**
 * What a device says, as values of zones: by a JSON pointer, or by a pattern that is matched in one pass. Rules come
 * from the device's row.
 */
import { plainText } from '#kit/pure/text.ts'
import { isList, isObject, type Json, objectOf } from '../json.ts'
import type { Row } from '../site/book.ts'
import type { DriverContext } from './driver.ts'
import { addressOf, fieldsOf, inside, itemsOf, type Placed, refuse, textIn } from './row-config.ts'
import { fill, namesAddress, readTemplate, type Template, toPercent } from './template.ts'
import { zonePatch } from './zone-values.ts'

/** What a device said, read once for all rules. */
export interface Said {
  text: string
  /** Undefined if it is not JSON. */
  json: Json | undefined
}

/** One rule: which values it finds in what was said. */
export interface Feedback {
  /** The fields it sets. */
  fields: readonly string[]
  /** The rule is for the zone with this address only. */
  zone: string | undefined
  /** What it finds depends on the address of the zone. */
  isOfZone: boolean
  /** @returns values by field, and the address that a pattern found; undefined if the rule does not fit */
  read(said: Said, address: string): { address?: string; values: [field: string, value: Json][] } | undefined
}

const KEYS = ['field', 'pointer', 'pattern', 'map', 'scale', 'zone']

/** Longest text that is taken from what a device says. */
const LONGEST_TEXT = 1024

/** @param more keys that the driver itself reads. @throws Fault `driver_config` */
export function readFeedback(placed: Placed, more: readonly string[] = []): Feedback[] {
  return itemsOf(placed).map((item) => readRule(item, more))
}

export function readRule(placed: Placed, more: readonly string[] = []): Feedback {
  const { pointer, pattern, zone, field } = fieldsOf(placed, [...KEYS, ...more])
  const only = zone === undefined || zone === null ? undefined : String(zone)
  const change = changeOf(placed)
  if (pattern !== undefined) {
    if (pointer !== undefined) refuse(placed, 'has pointer and pattern, expected one of them')
    const match = readPattern(inside(placed, 'pattern'))
    const renamed = (name: string) => (name === 'value' && typeof field === 'string' ? field : name)
    return {
      zone: only,
      isOfZone: false,
      fields: match.names.map(renamed).filter((name) => name !== 'address'),
      read({ text }) {
        const found = match.read(text)
        if (!found) return undefined
        const values = found
          .filter(([name]) => name !== 'address')
          .map(([name, value]) => [renamed(name), change(value)] as const)
        const address = found.find(([name]) => name === 'address')?.[1]
        return { values: known(values), ...(address !== undefined && { address: String(address) }) }
      },
    }
  }
  const name = textIn(inside(placed, 'field'))
  const { find, isOfZone } =
    pointer === undefined ? { find: wholeText, isOfZone: false } : readPointer(inside(placed, 'pointer'))
  return {
    ...{ zone: only, isOfZone },
    fields: [name],
    read(said, address) {
      const value = find(said, address)
      return value === undefined ? undefined : { values: known([[name, change(value)]]) }
    },
  }
}

/**
 * Prepares the reports of a device. A rule that names a zone, or finds an address, is for that zone alone; others are
 * for all of these zones.
 * @param hasState the device says whether a zone is on, by one of these rules or by others
 * @returns reports what was said; it returns whether any rule fits
 */
export function createReporter(
  rules: readonly Feedback[],
  zones: readonly Row[],
  context: Pick<DriverContext, 'report'>,
  hasState = saysState(rules),
): (text: string) => boolean {
  const byAddress = Map.groupBy(zones, addressOf)
  const ofRule = ({ zone }: Feedback) => (zone === undefined ? zones : (byAddress.get(zone) ?? []))

  return (text) => {
    const said = { text, json: jsonOf(text) }
    const valuesOf = new Map<Row, [string, Json][]>()
    let fits = false
    for (const rule of rules) {
      // What is the same for every zone is read once, however many zones there are.
      const shared = rule.isOfZone ? undefined : rule.read(said, '')
      const found = shared?.address
      for (const zone of found === undefined ? ofRule(rule) : (byAddress.get(found) ?? [])) {
        const read = rule.isOfZone ? rule.read(said, addressOf(zone)) : shared
        if (read) valuesOf.set(zone, [...(valuesOf.get(zone) ?? []), ...read.values])
        fits ||= read !== undefined
      }
      fits ||= shared !== undefined
    }
    for (const [{ id }, values] of valuesOf)
      if (values.length > 0) context.report({ zoneId: id }, zonePatch(values, { hasState }))
    return fits
  }
}

/** Whether any of the rules says if a zone is on. */
export function saysState(rules: readonly Feedback[]): boolean {
  return rules.some(({ fields }) => fields.some((name) => name === 'on' || name === 'state'))
}

function known(values: readonly (readonly [string, Json | undefined])[]): [string, Json][] {
  return values.filter((entry): entry is [string, Json] => entry[1] !== undefined)
}

export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// From the value of a device to that of a zone.

/** @returns undefined for a value that `map` does not name: nothing is known then */
function changeOf(placed: Placed): (value: Json) => Json | undefined {
  const map = inside(placed, 'map')
  const scale = inside(placed, 'scale')
  if (map.value !== undefined) {
    const named = objectOf(Object.entries(fieldsOf(map)))
    return (value) => {
      const key = typeof value === 'object' ? undefined : String(value)
      return key !== undefined && Object.hasOwn(named, key) ? named[key] : undefined
    }
  }
  if (scale.value === undefined) return plainValue
  const [low, high] = isList(scale.value) ? scale.value : []
  if (typeof low !== 'number' || typeof high !== 'number' || low === high)
    return refuse(scale, 'has to be two different numbers: what the device says for 0 and for 100')
  return (value) => {
    const number = plainValue(value)
    return typeof number === 'number' ? Math.round(toPercent(number, [low, high]) * 10) / 10 : undefined
  }
}

const DECIMAL = /^[+-]?\d{1,20}(?:\.\d{1,20})?$/

/** Numbers in text become numbers, control characters go, and only single values are taken. */
function plainValue(value: Json): Json | undefined {
  if (typeof value === 'object') return undefined
  if (typeof value !== 'string') return value
  return DECIMAL.test(value) ? Number(value) : plainText(value.slice(0, LONGEST_TEXT).trim(), LONGEST_TEXT)
}

function wholeText({ text }: Said): Json {
  return text.slice(0, LONGEST_TEXT).trim()
}

// JSON pointers. @source RFC 6901

type Find = (said: Said, address: string) => Json | undefined

function readPointer(placed: Placed): { find: Find; isOfZone: boolean } {
  if (placed.value === '') return { find: ({ json }) => json, isOfZone: false }
  const text = textIn(placed)
  if (!text.startsWith('/')) refuse(placed, 'is not a JSON pointer: it has to begin with /')
  const segments = text
    .slice(1)
    .split('/')
    .map((segment) => readTemplateOrEmpty({ value: segment, place: placed.place }))
  const find: Find = ({ json }, address) => {
    let at: Json | undefined = json
    for (const segment of segments) {
      if (at === undefined) return undefined
      const scope = { address, args: {}, own: () => null }
      // An address is one segment: a slash in it is escaped as it would be in a pointer.
      const name = fill(segment, scope, (value) => value.replaceAll('~', '~0').replaceAll('/', '~1'))
      at = member(at, name.replaceAll('~1', '/').replaceAll('~0', '~'))
    }
    return at
  }
  return { find, isOfZone: segments.some(namesAddress) }
}

function readTemplateOrEmpty(placed: Placed): Template {
  return placed.value === '' ? [] : readTemplate(placed)
}

function member(value: Json, name: string): Json | undefined {
  if (isList(value)) return /^(?:0|[1-9]\d{0,8})$/.test(name) ? value[Number(name)] : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

// Patterns: literal text and slots such as `{level:number}`. Matched from left to right without a step back, so that no
// answer of a device, however made, takes more than one pass.

type Kind = 'text' | 'number' | 'word' | 'hex' | 'skip'

interface Hole {
  name: string
  kind: Kind
  /** Digits of a `hex`. */
  digits: number
}

interface Pattern {
  names: readonly string[]
  /** Undefined if the text does not fit. */
  read(text: string): [name: string, value: Json][] | undefined
}

const HOLE = /\{(\*|[\p{L}_][\p{L}\p{N}_]{0,63}(?::(?:number|word|hex[1-8]|text))?)\}/gu

/** `VOL {volume:number}`, `OUT {address:word} {*}`. Blanks and line ends around the text do not count. */
export function readPattern(placed: Placed): Pattern {
  const text = textIn(placed).trim()
  const parts: (string | Hole)[] = []
  let from = 0
  for (const { 0: all, 1: inner = '', index } of text.matchAll(HOLE)) {
    if (index > from) parts.push(text.slice(from, index))
    parts.push(holeOf(inner))
    from = index + all.length
  }
  if (from < text.length) parts.push(text.slice(from))
  if (parts.some((part, at) => isOpen(part) && isHole(parts[at + 1])))
    refuse(placed, 'has two slots in a row, and nothing says where the first ends')
  const names = parts.filter(isHole).flatMap(({ name, kind }) => (kind === 'skip' ? [] : [name]))
  return { names, read: (said) => matched(parts, said.trim()) }
}

function isHole(part: string | Hole | undefined): part is Hole {
  return typeof part === 'object'
}

/** It ends where the next literal begins. */
function isOpen(part: string | Hole): boolean {
  return isHole(part) && (part.kind === 'text' || part.kind === 'skip')
}

function holeOf(inner: string): Hole {
  if (inner === '*') return { name: '', kind: 'skip', digits: 0 }
  const [name = '', kind = 'text'] = inner.split(':')
  if (kind.startsWith('hex')) return { name, kind: 'hex', digits: Number(kind.slice(3)) }
  return { name, kind: kind as Kind, digits: 0 }
}

const NUMBER_AT = /[+-]?\d{1,20}(?:\.\d{1,20})?/y
const WORD_AT = /[^\s\p{C}]{1,256}/uy
const HEX_AT = /[0-9a-f]{1,8}/iy

function matched(parts: readonly (string | Hole)[], text: string): [string, Json][] | undefined {
  const found: [string, Json][] = []
  let at = 0
  for (const [index, part] of parts.entries()) {
    if (typeof part === 'string') {
      if (!text.startsWith(part, at)) return undefined
      at += part.length
      continue
    }
    const next = parts[index + 1]
    const end = endOf(part, text, at, typeof next === 'string' ? next : undefined)
    if (end === undefined) return undefined
    const value = text.slice(at, end)
    if (part.kind !== 'skip') found.push([part.name, heldValue(part, value)])
    at = end
  }
  return at === text.length ? found : undefined
}

/** @param next the literal that follows; the text ends with it, or at its end */
function endOf({ kind, digits }: Hole, text: string, at: number, next: string | undefined): number | undefined {
  if (kind === 'text' || kind === 'skip') {
    const end = next === undefined ? text.length : text.indexOf(next, at)
    return end < at || (kind === 'text' && end === at) ? undefined : end
  }
  const shape = kind === 'number' ? NUMBER_AT : kind === 'word' ? WORD_AT : HEX_AT
  shape.lastIndex = at
  const length = shape.exec(text)?.[0].length
  if (length === undefined) return undefined
  if (kind === 'hex') return length < digits ? undefined : at + digits
  // A word ends before the literal that follows it.
  const cut = kind === 'word' && next !== undefined ? text.indexOf(next, at) : -1
  return cut > at && cut < at + length ? cut : at + length
}

function heldValue({ kind }: Hole, text: string): Json {
  if (kind === 'number') return Number(text)
  return kind === 'hex' ? Number.parseInt(text, 16) : text
}
