/** Who calls, as the server asks it: credentials of a request, a ticket, and whether they still hold. */
import { createHmac, randomBytes } from 'node:crypto'
import { basicOf } from '#kit/auth/basic.ts'
import type { Passwords } from '#kit/auth/password.ts'
import { createSlowDown } from '#kit/auth/slow-down.ts'
import type { Clock } from '#kit/clock.ts'
import type { Caller } from '#kit/http/route.ts'
import type { Credentials } from '#kit/http/who-may.ts'
import { networkOf } from '#kit/net/address.ts'
import type { Records } from '#kit/records.ts'
import type { AdminPassword } from '../core/admin-password.ts'
import { createHeldAnswers } from '../core/held-answers.ts'
import type { HttpKeys } from '../core/http-keys.ts'
import { ADMIN, createSignIn, type From, type Signed } from '../core/sign-in.ts'

export interface GateParts {
  clock: Clock
  password: AdminPassword
  passwords: Passwords
  /** The keys of the table `http`. */
  bounds: HttpKeys
  records: Pick<Records, 'recorder' | 'refusals'>
  /** `take` of the ticket store. */
  takeTicket(ticket: string): Caller | undefined
}

/** What the server asks of the board about its callers. */
export interface Gate {
  identify(credentials: Credentials): Promise<Caller | undefined>
  takeTicket(ticket: string): Caller | undefined
  isStillSignedIn(caller: Caller): boolean
}

export function createGate(parts: GateParts): Gate {
  const { clock, password, passwords, bounds, records } = parts
  const key = randomBytes(32)
  const wrong = createSlowDown({
    clock,
    freeTries: bounds.login_free_tries,
    waitMs: bounds.login_wait_ms,
    waitMaxMs: bounds.login_wait_max_ms,
    forgetMs: bounds.login_forget_ms,
    table: bounds.login_table,
  })
  const signIn = createSignIn({
    password,
    verify: (text, hash) => passwords.verify(text, hash),
    // The same letters typed on another keyboard may be composed otherwise, as kit/auth/password.ts has it.
    digest: (text) => createHmac('sha256', key).update(text.normalize('NFC')).digest('base64url'),
    answers: createHeldAnswers({ clock, wrong, most: bounds.login_held }),
    table: bounds.login_table,
    onSignedIn({ address }: From) {
      void records.recorder.signedIn({ caller: { name: ADMIN }, remoteAddress: address }, 'signed in')
    },
    onRefused({ address: from, network }: From) {
      const detail = { error: 'unauthorized' }
      records.refusals.add({ group: network, who: 'nobody', from, what: 'sign-in refused', detail })
    },
  })
  const isStillSignedIn = (caller: Caller) => signIn.isStillSignedIn(caller as Signed)

  return {
    identify({ authorization, remoteAddress }) {
      const from = { address: remoteAddress, network: networkOf(remoteAddress) }
      return signIn.callerOf(basicOf(authorization), from)
    },
    // A ticket is worth no more than the sign-in it was given to, and dies with it.
    takeTicket(ticket) {
      const caller = parts.takeTicket(ticket)
      return caller && isStillSignedIn(caller) ? caller : undefined
    },
    isStillSignedIn,
  }
}
