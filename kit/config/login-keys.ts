/** The settings of the rate limiter of sign-ins, which every daemon has to which people sign in. */
import { type Static, type TObject, Type } from 'typebox'
import type { SignInBounds } from '#kit/auth/sign-in-limiter.ts'

/** What differs between daemons. */
export interface LoginDefaults {
  freeTries: number
  /** Longest wait: default, least and most, in milliseconds. */
  waitMaxMs: readonly [number, number, number]
}

/** To be spread into the table `http`. */
export function loginKeys({ freeTries, waitMaxMs }: LoginDefaults) {
  const [longest, least, most] = waitMaxMs
  return {
    password_workers: count(2, 1, 16, 'passwords hashed at once; each takes a core and 64 MiB at most'),
    password_queue: count(256, 1, 4096, 'sign-ins that wait for that in all; further ones are answered 503'),
    login_queue: count(64, 1, 4096, 'sign-ins of one network that wait; further ones are answered 429'),
    login_held: count(
      16,
      1,
      4096,
      'sign-ins of one network that are looked at, or were wrong and wait for their answer; further ones wait in line',
    ),
    login_free_tries: count(freeTries, 1, 1000, 'wrong sign-ins of a network or an account before answers come late'),
    login_wait_ms: milliseconds(250, 1, Math.min(most, 60_000), 'the first such wait; doubles with each further one'),
    login_wait_max_ms: milliseconds(longest, least, most, 'the longest such wait; a right password never waits'),
    login_forget_ms: milliseconds(
      600_000,
      1000,
      86_400_000,
      'time without a wrong sign-in after which all is forgotten',
    ),
    login_table: count(4096, 16, 1_048_576, 'networks and accounts of which wrong sign-ins are remembered'),
    login_homes: count(
      512,
      16,
      16_384,
      'networks from which an account has signed in rightly, remembered in all; they come first when many guess',
    ),
  }
}

/** The checked keys. */
export type LoginConfig = Static<TObject<ReturnType<typeof loginKeys>>>

export function loginBounds(keys: LoginConfig): SignInBounds {
  return {
    workers: keys.password_workers,
    queue: keys.password_queue,
    queueOfOne: keys.login_queue,
    places: keys.login_held,
    freeTries: keys.login_free_tries,
    waitMs: keys.login_wait_ms,
    waitMaxMs: keys.login_wait_max_ms,
    forgetMs: keys.login_forget_ms,
    table: keys.login_table,
  }
}

function milliseconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

function count(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, description })
}
