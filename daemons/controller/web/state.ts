/** What the pages know: who is signed in, and of this building, asked once, then told as it changes. */
import { computed, signal } from '@preact/signals'
import { CallFault, type Credentials, createRenewal, NoContact, sendLatest, sentenceOf } from '#kit/web/call.ts'
import { aheadMs, lose, zone as zoneOfTime } from '#kit/web/contact.ts'
import { toast } from '#kit/web/parts.ts'
import { type KeptSocket, keepSocket } from '#kit/web/socket.ts'
import type { PersonView, SiteView } from '../core/access/accounts.ts'
import type { ZoneMessage } from '../core/live/zone-feed.ts'
import type { ZoneState, ZoneView } from '../core/live/zones.ts'
import { api, type Zones } from './api.ts'

// Who is signed in on this page. The session is a cookie that no script sees: the page knows the person alone.

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
function signedOut(): void {
  renewal.drop()
  me.value = null
}

/** Calls carry the cookie by themselves; a refused one asks the reader to sign in again, over the page. */
export const cookieCredentials: Credentials = {
  header: () => null,
  isReady: () => me.value !== null && me.value !== undefined && !isSignedOut.value,
  renewed: () => renewal.wait(),
}

// The live socket of the zones, kept open as long as somebody is signed in.

/** What hears it. */
interface LiveUse {
  hear(message: ZoneMessage): void
  /** Open, the first time and after every cut. */
  begun(): void
  ended(): void
}

/** Opens it with a ticket of the session's cookie, and again when it was cut. */
function openLive({ hear, begun, ended }: LiveUse): KeptSocket {
  const use = { begin: begun, hear: (message: unknown) => hear(message as ZoneMessage), end: ended }
  return keepSocket(use, { ticket: 'POST /ui/ticket', path: '/ui/live' })
}

// What zones do now, from two sources that overtake each other: the list, which is asked for, and changes, which are told.

/** A value steps at most so often: nobody reads faster. */
export const STEP_MS = 250

/** Zones by id, as they are to be drawn; a zone that did not change is the very object of before. */
type Drawn = ReadonlyMap<number, ZoneView>

/** Lives as long as the page. Times of the browser, epoch ms. */
interface ToldZones {
  /** The list is asked for from now on: it will hold whatever was told until here. */
  ask(): void
  /** The list came. What was told since it was asked for may be newer than it. */
  list(zones: readonly ZoneView[], nowMs: number): void
  hear(zones: readonly ZoneState[]): void
  /** Draws what is due. @returns the zones, and when something is due next; null where nothing waits */
  draw(nowMs: number): { zones: Drawn; dueAt: number | null }
  /** Forgets everything. */
  clear(): void
}

export function createToldZones(): ToldZones {
  let zones = new Map<number, ZoneView>()
  /** Told and not drawn yet. */
  const waiting = new Map<number, ZoneState>()
  /** Told since the list was asked for. */
  const since = new Map<number, ZoneState>()
  const drawnAt = new Map<number, number>()

  function lay(told: ZoneState, nowMs: number): void {
    const zone = zones.get(told.id)
    if (!zone) return
    zones.set(told.id, { ...zone, ...told })
    drawnAt.set(told.id, nowMs)
  }

  return {
    ask: () => since.clear(),
    list(fresh, nowMs) {
      zones = new Map(fresh.map((zone) => [zone.id, zone]))
      waiting.clear()
      drawnAt.clear()
      for (const told of since.values()) lay(told, nowMs)
      since.clear()
    },
    hear(told) {
      for (const zone of told) {
        waiting.set(zone.id, zone)
        since.set(zone.id, zone)
      }
    },
    draw(nowMs) {
      let dueAt: number | null = null
      for (const [id, told] of waiting) {
        const zoneDueAt = (drawnAt.get(id) ?? Number.NEGATIVE_INFINITY) + STEP_MS
        if (zoneDueAt > nowMs) {
          dueAt = Math.min(dueAt ?? zoneDueAt, zoneDueAt)
          continue
        }
        waiting.delete(id)
        lay(told, nowMs)
      }
      return { zones: new Map(zones), dueAt }
    },
    clear() {
      zones = new Map()
      for (const kept of [waiting, since, drawnAt]) kept.clear()
    },
  }
}

// The building: asked for once, then told as it changes.

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
const isLive = signal(false)
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
