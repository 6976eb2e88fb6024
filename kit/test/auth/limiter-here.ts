/** The rate limiter of sign-ins for tests: with a fake clock, and homes in memory. */
import { createSignInLimiter, type SignInBounds } from '../../auth/sign-in-limiter.ts'
import { type FakeClock, fakeClock } from '../../clock-fake.ts'

export const BOUNDS: SignInBounds = {
  workers: 1,
  queue: 256,
  queueOfOne: 64,
  places: 16,
  freeTries: 5,
  waitMs: 250,
  waitMaxMs: 5000,
  forgetMs: 600_000,
  table: 100,
}

export function limiterHere({ clock = fakeClock(), ...own }: Partial<SignInBounds> & { clock?: FakeClock } = {}) {
  const homes = new Set<string>()
  const limiter = createSignInLimiter({
    clock,
    bounds: { ...BOUNDS, ...own },
    homes: {
      has: (network, account) => homes.has(`${network} ${account}`),
      add: (network, account) => void homes.add(`${network} ${account}`),
    },
  })
  return { clock, homes, limiter }
}
