/** Clocks of cameras: what they show against this machine's, and setting them so that the set is proven. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type ClockReading, getSystemDateAndTime, setSystemDateAndTime } from '../../wire/onvif-clock.ts'
import type { OnvifClient, OnvifLink, OnvifSession } from '../cameras/adopt.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { OwnZone } from './own-clock.ts'
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
  ntpServerSet: string | null
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
  isRight: boolean
  /** Whether something is wrong that `set` corrects: the time of one that takes it from a server is not the recorder's. */
  isOurs: boolean
}

interface CameraClockParts {
  clock: Clock
  onvif: OnvifClient
  zone: Pick<OwnZone, 'posix'>
  writes: Pick<Writes, 'add'>
  /** A clock that is off by no more is right; key `clocks.right_s`. */
  rightS: number
}

export interface CameraClocks {
  /** Asks the camera now. @throws Fault `no_onvif`, `no_clock`, and what the camera did */
  read(record: CameraRecord): Promise<ClockState>
  /** Reads it as `read` does, and judges. */
  check(record: CameraRecord): Promise<ClockCheck>
  /**
   * @param wish `switchToManual`: its time no longer comes from a server. Without it one that takes its time from a server is
   *   given the zone alone: its time is not the recorder's to set
   * @param performedBy null: the recorder by itself
   * @throws Fault, as `read`; `clock_being_set` meanwhile
   */
  set(record: CameraRecord, wish: { switchToManual: boolean }, performedBy: string | null): Promise<ClockSet>
}

/** Cameras tell whole seconds: in the middle they are half of one behind. */
const HALF_SECOND_MS = 500

const NO_SERVER = 'The recorder serves no time to cameras.'

export function createCameraClocks({ clock, onvif, rightS, writes, zone }: CameraClockParts): CameraClocks {
  const setting = new Set<string>()

  async function opened(record: CameraRecord): Promise<{ session: OnvifSession; service: string }> {
    const { service } = requireOnvif(record)
    const login = { username: record.username ?? '', password: record.password ?? '' }
    return { session: await onvif.open(service, login), service }
  }

  async function setNow(record: CameraRecord, switchToManual: boolean): Promise<ClockSet> {
    const { service, session } = await opened(record)
    const before = await readNow(clock, session, service)
    const dateTimeTypeSet = switchToManual ? 'Manual' : before.dateTimeType
    const { isKept, text, wanted } = zoneFor(before.reading, zone.posix(), clock.epochMs())
    await session.ask(
      service,
      setSystemDateAndTime({
        ...{ dateTimeType: dateTimeTypeSet, timeZone: text, hasSummerTime: readPosixZone(text)?.summer !== undefined },
        // To the nearest second, since it takes no part of one.
        utcMs: clock.epochMs() + HALF_SECOND_MS,
      }),
    )
    // A session is signed in the time that the camera had before.
    const after = await readNow(clock, (await opened(record)).session, service)
    const wantedOffset = wanted && offsetAt(wanted, clock.epochMs())
    return {
      verified: Math.abs(after.driftSeconds) <= rightS && after.dateTimeType === dateTimeTypeSet,
      ...{ driftBeforeSeconds: before.driftSeconds, driftAfterSeconds: after.driftSeconds },
      timeZoneBefore: before.reading.timeZone ?? null,
      ...{ timeZoneSet: isKept ? null : text, timeZonePreserved: isKept },
      zoneVerified:
        wantedOffset === undefined || after.offsetMinutes === null ? null : after.offsetMinutes === wantedOffset,
      ...{ ntpServerSet: null, ntpError: switchToManual ? null : NO_SERVER },
      ...{ dateTimeTypeBefore: before.dateTimeType, dateTimeTypeSet, streamReopened: false },
      ntpKept: dateTimeTypeSet === 'NTP',
    }
  }

  return {
    async read(record) {
      const { service, session } = await opened(record)
      const { dateTimeType, driftSeconds, offsetMinutes } = await readNow(clock, session, service)
      return { driftSeconds, offsetMinutes, dateTimeType }
    },
    async check(record) {
      const { service, session } = await opened(record)
      const { dateTimeType, driftSeconds, reading } = await readNow(clock, session, service)
      const { isKept, wanted } = zoneFor(reading, zone.posix(), clock.epochMs())
      const [isZoneRight, isTimeRight] = [isKept || !wanted, Math.abs(driftSeconds) <= rightS]
      return {
        ...{ driftSeconds, isZoneRight, isRight: isZoneRight && isTimeRight },
        isOurs: !isZoneRight || (!isTimeRight && dateTimeType === 'Manual'),
      }
    },
    async set(record, { switchToManual }, performedBy) {
      requireOnvif(record)
      if (setting.has(record.id))
        throw new Fault('clock_being_set', `The clock of ${record.name} is being set already.`)
      setting.add(record.id)
      const about = { camera: record.id, operation: switchToManual ? 'clock_manual' : 'clock', performedBy }
      try {
        const result = await setNow(record, switchToManual)
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
