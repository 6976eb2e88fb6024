/** A line as daemons see it: bytes both ways, its control lines, sockets that are passed to it. */
import type { Fault } from '../pure/fault.ts'
import type { LineSender, SenderHandlers } from './line-queue.ts'

/** Settings of one serial line, as the API and the state file keep them (docs/gateway.md). */
export interface LineSettings {
  /** Bits per second, any rate the driver takes (BOTHER). */
  baud: number
  data_bits: 5 | 6 | 7 | 8
  parity: 'none' | 'odd' | 'even' | 'mark' | 'space'
  stop_bits: 1 | 1.5 | 2
  flow: 'none' | 'rtscts' | 'xonxoff'
  rs485: Rs485Settings | null
  low_latency: boolean
}

/** RS-485 direction control by the driver (TIOCSRS485). Delays in milliseconds. */
interface Rs485Settings {
  enabled: boolean
  delay_before_send_ms: number
  delay_after_send_ms: number
  rts_on_send: boolean
  rx_during_tx: boolean
}

/** Counts the driver keeps (TIOCGICOUNT) since the line was opened; null where the driver keeps none. */
export interface DriverCounts {
  rx: number
  tx: number
  frame: number
  overrun: number
  parity: number
  brk: number
  buf_overrun: number
}

/** An open serial line. After `onGone` ran, or `close`, writes are refused with `line_closed`. */
export interface Line {
  /** What this driver cannot do, by feature name: rs485, low_latency, driver_counts, modem_lines. */
  readonly unsupported: readonly string[]
  /**
   * Hands bytes to the driver; resolves once the driver has taken them all (not yet sent).
   * @throws Fault `line_write_failed`, `line_closed`
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Somebody whose bytes wait in turn with all others', and are bounded; `leave` it in the end.
   * @param address what shares a turn and a part of the bound
   */
  sender(address: string, handlers: SenderHandlers): LineSender
  /** Resolves when the transmitter has sent everything (TCSBRK); at once on a pty. */
  drain(): Promise<void>
  /** Throws away what was received and not yet read, and what waits to be sent: those writes fail with `line_write_failed`. */
  flush(): Promise<void>
  /** One handler; bytes belong to the handler. `atUs`: CLOCK_MONOTONIC microseconds when they were read. */
  onBytes(handler: (bytes: Uint8Array, atUs: number) => void): void
  /** One handler; runs once when the device is lost or reading fails. */
  onGone(handler: (fault: Fault) => void): void
  /** Stops and resumes reading, so that a slow consumer slows the line and loses nothing in this process. */
  pause(): void
  resume(): void
  /**
   * Bytes pass between the line and a connected socket at once, in the order of all writes, and are told within
   * `tellMs`. What was not taken at once is left to the handlers. Only while somebody has `onBytes`.
   * @param socketFd its descriptor, of which a copy is taken
   * @throws Fault `line_closed`
   */
  pass(socketFd: number, tellMs: number, handlers: PassedSocketHandlers): PassedSocket
  /** Tells now what has passed and was not told yet. */
  settle(): void
  driverCounts(): DriverCounts | null
  close(): Promise<void>
}

/** What a line tells of a socket it passes bytes to and from, in the order in which it happened. */
interface PassedSocketHandlers {
  /**
   * The socket sent these; the driver took the first `taken` of them at `atUs` (CLOCK_MONOTONIC). The rest is to be
   * written before the handler returns, or is lost.
   */
  onBytes(bytes: Uint8Array, taken: number, atUs: number): void
  /** It did not take `rest`, the end of what `onBytes` of the line had last. Nothing more goes to it until `goDirect`. */
  onBehind(rest: Uint8Array): void
  /** It ended (0) or failed (errno), and has left. */
  onEnded(errno: number): void
}

/** A socket that a line passes bytes to and from. After it left or ended calls are of no effect. */
export interface PassedSocket {
  goDirect(): void
  /**
   * `reading`: its bytes are read. `resting`: they are not, but its end is seen, and told while bytes of it lie unread:
   * they are for whoever reads the socket next. `stopped`: nothing of it is seen.
   */
  flow(how: 'reading' | 'resting' | 'stopped'): void
  leave(): void
}

/** Opens lines. */
export interface LineOpener {
  /** @throws Fault `line_absent` (no such device), `line_busy` (locked by another), `line_refused` (ioctl, errno in details) */
  open(path: string, settings: LineSettings): Promise<Line>
}

/** A line the system has, found by udev. */
export interface FoundLine {
  path: string
  /** Stable name below /dev/serial/by-id, where udev made one. */
  byId: string | null
  maker: string | null
  product: string | null
  serialNumber: string | null
  vendorId: string | null
  productId: string | null
}

/** Finds the lines of this machine. */
export interface LineFinder {
  list(): Promise<FoundLine[]>
}

// A serial line whose settings and signals change while it is open, as a serial server needs it.

/** Line settings with each direction's flow control of its own. */
export interface ControlledSettings extends LineSettings {
  /** Flow control of what the far end sends. A driver has `rtscts` in both directions or in none. */
  flow_in: LineSettings['flow']
}

/** Signals of a line. */
export interface ModemLines {
  dtr: boolean
  rts: boolean
  cts: boolean
  dsr: boolean
  dcd: boolean
  ring: boolean
}

/** What the transmitter has left to do. Null where the driver cannot tell. */
export interface TransmitterState {
  /** Bytes that wait in the driver. */
  waitingBytes: number
  /** The last bit has left. */
  isEmpty: boolean | null
}

/** Queues of a line that can be thrown away. */
export type Purge = 'received' | 'toSend' | 'both'

/** A socket that a line passes bytes to and from, with a say in which. */
export interface SteeredSocket extends PassedSocket {
  /** Nothing of the line goes to it any more until `goDirect`. */
  goIndirect(): void
  /**
   * What of its bytes goes to the line at once, the rest is told by `onBytes`: all, Telnet's data up to
   * the first command (a doubled FF is one), or none. Over Telnet each FF of the line goes to it twice.
   */
  steer(reads: 'all' | 'untilCommand' | 'none', isTelnet: boolean): void
}

/** As of any passed socket; `isHalf` says that of a doubled FF with which the rest begins it has taken the first. */
export interface SteeredSocketHandlers extends Omit<PassedSocketHandlers, 'onBehind'> {
  onBehind(rest: Uint8Array, isHalf: boolean): void
}

/** An open line. Every change is refused with `line_closed` once it is closed or gone. */
export interface ControlledLine extends Omit<Line, 'pass' | 'flush'> {
  pass(socketFd: number, tellMs: number, handlers: SteeredSocketHandlers): SteeredSocket
  /** Throws away what was received and not yet read, what waits to be sent, or both. */
  flush(what: Purge): Promise<void>
  /**
   * Changes settings while bytes pass, and loses none: what was written before goes out with the settings before, what
   * is written meanwhile with those after. All or nothing.
   * @param drainMs how long what was written before may take; after that it goes out with the new settings
   * @throws Fault `line_refused` (details `field`, `wanted`, `got`), `line_closed`
   */
  update(settings: ControlledSettings, drainMs: number): Promise<void>
  /** Null where the line has none. */
  modemLines(): Promise<ModemLines | null>
  /** Without effect where the line has none. */
  setModemLines(lines: { dtr?: boolean; rts?: boolean }): Promise<void>
  /** Resolves to true at the next change of CTS, DSR, DCD or RI, to false where the driver cannot tell or the line ended. */
  modemChange(): Promise<boolean>
  setBreak(isOn: boolean): Promise<void>
  transmitter(): Promise<TransmitterState>
}

/** Opens lines. */
export interface ControlledLineOpener {
  /** @throws Fault `line_absent` (no such device), `line_busy` (locked by another), `line_refused` (ioctl, errno in details) */
  open(path: string, settings: ControlledSettings): Promise<ControlledLine>
}

// What a raw TCP server and the line behind it are to each other.

/** TCP clients of a raw line. What one sends goes to the line; what the line sends goes to all. */
export interface RawSocketServer {
  /** To every client that the line does not pass bytes to by itself. */
  broadcast(bytes: Uint8Array): void
  /**
   * tcpClients now; since it listens tcpRefused (too many), tcpEvicted (made room for another address), tcpCutOff (too
   * slow), and tcpDroppedBytes of those who left before the line took them.
   */
  counters(): Record<string, number>
  close(): Promise<void>
}

/** How a raw socket server meets its line. */
export interface RawSocketLine extends Pick<Line, 'pass' | 'sender' | 'settle' | 'pause' | 'resume'> {
  /** A client sent these, and the line has them all. */
  onPassed(bytes: Uint8Array, atUs: number): void
  /**
   * A client sent these, and the line has only the first `taken`. The rest is written by that sender.
   * @returns how many of the rest the line took
   * @throws Fault `line_closed`, at once or later
   */
  onBytes(bytes: Uint8Array, taken: number, sender: LineSender): Promise<number>
}

/** Opens a TCP server for a raw line. @throws Fault `tcp_port_taken` */
export type RawSocketOpener = (
  settings: { port: number; maxClients: number },
  line: RawSocketLine,
) => Promise<RawSocketServer>
