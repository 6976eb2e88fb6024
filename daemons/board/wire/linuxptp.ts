/** Text formats of linuxptp: the configuration file of ptp4l and the output of pmc. */

/** The settings that differ between boards. */
interface Ptp4lOptions {
  /** The one network interface. */
  interface: string
  /** 0..127 */
  domain: number
  /** 0..255, lower wins. */
  priority1: number
  /** DSCP of Sync and Delay_Req, 0..63. */
  dscpEvent: number
  /** DSCP of Announce, Follow_Up and Delay_Resp, 0..63. */
  dscpGeneral: number
  /** Path of the socket pmc connects to, at most 100 bytes; the read-only one is beside it. */
  socket: string
  /** Output of `ptp4l -v`: 3.1.1, 4.2, ... */
  version: string
}

/** Log2 of seconds. AES67 has the same defaults. @source AES67-2018, annex A, table A.1 */
const ANNOUNCE_INTERVAL = 1
const SYNC_INTERVAL = -3
const DELAY_REQ_INTERVAL = 0
/** Missed Announces before another clock is elected: allowed are 2..10, the profile's default is 3. */
const ANNOUNCES_MISSED = 2

/**
 * Two-step end-to-end PTP over UDPv4, with kernel timestamps. The system clock is left alone (`free_running`): sound
 * uses its own clock, steered by what ptp4l measures.
 * @returns the text of the file
 * @source ptp4l(8) 3.1.1 and 4.4
 */
export function ptp4lConfig(options: Ptp4lOptions): string {
  const lines = [
    '[global]',
    'free_running 1',
    'time_stamping software',
    'clock_servo linreg',
    'network_transport UDPv4',
    'delay_mechanism E2E',
    'twoStepFlag 1',
    `domainNumber ${options.domain}`,
    `priority1 ${options.priority1}`,
    `logAnnounceInterval ${ANNOUNCE_INTERVAL}`,
    `logSyncInterval ${SYNC_INTERVAL}`,
    `logMinDelayReqInterval ${DELAY_REQ_INTERVAL}`,
    // With 3, sound could be without a new clock for 15 s after the old one died.
    `announceReceiptTimeout ${ANNOUNCES_MISSED}`,
    `dscp_event ${options.dscpEvent}`,
    `dscp_general ${options.dscpGeneral}`,
    // A busy machine misses the default of 1 ms, which makes its port faulty for 16 s; sound tolerates neither.
    'tx_timestamp_timeout 100',
    'fault_reset_interval 1',
    // Every two minutes (2^7 s): offsets are queried, not read from the log.
    'summary_interval 7',
    'use_syslog 0',
    'verbose 1',
    `uds_address ${options.socket}`,
    ...ofNewer(options),
    `[${options.interface}]`,
  ]
  return `${lines.join('\n')}\n`
}

/** Settings that 3.1.1 (Debian 12) rejects and 4.x (Debian 13) needs. */
function ofNewer({ socket, version }: Ptp4lOptions): string[] {
  if (Number.parseInt(version, 10) < 4) return []
  // The default path is writable by root only, and the same for every board of a machine.
  return [`uds_ro_address ${socket}.ro`, ...minorVersion(version)]
}

/** The default is PTP v2.1, which v2.0-only devices drop. 4.0 and 4.1 cannot be configured otherwise. */
function minorVersion(version: string): string[] {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return major > 4 || minor >= 2 ? ['ptp_minor_version 0'] : []
}

// PTP clock identities, in the notation of linuxptp and of SDP.

/**
 * @param text as pmc prints it, `001dc1.fffe.123456`, with or without a port number behind (`-1`)
 * @returns as SDP writes it, `00-1D-C1-FF-FE-12-34-56`; undefined if it is not an identity
 * @source linuxptp util.c, cid2str; RFC 7273, 4.3
 */
export function clockIdentityOf(text: string): string | undefined {
  const parts = /^([0-9a-f]{6})\.([0-9a-f]{4})\.([0-9a-f]{6})(?:-\d{1,5})?$/.exec(text)
  if (!parts) return undefined
  const digits = `${parts[1]}${parts[2]}${parts[3]}`.toUpperCase()
  return (digits.match(/../g) ?? []).join('-')
}

// Answers of ptp4l to management messages, as pmc prints them.

/** Offset from the master. @source linuxptp pmc_common.c, TIME_STATUS_NP */
export interface TimeStatus {
  kind: 'time_status'
  /** CLOCK_REALTIME minus the master's time at the last Sync; for a master on TAI, minus its UTC offset as well. */
  offsetNs: bigint
  /** CLOCK_REALTIME at the last Sync; 0n if there was none. */
  ingressNs: bigint
  /** False if this clock is the grandmaster. */
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

/** This clock itself. @source IEEE 1588-2008, 8.2.1 */
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
interface TimeProperties {
  kind: 'time_properties'
  /** True if the grandmaster counts TAI since 1970; otherwise its epoch is arbitrary. */
  isPtpTimescale: boolean
}

/** The settings by which ptp4l corrects offsets. @source linuxptp clock.c, clock_utc_correct */
interface GrandmasterSettings {
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

/** By message name: its last field, and its parser. */
const pmcMessages: Readonly<Record<string, { last: string; read(fields: Fields): PmcAnswer | undefined }>> = {
  TIME_STATUS_NP: { last: 'gmIdentity', read: readTimeStatus },
  CURRENT_DATA_SET: { last: 'meanPathDelay', read: readCurrent },
  PARENT_DATA_SET: { last: 'grandmasterIdentity', read: readParent },
  DEFAULT_DATA_SET: { last: 'domainNumber', read: readDefault },
  PORT_DATA_SET: { last: 'versionNumber', read: readPort },
  TIME_PROPERTIES_DATA_SET: { last: 'timeSource', read: readTimeProperties },
  GRANDMASTER_SETTINGS_NP: { last: 'timeSource', read: readGrandmasterSettings },
}

function readTimeStatus(fields: Fields): TimeStatus | undefined {
  // BigInt nanoseconds: with a master of another epoch they exceed what a double holds.
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

/** Parses a whole or decimal number that a double holds; undefined for anything else. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d{1,19}(\.\d{1,9})?$/.test(text)) return undefined
  return Number(text)
}

function byteOf(text: string | undefined): number | undefined {
  const value = numberOf(text)
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255 ? value : undefined
}

// Parsing pmc's output as it arrives.

/** Longest line kept, in characters; pmc prints none as long. */
const LONGEST_LINE = 1024
/** Most fields kept of one message; none has as many. */
const MOST_FIELDS = 64

interface PmcReader {
  /** @returns the answers now complete. Unreadable lines, and messages that lack a field, are skipped. */
  push(text: string): PmcAnswer[]
}

/**
 * An answer is complete with the last field of its kind: pmc prints nothing after it until the next query.
 * @source linuxptp pmc.c, pmc_show
 */
export function createPmcReader(): PmcReader {
  let rest = ''
  let name: string | undefined
  let fields = new Map<string, string>()

  function line(text: string): PmcAnswer | undefined {
    const head = /^\t[0-9a-f.]+-\d+ seq \d+ RESPONSE MANAGEMENT ([A-Z_]+)\s*$/.exec(text)
    if (head || !text.startsWith('\t\t')) {
      name = head?.[1]
      fields = new Map()
      return undefined
    }
    const field = /^\t\t(\S+)\s+(\S+)\s*$/.exec(text)
    const message = name === undefined ? undefined : pmcMessages[name]
    if (!field || !message || fields.size >= MOST_FIELDS) return undefined
    const [, key = '', value = ''] = field
    fields.set(key, value)
    if (key !== message.last) return undefined
    name = undefined
    return message.read(fields)
  }

  return {
    push(text) {
      const lines = (rest + text).split('\n')
      rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
      return lines.map((each) => line(each.slice(0, LONGEST_LINE))).filter((answer) => answer !== undefined)
    },
  }
}
