/** Who is signed in on this page: the token, kept for the life of the tab, and the waiting for a new one. */
import { signal } from '@preact/signals'
import { type Credentials, createRenewal } from './call.ts'

const KEY = 'plantroom.token'

/**
 * The bearer token; null when nobody is signed in. It lives in sessionStorage: a reload keeps it, a closed tab
 * forgets it, other tabs never see it (docs/decisions/api-keys-and-tokens.md).
 */
export const token = signal<string | null>(typeof sessionStorage === 'undefined' ? null : sessionStorage.getItem(KEY))

const renewal = createRenewal()
/** True while the daemon refuses the token that was good before. */
export const { isSignedOut } = renewal

/** Takes a token; what waited for one goes on. */
export function signIn(fresh: string): void {
  sessionStorage.setItem(KEY, fresh)
  token.value = fresh
  renewal.done()
}

/** Forgets the token: the sign-in page comes up. What waited for a token is dropped with the page it belonged to. */
export function signOut(): void {
  sessionStorage.removeItem(KEY)
  renewal.drop()
  token.value = null
}

/** Calls that carry the token. A refused one asks the reader to sign in again, over the page. */
export const tokenCredentials: Credentials = {
  header: () => (token.value === null ? null : `Bearer ${token.value}`),
  isReady: () => token.value !== null,
  renewed(used) {
    if (token.value !== null && used !== tokenCredentials.header()) return Promise.resolve()
    return renewal.wait()
  },
}
