/** Parses what people type: text as bytes, lists of numbers, headers, register blocks. */
import { typedNumber } from '#kit/web/form.ts'

/** Text as spaced hex of its UTF-8 bytes: `02 50 03`. */
export function hexOfText(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ')
}

/**
 * Numbers separated by commas or blanks; `0x1F`, `on` and `off` are understood. Anything else stays text, so that the
 * API names it.
 */
export function listOf(text: string): (number | string)[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((word) => {
      if (/^(on|off)$/i.test(word)) return word.toLowerCase() === 'on' ? 1 : 0
      return /^0x[0-9a-f]+$/i.test(word) ? Number(word) : typedNumber(word)
    })
}

/** Names separated by commas or blanks, each once. */
export function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter(Boolean))]
}

/** One header per line, `Name: value`. A line without a colon becomes a name without a value, which the API refuses. */
export function headersOf(text: string): Record<string, string> {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/** Headers in the form in which they are typed, one per line. */
export function headersText(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** Tables of registers by the words that people type. */
const TABLE_WORDS: Readonly<Record<string, string>> = {
  coils: 'coils',
  discrete: 'discrete_inputs',
  holding: 'holding_registers',
  input: 'input_registers',
}

/**
 * One block of registers per line: `holding 0 100` or `holding 0 100 = 0`. What is not understood stays text, so that
 * the API names it.
 */
export function blocksOf(text: string): { table: string; address: unknown; quantity: unknown; initial: unknown }[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  return lines.map((line) => {
    const [place = '', initial] = line.split('=')
    const [table = '', address = '', quantity = '1'] = place.trim().split(/[\s,;]+/)
    return {
      table: TABLE_WORDS[table] ?? table,
      address: typedNumber(address),
      quantity: typedNumber(quantity),
      initial: initial === undefined ? null : typedNumber(initial.trim()),
    }
  })
}

/** Blocks in the form in which they are typed. */
export function blocksText(
  blocks: readonly { table?: string; address?: number; quantity?: number; initial?: number | null }[],
): string {
  const wordOf = (table: string): string => Object.entries(TABLE_WORDS).find(([, name]) => name === table)?.[0] ?? table
  return blocks
    .map(({ table = '', address, quantity, initial }) => {
      const place = `${wordOf(table)} ${address} ${quantity}`
      return initial === null || initial === undefined ? place : `${place} = ${initial}`
    })
    .join('\n')
}

/** `Hall, Bar` as a list of texts. */
export function textsOf(typed: string): string[] {
  return typed
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** `id=1, mode=fast` as an object: what is a number becomes one, `true` and `false` too. */
export function pairsOf(typed: string): Record<string, string | number | boolean> {
  const pairs = textsOf(typed).map((part) => {
    const at = part.indexOf('=')
    return at < 0 ? [part, true] : [part.slice(0, at).trim(), valueOfText(part.slice(at + 1).trim())]
  })
  return Object.fromEntries(pairs)
}

function valueOfText(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

export function pairsText(pairs: object): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(', ')
}
