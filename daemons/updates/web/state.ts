/** What all pages of the panel know: who is signed in, what the server is, and how it does. */
import { signal } from '@preact/signals'
import { CallFault, type Credentials, createRenewal } from '#kit/web/call.ts'
import { aheadMs } from '#kit/web/contact.ts'
import type { PlateFacts } from '#kit/web/shell.ts'
import { api, type Health, type Status } from './api.ts'
import * as texts from './texts.ts'

/** How often the server is asked how it does. */
export const LOOK_MS = 5000

/** Null until the first answer. */
export const status = signal<Status | null>(null)
export const health = signal<Health | null>(null)
/** Undefined until it is known. */
export const isSignedIn = signal<boolean | undefined>(undefined)

// The session. Scripts cannot see its cookie; what calls that change something are proved by is told with it.

let csrf = ''
const renewal = createRenewal()
/** True while the server refuses a session that was valid before. */
export const { isSignedOut } = renewal

/** Signs the calls of the pages. */
export const cookieCredentials = {
  header: () => null,
  isReady: () => isSignedIn.value === true && !isSignedOut.value,
  ofWrites: () => ({ 'x-csrf-token': csrf }),
  renewed: () => renewal.wait(),
} satisfies Credentials

/** Keeps what a sign-in gave; waiting calls go on. */
export async function signedIn(session: { csrf: string }): Promise<void> {
  csrf = session.csrf
  isSignedIn.value = true
  renewal.done()
  await lookAgain()
}

/** Ends the session here and at the server. */
export async function leave(): Promise<void> {
  renewal.drop()
  // A session that is over already is left as well.
  await api.signOut().catch(() => {})
  csrf = ''
  isSignedIn.value = false
  health.value = null
}

/** For the sign-in page and the dialog. */
export const signInUse = {
  hasOneUser: true,
  ended: texts.sessionEnds,
  async enter({ password }: { password: string }) {
    await signedIn(await api.signIn(password).catch(sayWrong))
  },
  leave: () => void leave(),
}

function sayWrong(thrown: unknown): never {
  // There is no name that could be wrong.
  throw thrown instanceof CallFault && thrown.code === 'wrong_login' ? new Error(texts.wrongPassword) : thrown
}

/** Asks what every page shows. @throws NoContact if the server did not answer */
export async function lookAgain(): Promise<void> {
  try {
    const known = await api.status()
    aheadMs.value = Date.now() - known.now
    status.value = known
    if (isSignedIn.value === undefined) await resume()
    if (cookieCredentials.isReady()) health.value = await api.health()
  } catch (thrown) {
    if (!(thrown instanceof CallFault)) throw thrown
  }
}

/** Goes on with the session that the browser has, if it has one. */
async function resume(): Promise<void> {
  try {
    csrf = (await api.session()).csrf
    isSignedIn.value = true
  } catch (thrown) {
    if (!(thrown instanceof CallFault)) throw thrown
    isSignedIn.value = false
  }
}

/** The facts on the name plate. */
export function plateFacts(): PlateFacts {
  return { role: texts.role, box: 'update server', name: status.value?.name ?? '', address: location.host }
}
