/** What the page says of users and keys. */

import type { Role } from '#kit/auth/credentials.ts'
import type { Judgement, Lit } from '#kit/web/lamp.ts'
import { age, dateOf, listed, many } from '#kit/web/numbers.ts'
import type { KeyView } from '../core/people/keys.ts'
import type { User } from './users-api.ts'
import type { When } from './verdicts.ts'
import { nameOf } from './words.ts'

/** Names of the roles. */
export const roleNames: Readonly<Record<Role, string>> = { admin: 'administrator', viewer: 'viewer' }

/** Administrators first, then by name. */
export function sortUsers(users: readonly User[]): User[] {
  const rank = ({ role }: User): number => (role === 'admin' ? 0 : 1)
  return users.toSorted((a, b) => rank(a) - rank(b) || a.username.localeCompare(b.username))
}

/** Expired keys on top, because somebody's system stopped; then by name. */
export function sortKeys(keys: readonly KeyView[]): KeyView[] {
  const rank = ({ state }: KeyView): number => (state === 'expired' ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

/** A key that has less than this left is named. */
const SOON_MS = 14 * 86_400_000

/** The verdict over those who may sign in or call. */
export function judgeUsers(users: readonly User[], keys: readonly KeyView[], { nowMs }: When): Judgement {
  const admins = users.filter(({ role }) => role === 'admin')
  const expired = keys.filter(({ state }) => state === 'expired')
  const soon = keys.filter((key) => key.state === 'live' && key.expiresAt !== null && key.expiresAt - nowMs < SOON_MS)
  const viewers = users.length - admins.length
  const counts = `${many(admins.length, 'administrator')}, ${many(viewers, 'viewer')}, ${many(keys.length, 'API key')}.`
  const names = (of: readonly KeyView[]): string => listed(of.map(({ name }) => name))
  if (expired.length > 0)
    return {
      lit: 'warn',
      sentence: `${names(expired)} ${expired.length === 1 ? 'has' : 'have'} expired.`,
      why: `What calls with ${expired.length === 1 ? 'this key' : 'these keys'} is refused. ${counts}`,
    }
  const next = soon.toSorted((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0))[0]
  if (next)
    return {
      lit: 'warn',
      sentence: `${next.name} expires in ${age((next.expiresAt ?? nowMs) - nowMs, 1)}.`,
      why: `Make a new key for it before then. ${counts}`,
    }
  const only = admins[0]
  if (admins.length === 1 && only)
    return { lit: 'ok', sentence: `${only.username} is the only one who may change things.`, why: counts }
  return { lit: 'ok', sentence: `${admins.length} administrators may change things.`, why: counts }
}

/** Lamp and words of a key: how long it is good, or since when not. */
export function keyState(key: KeyView, { nowMs, zone }: When): { lit: Lit; words: string } {
  if (key.expiresAt === null) return { lit: 'ok', words: 'never expires' }
  if (key.state === 'expired') return { lit: 'fault', words: `expired ${dateOf(key.expiresAt, zone)}` }
  const leftMs = key.expiresAt - nowMs
  return { lit: leftMs < SOON_MS ? 'warn' : 'ok', words: `${age(leftMs, 1)} left` }
}

/** `used 12 s ago`, `never used`. */
export function usedText({ lastUsedAt }: KeyView, { nowMs }: When): string {
  return lastUsedAt === null ? 'never used' : `used ${age(Math.max(0, nowMs - lastUsedAt), 1)} ago`
}

/** Which lines a key reaches: `all lines`, `ttyUSB0 and ttyUSB1`. */
export function reachText({ ports }: KeyView): string {
  return ports === null ? 'all lines' : ports.length === 0 ? 'no line' : listed(ports.map(nameOf))
}
