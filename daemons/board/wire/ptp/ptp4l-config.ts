/** The settings file of linuxptp's ptp4l. */

/** What differs between boards. */
export interface Ptp4lOptions {
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
