/** What the pages know of this building: asked once, then told as it changes. */
import { computed, signal } from '@preact/signals'
import { CallFault, NoContact, sentenceOf } from '#kit/web/call.ts'
import { lose } from '#kit/web/contact.ts'
import { sendLatest } from '#kit/web/latest.ts'
import { aheadMs, zone as zoneOfTime } from '#kit/web/now.ts'
import type { KeptSocket } from '#kit/web/socket.ts'
import { toast } from '#kit/web/toast.ts'
import type { ZoneMessage } from '../core/zone-feed.ts'
import type { ZoneView } from '../core/zone-view.ts'
import { api, type Zones } from './api.ts'
import { openLive } from './live.ts'
import { isSignedOut, me, needsAccount, signedIn, signedOut, site } from './session.ts'
import { createToldZones, type Drawn } from './told-zones.ts'

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
/** Lists are asked for at most so often, however often the controller says that they are others. */
const LIST_EVERY_MS = 1000
/** What is told is drawn at most so often: a page that shows everything a building does has to stay usable. */
const DRAW_EVERY_MS = 80

/** The list of zones without what they do; null until the first answer. */
export const list = signal<Zones | null>(null)
/** What zones are and do now, by id. */
const drawn = signal<Drawn>(new Map())
/** True while changes arrive by themselves. */
export const isLive = signal(false)
/** When levels were last known to be those of now, epoch ms of the browser. */
export const knownAt = signal(0)
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

const told = createToldZones()

let heardAt = 0
let askedAt = 0
let cutAt = 0
let socket: KeptSocket | undefined

/** A zone of the list with what was told since; the same object as long as nothing was. */
export function current(zone: ZoneView): ZoneView {
  return drawn.value.get(zone.id) ?? zone
}

/** One look. Costs the controller nothing while the socket beats. @throws NoContact when nothing answers */
export async function look(): Promise<void> {
  if (me.value === undefined) await begin()
  else if (Date.now() - heardAt > SILENT_MS) await probe()
  if (isLive.value && Date.now() - heardAt > SILENT_MS) {
    closeSocket()
    isSlow.value = true
  }
  if (me.value && !isSignedOut.value) attend()
}

/** The zones are asked for when the socket stands, so that no change falls between; without it, now and then. */
function attend(): void {
  if (!socket) {
    cutAt = Date.now()
    socket = openLive({ hear, begun, ended })
  }
  if (!isLive.value && Date.now() - cutAt > SLOW_MS) isSlow.value = true
  const waitMs = list.value === null ? LOOK_MS : WITHOUT_LIVE_MS
  if (!isLive.value && Date.now() - Math.max(askedAt, cutAt) > waitMs) loadZones()
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

/** Asks for all zones anew: one answer at a time, and once more where it was asked for meanwhile. */
export function loadZones(): void {
  ask(null)
}

let wantsPerson = false
let ask = createAsking()

/** One for each who sits here: a call of somebody who left waits for ever, and its answer is nobody's. */
function createAsking(): (nothing: null) => void {
  const isMine = (): boolean => ask === own
  const own = sendLatest(async () => {
    const isAlsoPerson = wantsPerson
    wantsPerson = false
    await readZones(isMine)
    if (isAlsoPerson) await readPerson(isMine)
    await new Promise((resolve) => setTimeout(resolve, LIST_EVERY_MS))
  }, rethrow)
  return own
}

async function readZones(isMine: () => boolean): Promise<void> {
  askedAt = Date.now()
  told.ask()
  try {
    const answer = await api.zones()
    if (isMine()) take(answer)
  } catch (thrown) {
    if (thrown instanceof CallFault) zonesRefused.value = thrown.message
    else if (!(thrown instanceof NoContact)) throw thrown
  }
}

function take(answer: Zones): void {
  const nowMs = Date.now()
  aheadMs.value = (askedAt + nowMs) / 2 - answer.now
  zoneOfTime.value = answer.site.time_zone ?? undefined
  site.value = answer.site
  told.list(
    answer.groups.flatMap(({ zones }) => zones),
    nowMs,
  )
  list.value = answer
  draw()
  knownAt.value = nowMs
  zonesRefused.value = null
}

/** A fault of this page, which the browser's console shows. */
function rethrow(thrown: unknown): never {
  throw thrown
}

function begun(): void {
  isLive.value = true
  isSlow.value = false
  heardAt = Date.now()
  loadZones()
}

function ended(): void {
  if (isLive.value) cutAt = Date.now()
  isLive.value = false
  heardAt = 0
  lose()
}

function hear(message: ZoneMessage): void {
  heardAt = Date.now()
  if (list.value !== null) knownAt.value = heardAt
  if (message.type === 'beat') {
    aheadMs.value = heardAt - message.now
    pendingCount.value = message.pending
  } else if (message.type === 'zones') {
    told.hear(message.zones)
    drawAt(lastDrawnAt + DRAW_EVERY_MS)
  }
  // Rooms, zones or rights are others: also what this person may see beside the zones.
  else {
    wantsPerson = true
    loadZones()
  }
}

let drawing: ReturnType<typeof setTimeout> | undefined
let drawingAt = Number.POSITIVE_INFINITY
let lastDrawnAt = 0

function drawAt(atMs: number): void {
  if (atMs >= drawingAt) return
  clearTimeout(drawing)
  drawingAt = atMs
  drawing = setTimeout(draw, atMs - Date.now())
}

function draw(): void {
  clearTimeout(drawing)
  drawingAt = Number.POSITIVE_INFINITY
  lastDrawnAt = Date.now()
  const { zones, dueAt } = told.draw(lastDrawnAt)
  drawn.value = zones
  if (dueAt !== null) drawAt(Math.max(lastDrawnAt + DRAW_EVERY_MS, dueAt))
}

async function readPerson(isMine: () => boolean): Promise<void> {
  try {
    const person = await api.me()
    if (isMine() && !isSignedOut.value) signedIn(person)
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
  ask = createAsking()
  list.value = null
  isSlow.value = false
  told.clear()
  drawn.value = new Map()
  pendingCount.value = null
  signedOut()
}
