/** Interfaces that the serial server's rules need, implemented by io/. */
import type { ControlledLine } from '#kit/line/line.ts'

/** A new connection, of which nothing was read yet. */
export interface Arrival {
  /** In the usual notation: IPv4 without `::ffff:`. */
  readonly address: string
  readonly port: number
  /** The key of its turn on the line: the address, for IPv6 its /64. */
  readonly network: string
  /** Closes it with a reset. */
  refuse(): void
  take(handlers: ClientHandlers, limits: ClientLimits): Client
}

/** Events of a connection, in order. */
export interface ClientHandlers {
  /**
   * It sent these bytes, and the line has taken the first `taken`. The rest must be written before the handler returns,
   * or it is lost.
   */
  onBytes(bytes: Uint8Array, taken: number): void
  /** More than its backlog is waiting for it. */
  onBehind(): void
  /** It has received everything. */
  onCaughtUp(): void
  /** It has finished sending; what the kernel holds of it is still reported, and what waits for it is still sent. */
  onEnding(): void
  /** Called once, whoever ended it. */
  onClosed(): void
}

/** Limits of one connection. */
export interface ClientLimits {
  /** Bytes that may wait for it before `onBehind`. */
  backlogBytes: number
  /** How long bytes that passed may go unreported. */
  tellMs: number
}

/** A TCP connection of a port. Calls after it closed have no effect. */
export interface Client {
  readonly address: string
  readonly port: number
  /** Bytes waiting for it in this process. */
  readonly waitingBytes: number
  /** From now on bytes pass between it and the line. @throws Fault `line_closed` */
  attach(line: ControlledLine): void
  /** There is no line: what it sends is reported by `onBytes`, with none taken. */
  detach(): void
  /** See SteeredSocket. */
  steer(reads: 'all' | 'untilCommand' | 'none'): void
  /** Doubles each FF of the line towards it; for a peer without BINARY also adds a NUL after each CR. */
  setTelnet(isNvt: boolean): void
  /** Bytes from the line: sent to it unless the line has passed them directly. `bytes` as the line sent them. */
  fromLine(bytes: Uint8Array): void
  /** Sends our own bytes, in order with the line's. */
  tell(bytes: Uint8Array): void
  /** While held, nothing is sent to it. */
  setHeld(isHeld: boolean): void
  /**
   * While resting nothing of it is read, but its end is detected; while stopped not even that. A leaving client is read
   * while resting too.
   */
  setReading(how: 'reading' | 'resting' | 'stopped'): void
  /** Drops waiting bytes of the line. */
  dropWaiting(): void
  destroy(): void
}

/** A listening TCP port. */
export interface Listener {
  /** Stops accepting; connected clients stay. */
  close(): Promise<void>
}

/** Opens a TCP port for both families. @throws Fault `tcp_port_taken` */
export type ListenerOpener = (tcpPort: number, onArrival: (arrival: Arrival) => void) => Promise<Listener>

/** A device as the API shows it; null where unknown. */
export interface AdapterDevice {
  port: number
  path: string
  found: boolean
  maker: string | null
  product: string | null
  serial_number: string | null
}
