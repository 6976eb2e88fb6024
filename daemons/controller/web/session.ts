/** Who is signed in on this page. The session is a cookie that no script sees: the page knows the person alone. */
import { signal } from '@preact/signals'
import type { Credentials } from '#kit/web/call.ts'
import { createRenewal } from '#kit/web/renewal.ts'
import type { PersonView, SiteView } from '../core/person.ts'

/** The person; null when nobody is signed in, undefined until that is known. */
export const me = signal<PersonView | null | undefined>(undefined)
/** What the name plate says. */
export const site = signal<SiteView | null>(null)
/** True while the controller has no account at all, so that the first is to be made. */
export const needsAccount = signal(false)

const renewal = createRenewal()
/** True while the controller refuses the session that was good before. */
export const { isSignedOut } = renewal

/** Somebody signed in; what waited for that goes on. */
export function signedIn(person: PersonView): void {
  me.value = person
  site.value = person.site
  renewal.done()
}

/** Nobody is signed in: the sign-in page comes up, and what waited is dropped with the page it belonged to. */
export function signedOut(): void {
  renewal.drop()
  me.value = null
}

/** Calls carry the cookie by themselves; a refused one asks the reader to sign in again, over the page. */
export const cookieCredentials: Credentials = {
  header: () => null,
  isReady: () => me.value !== null && me.value !== undefined && !isSignedOut.value,
  renewed: () => renewal.wait(),
}
