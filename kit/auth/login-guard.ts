/** Slows down who guesses passwords, by address and by account, and locks nobody out for good. */
import { Fault } from '#kit/fault.ts'
import { networkOf } from '../net/address.ts'
import { createSlowDown, type SlowDownBounds } from './slow-down.ts'

/** One attempt to sign in that was let through. */
export interface LoginAttempt {
  /** Clears what was counted against the address and the account. */
  succeeded(): void
  /** The password was not looked at after all: this attempt alone is no longer counted. */
  abandoned(): void
}

/** Stands before the password is looked at. */
export interface LoginGuard {
  /**
   * Lets an attempt through, and counts it as wrong until it says otherwise: two hundred at once count like two
   * hundred in a row.
   * @param account name tried, existing or not
   * @throws Fault `slow_down` with `details.retryAfterMs`
   */
  attempt(remoteAddress: string, account: string): LoginAttempt
}

/** @param bounds of each of the two tables (config `http.login_*`) */
export function createLoginGuard(bounds: SlowDownBounds): LoginGuard {
  const addresses = createSlowDown(bounds)
  const accounts = createSlowDown(bounds)
  // Each account at each address: signing in as oneself wipes out nothing that was guessed at others.
  const pairs = createSlowDown(bounds)
  // From where each account was last signed in to: a stranger who keeps guessing must not keep its owner out.
  const homes = new Map<string, string>()

  function settle(account: string, from: string): void {
    homes.delete(account)
    const oldest = homes.keys().next()
    if (homes.size >= bounds.table && !oldest.done) homes.delete(oldest.value)
    homes.set(account, from)
  }

  return {
    attempt(remoteAddress, account) {
      const from = networkOf(remoteAddress)
      // A name may be 64 KiB long; its first part is enough to count by.
      const name = account.slice(0, 128)
      const pair = `${from} ${name}`
      const isHome = homes.get(name) === from
      const waitMs = Math.max(addresses.check(from), isHome ? pairs.check(pair) : accounts.check(name))
      if (waitMs > 0)
        throw new Fault('slow_down', `too many wrong logins: try again in ${Math.ceil(waitMs / 1000)} s`, {
          details: { retryAfterMs: waitMs },
        })
      // One address adds no more than its free tries to the account: it is slowed down itself by then, and would
      // otherwise keep the owner waiting at every other address, for as long as it likes.
      const countsForAccount = addresses.failed(from) <= bounds.freeTries
      if (countsForAccount) accounts.failed(name)
      pairs.failed(pair)
      return {
        succeeded() {
          addresses.succeeded(from)
          accounts.succeeded(name)
          pairs.succeeded(pair)
          settle(name, from)
        },
        abandoned() {
          addresses.unfailed(from)
          if (countsForAccount) accounts.unfailed(name)
          pairs.unfailed(pair)
        },
      }
    },
  }
}
