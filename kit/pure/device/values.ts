/** Arguments as callers give them, and values as devices say them. */
import { Fault } from '../fault.ts'
import { counted, nearestName, plainText, readSwitch } from '../text.ts'
import type { ArgRule, AttributeRule, DeviceValue, Enums } from './definition.ts'
import type { Captured } from './pattern.ts'
import type { WireValue } from './template.ts'

/** An argument, for people and for the message. */
export interface ReadArg {
  value: DeviceValue
  wire: WireValue
}

/** The arguments of a command, or the settings of a device, by name. */
export type ArgRules = ReadonlyMap<string, ArgRule>

/**
 * Reads arguments by their rules; those that are missing get their default.
 * @throws Fault `command_args` that names the argument; a value is never quoted, since it may be a code
 */
export function readArgs(
  rules: ArgRules,
  given: Readonly<Record<string, unknown>>,
  enums: Enums | undefined,
): Map<string, ReadArg> {
  const stranger = Object.keys(given).find((name) => !rules.has(name))
  if (stranger !== undefined) throw strangeArg(stranger, [...rules.keys()])
  const read = new Map<string, ReadArg>()
  for (const [name, rule] of rules) {
    const value = Object.hasOwn(given, name) ? given[name] : rule.default
    if (value === undefined || value === null)
      throw new Fault('command_args', `${name} is missing, expected ${expectedArg(rule, enums)}`)
    const arg = readArg(rule, value, enums)
    if (arg === undefined)
      throw new Fault(
        'command_args',
        `${name} is ${kindOf(value)}, expected ${expectedArg(rule, enums)}${nearName(rule, value, enums)}`,
      )
    read.set(name, arg)
  }
  return read
}

function strangeArg(name: string, known: readonly string[]): Fault {
  const near = nearestName(name, known)
  const hint = near
    ? `; the nearest is ${near}`
    : known.length > 0
      ? `; known are ${known.join(', ')}`
      : '; it takes none'
  return new Fault('command_args', `there is no argument ${JSON.stringify(name.slice(0, 64))}${hint}`)
}

/** What an argument may be, as the end of a sentence. */
export function expectedArg(rule: ArgRule, enums: Enums | undefined): string {
  switch (rule.type) {
    case 'integer':
      return `a whole number from ${rule.min} to ${rule.max}`
    case 'number':
      return `a number from ${rule.min} to ${rule.max}`
    case 'boolean':
      return 'true or false'
    case 'enum':
      return `one of ${Object.keys(enums?.[rule.of] ?? {}).join(', ')}`
    case 'text':
      return `text of at most ${counted(rule.max_length, 'byte')} (${rule.charset}), without control characters${rule.except ? ` and without ${rule.except}` : ''}`
  }
}

function nearName(rule: ArgRule, value: unknown, enums: Enums | undefined): string {
  if (rule.type !== 'enum' || typeof value !== 'string') return ''
  const near = nearestName(value, Object.keys(enums?.[rule.of] ?? {}))
  return near ? `; the nearest is ${near}` : ''
}

const DECIMAL = /^[+-]?\d{1,15}(\.\d{1,15})?$/

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number') return 'another number'
  if (typeof value === 'string') return DECIMAL.test(value.trim()) ? 'another number' : 'another text'
  return typeof value === 'object' ? 'an object' : `${value}`
}

function readArg(rule: ArgRule, value: unknown, enums: Enums | undefined): ReadArg | undefined {
  switch (rule.type) {
    case 'integer':
    case 'number':
      return readNumber(rule, value)
    case 'boolean':
      return readBoolean(rule, value)
    case 'enum':
      return readEnum(enums?.[rule.of] ?? {}, value)
    case 'text':
      return readText(rule, value)
  }
}

/** Decimal numbers only, as text too: forms and templates of macros give text. */
function readNumber(rule: Extract<ArgRule, { min: number }>, value: unknown): ReadArg | undefined {
  const isDecimal = typeof value === 'string' && DECIMAL.test(value.trim())
  const number = typeof value === 'number' ? value : isDecimal ? Number(value) : Number.NaN
  if (!Number.isFinite(number) || number < rule.min || number > rule.max) return undefined
  if (rule.type === 'integer' && !Number.isInteger(number)) return undefined
  // -0 would be sent with its sign.
  return { value: number + 0, wire: number + 0 }
}

function readBoolean({ on, off }: Extract<ArgRule, { type: 'boolean' }>, value: unknown): ReadArg | undefined {
  const read =
    typeof value === 'boolean'
      ? value
      : typeof value === 'string' || typeof value === 'number'
        ? readSwitch(String(value))
        : undefined
  return read === undefined ? undefined : { value: read, wire: read ? on : off }
}

function readEnum(names: Enums[string], value: unknown): ReadArg | undefined {
  const wanted = String(value).trim().toLowerCase()
  const name = Object.keys(names).find((known) => known === wanted)
  const code = name === undefined ? undefined : names[name]
  return name === undefined || code === undefined ? undefined : { value: name, wire: code }
}

/** Control characters may end a message and begin another one. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

function readText(rule: Extract<ArgRule, { type: 'text' }>, value: unknown): ReadArg | undefined {
  if (typeof value !== 'string' || CONTROL.test(value) || !value.isWellFormed()) return undefined
  if ([...(rule.except ?? '')].some((sign) => value.includes(sign))) return undefined
  const wire = bytesIn(rule.charset, value)
  return wire === undefined || wire.length > rule.max_length ? undefined : { value, wire }
}

/** The text as one character for each byte; undefined if the character set lacks one of them. */
function bytesIn(charset: 'ascii' | 'latin1' | 'utf8', value: string): string | undefined {
  if (charset === 'utf8') return String.fromCharCode(...new TextEncoder().encode(value))
  const most = charset === 'ascii' ? 0x7e : 0xff
  return [...value].every((sign) => (sign.codePointAt(0) ?? 0) <= most) ? value : undefined
}

// What devices say.

/** Longest text of an attribute. */
const LONGEST_TEXT = 256

/** A found value as that of an attribute; null if the device said something that the definition does not know. */
export function attributeValue(rule: AttributeRule, found: Captured, enums: Enums | undefined): DeviceValue {
  switch (rule.type) {
    case 'number':
      return found.number === undefined ? null : scaled(found.number, rule.times ?? 1, rule.add ?? 0)
    case 'boolean':
      if (isCode(rule.on, found)) return true
      return isCode(rule.off, found) ? false : null
    case 'enum': {
      const names = Object.entries(enums?.[rule.of] ?? {})
      return names.find(([, code]) => isCode(code, found))?.[0] ?? null
    }
    case 'text':
      return plainText(textOf(found.text), LONGEST_TEXT)
  }
}

function scaled(number: number, times: number, add: number): number {
  // 0.1 * 3 is meant to be 0.3.
  return Number((number * times + add).toPrecision(12)) + 0
}

function isCode(code: string | number, { text, number }: Captured): boolean {
  return typeof code === 'number' ? code === number : code === text
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Devices that say nothing of their character set mostly mean UTF-8. */
function textOf(bytes: string): string {
  try {
    return utf8.decode(Uint8Array.from(bytes, (sign) => sign.charCodeAt(0)))
  } catch {
    return bytes
  }
}
