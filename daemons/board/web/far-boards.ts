/** What other boards say of themselves when this browser asks them, with the credentials the reader signed in with here. */
import { signal } from '@preact/signals'
import type { Peer } from './api.ts'
import { basicOf } from './basic.ts'

/** What is known of another board from asking it. */
export type FarBoard =
  | { state: 'told'; lit: string; text: string; atMs: number }
  | { state: 'locked'; text: string; atMs: number }
  | { state: 'silent'; atMs: number }

/** Boards by their address: names may be the same twice. */
export const farBoards = signal<ReadonlyMap<string, FarBoard>>(new Map())

/** Asked at once: a browser has six connections to each host, and a site has a hundred boards. */
const AT_ONCE = 8
const ANSWER_MS = 3000
/** A status is a few kilobytes; more is nothing of ours. */
const MOST_BYTES = 262_144
const MOST_TEXT = 300

/** Passwords typed for single boards, kept as long as the page. */
const typed = new Map<string, string>()

/** Takes a password for one board. */
export function typePassword({ url }: Peer, password: string): void {
  typed.set(url, basicOf(password))
}

/** Asks every board that is alive, a few at once. @param authorization what the reader signed in with here, or null */
export async function askBoards(peers: readonly Peer[], authorization: string | null): Promise<void> {
  const waiting = peers.filter(({ self, state }) => !self && state !== 'unreachable')
  const told = new Map<string, FarBoard>()
  async function worker(): Promise<void> {
    for (let peer = waiting.shift(); peer; peer = waiting.shift())
      told.set(peer.url, await askBoard(peer, typed.get(peer.url) ?? authorization))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  farBoards.value = told
}

/** Asks one board how it is. */
export async function askBoard({ url }: Peer, authorization: string | null): Promise<FarBoard> {
  const atMs = Date.now()
  const base = webAddress(url)
  if (base === null) return { state: 'silent', atMs }
  try {
    const reply = await fetch(new URL('/api/status', base), {
      headers: authorization === null ? {} : { authorization },
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    if (reply.status === 401) return { state: 'locked', text: 'It has another password than this board.', atMs }
    return { state: 'told', ...verdictOf(JSON.parse(await textOf(reply))), atMs }
  } catch {
    return { state: 'silent', atMs }
  }
}

/** An address that may be opened: what was heard on the network may be anything. */
export function webAddress(url: string): string | null {
  const known = URL.canParse(url) ? new URL(url) : null
  return known && (known.protocol === 'http:' || known.protocol === 'https:') && known.username === ''
    ? known.origin
    : null
}

/** Where a board's pages begin, on its own site whatever path it names; null where it has no address that may be opened. */
export function pageOf({ url, path }: Peer): string | null {
  const base = webAddress(url)
  if (base === null) return null
  const page = URL.canParse(path, base) ? new URL(path, base) : null
  return page?.origin === base ? page.href : `${base}/`
}

/** Reads an answer up to what a status can be. @throws Error where there is more */
async function textOf(reply: Response): Promise<string> {
  const reader = reply.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.length
    if (bytes > MOST_BYTES) {
      await reader?.cancel()
      throw new Error('the answer is no status of a board')
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return text
}

/** The verdict of an answer whose shape nobody vouches for. */
export function verdictOf(answer: unknown): { lit: string; text: string } {
  const { verdict } = (answer ?? {}) as { verdict?: { state?: unknown; text?: unknown } }
  const text =
    typeof verdict?.text === 'string' ? verdict.text.slice(0, MOST_TEXT) : 'It answers, but says nothing of how it is.'
  return { lit: typeof verdict?.state === 'string' ? verdict.state : 'off', text }
}
