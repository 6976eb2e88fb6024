/** TCP connections that are accepted here, so that their descriptors have one known owner. */
import { addon, type NativeHeld, SHUT, WATCH } from './addon.ts'

/** When a peer that says nothing more is given up. */
export interface Patience {
  /** Seconds of silence before the first probe (TCP_KEEPIDLE), 1..32767. */
  idleS: number
  /** Seconds between probes (TCP_KEEPINTVL), 1..32767. */
  intervalS: number
  /** Probes without an answer that end it (TCP_KEEPCNT), 1..127. */
  count: number
  /** How long sent bytes may stay unacknowledged (TCP_USER_TIMEOUT); overrides `count` where it is not 0. */
  userTimeoutMs: number
}

/** What the kernel counts of a connection, from its start. */
export interface TcpCounts {
  isEstablished: boolean
  /** Bytes that came from the peer. */
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

/** One connection. Owns its descriptor until `close`; calls after that throw ECANCELED, but for `close` and `cut`. */
export class TcpConnection {
  /** Of the peer, as the kernel writes it: IPv4 on a socket for both families as ::ffff:10.0.0.1. */
  readonly address: string
  readonly port: number
  readonly #held: NativeHeld

  constructor(held: NativeHeld, address: string, port: number) {
    this.#held = held
    this.address = address
    this.port = port
  }

  /** For `askWithFd` and `setPatience`, which take a copy or none. -1 once closed. */
  get fd(): number {
    return this.#held.fd
  }

  /** Calls once when there is something to `read`, the end too. Takes the place of a handler that waits. */
  onceReadable(handler: () => void): void {
    this.#held.watch(WATCH.readable, handler)
  }

  /** Calls once when the peer has ended its side, or the connection is gone; bytes stay unread. As above. */
  onceEnded(handler: () => void): void {
    this.#held.watch(WATCH.disconnect, handler)
  }

  /**
   * Takes at most as many bytes as `slab` has room for; what is beyond stays with the kernel.
   * @returns their number, 0 at the end, undefined where none are there
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

  /** Says that nothing more comes from us. */
  end(): void {
    this.#held.shutdown(SHUT.writing)
  }

  /** Ends both sides for everybody who holds the connection, the kernel's own drivers too. */
  cut(): void {
    this.#held.shutdown(SHUT.both)
  }

  close(): void {
    this.#held.close()
  }
}

/** What a listener tells. */
export interface ListenHandlers {
  /** Owns the connection from here. */
  onConnection(connection: TcpConnection): void
  /** A connection could not be taken (EMFILE, ENOMEM). Nothing is accepted until `resume`. */
  onFailed(error: Error): void
}

/** Connections taken in one turn of the loop. */
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
   * @param address numeric; `::` takes IPv4 as well, and is 0.0.0.0 where the machine has no IPv6
   * @param options `port` 0 takes a free one; `backlog`: connections that the kernel keeps until they are accepted
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

  /** Goes on after `onFailed`. */
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
