/** The body format of a server: reads whole bodies, as strict JSON or forms. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Fault } from '../pure/fault.ts'
import { type Form, readForm, type Source } from './check.ts'

// Gathers a whole body, up to its limit.

/** The bytes; `too_large` if over the limit; `cut` if the connection ended before the body did. */
type GatheredBody = Buffer | 'too_large' | 'cut'

/**
 * Gathers into one growing buffer: a body that comes in chunks of one byte would otherwise cost an object of 300 bytes
 * for each.
 * @param onHeld told the size of that buffer, at first and whenever it has grown
 */
export function gatherBody(
  request: IncomingMessage,
  mostBytes: number,
  onHeld?: (bytes: number) => void,
): Promise<GatheredBody> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > mostBytes) return Promise.resolve('too_large')
  if (request.destroyed && !request.complete) return Promise.resolve('cut')
  return new Promise((resolve) => {
    let held = Buffer.allocUnsafe(Math.min(mostBytes, length || 1024))
    onHeld?.(held.length)
    let size = 0
    function take(chunk: Buffer): void {
      if (size + chunk.length > mostBytes) {
        request.off('data', take).resume()
        resolve('too_large')
        return
      }
      if (size + chunk.length > held.length) {
        const grown = Buffer.allocUnsafe(Math.min(mostBytes, Math.max(2 * held.length, size + chunk.length)))
        held.copy(grown, 0, 0, size)
        held = grown
        onHeld?.(held.length)
      }
      size += chunk.copy(held, size)
    }
    request.on('data', take)
    request.once('end', () => resolve(held.subarray(0, size)))
    request.once('close', () => resolve('cut'))
  })
}

// Reads JSON bodies strictly: duplicate keys, prototype keys and deep nesting are refused, and faults name the
// position.

/** Deeper nesting is refused; no body of ours needs more than six levels. */
const DEEPEST = 64

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y
/** RFC 8259, 6. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const SPACE = /[ \t\n\r]*/y

/** Made once: it takes longer to make than to read a short body. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** An object or a list that was opened and not yet closed. `keys` is undefined for a list. */
interface Open {
  keys: Set<string> | undefined
}

/**
 * Reads one JSON text.
 * @param bytes UTF-8; a byte order mark is skipped
 * @throws Fault `bad_json` with line and column (1-based, in UTF-16 units) of what was found and what was expected
 * @source RFC 8259
 */
export function readJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw new Fault('bad_json', 'the body is not UTF-8 text, expected JSON', { cause })
  }
  scan(text)
  return JSON.parse(text)
}

/** Walks the text once without recursion: the cost is linear, whatever the depth or width. */
function scan(text: string): void {
  const open: Open[] = []
  let at = pass(SPACE, text, 0)
  for (;;) {
    at = value(text, at, open)
    // A list or object that has just been opened needs its first member before anything else.
    if (at < 0) {
      at = pass(SPACE, text, -at)
      const innermost = open.at(-1)
      if (innermost && !closes(text, at, innermost)) {
        if (innermost.keys) at = key(text, at, innermost.keys)
        continue
      }
    }
    at = afterValue(text, at, open)
    if (at === text.length && open.length === 0) return
  }
}

/** Reads a scalar, or the opening bracket of a list or object (then returns the position behind it, negated). */
function value(text: string, at: number, open: Open[]): number {
  const sign = text[at]
  if (sign === '{' || sign === '[') {
    if (open.length === DEEPEST) refuse(text, at, `nesting deeper than ${DEEPEST} levels`)
    open.push({ keys: sign === '{' ? new Set() : undefined })
    return -(at + 1)
  }
  const word = sign === 't' || sign === 'f' || sign === 'n'
  const end = sign === '"' ? passString(text, at) : pass(word ? WORD : NUMBER, text, at)
  if (end === at) refuse(text, at, 'expected a value')
  return end
}

/** Reads what may follow a value: the brackets that close, then a comma and the next key, or the end. */
function afterValue(text: string, from: number, open: Open[]): number {
  let at = pass(SPACE, text, from)
  for (;;) {
    const innermost = open.at(-1)
    if (!innermost) {
      if (at < text.length) refuse(text, at, 'expected the end of the body')
      return at
    }
    if (!closes(text, at, innermost)) break
    open.pop()
    at = pass(SPACE, text, at + 1)
  }
  const keys = open.at(-1)?.keys
  if (text[at] !== ',') refuse(text, at, keys ? 'expected a comma or }' : 'expected a comma or ]')
  at = pass(SPACE, text, at + 1)
  return keys ? key(text, at, keys) : at
}

/** Reads `"name" :` and returns the position of its value. */
function key(text: string, at: number, keys: Set<string>): number {
  const end = passString(text, at)
  if (end === at) refuse(text, at, 'expected a name in double quotes')
  const name: string = JSON.parse(text.slice(at, end))
  if (name === '__proto__') refuse(text, at, 'the name "__proto__" is not allowed')
  if (keys.has(name)) refuse(text, at, `the name ${shorten(name)} stands twice in one object`)
  keys.add(name)
  const colon = pass(SPACE, text, end)
  if (text[colon] !== ':') refuse(text, colon, 'expected a colon')
  return pass(SPACE, text, colon + 1)
}

function closes(text: string, at: number, innermost: Open): boolean {
  return text[at] === (innermost.keys ? '}' : ']')
}

/** The position behind what the sticky pattern matches at `at`, or `at` if it does not match. */
function pass(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/**
 * The position behind the string that begins at `at`, or `at` if there is none. Written by hand: a regular expression
 * keeps a backtracking position for each character, and 16 MiB of them overflow the stack (measured).
 * @source RFC 8259, 7
 */
function passString(text: string, at: number): number {
  if (text[at] !== '"') return at
  for (let i = at + 1; i < text.length; ) {
    const code = text.charCodeAt(i)
    if (code === 0x22) return i + 1
    if (code < 0x20) return at
    const next = code === 0x5c ? pass(ESCAPE, text, i) : i + 1
    if (next === i) return at
    i = next
  }
  return at
}

/** Quotes only the one character found, never values: a body may hold a password. */
function refuse(text: string, at: number, sentence: string): never {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  const found = at >= text.length ? 'the end of the body' : JSON.stringify(text[at])
  const seen = sentence.startsWith('expected') ? `${sentence}, found ${found}` : sentence
  throw new Fault('bad_json', `the body is not the JSON expected: line ${line}, column ${column}: ${seen}`, {
    details: { line, column },
  })
}

function shorten(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}...` : name)
}

/** How a server's clients send bodies and credentials; each server has one. */
export interface Dialect {
  /** Media type of every body but an upload. */
  mediaType: 'application/json' | 'application/x-www-form-urlencoded'
  /** Which kind of check fits what `readBody` returns. */
  source: Source
  /** @throws Fault `bad_json`, `bad_form`, `unsupported_media_type` */
  readBody(bytes: Uint8Array, contentType: string): unknown
  /** Stands for a body that was not sent; undefined makes its absence a fault. */
  nothing(): unknown
  /** The `WWW-Authenticate` header of every 401. @source RFC 9110, 11.6.1 */
  challenge(asked: { path: string; headers?: IncomingHttpHeaders | undefined }): string
  /** How to send credentials, as the end of a sentence. */
  credentials: string
  /** The same in OpenAPI. */
  securityScheme: Readonly<Record<string, string>>
  /** Further ways to send credentials that every route takes, by name, for OpenAPI. */
  moreSchemes?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** JSON bodies, bearer tokens. */
export const jsonDialect: Dialect = {
  mediaType: 'application/json',
  source: 'json',
  // Programs often name the type of a body they do not send; an empty body counts as none.
  readBody: (bytes) => (bytes.length === 0 ? undefined : readJson(bytes)),
  nothing: () => undefined,
  challenge: () => 'Bearer',
  credentials: 'send Authorization: Bearer <token>',
  securityScheme: { type: 'http', scheme: 'bearer' },
}

/**
 * Forms, Basic credentials.
 * @param by `realm` is what a browser shows when it asks for the password of `user`; `maxFields` bounds one body
 */
export function formDialect(by: { user: string; realm: () => string; maxFields: number }): Dialect {
  return {
    mediaType: 'application/x-www-form-urlencoded',
    source: 'form',
    readBody(bytes, contentType) {
      checkCharset(contentType)
      return readForm(bytes, by.maxFields)
    },
    nothing: (): Form => ({ fields: Object.create(null), faults: [] }),
    // RFC 7617, 2.1: the only value that charset may have.
    challenge: () => `Basic realm="${quotable(by.realm())}", charset="UTF-8"`,
    credentials: `send Authorization: Basic with the user ${by.user} and the password`,
    securityScheme: { type: 'http', scheme: 'basic' },
  }
}

/** Keeps what a quoted string of a header may hold: printable ASCII without quotes and backslashes. RFC 9110, 5.6.4 */
function quotable(text: string): string {
  return text.replaceAll(/[^ !#-[\]-~]/g, '?')
}

/** A form is always UTF-8; one that declares another charset would be misread silently. */
function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new Fault(
      'unsupported_media_type',
      `the form says charset=${charset.slice(0, 40)}, expected UTF-8, which needs not be said`,
    )
}
