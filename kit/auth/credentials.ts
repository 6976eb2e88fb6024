/** Credentials of callers: names and passwords, roles, API keys, login tokens. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import { bytesOfBase64 } from '../pure/bytes.ts'
import { dropGreediest } from '../pure/pace.ts'

// Roles of a person or a key.

/** From most to fewest rights. */
export const roles = ['admin', 'viewer'] as const

export type Role = (typeof roles)[number]

// Rules for a new user's name and a new password.

/**
 * Letters of the European Latin alphabets (Basic Latin, Latin-1, Latin Extended-A). The dotless i is left out: nobody
 * can tell it from an i. Other scripts would allow look-alike names, such as one with a Cyrillic a.
 */
const LETTER = 'A-Za-z0-9\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u0130\\u0132-\\u017F'

/**
 * A new user's name. Punctuation is allowed only between letters, so that no name begins like a key's or a program's.
 */
export const userName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: `^[${LETTER}]+(?:[ ._@+-][${LETTER}]+)*$`,
  description: 'Latin letters and digits, with single blanks or . _ - @ + between them',
})

/** Excludes what nobody can type and what a Basic header cannot hold. */
const typed = {
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'without control characters',
}

/** A new password, over HTTP and by `plantroom password` alike. */
export const newPassword = Type.String({ minLength: 8, ...typed, format: 'password' })

/**
 * A new password of a daemon with only one user, who signs in with Basic: whatever a header can hold and a person can
 * type. There is no lower bound, since the interface says that any value sets it (2, B, POST /api/password). @source
 * RFC 7617, 2
 */
export const newBasicPassword = Type.String({
  minLength: 1,
  ...typed,
  format: 'password',
})

// Basic credentials of an Authorization header.

/** A claimed identity, not yet verified. */
interface BasicCredentials {
  username: string
  password: string
}

/** The length limits how much is decoded for a stranger. */
const BASIC = /^basic +([A-Za-z0-9+/]{0,4096}={0,2})$/i

/** Neither part may hold control characters. @source RFC 7617, 2 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/**
 * Reads `Basic <base64 of user:password in UTF-8>`. The first colon ends the user; a password may hold more of them.
 * @returns undefined if there is no header, or it has another scheme or form
 * @source RFC 7617, 2 and 2.1
 */
export function readBasic(header: string | undefined): BasicCredentials | undefined {
  const coded = header === undefined ? undefined : BASIC.exec(header.trim())?.[1]
  const text = coded === undefined ? undefined : textOf(coded)
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 0 || CONTROL.test(text)) return undefined
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function textOf(coded: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOfBase64(coded))
  } catch {
    // Whatever is wrong with it, it is not a credential; a stranger is told no more than that.
    return undefined
  }
}

// The bearer token of an Authorization header.

/** RFC 6750, 2.1: `b64token`. The length limits how much is hashed for a stranger. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i

/** @returns undefined if there is no header, or one of another scheme or form */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header.trim())?.[1]
}

// API keys: `plk_<id>_<secret>`; only a hash of the secret is stored.

/**
 * The prefix tells a key from a login's token, for programs and for people who search logs and repositories for leaked
 * secrets.
 */
const FORM = /^plk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

/** A key that was just created. */
interface NewApiKey {
  /** 16 hex digits; not secret. */
  id: string
  /** The whole key; shown once, never stored. */
  text: string
  secretHash: string
}

/** A new key, with 32 random bytes as its secret. */
export function makeApiKey(): NewApiKey {
  const id = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  return { id, text: `plk_${id}_${secret}`, secretHash: hashOf(secret) }
}

/** Whether a bearer token has the prefix of a key, well formed or not. */
export function looksLikeApiKey(token: string): boolean {
  return token.startsWith('plk_')
}

/** @returns undefined if the text is not a key */
export function parseApiKey(text: string): { id: string; secret: string } | undefined {
  const [, id, secret] = FORM.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/** Stands in for a key that does not exist, so that its refusal takes as long as any. */
const DECOY = hashOf(randomBytes(32).toString('base64url'))

/**
 * Compares in constant time.
 * @param secretHash undefined for a key that does not exist: takes as long, and never matches
 */
export function isSecretOf(secret: string, secretHash: string | undefined): boolean {
  const isEqual = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(secretHash ?? DECOY))
  return isEqual && secretHash !== undefined
}

/** SHA-256 in base64url, 43 characters. A fast hash is enough: unlike a password, 256 random bits cannot be guessed. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/** Tokens of one kind of caller; `use` returns the very caller object that was passed in. */
export interface TokenStore<Who extends { name: string }> {
  /** A new token, 32 random bytes in base64url. Only its SHA-256 is stored. */
  issue(caller: Who): string
  /** The caller of a valid token. Counts as a use. */
  use(token: string): Who | undefined
  /** Whether a token is valid, without counting as a use: for long-lived connections, such as a socket. */
  isAlive(token: string): boolean
  revoke(token: string): void
  /** Revokes every token of the callers that this is true of. */
  revokeAll(isOver: (caller: Who) => boolean): void
  /** What a store after a restart needs to know the tokens that are valid now. */
  kept(): KeptToken<Who>[]
}

/** A token that outlives a restart. */
export interface KeptToken<Who> {
  /** SHA-256 of the token, base64url. */
  hash: string
  caller: Who
  /** Epoch ms. */
  issuedAt: number
  /** Epoch ms of its last use. */
  usedAt: number
}

/** How long tokens live. */
interface TokenLife {
  clock: Clock
  lifeMs: number
  /** `sliding`: `lifeMs` counts from the last use. `absolute`: from the issue. */
  kind: 'sliding' | 'absolute'
  /** Tokens valid at once (config `http.max_tokens`). */
  max: number
}

interface TokenStoreParts<Who> extends TokenLife {
  /** Tokens of before a restart, least recently used first. Default: none. */
  known?: readonly KeptToken<Who>[]
}

interface Entry<Who> {
  caller: Who
  issuedMs: number
  usedMs: number
}

/** Creates a store; without `known` tokens a restart forgets every token. */
export function createTokenStore<Who extends { name: string }>({
  clock,
  lifeMs,
  kind,
  known = [],
  max,
}: TokenStoreParts<Who>): TokenStore<Who> {
  // By hash, least recently used first. Looking up the hash in a map leaks nothing of the token by timing.
  const entries = new Map<string, Entry<Who>>()
  // A clock that was set back makes nobody younger than now.
  const aheadMs = clock.epochMs() - clock.monotonicMs()
  const monotonic = (at: number) => Math.min(at - aheadMs, clock.monotonicMs())
  for (const { caller, hash, issuedAt, usedAt } of known)
    entries.set(hash, { caller, issuedMs: monotonic(issuedAt), usedMs: monotonic(usedAt) })

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
      entries.set(tokenHash(token), { caller, issuedMs: nowMs, usedMs: nowMs })
      return token
    },
    use(token) {
      const hash = tokenHash(token)
      const entry = entries.get(hash)
      if (!entry) return undefined
      entries.delete(hash)
      if (!alive(entry)) return undefined
      entry.usedMs = clock.monotonicMs()
      entries.set(hash, entry)
      return entry.caller
    },
    isAlive(token) {
      const entry = entries.get(tokenHash(token))
      return entry !== undefined && alive(entry)
    },
    revoke: (token) => void entries.delete(tokenHash(token)),
    revokeAll(isOver) {
      for (const [hash, { caller }] of entries) if (isOver(caller)) entries.delete(hash)
    },
    kept() {
      const aheadMs = clock.epochMs() - clock.monotonicMs()
      return [...entries]
        .filter(([, entry]) => alive(entry))
        .map(([hash, { caller, issuedMs, usedMs }]) => {
          return { hash, caller, issuedAt: Math.round(issuedMs + aheadMs), usedAt: Math.round(usedMs + aheadMs) }
        })
    },
  }
}

function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
