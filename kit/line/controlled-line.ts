/** A serial line whose settings and signals change while it is open, as a serial server needs it. */
import type { Line, LineSettings, PassedSocket, PassedSocketHandlers } from './line.ts'

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
