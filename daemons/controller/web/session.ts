/** Who is signed in on this page. The session is a cookie that no script sees: the page knows the person alone. */
import { signal } from '@preact/signals'
import type { Credentials } from '#kit/web/call.ts'
import type { PersonView, SiteView } from '../core/person.ts'

/** The person; null when nobody is signed in, undefined until that is known. */
export const me = signal<PersonView | null | undefined>(undefined)
/** What the name plate says. */
export const site = signal<SiteView | null>(null)
/** True while the controller refuses the session that was good before: the dialog over the page asks again. */
export const isSignedOut = signal(false)

/** True while the controller has no account at all, so that the first is to be made. */
export const needsAccount = signal(false)

let waiting: (() => void)[] = []

/** Somebody signed in; what waited for that goes on. */
export function signedIn(person: PersonView): void {
  me.value = person
  site.value = person.site
  isSignedOut.value = false
  const ready = waiting
  waiting = []
  for (const go of ready) go()
}

/** Nobody is signed in: the sign-in page comes up, and what waited is dropped with the page it belonged to. */
export function signedOut(): void {
  waiting = []
  isSignedOut.value = false
  me.value = null
}

/** Calls carry the cookie by themselves; a refused one asks the reader to sign in again, over the page. */
export const cookieCredentials: Credentials = {
  header: () => null,
  isReady: () => me.value !== null && me.value !== undefined && !isSignedOut.value,
  renewed() {
    isSignedOut.value = true
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  },
}
