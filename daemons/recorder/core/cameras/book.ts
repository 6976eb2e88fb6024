/** The cameras that were added: their records, and each one's life. */
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { Law } from '../../wire/g711.ts'
import type { Mask } from '../../wire/mask.ts'
import { type AccountRecord, maySee } from '../access/accounts.ts'
import { cameraLimitFault } from '../licence/licence.ts'
import type { StreamPlace } from '../ports.ts'
import type { Camera } from './camera.ts'
import type { OnvifLink } from './onvif.ts'

/** A camera as it is saved. Never changed in place. */
export interface CameraRecord {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  /** `rtsp://host[:port]/path`, without a user or password. */
  readonly url: string
  /** A smaller stream of the same host, for watching; null if none is known. */
  readonly subUrl: string | null
  readonly username: string | null
  readonly password: string | null
  /** What becomes of its pictures. */
  readonly mode: CameraMode
  /** Whether its sound is recorded, where it sends some. */
  readonly audio: boolean
  /** How its packets come. */
  readonly transport: Transport
  /** How it is asked over ONVIF; null for one that was added by its address. */
  readonly onvif: OnvifLink | null
  /** What nobody may see of its pictures. */
  readonly masks: readonly Mask[]
  /** Whether its own events are listened to. */
  readonly cameraEvents: boolean
  /** What it can switch, as an administrator last looked; null: nobody has. */
  readonly outputs: FoundOutputs | null
  /** Whether it can be spoken through, as it said; null: nobody has asked it. */
  readonly talkback: Talkback | null
}

/** What a camera can switch. */
export interface FoundOutputs {
  readonly probedAt: number
  /** What could not be done; null: nothing. */
  readonly notes: string | null
  readonly list: readonly CameraOutput[]
}

export const outputKinds = ['relay', 'light', 'siren'] as const
/** How it is switched. */
export const outputDrivers = ['onvif', 'dahua'] as const

/** One that a camera can switch. */
export interface CameraOutput {
  readonly id: string
  readonly kind: (typeof outputKinds)[number]
  readonly name: string
  readonly driver: (typeof outputDrivers)[number]
}

/** Whether a camera can be spoken through, as it said itself. */
export interface Talkback {
  readonly probedAt: number
  /** What it takes; null: it cannot. */
  readonly codec: Law | null
  /** Why it cannot; null if it can. */
  readonly reason: string | null
}

/** `intelligence_only`: it is watched and looked at, and no footage of it is kept. @source interface document 3, A, Camera */
export const cameraModes = ['record', 'intelligence_only'] as const

export type CameraMode = (typeof cameraModes)[number]

/** Over the connection, or each on its own. */
export type Transport = 'tcp' | 'udp'

/** A camera to add. */
export interface CameraWish {
  name: string
  url: string
  /** Of a smaller stream, for watching; it is signed in to with the same user and password. */
  subUrl?: string | null | undefined
  username?: string
  password?: string
  mode?: CameraMode
  audio?: boolean
  transport?: Transport
  onvif?: OnvifLink
}

/**
 * What is to change. A new address takes nothing of the old one along: no user or password, so that no other host gets
 * them, and no stream for watching.
 */
export interface CameraChange extends Partial<Omit<CameraWish, 'onvif'>> {
  enabled?: boolean
  masks?: readonly Mask[]
  cameraEvents?: boolean
  outputs?: FoundOutputs
  talkback?: Talkback
}

interface BookParts {
  records: readonly CameraRecord[]
  /** Resolves once they are on disk. */
  save(records: CameraRecord[]): Promise<void>
  make(record: CameraRecord): Camera
  newId(): string
  /** Refuses a host to which nothing is sent, such as a metadata service. @throws Fault `bad_target` */
  checkHost(host: string): void
  /** The most cameras; key `cameras.max`. */
  most: number
  /** How many the licence has; null for any number. Those that are there already stay. */
  licensed(): number | null
}

/** Where a camera is to be. */
type PlaceWish = Omit<CameraWish, 'name' | 'onvif'>

/** Where it is, checked. */
interface Place extends StreamPlace {
  subUrl: string | null
}

/** A camera, and what it was added with. */
export interface KnownCamera {
  record: CameraRecord
  camera: Camera
}

/** Whose eyes a camera is looked up with. */
type Viewer = Pick<AccountRecord, 'cameras'>

export interface CameraBook {
  list(): readonly KnownCamera[]
  /** For what the recorder does by itself; who asks for somebody goes by `require`. */
  find(id: string): CameraRecord | undefined
  /** Those that an account may see. */
  seenBy(viewer: Viewer): readonly KnownCamera[]
  /** @throws Fault `unknown_camera`, also for one that the account may not see: nothing tells the two apart */
  require(id: string, viewer: Viewer): KnownCamera
  /** How many more cameras it takes. */
  room(): number
  /** @throws Fault `too_many_cameras`, `license_camera_limit`, before anything is asked of a camera */
  requireRoom(): void
  /** @throws Fault `bad_stream_url`, `bad_sub_url`, `bad_target`, `too_many_cameras`, `license_camera_limit`, `store_write_failed` */
  add(wish: CameraWish): Promise<KnownCamera>
  /** @throws Fault `unknown_camera`, `bad_stream_url`, `bad_sub_url`, `bad_target`, `no_onvif`, `store_write_failed` */
  change(id: string, wish: CameraChange): Promise<KnownCamera>
  /** Its footage stays as long as any other. @throws Fault `unknown_camera`, `store_write_failed` */
  remove(id: string): Promise<CameraRecord>
  start(): void
  /** Resolves once all have stopped. */
  stop(): Promise<void>
}

export function createCameraBook({ checkHost, licensed, make, most, newId, records, save }: BookParts): CameraBook {
  let known: readonly KnownCamera[] = records.map((record) => ({ record, camera: make(record) }))
  const inTurn = createSerialTurn()
  const room = () => Math.min(most, licensed() ?? most) - known.length

  function required(id: string): KnownCamera {
    const found = known.find(({ record }) => record.id === id)
    if (!found) throw new Fault('unknown_camera', 'There is no camera with this id. GET /api/cameras lists them.')
    return found
  }

  function unusedId(): string {
    const id = newId()
    return known.some(({ record }) => record.id === id) ? unusedId() : id
  }

  /** Nothing takes effect before it is saved. */
  async function put(next: readonly KnownCamera[]): Promise<void> {
    await save(next.map(({ record }) => record))
    known = next
  }

  function requireRoom(): void {
    if (room() > 0) return
    if (known.length >= most)
      throw new Fault('too_many_cameras', `There are ${known.length} cameras; cameras.max allows ${most}.`)
    throw cameraLimitFault(licensed() ?? most)
  }

  async function add(wish: CameraWish): Promise<KnownCamera> {
    requireRoom()
    const record = newRecord(unusedId(), wish, checkHost)
    const added = { record, camera: make(record) }
    await put([...known, added])
    added.camera.start()
    return added
  }

  return {
    list: () => known,
    find: (id) => known.find(({ record }) => record.id === id)?.record,
    seenBy: (viewer) => known.filter(({ record }) => maySee(viewer, record.id)),
    require: (id, viewer) => required(maySee(viewer, id) ? id : ''),
    room,
    requireRoom,
    add: (wish) => inTurn(() => add(wish)),
    change: (id, wish) =>
      inTurn(async () => {
        const before = required(id)
        const record = recordWith(before.record, wish, checkHost)
        const after = { record, camera: isSameStream(record, before.record) ? before.camera : make(record) }
        await put(known.map((one) => (one === before ? after : one)))
        if (after.camera !== before.camera || !after.record.enabled) await before.camera.stop()
        if (after.record.enabled) after.camera.start()
        return after
      }),
    remove: (id) =>
      inTurn(async () => {
        const { camera, record } = required(id)
        await put(known.filter((one) => one.record.id !== id))
        await camera.stop()
        return record
      }),
    start() {
      for (const { camera, record } of known) if (record.enabled) camera.start()
    },
    stop: async () => void (await Promise.all(known.map(({ camera }) => camera.stop()))),
  }
}

/** @throws Fault `bad_stream_url`, `bad_target`, `bad_sub_url` */
function checkedPlace(wish: PlaceWish, checkHost: BookParts['checkHost']): Place {
  const place = readStreamUrl(wish)
  checkHost(hostOf(place.url))
  return { ...place, subUrl: wish.subUrl == null ? null : readSubUrl(wish.subUrl, place.url) }
}

/** @throws Fault, as `checkedPlace` */
function newRecord(id: string, wish: CameraWish, checkHost: BookParts['checkHost']): CameraRecord {
  const { password = null, subUrl, url, username = null } = checkedPlace(wish, checkHost)
  const { audio = true, mode = 'record', name, onvif = null, transport = 'tcp' } = wish
  return {
    ...{ id, name, enabled: true, mode, audio, onvif, transport, url, subUrl, username, password },
    ...{ masks: [], cameraEvents: false, outputs: null, talkback: null },
  }
}

/** The record after a change. @throws Fault, as `checkedPlace`; `no_onvif` */
function recordWith(
  record: CameraRecord,
  { password, subUrl, url, username, ...wish }: CameraChange,
  checkHost: BookParts['checkHost'],
): CameraRecord {
  const changed = { ...record, ...wish }
  if (wish.cameraEvents && !record.onvif)
    throw new Fault(
      'no_onvif',
      `${record.name} was added by the address of its stream: its events cannot be heard. Add it over ONVIF.`,
    )
  if ([password, subUrl, url, username].every((one) => one === undefined)) return changed
  const kept = url === undefined ? record : { subUrl: null, username: null, password: null }
  const wanted = {
    url: url ?? record.url,
    subUrl: subUrl === undefined ? kept.subUrl : subUrl,
    username: username ?? kept.username ?? undefined,
    password: password ?? kept.password ?? undefined,
  }
  const place = checkedPlace(wanted, checkHost)
  const { username: user, password: secret, ...addresses } = place
  const isSameHost = hostOf(place.url) === hostOf(record.url)
  const ofCamera = isSameHost ? {} : { onvif: null, cameraEvents: false, outputs: null, talkback: null }
  return { ...changed, ...addresses, username: user ?? null, password: secret ?? null, ...ofCamera }
}

/** Whether nothing changed for which a camera has to be asked anew. */
function isSameStream(one: CameraRecord, other: CameraRecord): boolean {
  const keys = ['url', 'username', 'password', 'mode', 'audio', 'transport'] as const
  return keys.every((key) => one[key] === other[key])
}

/** The host of an address. One number for an address, and such, is read only below a scheme that URL knows. */
export function hostOf(url: string): string {
  const plain = URL.parse(`http://${new URL(url).host}`)
  if (!plain) throw new Fault('bad_stream_url', 'The host of the address is neither a name nor an address.')
  return plain.hostname
}

/**
 * Takes a user and password out of an address, where people paste them.
 * @throws Fault `bad_stream_url`
 */
function readStreamUrl({ password, url: text, username }: PlaceWish): StreamPlace {
  const url = rtspUrlOf(text)
  if (!url) throw new Fault('bad_stream_url', 'The address is not one of RTSP. Expected rtsp://HOST[:PORT]/PATH.')
  const own = (part: string) => (part === '' ? undefined : decoded(part))
  const place = { username: username ?? own(url.username), password: password ?? own(url.password) }
  return { ...place, url: withoutLogin(url) }
}

function rtspUrlOf(text: string): URL | undefined {
  const url = URL.parse(text)
  return url?.protocol === 'rtsp:' && url.hostname !== '' ? url : undefined
}

function withoutLogin(url: URL): string {
  url.username = ''
  url.password = ''
  url.hash = ''
  return url.href
}

/**
 * One login is kept for both streams, so that both are at one host.
 * @throws Fault `bad_sub_url`
 */
function readSubUrl(text: string, mainUrl: string): string {
  const url = rtspUrlOf(text)
  const host = hostOf(mainUrl)
  if (url && hostOf(url.href) === host) return withoutLogin(url)
  throw new Fault(
    'bad_sub_url',
    `The second address is none of RTSP at ${host}, where the first one is. Expected rtsp://${host}[:PORT]/PATH.`,
  )
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A password with a bare percent sign, as people type it.
    return part
  }
}
