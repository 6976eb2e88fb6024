/** The calls of the pages to the recorder. */
import { CallFault, call } from '#kit/web/call.ts'
import type { CameraHealth } from '../core/cameras/camera.ts'
import type { ClockSet, ClockState } from '../core/clocks/camera-clock.ts'
import type { TimeWish, OwnTime as ToldTime } from '../core/clocks/own-clock.ts'
import type { DetectorKind } from '../core/sight/sight-book.ts'
import type { SetupStep } from '../core/site.ts'
import type { DiskHealth } from '../core/storage/disks.ts'
import { eventPlace } from './deep-link.ts'

export type Role = 'administrator' | 'operator' | 'viewer'
export type Permission = 'export' | 'talk' | 'outputs'

/** The person who is signed in. */
export interface Account {
  id: string
  username: string
  role: Role
  /** Ids. */
  cameras: 'all' | readonly string[]
  permissions: readonly Permission[]
  /** Null: it does not end. */
  expiresAt: number | null
  /** A temporary account of who installs. */
  installer: boolean
}

/** One of GET /api/accounts. */
export interface AccountEntry extends Account {
  isLastAdmin: boolean
  isYou: boolean
}

/** An account to make, or what changes of one. */
export interface AccountBody {
  username?: string
  password?: string
  role?: Role
  cameras?: 'all' | string[]
  permissions?: Permission[]
  expiresAt?: number | null
}

/** A token of another system, without its secret. */
export interface Token {
  id: string
  name: string
  accountId: string
  username: string
  createdAt: number
  expiresAt: number | null
  readOnly: boolean
}

interface TokenBody {
  name: string
  accountId: string
  expiresAt?: number
  readOnly: boolean
}

/** How far the first set-up is. */
export interface Onboarding {
  step: SetupStep
  required: boolean
}

/** Answer of GET /api/status. */
export interface Status {
  version: string
  adminConfigured: boolean
  /** Null while nobody is signed in. */
  account: Account | null
  /** What calls that change something carry; null without a session. */
  csrf: string | null
  /** IANA name; null while nobody is signed in. */
  timeZone: string | null
  /** How far the first set-up is; null for who is no administrator. */
  onboarding: Onboarding | null
}

/** One of GET /api/events. */
export interface SeenEvent {
  id: string
  camera_id: string
  camera_name: string
  label: string
  started_at: number
  /** Null while it goes on. */
  ended_at: number | null
  /** Where recognition is on. */
  identity_name?: string | null
  plate_text?: string | null
}

export type { DetectorKind }

/** Answer of GET /api/detector. */
export interface DetectorView {
  kind: DetectorKind
  kinds: readonly { kind: DetectorKind; available: boolean }[]
  health: {
    state: 'idle' | 'starting' | 'ready' | 'failed'
    fault: { message: string } | null
    decoderFault: { message: string } | null
  }
}

/** One of GET /api/cameras. */
export interface Camera {
  id: string
  name: string
  enabled: boolean
  /** Whether it is spoken to over ONVIF. */
  onvif: boolean
  /** Null until its stream has begun once. */
  audio: boolean
  transport: 'tcp' | 'udp'
  recordProfile: { width: number; height: number; codec: string; fps: number | null; audioCodec: string | null } | null
  health: CameraHealth
  /** Address of the stream for watching; told to administrators alone. */
  sub_url?: string | null
  /** Whether it has privacy masks. */
  masked: boolean
  /** Told to administrators alone. */
  masks?: Mask[]
  cameraEvents: boolean
  /** Null: its own events are not listened to. */
  cameraEventsStatus: { state: 'starting' | 'ok' | 'failing'; reason: string | null } | null
  outputs: { id: string; name: string }[]
  /** Null: nobody has looked. */
  outputsProbedAt: number | null
  outputsNotes: string | null
}

/** A polygon: corners in fractions of the picture. */
export type Mask = [x: number, y: number][]

/** A camera to add by hand. */
export interface CameraBody {
  name: string
  url: string
  /** Of a smaller stream for watching. */
  sub_url?: string
  username?: string
  password?: string
}

/** A camera that answered on the network. */
export interface FoundCamera {
  id: string
  name: string
  manufacturer: string | null
  model: string | null
  address: string
  /** The camera that records it; null while none does. */
  camera: { id: string; name: string } | null
}

/** Answer of GET /api/discovery. */
interface DiscoveryState {
  scannedAt: number | null
  found: FoundCamera[]
}

/** What became of adding several. */
interface AdoptedAll {
  adopted: Camera[]
  failed: { id: string; error: string }[]
}

interface CameraChange extends Partial<Omit<CameraBody, 'sub_url'>> {
  /** Null: none. */
  sub_url?: string | null
  enabled?: boolean
  audio?: boolean
  transport?: 'tcp' | 'udp'
  masks?: Mask[]
}

/** A stretch of footage, epoch ms. */
export interface Stretch {
  start: number
  end: number
}

/** The footage of one camera: all of it from first to last, and the stretches of the window. */
export interface Footage {
  cameraId: string
  bounds: Stretch | null
  ranges: Stretch[]
}

/** What was counted of one camera since the recorder started. */
export interface CameraCounts {
  id: string
  name: string
  state: string
  bytes: number
  pictures: number
  lostPackets: number
  brokenPackets: number
  droppedPictures: number
  lostGroups: number
}

/** One disk of footage. */
export type Disk = DiskHealth

/** Answer of GET /api/health. */
export interface Health {
  clockAheadMs: number
  footageBytes: number
  disks: Disk[]
  roomBytes: number
  /** Null in the first minute. */
  daysLeft: number | null
  cameras: CameraCounts[]
}

/** Answer of GET /api/storage/location. */
export interface Location {
  disks: Disk[]
  /** The folders are those of the file of settings. */
  fromSettings: boolean
}

/** Answer of GET /api/storage/settings. */
export interface KeptSettings {
  keepDays: number
  keepBytes: number
  freeBytes: number
  /** Days of single cameras, by id. */
  cameras: Readonly<Record<string, number>>
}

/** A change of them; what is no number is refused at its field. */
interface KeptChange {
  keepDays?: number | string
  keepBytes?: number | string
  freeBytes?: number | string
  cameras?: Record<string, number | string | null>
}

/** A preserved stretch, epoch ms. */
export interface Preserved {
  id: string
  camera: string
  from: number
  to: number
  note: string | null
  by: string
  at: number
}

export type { ClockSet, ClockState, TimeWish }

/** Answer of GET /api/recorder/time. */
export interface OwnTime extends ToldTime {
  /** Those that may be set; not told by PUT. */
  zones?: string[]
}

/** One of GET /api/cameras/{id}/writes. */
export interface CameraWrite {
  at: number
  operation: string
  /** Null: the recorder by itself. */
  performed_by: string | null
  detail: Readonly<Record<string, string | number | boolean | null>>
}

/** How a camera turns, of GET /api/cameras/{id}/ptz. */
export interface Turning {
  supported: boolean
  continuous: boolean
  zoom: boolean
  mostPresets: number
}

/** A place that a camera remembers. */
export interface Preset {
  token: string
  name: string
}

/** Shares of the fastest, -1..1: to the right, up, in. */
export interface Speed {
  pan: number
  tilt: number
  zoom: number
}

interface Credentials {
  username?: string
  password: string
}

/** Path of one camera's footage as a film. */
export function filmPath(camera: string, startAt: number, seconds: number, isKept = false): string {
  const query = `start=${Math.round(startAt)}&duration=${Number(seconds.toFixed(3))}${isKept ? '&download=1' : ''}`
  return `${cameraPath(camera)}/playback.mp4?${query}`
}

/** The recorded stream, or the small one. */
export type Profile = 'main' | 'sub'

/** Path of the socket that shows a camera live. */
export function livePath(camera: string, profile: Profile, isHeard: boolean): string {
  return `/ws/video?camera=${encodeURIComponent(camera)}&profile=${profile}&sound=${isHeard ? 'on' : 'off'}`
}

/** Path of the JPEGs that show a camera live. */
export function picturesPath(camera: string, profile: Profile): string {
  return `${cameraPath(camera)}/stream.mjpg?${profile === 'sub' ? 'width=640&fps=1' : 'width=1280'}`
}

/** Path of what a camera shows now. */
export function stillPath(camera: string): string {
  return `${cameraPath(camera)}/still.jpg?width=1280`
}

export const cameraPath = (id: string): `/${string}` => `/api/cameras/${encodeURIComponent(id)}`

const windowOf = (from: number, to: number): string => `from=${Math.round(from)}&to=${Math.round(to)}`

export const api = {
  status: () => call<Status>('GET /api/status'),
  identity: () => call<{ name: string }>('GET /api/identity'),
  setUp: (body: Credentials) => call<{ csrf: string }>('POST /api/setup', body, { isSignIn: true }),
  signIn: (body: Credentials) => call<{ csrf: string }>('POST /api/login', body, { isSignIn: true }),
  signOut: () => call<unknown>('POST /api/logout', undefined, { isSignIn: true }),

  cameras: () => call<Camera[]>('GET /api/cameras', undefined, { isPolled: true }),
  addCamera: (body: CameraBody) => call<Camera>('POST /api/discovery/rtsp', body).catch(atItsField),
  changeCamera: (id: string, body: CameraChange) => call<Camera>(`PATCH ${cameraPath(id)}`, body).catch(atItsField),
  removeCamera: (id: string) => call<unknown>(`DELETE ${cameraPath(id)}`),

  footage: (id: string, from: number, to: number) =>
    call<Footage>(`GET ${cameraPath(id)}/availability?${windowOf(from, to)}`, undefined, { isPolled: true }),
  allFootage: (from: number, to: number) =>
    call<{ cameras: Record<string, Footage> }>(`GET /api/recordings/availability?${windowOf(from, to)}`, undefined, {
      isPolled: true,
    }),
  moveSetUp: (step: SetupStep) => call<Onboarding>('PATCH /api/onboarding', { step }),
  health: () => call<Health>('GET /api/health', undefined, { isPolled: true }),
}

/** Path of the picture of an event. */
export function thumbnailPath(event: string): string {
  return `/api/events/${encodeURIComponent(event)}/thumbnail.jpg`
}

/** Calls of the page of events. */
export const eventsApi = {
  async list({ camera, label, limit }: { camera: string; label: string; limit: number }): Promise<SeenEvent[]> {
    const wish = { ...(camera && { cameraId: camera }), ...(label && { label }), limit: String(limit) }
    const query = new URLSearchParams(wish)
    return (await call<{ events: SeenEvent[] }>(`GET /api/events?${query}`, undefined, { isPolled: true })).events
  },
  /** One that may be gone: by when it began, at its camera. */
  async one(id: string): Promise<SeenEvent | undefined> {
    const place = eventPlace(id)
    if (!place) return undefined
    const at = String(place.beganAt)
    const query = new URLSearchParams({ cameraId: place.camera, since: at, until: at, limit: '500' })
    try {
      const { events } = await call<{ events: SeenEvent[] }>(`GET /api/events?${query}`, undefined, { isPolled: true })
      return events.find((event) => event.id === id)
    } catch (thrown) {
      // A camera that was removed, or that they may not see.
      if (thrown instanceof CallFault && thrown.status === 404) return undefined
      throw thrown
    }
  },
  detector: () => call<DetectorView>('GET /api/detector', undefined, { isPolled: true }),
  choose: (kind: DetectorKind) => call<DetectorView>('PUT /api/detector', { kind }),
}

/** A scan waits for answers, and a camera takes its time for each of many questions. */
const SCAN_MS = 70_000
const ADOPT_MS = 600_000

/** Calls that find cameras. */
export const discoveryApi = {
  list: () => call<DiscoveryState>('GET /api/discovery'),
  scan: () => call<DiscoveryState>('POST /api/discovery/scan', undefined, { answerMs: SCAN_MS }),
  adoptAll: (body: Credentials & { ids: string[] }) =>
    call<AdoptedAll>('POST /api/discovery/adopt-all', body, { answerMs: ADOPT_MS }),
}

/** Calls of the page of storage. */
export const storageApi = {
  location: () => call<Location>('GET /api/storage/location', undefined, { isPolled: true }),
  /** Null: as the file of settings says. */
  move: (folders: { folder: string; isNew?: boolean }[] | null) =>
    call<Location>('PATCH /api/storage/location', { folders }).catch(atItsField),
  kept: () => call<KeptSettings>('GET /api/storage/settings'),
  keep: (change: KeptChange) => call<KeptSettings>('PATCH /api/storage/settings', change),
  preserved: () => call<Preserved[]>('GET /api/storage/preserved', undefined, { isPolled: true }),
  preserve: (camera: string, stretch: { from: number; to: number; note?: string }) =>
    call<Preserved>(`POST ${cameraPath(camera)}/preserve`, stretch),
  release: (id: string) => call<unknown>(`DELETE /api/storage/preserved/${encodeURIComponent(id)}`),
}

/** A camera is asked several times, and fetches the time; network time is switched off before the time is set. */
const CLOCK_MS = 70_000

/** Calls about clocks. */
export const clockApi = {
  own: () => call<OwnTime>('GET /api/recorder/time', undefined, { isPolled: true, answerMs: CLOCK_MS }),
  setOwn: (wish: TimeWish) => call<OwnTime>('PUT /api/recorder/time', wish, { answerMs: CLOCK_MS }).catch(atItsField),
  sync: () => call<{ enabled: boolean }>('GET /api/clock-sync', undefined, { isPolled: true }),
  setSync: (enabled: boolean) => call<{ enabled: boolean }>('PUT /api/clock-sync', { enabled }),
  ofCamera: (id: string) =>
    call<ClockState>(`GET ${cameraPath(id)}/clock`, undefined, { isPolled: true, answerMs: CLOCK_MS }),
  setCamera: (id: string, switchToManual: boolean) =>
    call<ClockSet>(`POST ${cameraPath(id)}/clock`, { switchToManual }, { answerMs: CLOCK_MS }),
  writes: (id: string) => call<CameraWrite[]>(`GET ${cameraPath(id)}/writes?limit=10`, undefined, { isPolled: true }),
}

/** Calls that turn cameras. */
export const ptzApi = {
  read: (id: string) => call<Turning>(`GET ${cameraPath(id)}/ptz`, undefined, { isPolled: true }),
  presets: (id: string) => call<Preset[]>(`GET ${cameraPath(id)}/ptz/presets`, undefined, { isPolled: true }),
  move: (id: string, speed: Speed) => call<unknown>(`POST ${cameraPath(id)}/ptz/move`, speed),
  stop: (id: string) => call<unknown>(`POST ${cameraPath(id)}/ptz/stop`),
  recall: (id: string, token: string) => call<unknown>(`POST ${cameraPath(id)}/ptz/preset`, { token }),
}

/** Calls of the page of accounts. */
export const accountsApi = {
  list: () => call<AccountEntry[]>('GET /api/accounts', undefined, { isPolled: true }),
  add: (body: AccountBody) => call<AccountEntry>('POST /api/accounts', body),
  change: (id: string, body: AccountBody) => call<AccountEntry>(`PATCH /api/accounts/${encodeURIComponent(id)}`, body),
  remove: (id: string) => call<unknown>(`DELETE /api/accounts/${encodeURIComponent(id)}`),
  tokens: () => call<Token[]>('GET /tokens', undefined, { isPolled: true }),
  mint: (body: TokenBody) => call<Token & { token: string }>('POST /tokens', body),
  revoke: (id: string) => call<unknown>(`DELETE /tokens/${encodeURIComponent(id)}`),
  changePassword: (body: { current: string; password: string }) =>
    call<{ csrf: string }>('POST /api/me/password', body),
}

const FIELD_OF: Readonly<Record<string, string>> = {
  ...{ bad_stream_url: 'url', bad_target: 'url', bad_sub_url: 'sub_url' },
  ...{ bad_broker: 'url', bad_topic: 'topicPrefix', license_key_refused: 'licenseKey' },
  ...{ bad_folder: 'folder', no_disk_left: 'folder' },
  ...{ bad_zone: 'zone', zone_pinned: 'zone', bad_time: 'time', time_from_network: 'ntp', no_network_time: 'ntp' },
}

/** What is wrong with an address, a folder or a time is said at its field. */
export function atItsField(thrown: unknown): never {
  const isFolder = thrown instanceof CallFault && thrown.fields.some(({ field }) => field.startsWith('folders'))
  const field = isFolder ? 'folder' : thrown instanceof CallFault ? FIELD_OF[thrown.code] : undefined
  if (!(thrown instanceof CallFault) || field === undefined) throw thrown
  const { code, message, status } = thrown
  throw new CallFault(status, { error: code, message, fields: { [field]: message } })
}

/** Why a film did not begin, as the recorder says it; null if it would give it now. */
export async function whyNoFilm(path: string): Promise<string | null> {
  const asked = new AbortController()
  try {
    const reply = await fetch(path, { signal: asked.signal })
    if (reply.ok) return null
    return new CallFault(reply.status, (await reply.json().catch(() => ({}))) as Record<string, string>).message
  } finally {
    asked.abort()
  }
}

/** A socket would be opened now. */
const WOULD_OPEN = 426

/** Why the socket of a live picture was not opened, as the recorder says it; null if it would be now. */
export async function whyNotLive(path: string): Promise<string | null> {
  const reply = await fetch(path)
  if (reply.status === WOULD_OPEN) return null
  return new CallFault(reply.status, (await reply.json().catch(() => ({}))) as Record<string, string>).message
}
