/** The session on this page: the token, kept for the life of the tab, and calls that wait for a new one. */
import { signal } from '@preact/signals'
import { type Credentials, createRenewal } from './call.ts'

const KEY = 'plantroom.token'

/**
 * The bearer token; null if nobody is signed in. It is in sessionStorage: a reload keeps it, a closed tab forgets it,
 * other tabs never see it (docs/decisions/api-keys-and-tokens.md).
 */
export const token = signal<string | null>(typeof sessionStorage === 'undefined' ? null : sessionStorage.getItem(KEY))

const renewal = createRenewal()
/** True while the daemon refuses a token that was valid before. */
export const { isSignedOut } = renewal

/** Stores a token; waiting calls continue. */
export function keepToken(fresh: string): void {
  sessionStorage.setItem(KEY, fresh)
  token.value = fresh
  renewal.done()
}

/** Forgets the token: the sign-in page appears, and calls waiting for a token are dropped. */
export function signOut(): void {
  sessionStorage.removeItem(KEY)
  renewal.drop()
  token.value = null
}

/** Credentials with the token. If it is refused, the user is asked to sign in again, over the page. */
export const tokenCredentials: Credentials = {
  header: () => (token.value === null ? null : `Bearer ${token.value}`),
  isReady: () => token.value !== null,
  renewed(used) {
    if (token.value !== null && used !== tokenCredentials.header()) return Promise.resolve()
    return renewal.wait()
  },
}
