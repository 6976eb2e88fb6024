/** One-time tickets: how a browser, which cannot set headers there, opens a socket or a download. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '#kit/clock.ts'
import { dropGreediest } from '#kit/greediest.ts'
import type { Caller } from './route.ts'

/** A store of tickets in memory. */
export interface Tickets<Who extends Caller> {
  /**
   * A new ticket for this caller, 32 random bytes in base64url. Where there are too many, the oldest of whoever holds
   * most makes room: a program that asks for them for ever keeps no other from his page.
   */
  issue(caller: Who): string
  /** The caller, once; undefined for a ticket that is unknown, used or too old. */
  take(ticket: string): Who | undefined
}

/**
 * @param lifeMs from issue to the last moment it is taken
 * @param max tickets outstanding at once
 */
export function createTickets<Who extends Caller>(by: { clock: Clock; lifeMs: number; max: number }): Tickets<Who> {
  const { clock, lifeMs, max } = by
  // In order of issue, so the oldest stand first. A lookup by the whole random text tells a guesser nothing by its time.
  const outstanding = new Map<string, { caller: Who; issuedMs: number }>()

  function makeRoom(): void {
    for (const [ticket, { issuedMs }] of outstanding) {
      if (clock.monotonicMs() - issuedMs < lifeMs) break
      outstanding.delete(ticket)
    }
    dropGreediest(outstanding, max, ({ caller }) => caller.name)
  }

  return {
    issue(caller) {
      makeRoom()
      const ticket = randomBytes(32).toString('base64url')
      outstanding.set(ticket, { caller, issuedMs: clock.monotonicMs() })
      return ticket
    },
    take(ticket) {
      const found = outstanding.get(ticket)
      outstanding.delete(ticket)
      return found && clock.monotonicMs() - found.issuedMs < lifeMs ? found.caller : undefined
    },
  }
}
