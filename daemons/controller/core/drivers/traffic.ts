/** Live traffic: what goes to and comes from devices that somebody watches, within bounds, and without their secrets. */
import { type Static, Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { escapeControls } from '#kit/pure/text.ts'
import { isObject, type Json } from '../json.ts'
import { countKey, type limitsOf } from '../keys.ts'
import { secretKeys } from '../secrets.ts'
import type { Row } from '../site/book.ts'

/** Table `traffic` of controller.toml. */
export const trafficKeys = Type.Object(
  {
    devices: countKey('', 8, [1, 256], 'devices whose traffic is watched on the page at once'),
    messages: countKey('', 400, [10, 10_000], 'messages of one device that are kept while it is watched'),
    message_bytes: countKey('bytes', 1024, [64, 65_536], 'of one message that are kept; of the rest only the number'),
    forget_ms: countKey('ms', 30_000, [2000, 3_600_000], 'after so long without a look a device is watched no more'),
  },
  { additionalProperties: false, default: {}, description: 'what goes to and comes from devices, for the page' },
)

/** Limits of what is kept, from the table `traffic`. */
export type TrafficLimits = ReturnType<typeof limitsOf<Static<typeof trafficKeys>>>

/** `out` went to the device, `in` came from it; a `note` is what the controller says of it. */
export type Way = 'out' | 'in' | 'note'

/** One message as the page shows it. */
export interface TrafficEntry {
  /** Grows by one with each message of the device while it is watched. */
  readonly n: number
  /** Epoch ms. */
  readonly at: number
  readonly way: Way
  /** What carried it, where that is not the bytes alone: `POST /api/zone`, a topic. */
  readonly about: string
  /** Control characters, and bytes that are no text, stand escaped. */
  readonly text: string
  /** Pairs of digits. */
  readonly hex: string
  /** Bytes of the whole message; `text` and `hex` may have fewer. */
  readonly size: number
  readonly isCut: boolean
  /** Part of a sign-in, of which nothing is shown. */
  readonly isWithheld: boolean
}

/** Messages since those that were told before. */
export interface TrafficPage {
  readonly entries: readonly TrafficEntry[]
  /** Ask for what follows after this. */
  readonly next: number
  /** Messages that came since and are kept no more. */
  readonly dropped: number
}

interface Kept {
  n: number
  at: number
  way: Way
  about: string
  bytes: Uint8Array
  size: number
  isWithheld: boolean
}

interface Watched {
  ring: Kept[]
  last: number
  /** The newest that was told: later bytes do not join it any more. */
  told: number
  askedMs: number
}

/** Bytes that come so soon after others are one message: a line passes on what it has. */
const TOGETHER_MS = 30

/** Messages of one answer. */
const MOST_TOLD = 200

/** Lives as long as the daemon. Costs nothing for devices that nobody watches. */
export class Traffic {
  readonly #clock: Pick<Clock, 'epochMs' | 'monotonicMs'>
  readonly #limits: TrafficLimits
  readonly #watched = new Map<number, Watched>()

  constructor(clock: Pick<Clock, 'epochMs' | 'monotonicMs'>, limits: TrafficLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /** @param isWithheld of a sign-in: only its size is kept */
  note(deviceId: number, way: Way, bytes: Uint8Array, { about = '', isWithheld = false } = {}): void {
    const watched = this.#of(deviceId)
    if (!watched) return
    const at = this.#clock.epochMs()
    const last = watched.ring.at(-1)
    const joins = last && way === 'in' && about === '' && last.about === '' && last.way === way && !isWithheld
    if (joins && !last.isWithheld && last.n > watched.told && at - last.at < TOGETHER_MS) {
      last.bytes = joined(last.bytes, bytes, this.#limits.messageBytes)
      last.size += bytes.length
      return
    }
    const kept = isWithheld ? NOTHING : bytes.slice(0, this.#limits.messageBytes)
    watched.last++
    watched.ring.push({ n: watched.last, at, way, about, bytes: kept, size: bytes.length, isWithheld })
    if (watched.ring.length > this.#limits.messages) watched.ring.shift()
  }

  /** Something that is not bytes: why a connection was lost. */
  say(deviceId: number, sentence: string): void {
    if (this.#watched.has(deviceId)) this.note(deviceId, 'note', new TextEncoder().encode(sentence))
  }

  /**
   * Watches a device from now on, and tells what came since the last look.
   * @param device its own secrets are not shown, wherever they stand
   * @throws Fault `traffic_busy` if as many devices as may are watched already
   */
  look(device: Row, after: number): TrafficPage {
    const watched = this.#of(device.id) ?? this.#watch(device.id)
    watched.askedMs = this.#clock.monotonicMs()
    const needles = needlesOf(device)
    const masks = masksOf(watched.ring, needles)
    const wanted = watched.ring.filter(({ n }) => n > after).slice(0, MOST_TOLD)
    const entries = wanted.map((kept) => shown(kept, masks.get(kept), needles))
    const next = wanted.at(-1)?.n ?? watched.last
    watched.told = Math.max(watched.told, next)
    const first = wanted[0]?.n ?? next + 1
    // Whoever begins to look has missed nothing: it was not kept before.
    const dropped = after === 0 || after > watched.last ? 0 : first - after - 1
    return { entries, next, dropped }
  }

  #of(deviceId: number): Watched | undefined {
    const watched = this.#watched.get(deviceId)
    if (!watched || this.#clock.monotonicMs() - watched.askedMs <= this.#limits.forgetMs) return watched
    this.#watched.delete(deviceId)
    return undefined
  }

  #watch(deviceId: number): Watched {
    for (const id of [...this.#watched.keys()]) this.#of(id)
    const { devices } = this.#limits
    if (this.#watched.size >= devices)
      throw new Fault('traffic_busy', `The traffic of ${devices} devices is watched already (traffic.devices).`)
    const watched = { ring: [], last: 0, told: 0, askedMs: 0 }
    this.#watched.set(deviceId, watched)
    return watched
  }
}

const NOTHING = new Uint8Array(0)

function joined(some: Uint8Array, more: Uint8Array, most: number): Uint8Array {
  if (some.length >= most) return some
  const all = new Uint8Array(Math.min(most, some.length + more.length))
  all.set(some)
  all.set(more.subarray(0, all.length - some.length), some.length)
  return all
}

// Secrets: those of the device's own row are not shown, however they are written, nor where they come in pieces.

/** Columns of a device that nobody is shown. */
const COLUMNS = ['password', 'api_key'] as const

/** The bytes of each secret, as programs write it: plain, in base64, in a URL, in JSON, in hex. */
function needlesOf(device: Row): string[] {
  const plain = [...COLUMNS.map((name) => device[name]), ...secretsIn(device.config), ...secretsIn(device.transport)]
  const secrets = [
    ...new Set(plain.flatMap((said) => (typeof said === 'string' || typeof said === 'number' ? [String(said)] : []))),
  ]
  const user = typeof device.username === 'string' ? device.username : ''
  const needles = secrets.filter((secret) => secret !== '').flatMap((secret) => spellings(secret, user))
  return [...new Set(needles)].sort((one, other) => other.length - one.length)
}

function spellings(secret: string, user: string): string[] {
  const bytes = latin(secret)
  const hex = [...bytes].map((sign) => sign.charCodeAt(0).toString(16).padStart(2, '0')).join('')
  return [
    ...[bytes, btoa(bytes), btoa(`${latin(user)}:${bytes}`), encodeURIComponent(secret)],
    ...[latin(JSON.stringify(secret).slice(1, -1)), hex, hex.toUpperCase()],
  ]
}

/** One character for each byte of the text in UTF-8. */
function latin(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text.toWellFormed()))
}

/** Values under a sensitive name, at every depth. */
function secretsIn(value: Json | undefined): Json[] {
  const found: Json[] = []
  const open: [Json | undefined, boolean][] = [[value, false]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [item, isSecret] = next
    if (Array.isArray(item)) for (const each of item) open.push([each as Json, isSecret])
    else if (isObject(item)) {
      const isSecretKey = secretKeys(item)
      for (const [key, each] of Object.entries(item)) open.push([each, isSecret || isSecretKey(key)])
    } else if (isSecret && item !== undefined) found.push(item)
  }
  return found
}

/** From a byte, so many. */
type Span = readonly [from: number, to: number]

/** Which bytes are secret. A device may echo what was typed sign by sign: all messages of a way are read as one. */
function masksOf(ring: readonly Kept[], needles: readonly string[]): Map<Kept, Span[]> {
  const masks = new Map<Kept, Span[]>()
  if (needles.length === 0) return masks
  for (const way of ['out', 'in', 'note'] as const) {
    const own = ring.filter((kept) => kept.way === way)
    const text = own.map(({ bytes }) => binary(bytes)).join('')
    const spans = needles.flatMap((needle) => placesOf(text, needle)).sort(([one], [other]) => one - other)
    let before = 0
    let next = 0
    for (const kept of own) {
      const end = before + kept.bytes.length
      const cut = (at: number) => Math.min(Math.max(at, before), end) - before
      while (next > 0 && (spans[next - 1]?.[1] ?? 0) > before) next--
      for (; next < spans.length && (spans[next]?.[0] ?? end) < end; next++) {
        const [from, to] = spans[next] as Span
        if (to <= before) continue
        const own = masks.get(kept) ?? []
        masks.set(kept, own)
        addSpan(own, [cut(from), cut(to)])
      }
      before = end
    }
  }
  return masks
}

/** @param spans by where they begin. What overlaps is one: of a short secret there may be as many as bytes */
function addSpan(spans: Span[], span: Span): void {
  const last = spans.at(-1)
  if (last === undefined || span[0] > last[1]) spans.push(span)
  else spans[spans.length - 1] = [last[0], Math.max(last[1], span[1])]
}

function placesOf(text: string, needle: string): Span[] {
  const places: Span[] = []
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) places.push([at, at + needle.length])
  return places
}

function binary(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

// Showing: nothing of a device's bytes reaches a page as anything but text.

/** In place of a secret. */
const HIDDEN = '•••'

function shown(
  { n, at, way, about, bytes, size, isWithheld }: Kept,
  spans: readonly Span[] | undefined,
  needles: readonly string[],
): TrafficEntry {
  const pieces = piecesOf(bytes, spans)
  return {
    ...{ n, at, way, size, isWithheld, isCut: !isWithheld && bytes.length < size, about: shownAbout(about, needles) },
    text: pieces.map((piece) => (piece === null ? HIDDEN : textOf(piece))).join(''),
    hex: pieces.map((piece) => (piece === null ? HIDDEN : hexOf(piece))).join(' '),
  }
}

function shownAbout(about: string, needles: readonly string[]): string {
  const bytes = new TextEncoder().encode(about.toWellFormed())
  const spans = needles.flatMap((needle) => placesOf(binary(bytes), needle))
  return piecesOf(bytes, spans)
    .map((piece) => (piece === null ? HIDDEN : textOf(piece)))
    .join('')
}

/** @returns the bytes between secrets; null where one stands */
function piecesOf(bytes: Uint8Array, spans: readonly Span[] = []): (Uint8Array | null)[] {
  const pieces: (Uint8Array | null)[] = []
  let done = 0
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    if (from > done) pieces.push(bytes.subarray(done, from))
    if (to <= done) continue
    pieces.push(null)
    done = to
  }
  return done < bytes.length ? [...pieces, bytes.subarray(done)] : pieces
}

/** As UTF-8 where it is; else ASCII, and other bytes as `\xE9`. */
function textOf(bytes: Uint8Array): string {
  try {
    // The end may have been cut within a character.
    return escaped(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true }))
  } catch {
    const signs = Array.from(bytes, (byte) =>
      byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    return escaped(signs.join(''))
  }
}

function escaped(text: string): string {
  return escapeControls(text.replaceAll('\r', '\\r').replaceAll('\n', '\\n').replaceAll('\t', '\\t'))
}
