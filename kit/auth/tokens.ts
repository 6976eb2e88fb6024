/** Login tokens, in memory only: issued, used, let die. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '#kit/clock.ts'
import { dropGreediest } from '#kit/greediest.ts'

/** Tokens of callers of one kind; the caller comes back as the very object that was given. */
export interface TokenStore<Who extends { name: string }> {
  /** A new token, 32 random bytes in base64url. It is not kept; only its SHA-256 is. */
  issue(caller: Who): string
  /** The caller of a token that is alive. Counts as a use. */
  use(token: string): Who | undefined
  /** The same without counting as a use: for what is open for long, such as a socket. */
  isAlive(token: string): boolean
  revoke(token: string): void
}

/** How tokens live. */
export interface TokenLife {
  clock: Clock
  lifeMs: number
  /** `sliding`: `lifeMs` counts from the last use. `absolute`: from the issue. */
  kind: 'sliding' | 'absolute'
  /** Tokens alive at once (config `http.max_tokens`). */
  max: number
}

interface Entry<Who> {
  caller: Who
  issuedMs: number
  usedMs: number
}

/** Makes an empty store; a restart forgets every token. */
export function createTokenStore<Who extends { name: string }>({
  clock,
  lifeMs,
  kind,
  max,
}: TokenLife): TokenStore<Who> {
  // By hash, least recently used first. Comparing by the hash's place in a map tells nothing of the token by time.
  const entries = new Map<string, Entry<Who>>()

  function alive(entry: Entry<Who>): boolean {
    return clock.monotonicMs() - (kind === 'sliding' ? entry.usedMs : entry.issuedMs) < lifeMs
  }

  function makeRoom(): void {
    for (const [hash, entry] of entries) if (!alive(entry)) entries.delete(hash)
    dropGreediest(entries, max, ({ caller }) => caller.name)
  }

  return {
    issue(caller) {
      makeRoom()
      const token = randomBytes(32).toString('base64url')
      const nowMs = clock.monotonicMs()
      entries.set(hashOf(token), { caller, issuedMs: nowMs, usedMs: nowMs })
      return token
    },
    use(token) {
      const hash = hashOf(token)
      const entry = entries.get(hash)
      if (!entry) return undefined
      entries.delete(hash)
      if (!alive(entry)) return undefined
      entry.usedMs = clock.monotonicMs()
      entries.set(hash, entry)
      return entry.caller
    },
    isAlive(token) {
      const entry = entries.get(hashOf(token))
      return entry !== undefined && alive(entry)
    },
    revoke: (token) => void entries.delete(hashOf(token)),
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
