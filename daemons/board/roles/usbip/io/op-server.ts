/** The TCP server that hosts connect to: who may not is closed before a byte is read, the rest within bounds. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress } from '#kit/net/address.ts'
import { setPatience, type TcpConnection, TcpListener } from '#native/usbip/index.ts'
import type { HostDesk, HostLink, HostServer, HostServerOpener } from '../core/ports.ts'
import { OpSession } from './op-session.ts'

/** Bounds of the server; keys of the config table `usbip`. */
export interface OpServerLimits {
  /** Address to listen on; `::` for every one of both families. */
  host: string
  port: number
  /** Connections in their first phase at once, and of one address. */
  connections: number
  connectionsPerHost: number
  /** Time for a request, and for taking the answer. */
  timeoutMs: number
  /** When a host that says nothing more is given up. */
  keepAlive: { idleS: number; intervalS: number; count: number; userTimeoutMs: number }
}

/** What the server is made of. */
export interface OpServerParts {
  limits: OpServerLimits
  clock: Clock
  log: Log
  own(promise: Promise<unknown>): void
}

/** Connections that the kernel keeps until they are accepted, which is at once; beyond it a host tries again in a second. */
const BACKLOG = 1024

/** Until connections are accepted again after one could not be: no descriptor, no memory. */
const ACCEPT_RETRY_MS = 1000

/** @returns an opener; it throws Fault `usbip_port_taken` */
export function createOpServerOpener(parts: OpServerParts): HostServerOpener {
  return (desk) => new OpServer(parts, desk)
}

class OpServer implements HostServer {
  readonly #parts: OpServerParts
  readonly #desk: HostDesk
  readonly #listener: TcpListener
  /** By address. */
  readonly #sessions = new Map<OpSession, string>()
  #retry: Timer | undefined

  constructor(parts: OpServerParts, desk: HostDesk) {
    this.#parts = parts
    this.#desk = desk
    this.#listener = this.#listen()
    parts.log.notice('usbip listens', { address: this.#listener.address, port: this.#listener.port })
  }

  get port(): number {
    return this.#listener.port
  }

  close(): void {
    this.#retry?.cancel()
    this.#listener.close()
    for (const session of [...this.#sessions.keys()]) session.close()
  }

  #listen(): TcpListener {
    const { host, port } = this.#parts.limits
    const handlers = {
      onConnection: (connection: TcpConnection) => this.#accept(connection),
      onFailed: (fault: Error) => this.#notAccepted(fault),
    }
    try {
      return new TcpListener(host, { port, backlog: BACKLOG }, handlers)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      throw new Fault('usbip_port_taken', `TCP port ${port} cannot be opened for USB/IP hosts (${code}).`, {
        cause: error,
      })
    }
  }

  #notAccepted(fault: Error): void {
    this.#parts.log.warning('usbip connection not accepted', { fault })
    this.#retry = this.#parts.clock.after(ACCEPT_RETRY_MS, () => this.#listener.resume())
  }

  #accept(connection: TcpConnection): void {
    const address = plainAddress(connection.address)
    const refused = this.#whyNot(address)
    if (refused) {
      this.#desk.ended(refused, address)
      connection.close()
      return
    }
    try {
      setPatience(connection.fd, this.#parts.limits.keepAlive)
      connection.setNoDelay()
    } catch (error) {
      this.#parts.log.warning('usbip connection not taken', { fault: error as Error })
      connection.close()
      return
    }
    this.#begin(connection, address)
  }

  #whyNot(address: string): 'not_allowed' | 'too_many' | undefined {
    if (!this.#desk.admits(address)) return 'not_allowed'
    const { connections, connectionsPerHost } = this.#parts.limits
    if (this.#sessions.size >= connections) return 'too_many'
    let same = 0
    for (const other of this.#sessions.values()) if (other === address) same++
    return same >= connectionsPerHost ? 'too_many' : undefined
  }

  #begin(connection: TcpConnection, address: string): void {
    const { clock, limits, own } = this.#parts
    const session = new OpSession({
      clock,
      connection,
      link: linkOf(connection, address),
      desk: this.#desk,
      timeoutMs: limits.timeoutMs,
      onDone: () => this.#sessions.delete(session),
      own,
    })
    this.#sessions.set(session, address)
    session.start()
  }
}

function linkOf(connection: TcpConnection, address: string): HostLink {
  return {
    address,
    port: connection.port,
    get fd() {
      return connection.fd
    },
    counts: () => connection.counts(),
    onceEnded: (handler) => connection.onceEnded(handler),
    cut: () => connection.cut(),
    close: () => connection.close(),
  }
}
