/**
 * Serial lines as daemons see them: bytes both ways, control lines, and sockets that a line passes bytes to and from.
 */
import type { Timer } from '../clock.ts'
import type { Fault } from '../pure/fault.ts'
import type { LineSender, SenderHandlers } from './line-queue.ts'

/** Settings of one serial line, as the API and the state file keep them (docs/gateway.md). */
export interface LineSettings {
  /** Bits per second, any rate the driver accepts (BOTHER). */
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

/** Counts the driver keeps (TIOCGICOUNT) since the line was opened; null if it keeps none. */
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
   * Passes bytes to the driver; resolves once it has taken them all (not necessarily sent).
   * @throws Fault `line_write_failed`, `line_closed`
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Creates a sender, whose bytes queue in turn with all others' and within a limit; call its `leave` in the end.
   * @param address senders of one address share a turn and a part of the limit
   */
  sender(address: string, handlers: SenderHandlers): LineSender
  /** Resolves when the transmitter has sent everything (TCSBRK); at once on a pty. */
  drain(): Promise<void>
  /**
   * Drops what was received and not yet read, and what is queued to send: those writes fail with `line_write_failed`.
   */
  flush(): Promise<void>
  /** One handler; bytes belong to the handler. `atUs`: CLOCK_MONOTONIC microseconds when they were read. */
  onBytes(handler: (bytes: Uint8Array, atUs: number) => void): void
  /** One handler; runs once when the device is lost or reading fails. */
  onGone(handler: (fault: Fault) => void): void
  /** Pauses and resumes reading, so that a slow consumer slows the line and nothing is lost in this process. */
  pause(): void
  resume(): void
  /**
   * Passes bytes between the line and a connected socket directly, in order with all writes, and reports them within
   * `tellMs`. What could not be passed at once is left to the handlers. Works only while an `onBytes` handler is set.
   * @param socketFd its descriptor, which is duplicated
   * @throws Fault `line_closed`
   */
  pass(socketFd: number, tellMs: number, handlers: PassedSocketHandlers): PassedSocket
  /** Reports now what has passed and was not reported yet. */
  settle(): void
  driverCounts(): DriverCounts | null
  close(): Promise<void>
  /**
   * While data streams in, reads it every so many milliseconds instead of every few bytes, which delays a byte by at most
   * that; 0, the default, turns it off. The first bytes after a pause or after a write are still read at once. Left out
   * by lines in memory.
   */
  readEvery?(ms: number): void
  /** Left out by lines in memory, which have no driver to look into. */
  readonly prompt?: PromptLine
}

/** What a line does without a turn of the event loop or with less than a millisecond's precision of it. */
export interface PromptLine {
  /**
   * Sends what needs no waiting: on a pty, which has no transmitter to wait for, and where nothing is queued.
   * @returns how many bytes are out; the rest must be given to `write` at once. 0 where the line does not take any
   */
  send(bytes: Uint8Array): number
  /**
   * After that time, to the microsecond, reads what the driver has and hands it to `onBytes`, then calls `run`; never in
   * the same turn. A call takes the place of the last one.
   */
  readAfter(delayMs: number, run: () => void): Timer
  /**
   * Sends the bytes after that time, to the microsecond, with no turn of JavaScript in between; in this turn where there
   * is no time to wait. If something comes before, or others write, nothing is sent, and it ends as `readAfter` does,
   * whose place it takes. On a wire the bytes are not out before `drain`.
   */
  sendAfter(delayMs: number, bytes: Uint8Array, end: PromptSendEnd): Timer
  /** Whether what the driver took still has to go out by the wire: not so on a pty. */
  isWired(): boolean
  /**
   * Duplicates the descriptor of a connected socket, so that answers and questions pass between it and the line before
   * JavaScript runs. @returns undefined where that cannot be
   */
  relayTo(socketFd: number): RelaySocket | undefined
  /** Ends what `expect` and `admit` began. */
  endRelay(): void
}

/** A frame that would be the answer to the request which was just sent: its first bytes and its length, checksum included. */
export interface ExpectedFrame {
  begins: Uint8Array
  length: number
}

/** A socket that a line relays to and from. After `leave`, or once the line is closed, calls have no effect. */
export interface RelaySocket {
  /**
   * If the next read has exactly this frame, and the checksum of Modbus is right, the socket gets `head` and the frame
   * without its checksum. `onBytes` of the line has the frame as ever, after `onSent` was told how many bytes the socket
   * took. Anything else that is read or written ends it.
   */
  expect(answer: ExpectedFrame & { head: Uint8Array; onSent(taken: number): void }): void
  /**
   * Begins to read the socket, which nobody else may then. `sent`: how many bytes of the admitted question the line took;
   * the rest must be written before `onBytes` returns. `onEnded`: the socket ended or failed; whoever reads it next is told.
   */
  read(handlers: { onBytes(bytes: Uint8Array, sent: number): void; onEnded(): void }): void
  pause(): void
  resume(): void
  /**
   * If the next bytes of the socket are one message of Modbus TCP that reads that unit, its question goes to the line at
   * once, unless something came or others wrote. Not before that time, by the monotonic clock.
   */
  admit(unitId: number, notBeforeMs: number): void
  leave(): void
}

/** What comes of a send after a silence: one of the two, once. */
export interface PromptSendEnd {
  /** The driver took the first `taken` bytes; the rest must be given to `write` before this returns. */
  onSent(taken: number): void
  /** Nothing was sent; the driver has just been read. */
  run(): void
}

/** What a line reports of a socket it passes bytes to and from, in order. */
interface PassedSocketHandlers {
  /**
   * The socket sent these bytes; the driver took the first `taken` at `atUs` (CLOCK_MONOTONIC). The rest must be
   * written before the handler returns, or it is lost.
   */
  onBytes(bytes: Uint8Array, taken: number, atUs: number): void
  /**
   * The socket did not take `rest`, the end of what `onBytes` of the line last had. Nothing more is passed to it until
   * `goDirect`.
   */
  onBehind(rest: Uint8Array): void
  /** The socket ended (0) or failed (errno), and is no longer passed to. */
  onEnded(errno: number): void
}

/** A socket that a line passes bytes to and from. After it left or ended, calls have no effect. */
export interface PassedSocket {
  goDirect(): void
  /**
   * `reading`: its bytes are read. `resting`: they are not, but its end is detected and reported even with bytes
   * unread; whoever reads the socket next gets them. `stopped`: nothing of it is watched.
   */
  flow(how: 'reading' | 'resting' | 'stopped'): void
  leave(): void
}

/** Opens lines. */
export interface LineOpener {
  /**
   * @throws Fault `line_absent` (no such device), `line_busy` (locked by another), `line_refused` (ioctl, errno in
   * details)
   */
  open(path: string, settings: LineSettings): Promise<Line>
}

/** A serial line of the system, found by udev. */
export interface FoundLine {
  path: string
  /** Stable name below /dev/serial/by-id, if udev made one. */
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

// Lines whose settings and signals change while open, as a serial server needs.

/** Line settings with separate flow control for each direction. */
export interface ControlledSettings extends LineSettings {
  /** Flow control of what the far end sends. A driver has `rtscts` in both directions or in none. */
  flow_in: LineSettings['flow']
}

/** Modem signals of a line. */
export interface ModemLines {
  dtr: boolean
  rts: boolean
  cts: boolean
  dsr: boolean
  dcd: boolean
  ring: boolean
}

/** What the transmitter has left to send. Null if the driver cannot tell. */
export interface TransmitterState {
  /** Bytes queued in the driver. */
  waitingBytes: number
  /** Whether the last bit has been sent. */
  isEmpty: boolean | null
}

/** Queues of a line that can be purged. */
export type Purge = 'received' | 'toSend' | 'both'

/** A passed socket for which the caller chooses what is passed directly. */
export interface SteeredSocket extends PassedSocket {
  /** Stops passing the line's bytes to it until `goDirect`. */
  goIndirect(): void
  /**
   * Chooses which of its bytes go to the line directly; `onBytes` reports the rest. All, Telnet's data up to the first
   * command (a doubled FF is one), or none. Over Telnet each FF of the line is doubled towards it.
   */
  steer(reads: 'all' | 'untilCommand' | 'none', isTelnet: boolean): void
}

/**
 * As for any passed socket; `isHalf`: `rest` begins with a doubled FF whose first byte the socket has already taken.
 */
export interface SteeredSocketHandlers extends Omit<PassedSocketHandlers, 'onBehind'> {
  onBehind(rest: Uint8Array, isHalf: boolean): void
}

/** An open line. Every change is refused with `line_closed` once it is closed or gone. */
export interface ControlledLine extends Omit<Line, 'pass' | 'flush'> {
  pass(socketFd: number, tellMs: number, handlers: SteeredSocketHandlers): SteeredSocket
  /** Drops what was received and not yet read, what is queued to send, or both. */
  flush(what: Purge): Promise<void>
  /**
   * Changes settings while bytes flow, and loses none: what was written before goes out with the old settings, what is
   * written meanwhile with the new ones. All or nothing.
   * @param drainMs how long sending the earlier bytes may take; after that they go out with the new settings
   * @throws Fault `line_refused` (details `field`, `wanted`, `got`), `line_closed`
   */
  update(settings: ControlledSettings, drainMs: number): Promise<void>
  /** Null if the line has none. */
  modemLines(): Promise<ModemLines | null>
  /** No effect if the line has none. */
  setModemLines(lines: { dtr?: boolean; rts?: boolean }): Promise<void>
  /**
   * Resolves to true at the next change of CTS, DSR, DCD or RI, to false if the driver cannot tell or the line ended.
   */
  modemChange(): Promise<boolean>
  setBreak(isOn: boolean): Promise<void>
  transmitter(): Promise<TransmitterState>
}

/** Opens lines. */
export interface ControlledLineOpener {
  /**
   * @throws Fault `line_absent` (no such device), `line_busy` (locked by another), `line_refused` (ioctl, errno in
   * details)
   */
  open(path: string, settings: ControlledSettings): Promise<ControlledLine>
}

// Interfaces between a raw TCP server and the line behind it.

/** TCP clients of a raw line. What one sends goes to the line; what the line sends goes to all. */
export interface RawSocketServer {
  /** Sends to every client that the line does not pass bytes to directly. */
  broadcast(bytes: Uint8Array): void
  /**
   * tcpClients now; since it listens: tcpRefused (too many), tcpEvicted (made room for another address), tcpCutOff (too
   * slow), and tcpDroppedBytes of clients that left before the line took their bytes.
   */
  counters(): Record<string, number>
  close(): Promise<void>
}

/** What a raw socket server needs of its line. */
export interface RawSocketLine extends Pick<Line, 'pass' | 'sender' | 'settle' | 'pause' | 'resume'> {
  /** A client sent these bytes, and the line has taken them all. */
  onPassed(bytes: Uint8Array, atUs: number): void
  /**
   * A client sent these bytes, and the line has taken only the first `taken`. The rest is written through that sender.
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
