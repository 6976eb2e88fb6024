/** Random texts that stand for somebody for a while: session tokens, nonces. Kept in memory, and only as digests. */
import type { Clock } from '#kit/clock.ts'
import { dropGreediest } from '#kit/greediest.ts'
import type { Secrets } from './people-ports.ts'
import { PLAIN_LETTERS, randomText } from './random-text.ts'

/** Secrets of one kind. */
export interface SecretShelf<Holder extends { userId: number }> {
  /**
   * A new secret. Where there are too many, the oldest of whoever holds most goes: a program that signs in for ever
   * signs out itself and nobody else.
   * @param lifeMs counts from now, whatever the wall clock does
   */
  issue(holder: Holder, lifeMs: number): string
  /** Whom a secret stands for, while it lives: the very object that was given. */
  find(secret: string): Holder | undefined
  /** The same, and it is used up. */
  take(secret: string): Holder | undefined
  drop(secret: string): void
  /** Drops every secret whose holder it is true of. */
  dropWhere(isOver: (holder: Holder) => boolean): void
  /** Secrets that are kept, those included that have died and were not asked for since. */
  count(): number
}

export interface SecretShelfParts {
  clock: Clock
  secrets: Secrets
  /** Letters of a secret. */
  length: number
  /** Secrets kept at once. */
  most: number
}

interface Entry<Holder> {
  holder: Holder
  endsMs: number
}

/** Makes an empty shelf; a restart forgets everything. */
export function createSecretShelf<Holder extends { userId: number }>(parts: SecretShelfParts): SecretShelf<Holder> {
  const { clock, secrets, length, most } = parts
  // By digest, oldest first. What a digest's place in a map tells by time is nothing about the secret.
  const entries = new Map<string, Entry<Holder>>()

  function makeRoom(): void {
    if (entries.size < most) return
    for (const [digest, { endsMs }] of entries) if (clock.monotonicMs() >= endsMs) entries.delete(digest)
    dropGreediest(entries, most, ({ holder }) => holder.userId)
  }

  function find(secret: string): Holder | undefined {
    if (secret.length !== length) return undefined
    const digest = secrets.digest(secret)
    const entry = entries.get(digest)
    if (entry === undefined || clock.monotonicMs() < entry.endsMs) return entry?.holder
    entries.delete(digest)
    return undefined
  }

  function drop(secret: string): void {
    if (secret.length === length) entries.delete(secrets.digest(secret))
  }

  return {
    issue(holder, lifeMs) {
      makeRoom()
      const secret = randomText(PLAIN_LETTERS, length, secrets.randomBytes)
      entries.set(secrets.digest(secret), { holder, endsMs: clock.monotonicMs() + lifeMs })
      return secret
    },
    find,
    take(secret) {
      const holder = find(secret)
      drop(secret)
      return holder
    },
    drop,
    dropWhere(isOver) {
      for (const [digest, { holder }] of entries) if (isOver(holder)) entries.delete(digest)
    },
    count: () => entries.size,
  }
}
