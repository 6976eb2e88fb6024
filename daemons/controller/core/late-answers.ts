/** Wrong sign-ins are answered late, and few of one network at once, so that guessing takes time and owners lose none. */
import type { SlowDown } from '#kit/auth/slow-down.ts'
import { type Clock, wait } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'

export interface LateAnswers {
  /**
   * Runs a sign-in within the bound of its network, which holds only while that network has been wrong too often.
   * @param network an address, or of IPv6 its /64
   * @throws Fault `busy` with `details.retryAfterMs`
   */
  within<Result>(network: string, run: () => Promise<Result>): Promise<Result>
  /** Counts a wrong one against its network and its account; resolves when it may be answered. */
  hold(network: string, account: string): Promise<void>
  /** After a right one: forgets what was wrong at this account. Its network's tries are forgotten by time alone. */
  forget(account: string): void
}

export interface LateAnswersParts {
  clock: Clock
  networks: SlowDown
  accounts: SlowDown
  /** Sign-ins under way at once of a network that has been wrong too often. */
  most: number
}

export function createLateAnswers({ clock, networks, accounts, most }: LateAnswersParts): LateAnswers {
  const underWay = new Map<string, number>()

  return {
    async within(network, run) {
      const now = underWay.get(network) ?? 0
      const waitMs = networks.check(network)
      if (waitMs > 0 && now >= most)
        throw new Fault('busy', `${now} sign-ins from there are waiting for their answer already`, {
          details: { retryAfterMs: waitMs },
        })
      underWay.set(network, now + 1)
      try {
        return await run()
      } finally {
        const left = (underWay.get(network) ?? 1) - 1
        if (left > 0) underWay.set(network, left)
        else underWay.delete(network)
      }
    },
    async hold(network, account) {
      networks.failed(network)
      accounts.failed(account)
      const waitMs = Math.max(networks.check(network), accounts.check(account))
      if (waitMs > 0) await wait(clock, waitMs)
    },
    forget: (account) => accounts.succeeded(account),
  }
}
