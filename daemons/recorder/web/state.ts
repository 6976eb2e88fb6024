/** What the pages know of this recorder, told by its feed or fetched while the page is visible; who is signed in. */
import { computed, signal } from '@preact/signals'
import { CallFault, type Credentials, createRenewal } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { toast } from '#kit/web/parts.ts'
import type { PlateFacts } from '#kit/web/shell.ts'
import { type KeptSocket, keepSocket } from '#kit/web/socket.ts'
import { type Account, api, type Camera, type Status } from './api.ts'
import * as texts from './texts.ts'

/** How often the recorder is asked. */
export const LOOK_MS = 2000

/** Null until the first answer. */
export const status = signal<Status | null>(null)
export const cameras = signal<readonly Camera[] | null>(null)
/** How often the feed has told that plans of the site, or cameras on them, are others; and plans alone. */
export const planChanges = signal({ all: 0, plans: 0 })
/** How far the first set-up is, for administrators while it is not over. */
export const setUp = computed(() =>
  status.value?.onboarding?.required === true ? status.value.onboarding.step : undefined,
)
/** The name of the site, or of the machine. */
const siteName = signal<string | null>(null)
/** The person; null when nobody is signed in, undefined until that is known. */
export const me = signal<Account | null | undefined>(undefined)
export const isAdmin = computed(() => me.value?.role === 'administrator')
/** Whether cameras may be turned, buttons pressed and outputs switched: what an operator does. */
export const mayOperate = computed(() => isAdmin.value || me.value?.role === 'operator')
/** Whether footage older than the last two minutes may be seen, and kept as a file. */
export const mayExport = computed(() => me.value?.permissions.includes('export') === true)

// The session. Scripts cannot see its cookie; what calls that change something are proved by is told with the status.

let csrf = ''
const renewal = createRenewal()
/** True while the recorder refuses a session that was valid before. */
export const { isSignedOut } = renewal

/** Signs the calls of the pages. */
export const cookieCredentials: Credentials = {
  header: () => null,
  isReady: () => Boolean(me.value) && !isSignedOut.value,
  ofWrites: () => ({ 'x-csrf-token': csrf }),
  renewed: () => renewal.wait(),
}

/** Keeps what a sign-in gave; waiting calls go on. */
export async function signedIn(session: { csrf: string }): Promise<void> {
  csrf = session.csrf
  await lookAtStatus()
  renewal.done()
  await look()
}

/** Ends the session here and at the recorder. */
export async function leave(): Promise<void> {
  renewal.drop()
  // A session that is over already is left as well.
  await api.signOut().catch(() => {})
  csrf = ''
  me.value = null
  cameras.value = null
  followFeed()
}

/** For the sign-in page and the dialog. */
export const signInUse = {
  enter: async (body: { username?: string; password: string }) => signedIn(await api.signIn(body)),
  leave: () => void leave(),
}

async function lookAtStatus(): Promise<void> {
  siteName.value ??= (await api.identity()).name
  const known = await api.status()
  status.value = known
  csrf = known.csrf ?? csrf
  zone.value = known.timeZone ?? undefined
  // A session that ended leaves the page as it is, with the question for the password over it.
  if (known.account || !me.value) me.value = known.account
  else isSignedOut.value = true
}

// The status feed tells at once what else would be asked for.

/** Open while somebody is signed in. */
let feed: KeptSocket | undefined
let isFed = false
/** When all cameras were asked for. */
let askedMs = Number.NEGATIVE_INFINITY

/** How often all cameras are asked for beside the feed: it does not tell each picture. */
const ALL_MS = 10_000

function followFeed(): void {
  const isWanted = Boolean(me.value) && !isSignedOut.value
  if (isWanted)
    feed ??= keepSocket({ begin() {}, hear: (message) => hear(message as FeedMessage), end: unfed }, { path: '/ws' })
  else if (feed) {
    feed.close()
    feed = undefined
  }
}

function unfed(): void {
  isFed = false
}

type FeedMessage =
  | { type: 'hello'; cameras: Camera[] }
  | { type: 'camera-state'; cameraId: string; camera: Camera }
  | { type: 'camera-removed'; cameraId: string }
  | { type: 'site-plan-changed'; cameraId?: string }
  | { type: 'alert'; alert: { rule: string; summary: string; forYou: boolean } }
  | { type: 'heartbeat' }

function hear(message: FeedMessage): void {
  isFed = true
  if (message.type === 'hello') cameras.value = message.cameras
  // What was changed while nothing was told is asked for too.
  if (message.type === 'hello' || message.type === 'site-plan-changed') {
    const { all, plans } = planChanges.value
    const isOfCamera = 'cameraId' in message && message.cameraId !== undefined
    planChanges.value = { all: all + 1, plans: isOfCamera ? plans : plans + 1 }
  }
  if (message.type === 'alert' && message.alert.forYou)
    toast(texts.alertToast(message.alert.rule, message.alert.summary))
  if (message.type !== 'camera-state' && message.type !== 'camera-removed') return
  const others = (cameras.value ?? []).filter(({ id }) => id !== message.cameraId)
  cameras.value = message.type === 'camera-state' ? [...others, message.camera] : others
}

/** Asks what every page shows, or has changed by hand. @throws NoContact if the recorder did not answer */
export async function look(): Promise<void> {
  askedMs = Number.NEGATIVE_INFINITY
  await lookAgain()
}

/** Asks what the feed does not tell. @throws NoContact if the recorder did not answer */
export async function lookAgain(): Promise<void> {
  try {
    await lookAtStatus()
    followFeed()
    const isDue = !isFed || Date.now() - askedMs >= ALL_MS
    if (!me.value || isSignedOut.value || !isDue) return
    askedMs = Date.now()
    cameras.value = await api.cameras()
  } catch (thrown) {
    if (!(thrown instanceof CallFault)) throw thrown
  }
}

/** The facts on the name plate. */
export function plateFacts(): PlateFacts {
  return { role: texts.role, box: 'recorder', name: siteName.value ?? '', address: location.host }
}
