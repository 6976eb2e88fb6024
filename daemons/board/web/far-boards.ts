/** Asks other boards for their state and their sound from this browser, with the credentials of the signed-in user. */
import { signal } from '@preact/signals'
import type { Check, CheckState } from '../core/sound/sound.ts'
import { basicHeader, type Peer } from './api.ts'
import * as texts from './texts.ts'

// What this browser saw boards play, kept across reloads: the crosspoint of a missing board stays until it is
// dismissed.

/** The number increases with each new format: entries of older firmware are ignored. */
const KEY = 'plantroom.sound.1'

let written: string | undefined
let known: ReadonlyMap<string, FarSound> | undefined

/** Routes and streams by board key; empty if the browser stores nothing. */
function rememberedSound(): ReadonlyMap<string, FarSound> {
  known ??= new Map(readAll())
  return known
}

/** Stores what boards play, without the values that change each second. */
function rememberSound(sounds: ReadonlyMap<string, FarSound>): void {
  known = new Map([...sounds].map(([key, sound]) => [key, lasting(sound)]))
  const text = JSON.stringify([...known])
  if (text === written) return
  written = text
  try {
    localStorage.setItem(KEY, text)
  } catch {
    // If the storage is full or forbidden, the page knows only what it has seen since it was opened.
  }
}

function lasting(sound: FarSound): FarSound {
  return sound.kind === 'encoder'
    ? { ...sound, rmsDb: null }
    : { ...sound, rmsDb: null, lossPercent: null, checks: [], volume: null }
}

function readAll(): [string, FarSound][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

// Another board's answer about its sound, reduced to what is shown: neither its shape nor its size is trusted.

const MOST_SOUND_TEXT = 200
const MOST_CHECKS = 16
const MOST_CHANNELS = 64

/** A route, with all fields needed to restore it. */
interface FarRoute {
  mcast: string
  port: number
  source: string | null
  name: string | null
  encoding: string | null
  given: { link_ms: number | null; mclk_offset: number | null; encoding: string | null }
}

/** A decoder as the matrix needs it. */
export interface FarDecoder {
  kind: 'decoder'
  route: FarRoute
  sender: string | null
  playing: boolean
  volume: { volume: number; volumeDb: number; mute: boolean } | null
  checks: readonly Check[]
  /** Loss in the last minute, percent; null when the board does not say. */
  lossPercent: number | null
  rmsDb: number | null
}

/** An encoder as the matrix needs it. */
export interface FarEncoder {
  kind: 'encoder'
  stream: { mcast: string; port: number; name: string; encoding: string | null; channels: number | null }
  rmsDb: number | null
}

export type FarSound = FarDecoder | FarEncoder

/** @returns null if the answer contains no sound */
export function soundOf(answer: unknown): FarSound | null {
  const { decoder, encoder } = record(answer)
  if (decoder !== undefined) return decoderOf(record(decoder))
  return encoder === undefined ? null : encoderOf(record(encoder))
}

function decoderOf({ route, volume, playing, checks, sender, counters, meters }: Facts): FarDecoder {
  return {
    kind: 'decoder',
    route: routeOf(route),
    sender: text(sender) || null,
    playing: playing === true,
    volume: volumeOf(volume),
    checks: checksOf(checks),
    lossPercent: number(record(counters).loss_percent_1min),
    rmsDb: loudest(meters),
  }
}

/** Reads a route from a board's answer. */
export function routeOf(route: unknown): FarRoute {
  const { mcast, port, source, name, encoding, given } = record(route)
  const { link_ms, mclk_offset, encoding: own } = record(given)
  return {
    mcast: text(mcast) ?? '',
    port: number(port) ?? 0,
    source: text(source) || null,
    name: text(name) || null,
    encoding: text(encoding),
    given: { link_ms: number(link_ms), mclk_offset: number(mclk_offset), encoding: text(own) },
  }
}

/** Reads the answer to a change of volume; null if it is none. */
export function volumeOf(answer: unknown): FarDecoder['volume'] {
  const { volume, volume_db: db, mute } = record(answer)
  const [percent, volumeDb] = [number(volume), number(db)]
  return percent === null || volumeDb === null ? null : { volume: percent, volumeDb, mute: mute === true }
}

function encoderOf({ stream, meters }: Facts): FarEncoder {
  const { mcast, port, name, encoding, channels } = record(stream)
  return {
    kind: 'encoder',
    stream: {
      mcast: text(mcast) ?? '',
      port: number(port) ?? 0,
      name: text(name) ?? '',
      encoding: text(encoding),
      channels: number(channels),
    },
    rmsDb: loudest(meters),
  }
}

function checksOf(checks: unknown): Check[] {
  if (!Array.isArray(checks)) return []
  return checks.slice(0, MOST_CHECKS).map((check) => {
    const { name, state, code, text: words } = record(check)
    return {
      name: text(name) ?? '',
      state: (text(state) ?? 'not_judged') as CheckState,
      code: text(code),
      text: text(words) ?? '',
    }
  })
}

/** The loudest of all channels; null when the board is silent or does not say. */
function loudest(meters: unknown): number | null {
  const { rms_db: levels } = record(meters)
  if (!Array.isArray(levels)) return null
  const known = levels
    .slice(0, MOST_CHANNELS)
    .map(number)
    .filter((db) => db !== null)
  return known.length === 0 ? null : Math.max(...known)
}

type Facts = Record<string, unknown>

function record(value: unknown): Facts {
  return typeof value === 'object' && value !== null ? (value as Facts) : {}
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, MOST_SOUND_TEXT) : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

// Polling boards.

/** A board's answer; `atMs` is the page's time of the request. */
export interface Told {
  state: 'told'
  lit: string
  text: string
  sound: FarSound | null
  atMs: number
}

/** What this browser learned from another board. */
export type FarBoard =
  | Told
  | { state: 'locked'; text: string; atMs: number }
  /** @property last what it said while it still answered */
  | { state: 'silent'; atMs: number; last?: Told }

/** Boards by key: names may repeat, and another board may now have the address of a missing one. */
export const farBoards = signal<ReadonlyMap<string, FarBoard>>(new Map())

/** The key of a board. */
export function peerKey({ id, url }: Peer): string {
  return id ?? url
}

/** Whether this board considers a board present; others are not polled. */
export function isThere({ self, state }: Peer): boolean {
  return self || state === 'alive'
}

/** Concurrent requests: a browser has six connections to each host, and a site has a hundred boards. */
const AT_ONCE = 8
const ANSWER_MS = 3000
/** For the second try of a board that answered so far: a slow browser or a busy network is no silence. */
const LATE_MS = 10_000
/** Minimum time between updates of the view while boards are being polled. */
const SHOWN_MS = 500
/** A status is a few kilobytes; anything larger is not ours. */
const MOST_BYTES = 262_144
const MOST_TEXT = 300

/** Passwords typed for single boards, kept as long as the page. */
const typed = new Map<string, string>()

/** Takes a password for one board. */
export function typePassword({ url }: Peer, password: string): void {
  typed.set(url, basicHeader(password))
}

/**
 * Polls every board that is present, a few at once. One that was not silent before is polled again, after all others,
 * before it counts as silent. @param authorization the user's credentials here, or null
 */
export async function askBoards(peers: readonly Peer[], authorization: string | null): Promise<void> {
  const waiting = peers.filter((peer) => !peer.self && isThere(peer))
  const told = new Map<string, FarBoard>()
  const again = new Set<Peer>()
  let shownMs = Date.now()
  async function worker(): Promise<void> {
    for (let peer = waiting.shift(); peer; peer = waiting.shift()) {
      const atMs = Date.now()
      const key = peerKey(peer)
      const answer = await askBoard(peer, authorization, again.has(peer) ? LATE_MS : ANSWER_MS)
      const before = farBoards.value.get(key)
      if (answer.state === 'silent' && before?.state !== 'silent' && !again.has(peer)) {
        again.add(peer)
        waiting.push(peer)
        continue
      }
      told.set(key, withLast(answer, before))
      // A silent board occupies its worker for seconds; the other answers are shown meanwhile.
      if (atMs - shownMs < SHOWN_MS) continue
      shownMs = atMs
      farBoards.value = new Map([...farBoards.value, ...newest(told)])
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const peer of peers) {
    if (isThere(peer)) continue
    // A missing board is not polled; its last answer still tells its role.
    const known = farBoards.value.get(peerKey(peer)) ?? fromMemory(peerKey(peer))
    if (known) told.set(peerKey(peer), withLast({ state: 'silent', atMs: Date.now() }, known))
  }
  farBoards.value = newest(told)
}

/** Stores what the polled boards play, for a reload. */
export function rememberBoards(): void {
  const sounds = new Map<string, FarSound>()
  for (const [key, board] of farBoards.value) {
    const sound = lastOf(board)?.sound
    if (sound) sounds.set(key, sound)
  }
  rememberSound(sounds)
}

function fromMemory(key: string): Told | undefined {
  const sound = rememberedSound().get(key)
  return sound && { state: 'told', lit: 'off', text: '', sound, atMs: 0 }
}

/**
 * Rounds overlap, and the user changes boards meanwhile: an answer to an older request must not replace a newer one.
 */
function newest(told: ReadonlyMap<string, FarBoard>): Map<string, FarBoard> {
  const boards = new Map(told)
  for (const [key, asked] of told) {
    const known = farBoards.value.get(key)
    if (known && known.atMs > asked.atMs) boards.set(key, known)
  }
  return boards
}

/** Applies a board's answer outside the rounds: the user has just changed something there. */
export function takeSound(peer: Peer, change: (sound: FarSound) => FarSound): void {
  const key = peerKey(peer)
  const board = lastOf(farBoards.value.get(key))
  if (!board?.sound) return
  farBoards.value = new Map(farBoards.value).set(key, { ...board, sound: change(board.sound), atMs: Date.now() })
}

/** The last answer of a board, even if it no longer answers; undefined if it never did. */
export function lastOf(board: FarBoard | undefined): Told | undefined {
  if (board?.state === 'told') return board
  return board?.state === 'silent' ? board.last : undefined
}

function withLast(now: FarBoard, before: FarBoard | undefined): FarBoard {
  const last = lastOf(before)
  return now.state === 'silent' && last ? { ...now, last } : now
}

/** Asks one board for its status. */
export async function askBoard(peer: Peer, authorization: string | null, answerMs = ANSWER_MS): Promise<FarBoard> {
  const atMs = Date.now()
  try {
    const { status, answer } = await callBoard(peer, '/api/status', { authorization, answerMs })
    if (status === 401) return { state: 'locked', text: texts.hasAnotherPassword, atMs }
    return { state: 'told', ...verdictOf(answer), sound: soundOf(answer), atMs }
  } catch {
    return { state: 'silent', atMs }
  }
}

/** Options of a call; with a form it changes something. */
interface FarCall {
  authorization: string | null
  form?: URLSearchParams
  answerMs?: number
}

/**
 * Calls another board, preferably with the password typed for it.
 * @throws Error if its address may not be called, it does not answer, or the answer is not JSON
 */
export async function callBoard(
  { url, self }: Peer,
  path: string,
  { authorization, form, answerMs = ANSWER_MS }: FarCall,
): Promise<{ status: number; answer: unknown }> {
  const base = self ? location.origin : webAddress(url)
  if (base === null) throw new Error(texts.hasNoAddressCanBeCalled)
  const signed = typed.get(url) ?? authorization
  const reply = await fetch(new URL(path, base), {
    method: form ? 'POST' : 'GET',
    body: form ?? null,
    headers: signed === null ? {} : { authorization: signed },
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(answerMs),
  })
  const text = await textOf(reply)
  return { status: reply.status, answer: reply.status === 401 ? null : JSON.parse(text) }
}

/** The address if it may be opened, else null: text heard on the network can be anything. */
export function webAddress(url: string): string | null {
  const known = URL.canParse(url) ? new URL(url) : null
  return known && (known.protocol === 'http:' || known.protocol === 'https:') && known.username === ''
    ? known.origin
    : null
}

/** URL of a board's pages, always on its own site; null if its address may not be opened. */
export function farPageUrl({ url, path }: Peer): string | null {
  const base = webAddress(url)
  if (base === null) return null
  const page = URL.canParse(path, base) ? new URL(path, base) : null
  return page?.origin === base ? page.href : `${base}/`
}

/** Reads an answer up to the size of a status. @throws Error if it is larger */
async function textOf(reply: Response): Promise<string> {
  const reader = reply.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.length
    if (bytes > MOST_BYTES) {
      await reader?.cancel()
      throw new Error(texts.answerIsNoStatus)
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return text
}

/** The verdict from an untrusted answer. */
export function verdictOf(answer: unknown): { lit: string; text: string } {
  const { verdict } = (answer ?? {}) as { verdict?: { state?: unknown; text?: unknown } }
  const text = typeof verdict?.text === 'string' ? verdict.text.slice(0, MOST_TEXT) : texts.answersWithoutState
  return { lit: typeof verdict?.state === 'string' ? verdict.state : 'off', text }
}
