/** What the serial server's rules need of the world, as interfaces that io/ implements. */
import type { ControlledLine } from '#kit/line/line.ts'

/** A connection that has just come, and of which nothing was read. */
export interface Arrival {
  /** As people write it: IPv4 without `::ffff:`. */
  readonly address: string
  readonly port: number
  /** What shares a turn on the line: the address, of IPv6 its /64. */
  readonly network: string
  /** Lets it go, with a reset. */
  refuse(): void
  take(handlers: ClientHandlers, limits: ClientLimits): Client
}

/** What a connection tells, in the order in which it happened. */
export interface ClientHandlers {
  /** It sent these, and the line has the first `taken`. The rest is to be written before the handler returns, or is lost. */
  onBytes(bytes: Uint8Array, taken: number): void
  /** More waits for it than its backlog. */
  onBehind(): void
  /** It has everything. */
  onCaughtUp(): void
  /** It has said all it will say; what the kernel has of it is told yet, and what waits for it is still sent. */
  onEnding(): void
  /** Once, whoever ended it. */
  onClosed(): void
}

/** Bounds of one connection. */
export interface ClientLimits {
  /** Bytes that may wait for it before `onBehind`. */
  backlogBytes: number
  /** How long bytes that passed may wait to be told. */
  tellMs: number
}

/** A TCP connection of a port. Calls after it closed are of no effect. */
export interface Client {
  readonly address: string
  readonly port: number
  /** Bytes that wait for it in this process. */
  readonly waitingBytes: number
  /** Bytes pass between it and the line from now on. @throws Fault `line_closed` */
  attach(line: ControlledLine): void
  /** There is no line: what it sends is told by `onBytes`, with none taken. */
  detach(): void
  /** See SteeredSocket. */
  steer(reads: 'all' | 'untilCommand' | 'none'): void
  /** What the line sends goes to it with each FF twice; for a peer without BINARY with a NUL behind each CR, too. */
  setTelnet(isNvt: boolean): void
  /** What the line sent: goes to it unless the line has passed it by itself. `bytes` as the line sent them. */
  fromLine(bytes: Uint8Array): void
  /** Words of our own, in order with what the line sends. */
  tell(bytes: Uint8Array): void
  /** While held, nothing goes to it at all. */
  setHeld(isHeld: boolean): void
  /** While resting nothing of it is read, but its end is seen; while stopped not even that. A leaving client is read while resting too. */
  setReading(how: 'reading' | 'resting' | 'stopped'): void
  /** Throws away what waits for it of the line. */
  dropWaiting(): void
  destroy(): void
}

/** A TCP port that listens. */
export interface Listener {
  /** Accepts nobody any more; who is connected stays. */
  close(): Promise<void>
}

/** Opens a TCP port for both families. @throws Fault `tcp_port_taken` */
export type ListenerOpener = (tcpPort: number, onArrival: (arrival: Arrival) => void) => Promise<Listener>

/** A device as the API shows it; null where nobody knows. */
export interface AdapterDevice {
  port: number
  path: string
  found: boolean
  maker: string | null
  product: string | null
  serial_number: string | null
}
