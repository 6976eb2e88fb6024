/** Who calls, as the server asks it: credentials of a request, a ticket, and whether they still hold. */
import { createHmac, randomBytes } from 'node:crypto'
import { basicOf } from '#kit/auth/basic.ts'
import { verifyPassword } from '#kit/auth/password.ts'
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Caller } from '#kit/http/route.ts'
import type { Knock } from '#kit/http/who-may.ts'
import { networkOf } from '#kit/net/address.ts'
import { hasProxySign } from '#kit/net/proxy-signs.ts'
import type { Records } from '#kit/records.ts'
import type { AdminPassword } from '../core/admin-password.ts'
import { ADMIN, createSignIn, type From, type Signed } from '../core/sign-in.ts'

export interface GateParts {
  password: AdminPassword
  limiter: SignInLimiter
  /** Networks of which is remembered that they have signed in; key `http.login_table`. */
  table: number
  records: Pick<Records, 'recorder' | 'refusals'>
  /** `take` of the ticket store. */
  takeTicket(ticket: string): Caller | undefined
}

/** What the server asks of the board about its callers. */
export interface Gate {
  identify(knock: Knock): Promise<Caller | undefined>
  takeTicket(ticket: string): Caller | undefined
  isStillSignedIn(caller: Caller): boolean
}

export function createGate(parts: GateParts): Gate {
  const { limiter, password, records, table } = parts
  const key = randomBytes(32)
  const signIn = createSignIn({
    password,
    verify: verifyPassword,
    // The same letters typed on another keyboard may be composed otherwise, as kit/auth/password.ts has it.
    digest: (text) => createHmac('sha256', key).update(text.normalize('NFC')).digest('base64url'),
    limiter,
    table,
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
    async identify({ authorization, remoteAddress, headers, signal }) {
      // While there is no password everybody is the administrator who reaches the board: who comes by a proxy may be anyone.
      if (!password.isSet() && hasProxySign(headers)) return undefined
      const from = { address: remoteAddress, network: networkOf(remoteAddress), signal }
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
