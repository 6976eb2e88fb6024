/** What ptp4l answers to management messages, in the text of linuxptp's pmc. */
import { clockIdentityOf } from './clock-identity.ts'

/** Where the time is. @source linuxptp pmc_common.c, TIME_STATUS_NP */
export interface TimeStatus {
  kind: 'time_status'
  /** CLOCK_REALTIME less the master's time, as the last Sync says; of a master on TAI less its UTC offset. */
  offsetNs: bigint
  /** CLOCK_REALTIME when the last Sync came; 0n where none has. */
  ingressNs: bigint
  /** False where this clock is the grandmaster. */
  isGrandmasterElsewhere: boolean
  grandmaster: string
}

/** @source IEEE 1588-2008, 8.2.2 */
export interface CurrentData {
  kind: 'current'
  stepsRemoved: number
  pathDelayNs: number
}

/** @source IEEE 1588-2008, 8.2.3 */
export interface ParentData {
  kind: 'parent'
  grandmaster: string
  priority1: number
  priority2: number
  clockClass: number
}

/** Of this clock. @source IEEE 1588-2008, 8.2.1 */
export interface DefaultData {
  kind: 'default'
  clock: string
  priority1: number
  domain: number
}

/** @source IEEE 1588-2008, 8.2.5 */
export interface PortData {
  kind: 'port'
  /** LISTENING, MASTER, UNCALIBRATED, ... */
  state: string
}

/** @source IEEE 1588-2008, 8.2.4 */
export interface TimeProperties {
  kind: 'time_properties'
  /** The grandmaster counts TAI since 1970; otherwise what it likes. */
  isPtpTimescale: boolean
}

/** By what ptp4l itself corrects offsets. @source linuxptp clock.c, clock_utc_correct */
export interface GrandmasterSettings {
  kind: 'grandmaster_settings'
  utcOffsetS: number
}

export type PmcAnswer =
  | TimeStatus
  | CurrentData
  | ParentData
  | DefaultData
  | PortData
  | TimeProperties
  | GrandmasterSettings

type Fields = ReadonlyMap<string, string>

/** By the name of the message: which field is its last, and what it says. */
export const pmcMessages: Readonly<Record<string, { last: string; read(fields: Fields): PmcAnswer | undefined }>> = {
  TIME_STATUS_NP: { last: 'gmIdentity', read: readTimeStatus },
  CURRENT_DATA_SET: { last: 'meanPathDelay', read: readCurrent },
  PARENT_DATA_SET: { last: 'grandmasterIdentity', read: readParent },
  DEFAULT_DATA_SET: { last: 'domainNumber', read: readDefault },
  PORT_DATA_SET: { last: 'versionNumber', read: readPort },
  TIME_PROPERTIES_DATA_SET: { last: 'timeSource', read: readTimeProperties },
  GRANDMASTER_SETTINGS_NP: { last: 'timeSource', read: readGrandmasterSettings },
}

function readTimeStatus(fields: Fields): TimeStatus | undefined {
  // Whole nanoseconds: of a master whose epoch is another they are more than a double holds.
  const offset = fields.get('master_offset') ?? ''
  const ingress = fields.get('ingress_time') ?? ''
  const grandmaster = clockIdentityOf(fields.get('gmIdentity') ?? '')
  const present = fields.get('gmPresent')
  if (grandmaster === undefined || !/^-?\d{1,19}$/.test(offset) || !/^\d{1,19}$/.test(ingress)) return undefined
  if (present !== 'true' && present !== 'false') return undefined
  const isGrandmasterElsewhere = present === 'true'
  return {
    kind: 'time_status',
    offsetNs: BigInt(offset),
    ingressNs: BigInt(ingress),
    isGrandmasterElsewhere,
    grandmaster,
  }
}

function readCurrent(fields: Fields): CurrentData | undefined {
  const stepsRemoved = numberOf(fields.get('stepsRemoved'))
  const pathDelayNs = numberOf(fields.get('meanPathDelay'))
  if (stepsRemoved === undefined || pathDelayNs === undefined) return undefined
  return { kind: 'current', stepsRemoved, pathDelayNs }
}

function readParent(fields: Fields): ParentData | undefined {
  const grandmaster = clockIdentityOf(fields.get('grandmasterIdentity') ?? '')
  const priority1 = byteOf(fields.get('grandmasterPriority1'))
  const priority2 = byteOf(fields.get('grandmasterPriority2'))
  const clockClass = byteOf(fields.get('gm.ClockClass'))
  if (grandmaster === undefined || priority1 === undefined || priority2 === undefined || clockClass === undefined)
    return undefined
  return { kind: 'parent', grandmaster, priority1, priority2, clockClass }
}

function readDefault(fields: Fields): DefaultData | undefined {
  const clock = clockIdentityOf(fields.get('clockIdentity') ?? '')
  const priority1 = byteOf(fields.get('priority1'))
  const domain = byteOf(fields.get('domainNumber'))
  if (clock === undefined || priority1 === undefined || domain === undefined) return undefined
  return { kind: 'default', clock, priority1, domain }
}

function readPort(fields: Fields): PortData | undefined {
  const state = fields.get('portState') ?? ''
  return /^[A-Z_]{1,24}$/.test(state) ? { kind: 'port', state } : undefined
}

function readTimeProperties(fields: Fields): TimeProperties | undefined {
  const isPtpTimescale = numberOf(fields.get('ptpTimescale'))
  return isPtpTimescale === undefined ? undefined : { kind: 'time_properties', isPtpTimescale: isPtpTimescale !== 0 }
}

function readGrandmasterSettings(fields: Fields): GrandmasterSettings | undefined {
  const utcOffsetS = numberOf(fields.get('currentUtcOffset'))
  return utcOffsetS === undefined ? undefined : { kind: 'grandmaster_settings', utcOffsetS }
}

/** A whole number or one with a fraction that doubles hold; undefined where it is none. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d{1,19}(\.\d{1,9})?$/.test(text)) return undefined
  return Number(text)
}

function byteOf(text: string | undefined): number | undefined {
  const value = numberOf(text)
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255 ? value : undefined
}
