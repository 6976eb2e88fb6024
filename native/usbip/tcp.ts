/** TCP connections accepted here, so that each descriptor has one known owner. */
import { addon, type NativeHeld, SHUT, WATCH } from './addon.ts'

/** Keep-alive settings: when to give up on a silent peer. */
export interface Patience {
  /** Seconds of silence before the first probe (TCP_KEEPIDLE), 1..32767. */
  idleS: number
  /** Seconds between probes (TCP_KEEPINTVL), 1..32767. */
  intervalS: number
  /** Unanswered probes that end it (TCP_KEEPCNT), 1..127. */
  count: number
  /** How long sent bytes may stay unacknowledged (TCP_USER_TIMEOUT); overrides `count` unless 0. */
  userTimeoutMs: number
}

/** The kernel's counts of a connection, from its start. */
export interface TcpCounts {
  isEstablished: boolean
  /** Bytes received from the peer. */
  receivedBytes: number
  /** Bytes that the peer has acknowledged. */
  ackedBytes: number
}

/** TCP_ESTABLISHED of enum tcp_state, include/net/tcp_states.h. */
const ESTABLISHED = 1

/**
 * Sets keep-alive and user timeout of any TCP socket by its descriptor, such as one of Node's.
 * @throws Error with code, errno and syscall (the option's name): EBADF, ENOPROTOOPT, EINVAL
 * @source tcp(7); RFC 5482
 */
export function setPatience(fd: number, { idleS, intervalS, count, userTimeoutMs }: Patience): void {
  addon.keepAlive(fd, idleS, intervalS, count, userTimeoutMs)
}

/** One connection. Owns its descriptor until `close`; calls after that throw ECANCELED, except `close` and `cut`. */
export class TcpConnection {
  /** The peer's address as the kernel writes it: IPv4 on a dual-stack socket as ::ffff:10.0.0.1. */
  readonly address: string
  readonly port: number
  readonly #held: NativeHeld

  constructor(held: NativeHeld, address: string, port: number) {
    this.#held = held
    this.address = address
    this.port = port
  }

  /** For `askWithFd`, which duplicates it, and `setPatience`. -1 once closed. */
  get fd(): number {
    return this.#held.fd
  }

  /** Calls the handler once when there is something to `read`, or the end. Replaces a waiting handler. */
  onceReadable(handler: () => void): void {
    this.#held.watch(WATCH.readable, handler)
  }

  /**
   * Calls the handler once when the peer has closed its side, or the connection is gone; bytes stay unread. Replaces a
   * waiting handler.
   */
  onceEnded(handler: () => void): void {
    this.#held.watch(WATCH.disconnect, handler)
  }

  /**
   * Takes at most as many bytes as `slab` has room for; the rest stays in the kernel.
   * @returns their number, 0 at the end, undefined if there are none yet
   */
  read(slab: Uint8Array): number | undefined {
    return this.#held.read(slab)
  }

  /** @returns how many bytes the kernel took at once, 0..all */
  write(bytes: Uint8Array): number {
    return this.#held.write(bytes)
  }

  setNoDelay(): void {
    addon.noDelay(this.#held.fd)
  }

  counts(): TcpCounts {
    const [state, receivedBytes, ackedBytes] = this.#held.tcpCounts()
    return { isEstablished: state === ESTABLISHED, receivedBytes, ackedBytes }
  }

  /** Closes our sending side. */
  end(): void {
    this.#held.shutdown(SHUT.writing)
  }

  /** Shuts down both sides for every holder of the connection, the kernel's own drivers included. */
  cut(): void {
    this.#held.shutdown(SHUT.both)
  }

  close(): void {
    this.#held.close()
  }
}

/** Callbacks of a listener. */
export interface ListenHandlers {
  /** The handler owns the connection from now on. */
  onConnection(connection: TcpConnection): void
  /** A connection could not be accepted (EMFILE, ENOMEM). Accepting stops until `resume`. */
  onFailed(error: Error): void
}

/** Connections accepted in one turn of the event loop. */
const MOST_AT_ONCE = 64

/** A TCP server. Owns its descriptor until `close`. */
export class TcpListener {
  readonly address: string
  readonly port: number
  readonly #held: NativeHeld
  readonly #handlers: ListenHandlers
  #isOpen = true

  /**
   * Listens at once.
   * @param address numeric; `::` takes IPv4 as well, and becomes 0.0.0.0 if the machine has no IPv6
   * @param options `port` 0 picks a free one; `backlog`: connections that the kernel holds until they are accepted
   * @throws Error with code, errno and syscall: EADDRINUSE, EACCES, EADDRNOTAVAIL
   */
  constructor(address: string, options: { port: number; backlog: number }, handlers: ListenHandlers) {
    const [held, boundAddress, boundPort] = addon.listen(address, options.port, options.backlog)
    this.#held = held
    this.address = boundAddress
    this.port = boundPort
    this.#handlers = handlers
    this.resume()
  }

  /** Resumes accepting after `onFailed`. */
  resume(): void {
    if (this.#isOpen) this.#held.watch(WATCH.readable, () => this.#accept())
  }

  close(): void {
    this.#isOpen = false
    this.#held.close()
  }

  #accept(): void {
    for (let count = 0; count < MOST_AT_ONCE && this.#isOpen; count++) {
      const connection = this.#next()
      if (connection === undefined) break
      if (connection === 'failed') return
      this.#handlers.onConnection(connection)
    }
    this.resume()
  }

  #next(): TcpConnection | 'failed' | undefined {
    try {
      const opened = this.#held.accept()
      return opened && new TcpConnection(...opened)
    } catch (error) {
      this.#handlers.onFailed(error as Error)
      return 'failed'
    }
  }
}
