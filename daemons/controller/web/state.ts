/** What the pages know of this building: asked once, then told as it changes. */
import { computed, signal } from '@preact/signals'
import { CallFault, NoContact, sentenceOf } from '#kit/web/call.ts'
import { lose } from '#kit/web/contact.ts'
import { aheadMs, zone as zoneOfTime } from '#kit/web/now.ts'
import type { KeptSocket } from '#kit/web/socket.ts'
import { toast } from '#kit/web/toast.ts'
import type { ZoneMessage } from '../core/zone-feed.ts'
import type { ZoneState, ZoneView } from '../core/zone-view.ts'
import { api, type Zones } from './api.ts'
import { openLive } from './live.ts'
import { isSignedOut, me, needsAccount, signedIn, signedOut, site } from './session.ts'

/** How often it is looked whether there is contact; the live socket tells it by itself. */
export const LOOK_MS = 2500
/** The controller beats every two seconds; after three missed ones it is asked whether it is there. */
const SILENT_MS = 7000
/** Without the socket values are asked for so often. */
const WITHOUT_LIVE_MS = 10_000
/** A socket that is not there for so long is worth a word. */
const SLOW_MS = 4000
/** How long the probe may take. */
const PROBE_MS = 5000

/** The list of zones without what they do; null until the first answer. */
export const list = signal<Zones | null>(null)
/** What zones do now, by id; of zones that never changed since the list came there is nothing here. */
export const states = signal<ReadonlyMap<number, ZoneState>>(new Map())
/** True while changes arrive by themselves. */
export const isLive = signal(false)
/** True while they have not for some seconds, though there is contact: something between lets no socket through. */
export const isSlow = signal(false)
/** Changes that wait for Apply All; null where that is not for this person, or not known yet. */
export const pendingCount = signal<number | null>(null)
/** Why the zones could not be read. */
export const zonesRefused = signal<string | null>(null)

/** Every zone, with what it does now. */
export const allZones = computed<ZoneView[]>(() =>
  (list.value?.groups ?? []).flatMap(({ zones }) => zones.map(current)),
)

let heardAt = 0
let askedAt = 0
let cutAt = 0
let socket: KeptSocket | undefined

/** A zone of the list with what was told since. */
export function current(zone: ZoneView): ZoneView {
  const told = states.value.get(zone.id)
  return told ? { ...zone, ...told } : zone
}

/** One look. Costs the controller nothing while the socket beats. @throws NoContact when nothing answers */
export async function look(): Promise<void> {
  if (me.value === undefined) await begin()
  else if (Date.now() - heardAt > SILENT_MS) await probe()
  if (isLive.value && Date.now() - heardAt > SILENT_MS) closeSocket()
  if (me.value && !isSignedOut.value) await attend()
}

/** The zones are asked for when the socket stands, so that no change falls between; without it, now and then. */
async function attend(): Promise<void> {
  if (!socket) {
    cutAt = Date.now()
    socket = openLive({ hear, begun, ended })
  }
  isSlow.value = !isLive.value && Date.now() - cutAt > SLOW_MS
  const waitMs = list.value === null ? LOOK_MS : WITHOUT_LIVE_MS
  if (!isLive.value && Date.now() - Math.max(askedAt, cutAt) > waitMs) await loadZones()
}

/** Finds out who is here: by the session, by what another system left, or nobody. */
async function begin(): Promise<void> {
  const { me: person, setup = false, ...place } = await api.site()
  needsAccount.value = setup
  site.value = place
  if (person) return signedIn(person)
  const answer = await api.handoff().catch((thrown: unknown) => {
    if (thrown instanceof NoContact) throw thrown
    return null
  })
  if (answer && 'signed_in' in answer && answer.signed_in) signedIn(answer)
  else signedOut()
}

/** Also where a phone slept or a router forgot: the socket seems to stand and nothing comes through it any more. */
function closeSocket(): void {
  socket?.close()
  socket = undefined
}

/** A file that is served as it lies: nothing is asked of the building, and nothing recorded. */
async function probe(): Promise<void> {
  try {
    const reply = await fetch('icon.svg', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(PROBE_MS) })
    if (reply.status >= 500) throw new Error(`${reply.status}`)
  } catch (cause) {
    throw new NoContact(cause)
  }
}

/** Asks for all zones anew. */
export async function loadZones(): Promise<void> {
  askedAt = Date.now()
  try {
    const answer = await api.zones()
    aheadMs.value = (askedAt + Date.now()) / 2 - answer.now
    zoneOfTime.value = answer.site.time_zone ?? undefined
    site.value = answer.site
    states.value = new Map()
    fresh.clear()
    list.value = answer
    zonesRefused.value = null
  } catch (thrown) {
    if (thrown instanceof CallFault) zonesRefused.value = thrown.message
    else if (!(thrown instanceof NoContact)) throw thrown
  }
}

function begun(): void {
  isLive.value = true
  isSlow.value = false
  heardAt = Date.now()
  void loadZones()
}

function ended(): void {
  if (isLive.value) cutAt = Date.now()
  isLive.value = false
  heardAt = 0
  lose()
}

function hear(message: ZoneMessage): void {
  heardAt = Date.now()
  if (message.type === 'beat') {
    aheadMs.value = heardAt - message.now
    pendingCount.value = message.pending
  } else if (message.type === 'zones') {
    for (const zone of message.zones) fresh.set(zone.id, zone)
    if (drawing === undefined) drawing = setTimeout(draw, DRAW_MS)
  } else void reload()
}

/** Values step at most so often: nobody reads faster. */
const DRAW_MS = 250
const fresh = new Map<number, ZoneState>()
let drawing: ReturnType<typeof setTimeout> | undefined

function draw(): void {
  drawing = undefined
  states.value = new Map([...states.value, ...fresh])
  fresh.clear()
}

/** Rooms, zones or rights are others: also what this person may see beside the zones. */
async function reload(): Promise<void> {
  await loadZones()
  try {
    const person = await api.me()
    if (!isSignedOut.value) signedIn(person)
  } catch (thrown) {
    if (!(thrown instanceof CallFault || thrown instanceof NoContact)) throw thrown
  }
}

/** Ends the session, and forgets everything of whom it was. Without contact it stays: its cookie cannot be taken back. */
export async function leave(): Promise<void> {
  try {
    await api.signOut()
  } catch (thrown) {
    return toast(sentenceOf(thrown))
  }
  closeSocket()
  list.value = null
  states.value = new Map()
  fresh.clear()
  pendingCount.value = null
  signedOut()
}
