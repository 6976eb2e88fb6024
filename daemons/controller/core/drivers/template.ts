/**
 * Templates of what is sent to a device: text with slots such as `${args.level}`, filled with values that are encoded
 * for the place where they stand, so that no value becomes structure.
 */
import { Fault } from '#kit/pure/fault.ts'
import { decimalOf } from '../control/reading.ts'
import { isList, isObject, type Json, kindOf, objectOf } from '../json.ts'
import { type Placed, refuse, textIn } from './row-config.ts'

/** Where values of a template come from. */
export interface Scope {
  /** The address of the zone, or of the device. */
  address: string
  args: Readonly<Record<string, Json>>
  /** Columns of the device's own row. */
  own(column: OwnColumn): string | null
}

type OwnColumn = 'username' | 'password' | 'api_key'
const OWN_COLUMNS: readonly string[] = ['username', 'password', 'api_key'] satisfies OwnColumn[]

type Filter = (value: Json) => Json

interface Slot {
  /** `args.level`, `address`, `password`. */
  name: string
  filters: readonly Filter[]
  /** Any printable character may stand in it, where else only a word may. */
  isText: boolean
}

/** Literal texts and slots, in order. */
export type Template = readonly (string | Slot)[]

/** Encodes a value for its place. @throws Fault `driver_value` if it may not stand there */
export type Encode = (value: string, slot: { name: string; isText: boolean }) => string

const SLOT = /\$\{([^{}]*)\}/g
const NAME = /^(?:address|username|password|api_key|args\.[\p{L}\p{N}_-]{1,64})$/u

/** Most characters of one template. */
const LONGEST_TEMPLATE = 8192

/** @throws Fault `driver_config` */
export function readTemplate(placed: Placed): Template {
  const text = textIn(placed)
  if (text.length > LONGEST_TEMPLATE) refuse(placed, `is longer than ${LONGEST_TEMPLATE} characters`)
  const parts: (string | Slot)[] = []
  let from = 0
  for (const { 0: all, 1: inner = '', index } of text.matchAll(SLOT)) {
    if (index > from) parts.push(text.slice(from, index))
    parts.push(readSlot(inner, placed))
    from = index + all.length
  }
  if (from < text.length) parts.push(text.slice(from))
  if (parts.some((part) => typeof part === 'string' && part.includes('${')))
    refuse(placed, 'begins a slot that does not end: its } is missing')
  return parts
}

/** Whether a template uses the address, so that it stands for one zone. */
export function namesAddress(template: Template): boolean {
  return template.some((part) => typeof part !== 'string' && part.name === 'address')
}

/** @throws Fault `driver_value` if a value is missing, or may not stand there */
export function fill(template: Template, scope: Scope, encode: Encode): string {
  return template.map((part) => (typeof part === 'string' ? part : encode(textOf(part, scope), part))).join('')
}

/** Fills JSON: only whole values, so that its structure stays. A text that is one slot becomes the value itself. */
export type JsonTemplate = (scope: Scope) => Json

/** @throws Fault `driver_config` */
export function readJsonTemplate(placed: Placed): JsonTemplate {
  const { value = null, place } = placed
  if (typeof value === 'string' && value !== '') {
    const template = readTemplate(placed)
    const [only] = template
    if (template.length === 1 && only !== undefined && typeof only !== 'string')
      return (scope) => slotValue(only, scope)
    return (scope) => fill(template, scope, (text) => text)
  }
  if (isList(value)) {
    const items = value.map((item, at) => readJsonTemplate({ value: item, place: `${place}[${at}]` }))
    return (scope) => items.map((item) => item(scope))
  }
  if (!isObject(value)) return () => value
  const entries = Object.entries(value).map(
    ([key, item]) => [key, readJsonTemplate({ value: item, place: `${place}.${key}` })] as const,
  )
  return (scope) => objectOf(entries.map(([key, item]) => [key, item(scope)]))
}

// Encodings, by the place where a value stands.

/** One segment of a path: it neither ends it nor climbs out of it. */
export const inPath: Encode = (value, { name }) => {
  if (value === '' || /^\.+$/.test(value)) throw unfit(name, 'is empty or only dots, which is no part of a path')
  return percent(value, name)
}

export const inQuery: Encode = (value, { name }) => percent(value, name)

export const inHeader: Encode = (value, { name }) => {
  if (!/^[\x20-\x7e]*$/.test(value)) throw unfit(name, 'has a character that no header may have')
  return value
}

export const inXml: Encode = (value, { name }) => {
  if (/[^\P{C}\t\n]/u.test(value)) throw unfit(name, 'has a control character')
  return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/**
 * Text of a device's own language, whose structure is unknown: a number or a word, with `|text` anything printable.
 */
export const inAscii: Encode = (value, { name, isText }) => {
  const isFine = isText || OWN_COLUMNS.includes(name) ? /^[\x20-\x7e]*$/ : /^[\w.:+-]+$/
  if (!isFine.test(value))
    throw unfit(name, isText ? 'has a character that cannot be sent' : 'is not a number or a plain word')
  return value
}

/** Hex digits, in pairs. */
export const inHex: Encode = (value, { name }) => {
  if (!/^(?:[0-9a-f]{2})+$/i.test(value)) throw unfit(name, 'is not made of bytes in hex: use a filter such as |hex:2')
  return value
}

/** Longest value in a topic. */
const LONGEST_TOPIC = 256

/** A level of an MQTT topic; an address may have several. */
export const inTopic: Encode = (value, { name }) => {
  if (
    value === '' ||
    value.length > LONGEST_TOPIC ||
    /[+#\p{C}]/u.test(value) ||
    (name !== 'address' && value.includes('/'))
  )
    throw unfit(name, 'is empty, too long, or has a character that no topic may have')
  return value
}

function percent(value: string, name: string): string {
  if (!value.isWellFormed()) throw unfit(name, 'is not well-formed text')
  return encodeURIComponent(value)
}

// Slots and their filters.

function readSlot(inner: string, placed: Placed): Slot {
  const [name = '', ...said] = inner.split('|').map((part) => part.trim())
  if (!NAME.test(name))
    refuse(
      placed,
      `has a slot that is none of address, username, password, api_key, args.NAME: ${JSON.stringify(name)}`,
    )
  const isText = said.includes('text')
  return { name, isText, filters: said.filter((one) => one !== 'text').map((one) => readFilter(one, name, placed)) }
}

const FILTERS = 'round, scale:LOW:HIGH, pad:N, hex:N, upper, lower, text'

function readFilter(said: string, slot: string, placed: Placed): Filter {
  const [name, ...words] = said.split(':')
  const numbers = words.map(Number)
  const [first = Number.NaN, second = Number.NaN] = numbers
  const isCount = numbers.length === 1 && Number.isInteger(first) && first >= 1 && first <= 16
  if (name === 'round' && words.length === 0) return (value) => Math.round(numberOf(value, slot))
  if (name === 'scale' && numbers.length === 2 && Number.isFinite(first) && Number.isFinite(second))
    return (value) => fromPercent(numberOf(value, slot), [first, second])
  if (name === 'pad' && isCount) return (value) => String(numberOf(value, slot)).padStart(first, '0')
  if (name === 'hex' && isCount) return (value) => hexDigits(numberOf(value, slot), first, slot)
  if (name === 'upper' && words.length === 0) return (value) => String(value).toUpperCase()
  if (name === 'lower' && words.length === 0) return (value) => String(value).toLowerCase()
  return refuse(placed, `has a filter ${JSON.stringify(said)}, known are ${FILTERS}`)
}

/** A level of 0 to 100 on the scale of a device, without the noise of binary fractions. */
export function fromPercent(percent: number, [low, high]: readonly [number, number]): number {
  return Number((low + (percent / 100) * (high - low)).toPrecision(12))
}

/** The reverse of `fromPercent`. */
export function toPercent(value: number, [low, high]: readonly [number, number]): number {
  return Number((((value - low) / (high - low)) * 100).toPrecision(12))
}

function hexDigits(value: number, digits: number, slot: string): string {
  if (!Number.isInteger(value) || value < 0 || value >= 16 ** digits)
    throw unfit(slot, `has to be a whole number from 0 to ${16 ** digits - 1} here`)
  return value.toString(16).toUpperCase().padStart(digits, '0')
}

/** Addresses are text: one that is a decimal number is one. */
function numberOf(value: Json, slot: string): number {
  const number = decimalOf(value)
  if (number === undefined) throw unfit(slot, `is ${kindOf(value)}, expected a number`)
  return number
}

function slotValue({ name, filters }: Slot, scope: Scope): Json {
  const value = rawValue(name, scope)
  if (value === undefined || value === null) throw unfit(name, 'is missing')
  return filters.reduce<Json>((filtered, filter) => filter(filtered), value)
}

function rawValue(name: string, { address, args, own }: Scope): Json | undefined {
  if (name === 'address') return address === '' ? null : address
  if (name.startsWith('args.')) {
    const key = name.slice('args.'.length)
    return Object.hasOwn(args, key) ? args[key] : undefined
  }
  return own(name as OwnColumn)
}

function textOf(slot: Slot, scope: Scope): string {
  const value = slotValue(slot, scope)
  if (typeof value === 'object') throw unfit(slot.name, `is ${kindOf(value)}, which has no form as text`)
  return String(value)
}

function unfit(name: string, what: string): Fault {
  return new Fault('driver_value', `${name} ${what}`)
}
