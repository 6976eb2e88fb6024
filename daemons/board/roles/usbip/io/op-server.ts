/** The TCP server that hosts connect to: who may not is closed before a byte is read, the rest have their places. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress, type ShareOf } from '#kit/net/address.ts'
import { createPlaces, type Places } from '#kit/places.ts'
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
  shareOf: ShareOf
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
  readonly #places: Places
  readonly #sessions = new Set<OpSession>()
  #retry: Timer | undefined

  constructor(parts: OpServerParts, desk: HostDesk) {
    this.#parts = parts
    this.#desk = desk
    const { connections: most, connectionsPerHost: mostPerAddress } = parts.limits
    this.#places = createPlaces({ most, mostPerAddress, shareOf: parts.shareOf })
    this.#listener = this.#listen()
    parts.log.notice('usbip listens', { address: this.#listener.address, port: this.#listener.port })
  }

  get port(): number {
    return this.#listener.port
  }

  close(): void {
    this.#retry?.cancel()
    this.#listener.close()
    for (const session of [...this.#sessions]) session.close()
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
    if (!this.#desk.admits(address)) {
      this.#refuse(connection, 'not_allowed')
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

  #refuse(connection: TcpConnection, outcome: 'not_allowed' | 'too_many'): void {
    this.#desk.ended(outcome, plainAddress(connection.address))
    connection.close()
  }

  #begin(connection: TcpConnection, address: string): void {
    const { clock, limits, own } = this.#parts
    const session = new OpSession({
      clock,
      connection,
      link: linkOf(connection, address),
      desk: this.#desk,
      timeoutMs: limits.timeoutMs,
      onDone: () => {
        this.#places.leave(session)
        this.#sessions.delete(session)
      },
      own,
    })
    if (!this.#places.take(address, session)) {
      this.#refuse(connection, 'too_many')
      return
    }
    this.#sessions.add(session)
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
