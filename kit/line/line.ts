/** What a serial line is to the rules of a daemon; `kit/line/serial-line.ts` opens real ones. */
import type { Fault } from '#kit/fault.ts'
import type { LineSender, SenderHandlers } from './line-queue.ts'

/** Settings of one serial line, as the API and the state file keep them (docs/ARCHITECTURE.md, gateway). */
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
export interface Rs485Settings {
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
export interface PassedSocketHandlers {
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
