/** linuxptp in its own texts: the settings file of ptp4l, and what pmc prints of its answers. */

/** What differs between boards. */
interface Ptp4lOptions {
  /** Network interface, one. */
  interface: string
  /** 0..127 */
  domain: number
  /** 0..255, lower wins. */
  priority1: number
  /** Of Sync and Delay_Req, 0..63. */
  dscpEvent: number
  /** Of Announce, Follow_Up and Delay_Resp, 0..63. */
  dscpGeneral: number
  /** Path of the socket that pmc asks at, at most 100 bytes; the one for reading alone is beside it. */
  socket: string
  /** As `ptp4l -v` prints it: 3.1.1, 4.2, ... */
  version: string
}

/** Log2 of seconds. AES67 has the same defaults. @source AES67-2018, annex A, table A.1 */
const ANNOUNCE_INTERVAL = 1
const SYNC_INTERVAL = -3
const DELAY_REQ_INTERVAL = 0
/** Announces that are missed before another clock is elected; of 2..10 the profile's default is 3. */
const ANNOUNCES_MISSED = 2

/**
 * Two-step end-to-end PTP over UDPv4, time stamps of the kernel. The clock of the machine is not touched (`free_running`):
 * sound has a clock of its own that is brought to what ptp4l measures.
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
    // With 3 sound would at times have another clock only 15 s after the first one died.
    `announceReceiptTimeout ${ANNOUNCES_MISSED}`,
    `dscp_event ${options.dscpEvent}`,
    `dscp_general ${options.dscpGeneral}`,
    // The default of 1 ms makes a busy machine's port faulty, for 16 s: both are too little for sound.
    'tx_timestamp_timeout 100',
    'fault_reset_interval 1',
    // Once in two minutes: offsets are asked for, not read from the log.
    'summary_interval 7',
    'use_syslog 0',
    'verbose 1',
    `uds_address ${options.socket}`,
    ...ofNewer(options),
    `[${options.interface}]`,
  ]
  return `${lines.join('\n')}\n`
}

/** What 3.1.1 (Debian 12) refuses to know and 4.x (Debian 13) needs. */
function ofNewer({ socket, version }: Ptp4lOptions): string[] {
  if (Number.parseInt(version, 10) < 4) return []
  // Its default is a path of root's alone, the same for every board of a machine.
  return [`uds_ro_address ${socket}.ro`, ...minorVersion(version)]
}

/** Gear that knows PTP v2.0 alone drops messages of v2.1, which are the default; 4.0 and 4.1 cannot be told otherwise. */
function minorVersion(version: string): string[] {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return major > 4 || minor >= 2 ? ['ptp_minor_version 0'] : []
}

// Names of PTP clocks: as linuxptp writes them, and as SDP does.

/**
 * @param text as pmc prints it, `001dc1.fffe.123456`, with or without a port number behind (`-1`)
 * @returns as SDP writes it, `00-1D-C1-FF-FE-12-34-56`; undefined where it is none
 * @source linuxptp util.c, cid2str; RFC 7273, 4.3
 */
export function clockIdentityOf(text: string): string | undefined {
  const parts = /^([0-9a-f]{6})\.([0-9a-f]{4})\.([0-9a-f]{6})(?:-\d{1,5})?$/.exec(text)
  if (!parts) return undefined
  const digits = `${parts[1]}${parts[2]}${parts[3]}`.toUpperCase()
  return (digits.match(/../g) ?? []).join('-')
}

// What ptp4l answers to management messages, as pmc prints it.

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
interface TimeProperties {
  kind: 'time_properties'
  /** The grandmaster counts TAI since 1970; otherwise what it likes. */
  isPtpTimescale: boolean
}

/** By what ptp4l itself corrects offsets. @source linuxptp clock.c, clock_utc_correct */
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

/** By the name of the message: which field is its last, and what it says. */
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

// What pmc prints, taken apart as it comes.

/** Characters of one line that are kept; no line of pmc's is as long. */
const LONGEST_LINE = 1024
/** Fields of one message that are kept; none has as many. */
const MOST_FIELDS = 64

interface PmcReader {
  /** @returns the answers that are whole now. Lines that make no sense, and messages that lack a field, are skipped. */
  push(text: string): PmcAnswer[]
}

/**
 * An answer is whole with the last field that its kind has: pmc prints nothing behind it until it is asked again.
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
