/** The state of the pages: who is signed in, and the building, fetched once and then updated live. */
import { computed, signal } from '@preact/signals'
import { CallFault, type Credentials, createRenewal, NoContact, sendLatest, sentenceOf } from '#kit/web/call.ts'
import { aheadMs, lose, zone as zoneOfTime } from '#kit/web/contact.ts'
import { toast } from '#kit/web/parts.ts'
import { type KeptSocket, keepSocket } from '#kit/web/socket.ts'
import type { PersonView, SiteView } from '../core/access/accounts.ts'
import type { Favourites } from '../core/live/favourites.ts'
import type { FeedMessage } from '../core/live/socket-feed.ts'
import type { ZoneState, ZoneView } from '../core/live/zones.ts'
import { api, type Update, type Zones } from './api.ts'
import * as texts from './texts.ts'

// Who is signed in on this page. Scripts cannot see the session cookie: the page knows only the person.

/** The person; null when nobody is signed in, undefined until that is known. */
export const me = signal<PersonView | null | undefined>(undefined)
/** The content of the name plate. */
export const site = signal<SiteView | null>(null)
/** True while the controller has no account, so that the first must be created. */
export const needsAccount = signal(false)

const renewal = createRenewal()
/** True while the controller refuses a session that was valid before. */
export const { isSignedOut } = renewal

/** Called when somebody has signed in; waiting calls go on. */
export function signedIn(person: PersonView): void {
  me.value = person
  site.value = person.site
  renewal.done()
}

/** Called when nobody is signed in: shows the sign-in page, and drops waiting calls with their page. */
function signedOut(): void {
  renewal.drop()
  me.value = null
}

/** The browser sends the cookie by itself; after a refusal the reader signs in again, over the page. */
export const cookieCredentials: Credentials = {
  header: () => null,
  isReady: () => me.value !== null && me.value !== undefined && !isSignedOut.value,
  renewed: () => renewal.wait(),
}

// The live socket of the zones, kept open while somebody is signed in.

/** Callbacks of the live socket. */
interface LiveUse {
  hear(message: Exclude<LiveMessage, { type: 'answer' }>): void
  /** Called on opening, the first time and after every interruption. */
  begun(): void
  ended(): void
}

/** `ended`: this person's roles do not allow to subscribe any more. */
type LiveMessage = FeedMessage | { type: 'answer'; status: number } | { type: 'ended' }

/** Opens it with a ticket for the session's cookie, subscribes, and reopens it after an interruption. */
function openLive({ hear, begun, ended }: LiveUse): KeptSocket {
  const use = {
    begin: (send: (message: object) => void) => send({ type: 'subscribe', zones: true }),
    hear(message: unknown) {
      const heard = message as LiveMessage
      if (heard.type !== 'answer') return hear(heard)
      // Without the subscription nothing will be heard: values are then fetched now and then.
      if (heard.status === 200) begun()
    },
    end: ended,
  }
  return keepSocket(use, { ticket: 'POST /ui/ticket', path: '/ws' })
}

// The current state of zones, from two sources that may overtake each other: the list that is fetched, and live
// changes.

/** Shortest time between two steps of a value: nobody reads faster. */
export const STEP_MS = 250

/** Zones by id, as drawn; a zone that did not change is the same object as before. */
type Drawn = ReadonlyMap<number, ZoneView>

/** Lives as long as the page. Times of the browser, epoch ms. */
interface ToldZones {
  /** Call this when requesting the list: it will include everything reported so far. */
  ask(): void
  /** Takes the requested list. Changes reported since the request may be newer. */
  list(zones: readonly ZoneView[], nowMs: number): void
  hear(zones: readonly ZoneState[]): void
  /** Draws what is due. @returns the zones, and when something is due next; null if nothing is waiting */
  draw(nowMs: number): { zones: Drawn; dueAt: number | null }
  /** Forgets everything. */
  clear(): void
}

export function createToldZones(): ToldZones {
  let zones = new Map<number, ZoneView>()
  /** Reported but not drawn yet. */
  const waiting = new Map<number, ZoneState>()
  /** Reported since the list was requested. */
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

// The building: fetched once, then updated live.

/** Interval of checks for contact; the live socket reports it by itself. */
export const LOOK_MS = 2500
/** The controller beats every two seconds; after three missed beats it is probed. */
const SILENT_MS = 7000
/** Interval of fetching values without the socket. */
const WITHOUT_LIVE_MS = 10_000
/** If the socket is missing for this long, the page says so. */
const SLOW_MS = 4000
/** Timeout of the probe. */
const PROBE_MS = 5000
/** Shortest interval between fetches of the lists, however often the controller says that they have changed. */
const LIST_EVERY_MS = 1000
/** Shortest interval between drawings: a page that shows all of a busy building must stay usable. */
const DRAW_EVERY_MS = 80

/** The list of zones without their live values; null until the first answer. */
export const list = signal<Zones | null>(null)
/** Zones with their live values, by id. */
const drawn = signal<Drawn>(new Map())
/** True while changes arrive through the socket. */
const isLive = signal(false)
/** When levels were last known to be current, epoch ms of the browser. */
export const knownAt = signal(0)
/** True if they have not been for some seconds despite contact: something in between blocks the socket. */
export const isSlow = signal(false)
/** Number of pending changes; null if this person may not know, or it is not known yet. */
export const pendingCount = signal<number | null>(null)
/** What updates do; null until it was asked for. Elevated sessions hear of it on the socket. */
export const update = signal<Update | null>(null)

/** `3 changes wait.` */
export function pendingSentence(count: number): string {
  if (count === 0) return texts.nothingIsPending
  return count === 1 ? texts.n1ChangeWaits : texts.changesWait(count)
}

/** Why the zones could not be read. */
export const zonesRefused = signal<string | null>(null)

/** Every zone, with its live values. */
export const allZones = computed<ZoneView[]>(() =>
  (list.value?.groups ?? []).flatMap(({ zones }) => zones.map(current)),
)

/** The zones and macros that this person wants first. */
export const favourites = computed<Favourites>(() => list.value?.favourites ?? { zones: [], macros: [] })

/** Keeps a choice on the controller, and shows it once it is kept. */
export async function markFavourite(kind: keyof Favourites, id: number, isFavourite: boolean): Promise<void> {
  try {
    await api.favourite(kind, id, isFavourite)
  } catch (thrown) {
    return toast(sentenceOf(thrown))
  }
  const known = list.value
  if (known === null) return
  const others = known.favourites[kind].filter((one) => one !== id)
  list.value = { ...known, favourites: { ...known.favourites, [kind]: isFavourite ? [...others, id] : others } }
}

/** As wide as a phone; the same width from which the parts fold. */
const NARROW = '(max-width: 44rem)'
export const isNarrow = signal(typeof matchMedia !== 'undefined' && matchMedia(NARROW).matches)
if (typeof matchMedia !== 'undefined')
  matchMedia(NARROW).addEventListener('change', ({ matches }) => {
    isNarrow.value = matches
  })

const told = createToldZones()

let heardAt = 0
let askedAt = 0
let cutAt = 0
let socket: KeptSocket | undefined

/** A zone of the list with its live changes; the same object while there are none. */
export function current(zone: ZoneView): ZoneView {
  return drawn.value.get(zone.id) ?? zone
}

/** One check. Costs the controller nothing while the socket beats. @throws NoContact when nothing answers */
export async function look(): Promise<void> {
  if (me.value === undefined) await begin()
  else if (Date.now() - heardAt > SILENT_MS) await probe()
  if (isLive.value && Date.now() - heardAt > SILENT_MS) {
    closeSocket()
    isSlow.value = true
  }
  if (me.value && !me.value.must_change_password && !isSignedOut.value) attend()
}

/** Fetches the zones once the socket is open, so that no change is missed; without it, now and then. */
function attend(): void {
  if (!socket) {
    cutAt = Date.now()
    socket = openLive({ hear, begun, ended })
  }
  if (!isLive.value && Date.now() - cutAt > SLOW_MS) isSlow.value = true
  const waitMs = list.value === null ? LOOK_MS : WITHOUT_LIVE_MS
  if (!isLive.value && Date.now() - Math.max(askedAt, cutAt) > waitMs) loadZones()
}

/** Finds out who is here: by the session, by a handoff from another system, or nobody. */
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

/** Also after a phone slept or a router lost its state: the socket looks open, but nothing arrives. */
function closeSocket(): void {
  socket?.close()
  socket = undefined
}

/** Fetches a static file: costs no query of the building and no audit record. */
async function probe(): Promise<void> {
  try {
    const reply = await fetch('icon.svg', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(PROBE_MS) })
    if (reply.status >= 500) throw new Error(`${reply.status}`)
  } catch (cause) {
    throw new NoContact(cause)
  }
}

/** Fetches all zones: one request at a time, and once more if requested in the meantime. */
export function loadZones(): void {
  ask(null)
}

let wantsPerson = false
let ask = createAsking()

/** One per signed-in person: the calls of a person who left never settle, and their answers are ignored. */
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

/** Shows an error of this page in the browser's console. */
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

function hear(message: Exclude<LiveMessage, { type: 'answer' }>): void {
  heardAt = Date.now()
  if (list.value !== null) knownAt.value = heardAt
  if (message.type === 'beat') {
    aheadMs.value = heardAt - message.now
    pendingCount.value = message.pending
  } else if (message.type === 'zones') {
    told.hear(message.zones)
    drawAt(lastDrawnAt + DRAW_EVERY_MS)
  } else if (message.type === 'update') update.value = message.update as Update
  else if (message.type === 'ended') ended()
  // Rooms, zones or rights have changed, so this person's other rights may have too.
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

/** Ends the session, and forgets everything about its person. Needs contact: the page cannot remove the cookie itself. */
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
  update.value = null
  signedOut()
}
