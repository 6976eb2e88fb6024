/** The TCP server for hosts: closes refused connections unread, and reads exactly one request from each other. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress, type ShareOf } from '#kit/net/address.ts'
import { createPlaces, type Holder, type Places, type Use } from '#kit/net/places.ts'
import { Fault } from '#kit/pure/fault.ts'
import { setPatience, type TcpConnection, TcpListener } from '#native/usbip/index.ts'
import type { HostDesk, HostLink, HostServer, HostServerOpener, OpOutcome } from '../core/ports.ts'
import {
  devlistReply,
  importReply,
  LONGEST_REQUEST_BYTES,
  OP_HEADER_BYTES,
  readOpRequest,
  requestBytesOf,
} from '../wire/op.ts'

// The first phase of one connection: reads exactly one request, and answers it.

/** Dependencies of a session. */
interface OpSessionParts {
  clock: Clock
  connection: TcpConnection
  /** The same connection as the desk sees it. */
  link: HostLink
  desk: HostDesk
  /** Limit for the request, and again for the host to take the answer and hang up. */
  timeoutMs: number
  /** The session is over; the connection is closed, or belongs to the desk. */
  onDone(): void
  own(promise: Promise<unknown>): void
}

/** Most bytes discarded while a host hangs up. */
const MOST_LEFTOVER_BYTES = 65_536

/** Owns the connection until it is over. */
class OpSession implements Holder {
  readonly #parts: OpSessionParts
  readonly #sinceMs: number
  #use: Use = 'opening'
  readonly #request = new Uint8Array(LONGEST_REQUEST_BYTES)
  #have = 0
  #wanted = OP_HEADER_BYTES
  #leftoverBytes = 0
  #deadline: Timer | undefined
  #isOver = false

  constructor(parts: OpSessionParts) {
    this.#parts = parts
    this.#sinceMs = parts.clock.monotonicMs()
  }

  use(): ReturnType<Holder['use']> {
    return { use: this.#use, sinceMs: this.#sinceMs }
  }

  /** Another host needs the place. */
  giveWay(): void {
    this.#over('too_many')
  }

  /** Once. */
  start(): void {
    this.#limitTime(() => this.#over('too_slow'))
    this.#guarded(() => this.#awaitBytes())
  }

  /** Ends the session at once, such as when the server closes. */
  close(): void {
    this.#over('went_away')
  }

  #limitTime(run: () => void): void {
    this.#deadline?.cancel()
    this.#deadline = this.#parts.clock.after(this.#parts.timeoutMs, run)
  }

  #awaitBytes(): void {
    this.#parts.connection.onceReadable(() => this.#guarded(() => this.#read()))
  }

  #read(): void {
    const count = this.#parts.connection.read(this.#request.subarray(this.#have, this.#wanted))
    if (count === 0) {
      this.#over('went_away')
      return
    }
    this.#have += count ?? 0
    if (this.#have === OP_HEADER_BYTES) this.#wanted = requestBytesOf(this.#request.subarray(0, OP_HEADER_BYTES))
    if (this.#have < this.#wanted) {
      this.#awaitBytes()
      return
    }
    const request = readOpRequest(this.#request.subarray(0, this.#wanted))
    if (request.kind === 'devlist') this.#answer(devlistReply(this.#parts.desk.list()), 'listed')
    else this.#parts.own(this.#import(request.busId))
  }

  async #import(busId: string): Promise<void> {
    const { desk, link } = this.#parts
    // The desk has time limits of its own.
    this.#deadline?.cancel()
    this.#use = 'busy'
    const { status, device } = await desk.take(busId, link)
    if (status !== 'ok') {
      this.#guarded(() => this.#answer(importReply(status), 'import_refused'))
      return
    }
    // The link belongs to the desk now: if the reply cannot be sent, cutting it tells the desk that the host has left.
    try {
      if (!this.#write(importReply(status, device))) link.cut()
    } catch {
      link.cut()
    }
    this.#settle('imported')
  }

  /** Replies, and gives the host time to take the reply: closing with bytes unread would reset the connection. */
  #answer(reply: Uint8Array, outcome: OpOutcome): void {
    if (this.#isOver) return
    if (!this.#write(reply)) {
      this.#over('went_away')
      return
    }
    this.#use = 'idle'
    this.#limitTime(() => this.#over(outcome))
    this.#parts.connection.end()
    this.#drain(outcome)
  }

  #drain(outcome: OpOutcome): void {
    this.#parts.connection.onceReadable(() => {
      try {
        const slab = new Uint8Array(4096)
        const count = this.#parts.connection.read(slab)
        this.#leftoverBytes += count ?? 0
        if (count === 0 || this.#leftoverBytes > MOST_LEFTOVER_BYTES) this.#over(outcome)
        else this.#drain(outcome)
      } catch {
        this.#over(outcome)
      }
    })
  }

  /** A reply has a few hundred bytes, which a new connection always takes at once. */
  #write(bytes: Uint8Array): boolean {
    return this.#parts.connection.write(bytes) === bytes.length
  }

  /** Whatever the peer sends or does ends this session only. */
  #guarded(run: () => void): void {
    if (this.#isOver) return
    try {
      run()
    } catch (error) {
      if (error instanceof Fault) this.#over('not_understood')
      else if ((error as NodeJS.ErrnoException).syscall !== undefined) this.#over('went_away')
      else throw error
    }
  }

  #over(outcome: OpOutcome): void {
    if (this.#isOver) return
    this.#settle(outcome)
    this.#parts.connection.close()
  }

  #settle(outcome: OpOutcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline?.cancel()
    this.#parts.desk.ended(outcome, this.#parts.link.address)
    this.#parts.onDone()
  }
}

// The server: refused addresses are closed before a byte is read, the others get a place.

/** Limits of the server; keys of the config table `usbip`. */
export interface OpServerLimits {
  /** Address to listen on; `::` for all addresses of both families. */
  host: string
  port: number
  /** Concurrent connections in their first phase, in all and per address. */
  connections: number
  connectionsPerHost: number
  /** Time for the request, and for taking the reply. */
  timeoutMs: number
  /** When a silent host is given up. */
  keepAlive: { idleS: number; intervalS: number; count: number; userTimeoutMs: number }
}

/** Dependencies of the server. */
interface OpServerParts {
  limits: OpServerLimits
  shareOf: ShareOf
  clock: Clock
  log: Log
  own(promise: Promise<unknown>): void
}

/** Connections waiting in the kernel to be accepted, which is immediate; beyond it a host retries after a second. */
const BACKLOG = 1024

/** Pause before accepting again after a failure for want of descriptors or memory. */
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
