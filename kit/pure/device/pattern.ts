/** Patterns: which frames are meant, and the values in them. They are read from left to right and never go back. */
import { Fault } from '../fault.ts'
import { counted } from '../text.ts'
import { badText, filteredBytes, placeOf, type TemplatePart, tokensOf, type WireValue } from './template.ts'

/** A value found in a frame: its text, one character for each byte, and its number if it is one. */
export interface Captured {
  text: string
  number?: number
}

/** What a place takes: `digits`, `number` and `hex` give numbers, `byte`, `word` and `word_low` too. */
const TAKES = ['digits', 'number', 'hex', 'byte', 'word', 'word_low', 'letters', 'text'] as const
type Take = (typeof TAKES)[number]

type Piece =
  | { kind: 'literal'; bytes: Uint8Array }
  /** Any number of spaces, none too. */
  | { kind: 'spaces' }
  /** The same bytes as a value that was sent. */
  | { kind: 'sent'; part: Extract<TemplatePart, { name: string }> }
  | { kind: 'take'; take: Take; name: string; size: number | undefined; until: Uint8Array | undefined }

export interface Pattern {
  pieces: readonly Piece[]
  /** Names of the values that it finds. */
  names: readonly string[]
  /** Places with the value of an argument. */
  sent: readonly Extract<TemplatePart, { name: string }>[]
}

/** Digits of a number of no fixed size: more could not be told apart. */
const MOST_DIGITS = 15
/** Bytes of a value of fixed size. */
const MOST_SIZE = 64

/**
 * Reads a pattern such as `VOL={volume:digits}`, `{#AA FF}{$id|byte}` and so on:
 * - `{name:take}` or `{name:take:size}` finds a value; without a name, `{:text}` skips it
 * - `{=name|filter}` has to be the value of an argument as it was sent
 * - `{ }` is any number of spaces
 * @throws Fault `device_text` with the position
 */
export function parsePattern(text: string): Pattern {
  const pieces: Piece[] = tokensOf(text).map((token): Piece => {
    if ('bytes' in token) return { kind: 'literal', bytes: token.bytes }
    const { braced, at } = token
    if (braced.trim() === '') return { kind: 'spaces' }
    if (braced.startsWith('=')) return { kind: 'sent', part: placeOf(braced.slice(1), at) }
    return takeOf(braced, at)
  })
  const whole = pieces.map((piece, index) => withEnd(piece, pieces[index + 1]))
  const names = pieces.flatMap((piece) => (piece.kind === 'take' && piece.name !== '' ? [piece.name] : []))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw badText(0, `${twice} is found twice`)
  return { pieces: whole, names, sent: pieces.flatMap((piece) => (piece.kind === 'sent' ? [piece.part] : [])) }
}

function takeOf(braced: string, at: number): Piece {
  const [name = '', take = '', size, ...more] = braced.split(':')
  if (!/^([a-z][a-z0-9_]{0,39})?$/.test(name)) throw badText(at, `${JSON.stringify(name)} is not a name of a value`)
  if (!TAKES.some((known) => known === take) || more.length > 0)
    throw badText(at, `{${braced}} has to be {name:take} or {name:take:size}; it can take ${TAKES.join(', ')}`)
  if (size === undefined) return { kind: 'take', take: take as Take, name, size: undefined, until: undefined }
  const bytes = Number(size)
  const isFixed = take === 'byte' || take === 'word' || take === 'word_low'
  if (isFixed || !/^\d{1,2}$/.test(size) || bytes < 1 || bytes > MOST_SIZE)
    throw badText(at, isFixed ? `${take} has its own size` : `the size ${size} is not 1 to ${MOST_SIZE}`)
  return { kind: 'take', take: take as Take, name, size: bytes, until: undefined }
}

/** Text without a size ends where the next piece begins, which has to be known beforehand. */
function withEnd(piece: Piece, next: Piece | undefined): Piece {
  if (piece.kind !== 'take' || piece.take !== 'text' || piece.size !== undefined || next === undefined) return piece
  if (next.kind !== 'literal')
    throw badText(0, 'text without a size has to be the last piece, or be followed by characters')
  return { ...piece, until: next.bytes }
}

/**
 * Matches the whole frame. The time grows with the length of the frame times that of the longest literal, both bounded.
 * @param sent the values of the command that is waiting for its answer, if one is
 * @returns the values found, or undefined
 */
export function matchPattern(
  { pieces }: Pattern,
  frame: Uint8Array,
  sent?: ReadonlyMap<string, WireValue>,
): Map<string, Captured> | undefined {
  const found = new Map<string, Captured>()
  let at = 0
  for (const piece of pieces) {
    const length = lengthOf(piece, frame, at, sent)
    if (length === undefined) return undefined
    if (piece.kind === 'take') {
      const captured = capturedOf(piece.take, frame.subarray(at, at + length))
      if (captured === undefined) return undefined
      if (piece.name !== '') found.set(piece.name, captured)
    }
    at += length
  }
  return at === frame.length ? found : undefined
}

/** Bytes that a piece takes from here; undefined if it does not fit. */
function lengthOf(
  piece: Piece,
  frame: Uint8Array,
  at: number,
  sent: ReadonlyMap<string, WireValue> | undefined,
): number | undefined {
  if (piece.kind === 'literal') return isAt(piece.bytes, frame, at) ? piece.bytes.length : undefined
  if (piece.kind === 'spaces') return runOf(frame, at, (byte) => byte === SPACE, frame.length)
  if (piece.kind === 'sent') return sentLength(piece.part, frame, at, sent)
  return takeLength(piece, frame, at)
}

const SPACE = 0x20

function sentLength(
  { name, filters }: Extract<TemplatePart, { name: string }>,
  frame: Uint8Array,
  at: number,
  sent: ReadonlyMap<string, WireValue> | undefined,
): number | undefined {
  const value = sent?.get(name)
  if (value === undefined) return undefined
  try {
    const bytes = filteredBytes(value, filters)
    return isAt(bytes, frame, at) ? bytes.length : undefined
  } catch {
    // A value that these filters cannot write is not what the device said.
    return undefined
  }
}

function takeLength(
  { take, size, until }: Extract<Piece, { kind: 'take' }>,
  frame: Uint8Array,
  at: number,
): number | undefined {
  const rest = frame.length - at
  const fixed = take === 'byte' ? 1 : take === 'word' || take === 'word_low' ? 2 : size
  if (take === 'text' && fixed === undefined) return until === undefined ? rest : untilLength(until, frame, at)
  if (fixed !== undefined && fixed > rest) return undefined
  if (take === 'number' && fixed === undefined) return numberLength(frame, at)
  const isMeant = MEANT[take]
  if (!isMeant) return fixed
  const length = runOf(frame, at, isMeant, fixed ?? MOST_DIGITS)
  return length === 0 || (fixed !== undefined && length < fixed) ? undefined : length
}

/** Which bytes a place takes; undefined takes any. */
const MEANT: Readonly<Record<Take, ((byte: number) => boolean) | undefined>> = {
  digits: isDigit,
  hex: (byte) => isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66),
  letters: (byte) => (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a),
  number: undefined,
  byte: undefined,
  word: undefined,
  word_low: undefined,
  text: undefined,
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function runOf(frame: Uint8Array, from: number, isMeant: (byte: number) => boolean, most: number): number {
  let at = from
  while (at < frame.length && at - from < most && isMeant(frame[at] as number)) at++
  return at - from
}

/** A sign, digits, and a point with digits. */
function numberLength(frame: Uint8Array, from: number): number | undefined {
  const signed = frame[from] === 0x2b || frame[from] === 0x2d ? 1 : 0
  const whole = runOf(frame, from + signed, isDigit, MOST_DIGITS)
  if (whole === 0) return undefined
  const point = from + signed + whole
  const part = frame[point] === 0x2e ? runOf(frame, point + 1, isDigit, MOST_DIGITS) : 0
  return signed + whole + (part === 0 ? 0 : part + 1)
}

function untilLength(until: Uint8Array, frame: Uint8Array, from: number): number | undefined {
  for (let at = from; at + until.length <= frame.length; at++) if (isAt(until, frame, at)) return at - from
  return undefined
}

function isAt(bytes: Uint8Array, frame: Uint8Array, at: number): boolean {
  if (at + bytes.length > frame.length) return false
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== frame[at + i]) return false
  return true
}

function capturedOf(take: Take, bytes: Uint8Array): Captured | undefined {
  const text = String.fromCharCode(...bytes)
  if (take === 'text' || take === 'letters') return { text }
  const number = numberOf(take, bytes, text)
  return Number.isFinite(number) ? { text, number } : undefined
}

function numberOf(take: Take, bytes: Uint8Array, text: string): number {
  const [first = 0, second = 0] = bytes
  switch (take) {
    case 'byte':
      return first
    case 'word':
      return first * 256 + second
    case 'word_low':
      return second * 256 + first
    case 'hex':
      return Number.parseInt(text, 16)
    default:
      return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN
  }
}

/** Why a reply is checked against a value that the command does not have; undefined if nothing is wrong. */
export function sentFlaw({ sent }: Pattern, names: ReadonlySet<string>): string | undefined {
  const stranger = sent.find(({ name }) => !names.has(name))
  return stranger && `it compares with ${stranger.name}, and the command has no such argument`
}

/** @throws Fault `device_text` if the pattern is longer than is allowed */
export function checkPieces({ pieces }: Pattern, most: number): void {
  if (pieces.length > most)
    throw new Fault('device_text', `the pattern has ${counted(pieces.length, 'piece')}, at most ${most} are allowed`)
}
