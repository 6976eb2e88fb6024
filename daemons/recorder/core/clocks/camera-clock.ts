/** Clocks of cameras: what they show against this machine's, and setting them so that the set is proven. */
import { type Clock, wait } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type ClockReading,
  getNtp,
  getSystemDateAndTime,
  type NtpServers,
  setNtp,
  setSystemDateAndTime,
} from '../../wire/onvif-clock.ts'
import type { CameraRecord } from '../cameras/book.ts'
import { loginOf, type OnvifClient, type OnvifLink, type OnvifSession } from '../cameras/onvif.ts'
import type { OwnZone } from './own-clock.ts'
import type { TimeServer } from './time-server.ts'
import { areSameAllYear, offsetAt, type PosixZone, readPosixZone } from './time-zone.ts'
import type { Writes } from './writes.ts'

/** A clock against this machine's. */
export interface ClockState {
  /** Camera minus recorder. */
  driftSeconds: number
  /** The camera's local time minus its UTC; null where it tells but one of them. */
  offsetMinutes: number | null
  dateTimeType: 'NTP' | 'Manual'
}

/** What came of setting a clock. @source interface document 3, A, Camera clock */
export interface ClockSet {
  /** Whether it shows the right time afterwards, as it says itself. */
  verified: boolean
  driftBeforeSeconds: number
  driftAfterSeconds: number
  timeZoneBefore: string | null
  /** Null: it showed the recorder's offset already, and kept its string. */
  timeZoneSet: string | null
  timeZonePreserved: boolean
  /** Null: it cannot be told. */
  zoneVerified: boolean | null
  /** The address of this machine, where it is the server that the camera says it asks. */
  ntpServerSet: string | null
  /** Why the camera was not given this machine as its server. */
  ntpError: string | null
  dateTimeTypeBefore: 'NTP' | 'Manual'
  dateTimeTypeSet: 'NTP' | 'Manual'
  /** Its stream is timed by stamps that do not follow its clock. */
  streamReopened: boolean
  /** Whether it goes on to take its time from the server that it had. */
  ntpKept: boolean
}

/** Whether a clock is right. */
export interface ClockCheck {
  driftSeconds: number
  /** Whether its zone means the same all year as this machine's, or this one's is not known. */
  isZoneRight: boolean
  /** Whether it asks this machine for the time, or this one serves it none, or somebody had it switched to manual time. */
  isServerRight: boolean
  isTimeRight: boolean
  isRight: boolean
  /** Whether something is wrong that `set` corrects: not the time of one that takes it from another server. */
  isOurs: boolean
}

interface CameraClockParts {
  clock: Clock
  onvif: OnvifClient
  zone: Pick<OwnZone, 'posix'>
  server: Pick<TimeServer, 'addressFor'>
  writes: Pick<Writes, 'add' | 'of'>
  /** A clock that is off by no more is right; key `clocks.right_s`. */
  rightS: number
  /** How long a camera may take to fetch the time from its server once it was told to; key `clocks.fetch_ms`. */
  fetchMs: number
}

export interface CameraClocks {
  /** Asks the camera now. @throws Fault `no_onvif`, `no_clock`, and what the camera did */
  read(record: CameraRecord): Promise<ClockState>
  /** Reads it as `read` does, and judges. */
  check(record: CameraRecord): Promise<ClockCheck>
  /**
   * @param wish `switchToManual`: its time no longer comes from a server. Without it the camera is given this machine as its
   *   server, where that serves it the time; else one that takes its time from another is given the zone alone
   * @param performedBy null: the recorder by itself, which leaves a camera on manual time that somebody had switched to it
   * @throws Fault, as `read`; `clock_being_set` meanwhile
   */
  set(record: CameraRecord, wish: { switchToManual: boolean }, performedBy: string | null): Promise<ClockSet>
}

/** Cameras tell whole seconds: in the middle they are half of one behind. */
const HALF_SECOND_MS = 500

/** A camera that fetches the time is looked at so often. */
const FETCH_LOOK_MS = 500

/** What came of giving a camera its server. */
interface ServerSet extends Pick<ClockSet, 'ntpServerSet' | 'ntpError'> {
  /** Whether it had that one before. */
  isSame: boolean
}

const NO_SERVER: ServerSet = { ntpServerSet: null, ntpError: null, isSame: false }

const MANUAL = 'clock_manual'

export function createCameraClocks(parts: CameraClockParts): CameraClocks {
  const { clock, rightS, writes, zone } = parts
  const setting = new Set<string>()

  /** Whether a person switched it to manual time last, which the recorder does not undo by itself. */
  function isManualByHand({ id }: CameraRecord): boolean {
    return writes.of(id, Infinity).find(({ performedBy }) => performedBy !== null)?.operation === MANUAL
  }

  return {
    async read(record) {
      const { dateTimeType, driftSeconds, offsetMinutes } = await readAfresh(parts, record)
      return { driftSeconds, offsetMinutes, dateTimeType }
    },
    async check(record) {
      const camera = await opened(parts, record)
      const { dateTimeType, driftSeconds, reading } = await readNow(clock, camera.session, camera.service)
      const { isKept, wanted } = zoneFor(reading, zone.posix(), clock.epochMs())
      const [isZoneRight, isTimeRight] = [isKept || !wanted, Math.abs(driftSeconds) <= rightS]
      const asks = isManualByHand(record) ? 'as it should' : await whomItAsks(parts, camera, dateTimeType)
      const isServerRight = asks !== 'another'
      return {
        ...{ driftSeconds, isZoneRight, isServerRight, isTimeRight },
        isRight: isZoneRight && isServerRight && isTimeRight,
        // A camera that asks this machine and is still off fetches the time once it is set again.
        isOurs: !isZoneRight || !isServerRight || (!isTimeRight && (dateTimeType === 'Manual' || asks === 'us')),
      }
    },
    async set(record, { switchToManual }, performedBy) {
      requireOnvif(record)
      if (setting.has(record.id))
        throw new Fault('clock_being_set', `The clock of ${record.name} is being set already.`)
      setting.add(record.id)
      const about = { camera: record.id, operation: switchToManual ? MANUAL : 'clock', performedBy }
      const keepsManual = performedBy === null && isManualByHand(record)
      try {
        const result = await setNow(parts, record, switchToManual ? 'manual' : keepsManual ? 'as it is' : 'server')
        await writes.add({ ...about, detail: { ...result } })
        return result
      } catch (error) {
        // It may have been written although the answer did not come.
        if (error instanceof Fault) await writes.add({ ...about, detail: { error: error.message } })
        throw error
      } finally {
        setting.delete(record.id)
      }
    },
  }
}

interface OpenCamera {
  session: OnvifSession
  service: string
}

/** A session is signed in the time that the camera has now: once that is set, another is needed. */
async function opened({ onvif }: CameraClockParts, record: CameraRecord): Promise<OpenCamera> {
  const { service } = requireOnvif(record)
  const login = loginOf(record)
  return { session: await onvif.open(service, login), service }
}

async function readAfresh(parts: CameraClockParts, record: CameraRecord) {
  const { service, session } = await opened(parts, record)
  return await readNow(parts.clock, session, service)
}

async function setNow(
  parts: CameraClockParts,
  record: CameraRecord,
  wish: 'server' | 'manual' | 'as it is',
): Promise<ClockSet> {
  const { clock, rightS, zone } = parts
  const camera = await opened(parts, record)
  const before = await readNow(clock, camera.session, camera.service)
  const given = wish === 'server' ? await giveServer(parts, record, camera) : NO_SERVER
  const typeBefore = before.dateTimeType
  const type = given.ntpServerSet !== null ? 'NTP' : wish === 'manual' ? 'Manual' : typeBefore
  const { isKept, text, wanted } = zoneFor(before.reading, zone.posix(), clock.epochMs())
  // Right at once, and not only when it has asked its server.
  if (type === 'NTP' && typeBefore === 'Manual') await setTo(parts, record, 'Manual', text)
  await setTo(parts, record, type, text)
  const after = await (given.ntpServerSet === null ? readAfresh(parts, record) : readFetched(parts, record))
  const wantedOffset = wanted && offsetAt(wanted, clock.epochMs())
  return {
    verified: Math.abs(after.driftSeconds) <= rightS && after.dateTimeType === type,
    ...{ driftBeforeSeconds: before.driftSeconds, driftAfterSeconds: after.driftSeconds },
    timeZoneBefore: before.reading.timeZone ?? null,
    ...{ timeZoneSet: isKept ? null : text, timeZonePreserved: isKept },
    zoneVerified:
      wantedOffset === undefined || after.offsetMinutes === null ? null : after.offsetMinutes === wantedOffset,
    ...{ ntpServerSet: given.ntpServerSet, ntpError: given.ntpError },
    ...{ dateTimeTypeBefore: typeBefore, dateTimeTypeSet: type, streamReopened: false },
    ntpKept: type === 'NTP' && typeBefore === 'NTP' && (given.ntpServerSet === null || given.isSame),
  }
}

/** @param type `NTP` leaves the time alone, which the camera fetches */
async function setTo(parts: CameraClockParts, record: CameraRecord, type: 'NTP' | 'Manual', text: string) {
  const { service, session } = await opened(parts, record)
  const hasSummerTime = readPosixZone(text)?.summer !== undefined
  // To the nearest second, since it takes no part of one.
  const utcMs = parts.clock.epochMs() + HALF_SECOND_MS
  await session.ask(service, setSystemDateAndTime({ dateTimeType: type, timeZone: text, hasSummerTime, utcMs }))
}

/** Reads a clock until it is right, or the camera had its time to fetch that. */
async function readFetched(parts: CameraClockParts, record: CameraRecord) {
  const { clock, fetchMs, rightS } = parts
  const endMs = clock.monotonicMs() + fetchMs
  for (;;) {
    const found = await readAfresh(parts, record)
    if (Math.abs(found.driftSeconds) <= rightS || clock.monotonicMs() >= endMs) return found
    await wait(clock, FETCH_LOOK_MS)
  }
}

/** Has a camera ask this machine for the time, and reads whether it does. What it refuses is told, and the rest goes on. */
async function giveServer(
  { server }: CameraClockParts,
  record: CameraRecord,
  { service, session }: OpenCamera,
): Promise<ServerSet> {
  try {
    const found = await server.addressFor(new URL(service).hostname)
    if ('why' in found) return { ...NO_SERVER, ntpError: found.why }
    const { address } = found
    if (asksFirst(await session.ask(service, getNtp), address))
      return { ntpServerSet: address, ntpError: null, isSame: true }
    await session.ask(service, setNtp(address))
    const after = await session.ask(service, getNtp)
    if (asksFirst(after, address)) return { ntpServerSet: address, ntpError: null, isSame: false }
    const said = after.isFromDhcp ? 'that DHCP names its server' : after.byHand.join(' and ') || 'none'
    return { ...NO_SERVER, ntpError: `${record.name} took ${address} as its server of time, and still says ${said}.` }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { ...NO_SERVER, ntpError: error.message }
  }
}

const asksFirst = ({ byHand, isFromDhcp }: NtpServers, address: string) => !isFromDhcp && byHand[0] === address

/** Whom a camera asks for the time. One that this machine serves none, and one that cannot be told of it, does as it should. */
async function whomItAsks(
  { server }: CameraClockParts,
  { service, session }: OpenCamera,
  type: 'NTP' | 'Manual',
): Promise<'us' | 'another' | 'as it should'> {
  try {
    const found = await server.addressFor(new URL(service).hostname)
    if ('why' in found) return 'as it should'
    return type === 'NTP' && asksFirst(await session.ask(service, getNtp), found.address) ? 'us' : 'another'
  } catch (error) {
    if (error instanceof Fault) return 'as it should'
    throw error
  }
}

async function readNow(
  clock: Clock,
  session: OnvifSession,
  service: string,
): Promise<ClockState & { reading: ClockReading }> {
  const beganMs = clock.epochMs()
  const reading = await session.ask(service, getSystemDateAndTime)
  const middleMs = (beganMs + clock.epochMs()) / 2
  const { dateTimeType, localMs, utcMs } = reading
  if (utcMs === undefined) throw new Fault('no_clock', 'The camera does not tell its time in UTC.')
  return {
    driftSeconds: Math.round((utcMs + HALF_SECOND_MS - middleMs) / 100) / 10,
    offsetMinutes: localMs === undefined ? null : Math.round((localMs - utcMs) / 60_000),
    ...{ dateTimeType, reading },
  }
}

/** The string to send, and what it means; undefined where this machine's zone is not known. */
interface ZoneChoice {
  text: string
  isKept: boolean
  wanted: PosixZone | undefined
}

/** The string to send: its own where that means the same all year as this machine's, or where that one is unknown. */
function zoneFor({ timeZone }: ClockReading, own: string | undefined, nowMs: number): ZoneChoice {
  const wanted = own === undefined ? undefined : readPosixZone(own)
  const present = timeZone === undefined ? undefined : readPosixZone(timeZone)
  if (own === undefined || !wanted)
    return { text: timeZone ?? 'UTC0', isKept: timeZone !== undefined, wanted: undefined }
  const isKept = present !== undefined && areSameAllYear(present, wanted, nowMs)
  return { text: isKept && timeZone !== undefined ? timeZone : own, isKept, wanted }
}

/** @throws Fault `no_onvif` */
function requireOnvif({ name, onvif }: CameraRecord): OnvifLink {
  if (onvif) return onvif
  throw new Fault(
    'no_onvif',
    `${name} was added by the address of its stream: its clock cannot be reached. Add it over ONVIF.`,
  )
}
