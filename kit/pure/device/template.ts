/** Templates: text with places for values, which becomes the bytes of a message. */
import { bytesOfHex, joinBytes } from '../bytes.ts'
import { Fault } from '../fault.ts'
import { counted, nearestName } from '../text.ts'

/** A value on its way into a message. Text is one character for each byte. */
export type WireValue = number | string

/** One filter with its arguments: `pad:3` or `pad:3:_`. */
interface Filter {
  name: FilterName
  args: readonly string[]
}

/** A place for a value, or bytes as they are. */
export type TemplatePart = { bytes: Uint8Array } | { name: string; filters: readonly Filter[] }

export type Template = readonly TemplatePart[]

/** A piece between braces in a text, and the bytes around it: what templates and patterns are read from. */
type Token = { bytes: Uint8Array } | { braced: string; at: number }

/**
 * Cuts a text at its braces. Each other character is one byte (U+0000 to U+00FF); `{{` and `}}` are braces, and
 * `{#0D 0A}` is bytes in hex.
 * @throws Fault `device_text` with the position, from 1
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let literal: number[] = []
  const flush = () => {
    if (literal.length > 0) tokens.push({ bytes: Uint8Array.from(literal) })
    literal = []
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at)
    if ((sign === '{' || sign === '}') && text.charAt(at + 1) === sign) {
      literal.push(sign.charCodeAt(0))
      at++
    } else if (sign === '}') throw badText(at, 'a brace closes nothing; write }} for a brace itself')
    else if (sign === '{') {
      const end = text.indexOf('}', at)
      if (end < 0) throw badText(at, 'a brace is not closed; write {{ for a brace itself')
      const braced = text.slice(at + 1, end)
      if (braced.startsWith('#')) literal.push(...hexAt(braced.slice(1), at))
      else {
        flush()
        tokens.push({ braced, at })
      }
      at = end
    } else if (sign.charCodeAt(0) > 0xff)
      throw badText(at, `the character ${JSON.stringify(sign)} is not one byte; write its bytes as {#..}`)
    else literal.push(sign.charCodeAt(0))
  }
  flush()
  return tokens
}

function hexAt(text: string, at: number): Uint8Array {
  try {
    return bytesOfHex(text.trim())
  } catch (fault) {
    throw badText(at, (fault as Fault).message)
  }
}

export function badText(at: number, what: string): Fault {
  return new Fault('device_text', `at character ${at + 1}: ${what}`)
}

/** A template without places: the bytes it stands for. @throws Fault `device_text` */
export function literalBytes(text: string): Uint8Array {
  const tokens = tokensOf(text)
  const place = tokens.find((token) => 'braced' in token)
  if (place && 'braced' in place) throw badText(place.at, 'a place for a value is not possible here')
  return joinBytes(tokens.map((token) => ('bytes' in token ? token.bytes : new Uint8Array(0))))
}

/** @throws Fault `device_text` with the position */
export function parseTemplate(text: string): Template {
  return tokensOf(text).map((token) => ('bytes' in token ? token : placeOf(token.braced, token.at)))
}

const NAME = /^\$?[a-z][a-z0-9_]{0,39}$/

/** A name and its filters: `level|times:10|pad:4`. @throws Fault `device_text` */
export function placeOf(text: string, at: number): { name: string; filters: Filter[] } {
  const [name = '', ...filters] = text.split('|')
  if (!NAME.test(name)) throw badText(at, `${JSON.stringify(name)} is not a name of a value, such as level or $id`)
  return { name, filters: filters.map((filter) => filterOf(filter, at)) }
}

// Filters: each takes a number or a text, and gives one.

interface FilterRule {
  takes: 'number' | 'text' | 'either'
  gives: 'number' | 'text'
  /** Least and most arguments. */
  args: readonly [least: number, most: number]
  apply(value: WireValue, args: readonly string[]): WireValue
}

/** Longest that a filter makes a value. */
const WIDEST = 64

const FILTERS = {
  add: { takes: 'number', gives: 'number', args: [1, 1], apply: (value, [by]) => Number(value) + Number(by) },
  times: { takes: 'number', gives: 'number', args: [1, 1], apply: (value, [by]) => exact(Number(value) * Number(by)) },
  round: { takes: 'number', gives: 'number', args: [0, 0], apply: (value) => Math.round(Number(value)) },
  fixed: {
    takes: 'number',
    gives: 'text',
    args: [1, 1],
    apply: (value, [digits]) => Number(value).toFixed(widthOf(digits, 6)),
  },
  hex: {
    takes: 'number',
    gives: 'text',
    args: [1, 1],
    apply: (value, [width]) => hexText(Number(value), widthOf(width, 8)),
  },
  byte: { takes: 'number', gives: 'text', args: [0, 0], apply: (value) => bytesText(Number(value), 1) },
  word: { takes: 'number', gives: 'text', args: [0, 0], apply: (value) => bytesText(Number(value), 2) },
  word_low: { takes: 'number', gives: 'text', args: [0, 0], apply: (value) => reversed(bytesText(Number(value), 2)) },
  pad: {
    takes: 'either',
    gives: 'text',
    args: [1, 2],
    apply: (value, [width, sign = '0']) => padded(String(value), widthOf(width, WIDEST), sign),
  },
  fill: {
    takes: 'either',
    gives: 'text',
    args: [1, 2],
    apply: (value, [width, sign = ' ']) => filled(String(value), widthOf(width, WIDEST), sign),
  },
  upper: { takes: 'text', gives: 'text', args: [0, 0], apply: (value) => asciiCase(String(value), 'upper') },
  lower: { takes: 'text', gives: 'text', args: [0, 0], apply: (value) => asciiCase(String(value), 'lower') },
} as const satisfies Record<string, FilterRule>

type FilterName = keyof typeof FILTERS

function filterOf(text: string, at: number): Filter {
  const [name = '', ...args] = text.split(':')
  if (!Object.hasOwn(FILTERS, name)) {
    const known = Object.keys(FILTERS)
    const near = nearestName(name, known)
    throw badText(
      at,
      `there is no filter ${JSON.stringify(name)}, ${near ? `the nearest is ${near}` : `known are ${known.join(', ')}`}`,
    )
  }
  const rule: FilterRule = FILTERS[name as FilterName]
  const [least, most] = rule.args
  if (args.length < least || args.length > most)
    throw badText(
      at,
      `the filter ${name} has ${counted(args.length, 'argument')}, expected ${least === most ? least : `${least} to ${most}`}`,
    )
  if (name !== 'round' && args[0] !== undefined && !/^-?\d{1,9}(\.\d{1,9})?$/.test(args[0]))
    throw badText(at, `the filter ${name} has ${JSON.stringify(args[0])}, expected a number`)
  if (args[1] !== undefined && !/^[\x20-\x7e]$/.test(args[1]))
    throw badText(at, `the filter ${name} fills with ${JSON.stringify(args[1])}, expected one printable character`)
  return { name: name as FilterName, args }
}

/** What is wrong with a chain of filters for a value of this kind; undefined if nothing is. */
export function filterFlaw(filters: readonly Filter[], kind: 'number' | 'text'): string | undefined {
  let now = kind
  for (const { name } of filters) {
    const rule: FilterRule = FILTERS[name]
    if (rule.takes !== 'either' && rule.takes !== now)
      return `the filter ${name} takes a ${rule.takes}, and gets a ${now}`
    now = rule.gives
  }
  return undefined
}

function widthOf(text: string | undefined, most: number): number {
  const width = Number(text)
  if (!Number.isInteger(width) || width < 0 || width > most) throw unfit(`the width ${text} is not 0 to ${most}`)
  return width
}

/** 0.1 * 3 is meant to be 0.3. */
function exact(value: number): number {
  return Number(value.toPrecision(12))
}

function hexText(value: number, width: number): string {
  if (!Number.isInteger(value) || value < 0 || value >= 16 ** width)
    throw unfit(`${value} is not ${counted(width, 'hex digit')}`)
  return value.toString(16).toUpperCase().padStart(width, '0')
}

function bytesText(value: number, size: number): string {
  if (!Number.isInteger(value) || value < 0 || value >= 256 ** size)
    throw unfit(`${value} is not a whole number from 0 to ${256 ** size - 1}`)
  let text = ''
  for (let at = size - 1; at >= 0; at--) text += String.fromCharCode(Math.floor(value / 256 ** at) % 256)
  return text
}

function reversed(text: string): string {
  return text.split('').reverse().join('')
}

/** A minus stays in front of the zeros. */
function padded(text: string, width: number, sign: string): string {
  if (text.length > width) throw unfit(`${JSON.stringify(text)} is longer than ${counted(width, 'character')}`)
  const isNegative = sign === '0' && text.startsWith('-')
  return isNegative ? `-${text.slice(1).padStart(width - 1, '0')}` : text.padStart(width, sign)
}

function filled(text: string, width: number, sign: string): string {
  if (text.length > width) throw unfit(`${JSON.stringify(text)} is longer than ${counted(width, 'character')}`)
  return text.padEnd(width, sign)
}

/** Only ASCII letters: the others have more or fewer bytes in the other case. */
function asciiCase(text: string, to: 'upper' | 'lower'): string {
  return text.replace(/[A-Za-z]+/g, (letters) => (to === 'upper' ? letters.toUpperCase() : letters.toLowerCase()))
}

function unfit(what: string): Fault {
  return new Fault('command_args', what)
}

// From a template and values to bytes.

/** A value after its filters. @throws Fault `command_args` if it does not fit */
export function filteredBytes(value: WireValue, filters: readonly Filter[]): Uint8Array {
  let now = value
  for (const { name, args } of filters) now = (FILTERS[name] as FilterRule).apply(now, args)
  if (typeof now === 'number' && !Number.isFinite(now)) throw unfit('the value is no finite number')
  return bytesOfText(String(now))
}

/** Text of one character for each byte. */
export function bytesOfText(text: string): Uint8Array {
  return Uint8Array.from(text, (sign) => sign.charCodeAt(0) & 0xff)
}

/**
 * @param values a name that is missing makes the template unusable: compiling has checked that there is none
 * @throws Fault `command_args` if a value does not fit
 */
export function encodeTemplate(template: Template, values: ReadonlyMap<string, WireValue>): Uint8Array {
  return joinBytes(
    template.map((part) => {
      if ('bytes' in part) return part.bytes
      const value = values.get(part.name)
      if (value === undefined) throw unfit(`there is no value ${part.name}`)
      return filteredBytes(value, part.filters)
    }),
  )
}
