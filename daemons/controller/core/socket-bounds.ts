/** What the clients of the socket may ask at once: messages a second of each, and requests under way of all. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'

/** How many messages may come at once: as many as in this time. */
const BURST_S = 2

/** Counts the messages of one socket. */
export interface Pace {
  /** @throws Fault `slow_down` */
  take(): void
}

export function createPace(clock: Clock, perSecond: number): Pace {
  const most = perSecond * BURST_S
  let left = most
  let countedMs = clock.monotonicMs()
  return {
    take() {
      const nowMs = clock.monotonicMs()
      left = Math.min(most, left + ((nowMs - countedMs) / 1000) * perSecond)
      countedMs = nowMs
      if (left < 1) throw new Fault('slow_down', `more than ${perSecond} messages a second; send them more slowly`)
      left--
    },
  }
}

export interface LoadLimits {
  /** Most requests of one account under way. */
  accountRequests: number
  /** The same of all. */
  allRequests: number
  /** Most bytes of all messages whose requests are under way. */
  requestBytes: number
}

/** Requests under way. */
export interface Load {
  /** @returns a function that ends the request; undefined if there is no room for it */
  begin(account: unknown, sizeBytes: number): (() => void) | undefined
}

export function createLoad({ accountRequests, allRequests, requestBytes }: LoadLimits): Load {
  const ofAccount = new Map<unknown, number>()
  let all = 0
  let bytes = 0
  return {
    begin(account, sizeBytes) {
      const own = ofAccount.get(account) ?? 0
      if (own >= accountRequests || all >= allRequests || bytes + sizeBytes > requestBytes) return undefined
      ofAccount.set(account, own + 1)
      all++
      bytes += sizeBytes
      return () => {
        const left = (ofAccount.get(account) ?? 1) - 1
        if (left > 0) ofAccount.set(account, left)
        else ofAccount.delete(account)
        all--
        bytes -= sizeBytes
      }
    },
  }
}
