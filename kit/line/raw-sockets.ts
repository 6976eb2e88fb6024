/** TCP clients of a line: accepts them, writes to them within limits, disconnects them. */
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import { networkOf, plainAddress, type ShareOf } from '../net/address.ts'
import { createPlaces, createPlacesWithin, type Holder, type Places } from '../net/places.ts'
import { Gathered, PIECE_BYTES } from '../pure/bytes.ts'
import { Fault } from '../pure/fault.ts'
import { createLogGate, type LogGate } from '../pure/pace.ts'
import type { PassedSocket, RawSocketLine, RawSocketOpener } from './line.ts'
import type { LineSender } from './line-queue.ts'

// Writes to a TCP client: at once, or gathered for a slow one, so that waiting data takes little more than its bytes.

/** Writes to one socket; all writes must go through it. */
export class SocketWriter {
  readonly #socket: Socket
  readonly #onEmpty: () => void
  readonly #gathered = new Gathered()
  /** Writes of Node that are not finished. */
  #writes = 0

  /** @param onEmpty called when the kernel has taken everything written; not called for a socket that is gone */
  constructor(socket: Socket, onEmpty: () => void) {
    this.#socket = socket
    this.#onEmpty = onEmpty
    // When the other end closes, Node ends the socket after this event: gathered bytes must be written before.
    socket.prependListener('end', () => this.#flush())
  }

  /** Bytes that the kernel has not taken. */
  get waitingBytes(): number {
    return this.#socket.writableLength + this.#gathered.length
  }

  write(bytes: Uint8Array): void {
    if (this.waitingBytes > 0 && bytes.length < PIECE_BYTES) {
      this.#gathered.add(bytes, (piece) => this.#write(piece))
      return
    }
    // Large buffers are not copied: many clients may share one.
    this.#flush()
    this.#write(bytes)
  }

  /** Closes once everything waiting is sent. */
  end(): void {
    this.#flush()
    this.#socket.destroySoon()
  }

  #write(bytes: Uint8Array): void {
    this.#writes++
    this.#socket.write(bytes, (error) => {
      if (--this.#writes > 0 || error) return
      if (this.#gathered.length > 0) this.#flush()
      else if (this.waitingBytes === 0) this.#onEmpty()
    })
  }

  #flush(): void {
    if (this.#gathered.length > 0) this.#write(this.#gathered.take())
  }
}

// The TCP port of a line: opened, or refused with a sentence, and closed with all its clients.

/** Ports opened by lines of this process: two lines may be configured with the same one. */
const own = new Set<number>()

/** Resolves when the server listens. @throws Fault `tcp_port_taken` */
export async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays registered: a connection that cannot be accepted (no memory, no descriptor) also errors here, and only that
    // one is lost.
    server.on('error', (error: NodeJS.ErrnoException) => {
      reject(new Fault('tcp_port_taken', sentenceOf(host, port, error), { cause: error }))
    })
    server.listen(port, host, resolve)
  })
  own.add(port)
  server.once('close', () => own.delete(port))
}

/** What is in the way, and what to do. Only root can see which program it is. */
function sentenceOf(host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  const head = `TCP port ${port} cannot be opened for this line (${code ?? message})`
  if (code === 'EADDRINUSE' && own.has(port))
    return `${head}: another line of this daemon has it. Give one of the two another port.`
  if (code === 'EADDRINUSE')
    return `${head}: another program has it. Stop that one, or choose another port; \`sudo ss -ltnp sport = :${port}\` names it.`
  if (code === 'EACCES') return `${head}: ports below 1024 need a right that this daemon has not. Choose a higher one.`
  if (code === 'EADDRNOTAVAIL') return `${head}: ${host} is not an address of this machine.`
  return `${head}.`
}

/** Stops accepting, disconnects every client, and resolves when the last is gone. */
export async function closed(server: Server, letClientsGo: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    letClientsGo()
  })
}

// One TCP client of a raw line: sends it, in order and within the backlog, what the line does not pass directly.

/** Dependencies and callbacks of a client. */
interface RawClientParts {
  socket: Socket
  line: RawSocketLine
  clock: Clock
  /** Bytes held for it before it counts as behind. */
  backlogBytes: number
  /** Most bytes kept of what it sent before it left. */
  leftBytes: number
  /** How long the line may wait before it reports what has passed. */
  tellMs: number
  /** More than the backlog is waiting for it. */
  onBehind(client: RawClient): void
  /** It has received everything. */
  onCaughtUp(client: RawClient): void
  /** It has finished sending; what waits for it is still sent. */
  onEnding(client: RawClient): void
  /** Bytes it sent were dropped, as it has left. */
  onDropped(count: number): void
}

/** Size of one write for a client that has left, so that others get their turn between. */
const COPY_BYTES = 4096

/**
 * Owns the socket. Normally the line passes bytes both ways and this only gets reports; Node's socket neither reads nor
 * writes. If the client takes less than it is sent, Node's socket sends the rest and all that follows until the client
 * has caught up. If the line takes less than it is sent, the rest queues for the line, and the client is paused while
 * its address has enough queued. What is unread when it ends is read by Node.
 */
class RawClient {
  readonly socket: Socket
  readonly #parts: RawClientParts
  readonly #sender: LineSender
  readonly #writer: SocketWriter
  #passed: PassedSocket | undefined
  /** Whether the line sends to it directly. */
  #isDirect = true
  /** Whether it closed in an orderly way. */
  #hasEnded = false
  #activeMs: number
  #isResting = false

  /** @throws Fault `line_closed` */
  constructor(parts: RawClientParts, socketFd: number) {
    this.#parts = parts
    this.socket = parts.socket
    this.#writer = new SocketWriter(parts.socket, () => this.#written())
    this.#activeMs = parts.clock.monotonicMs()
    this.#passed = parts.line.pass(socketFd, parts.tellMs, {
      onBytes: (bytes, taken, atUs) => this.#fromClient(bytes, taken, atUs),
      onBehind: (rest) => this.#fallBehind(rest),
      onEnded: (errno) => this.#ended(errno),
    })
    this.#sender = parts.line.sender(networkOf(plainAddress(parts.socket.remoteAddress)), {
      onRest: (isResting) => {
        this.#isResting = isResting
        this.#passed?.flow(isResting ? 'resting' : 'reading')
      },
    })
  }

  /** Whether its bytes are not read because its address has enough queued for the line. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Bytes that it has not taken. */
  get waitingBytes(): number {
    return this.#writer.waitingBytes
  }

  /** When bytes of it were last read. */
  get activeMs(): number {
    return this.#activeMs
  }

  /** Sends what the line does not pass directly. */
  send(bytes: Uint8Array): void {
    if (this.#isDirect || this.socket.destroyed) return
    this.#writer.write(bytes)
    if (this.waitingBytes > this.#parts.backlogBytes) this.#parts.onBehind(this)
  }

  /** Disconnects the client and drops what waits for it. */
  destroy(): void {
    this.#passed?.leave()
    this.#passed = undefined
    this.#sender.leave(this.#hasEnded)
    this.socket.destroy()
  }

  #fallBehind(rest: Uint8Array): void {
    this.#isDirect = false
    this.send(rest)
  }

  #written(): void {
    this.#parts.onCaughtUp(this)
    // Bytes passed earlier may not have reached the client yet, and may put it behind again.
    this.#parts.line.settle()
    if (this.waitingBytes > 0 || this.socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  /** Node reads what is left, sees the same end, tells the client so and closes. */
  #ended(errno: number): void {
    this.#passed = undefined
    this.#isDirect = false
    if (errno !== 0) {
      this.destroy()
      return
    }
    this.#hasEnded = true
    this.socket.on('data', (bytes) => this.#leftUnread(bytes))
    this.socket.resume()
    this.#parts.onEnding(this)
  }

  #leftUnread(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += COPY_BYTES) {
      if (this.#sender.heldBytes >= this.#parts.leftBytes) {
        this.#parts.onDropped(bytes.length - at)
        return
      }
      // A copy: if one piece is dropped, a view would keep the whole buffer alive.
      this.#write(new Uint8Array(bytes.subarray(at, at + COPY_BYTES)), 0)
    }
  }

  #fromClient(bytes: Uint8Array, taken: number, atUs: number): void {
    this.#activeMs = this.#parts.clock.monotonicMs()
    if (taken === bytes.length) this.#parts.line.onPassed(bytes, atUs)
    else this.#write(bytes, taken)
  }

  #write(bytes: Uint8Array, taken: number): void {
    const { line, onDropped } = this.#parts
    try {
      line.onBytes(bytes, taken, this.#sender).then(
        (written) => onDropped(bytes.length - taken - written),
        () => this.destroy(),
      )
    } catch {
      this.destroy() // the line closed this very moment; its clients are disconnected with it
    }
  }
}

/** Limits of every raw TCP server; keys of the config table `raw_tcp`. */
export interface RawSocketLimits {
  /** Address to listen on. */
  host: string
  /** Bytes held for one client before the line is paused. */
  backlogBytes: number
  /** Most bytes kept of what one client sent before it left. */
  leftBytes: number
  /** Clients of one address on one line. */
  clientsPerAddress: number
  /** Clients of all lines together. */
  clients: number
  /** How long one client may hold up the line before it is disconnected. */
  slowClientMs: number
  /** How long bytes that passed between line and client may go unreported. */
  tellMs: number
}

/** Refused clients may reconnect at once, forever: at most one log line in this time. */
const LOG_EVERY_MS = 60_000

interface Deps {
  limits: RawSocketLimits
  shareOf: ShareOf
  /** Client places of all lines together. */
  all: Places
  clock: Clock
  log: Log
}

/** @returns an opener whose servers share the limits */
export function createRawSocketOpener(given: Omit<Deps, 'all'>): RawSocketOpener {
  const { clients: most } = given.limits
  const deps: Deps = { ...given, all: createPlaces({ most, mostPerAddress: most, shareOf: given.shareOf }) }
  return async (settings, line) => {
    const server = createServer({ noDelay: true, keepAlive: true, pauseOnConnect: true })
    const clients = new RawClients(deps, settings, line)
    server.on('connection', (socket) => clients.accept(socket))
    await listening(server, deps.limits.host, settings.port)
    return {
      broadcast: (bytes) => clients.broadcast(bytes),
      counters: () => clients.counters(),
      close: () => closed(server, () => clients.closeAll()),
    }
  }
}

/** All clients of one line. */
class RawClients {
  readonly #deps: Deps
  readonly #port: number
  readonly #line: RawSocketLine
  readonly #places: Places
  readonly #gate: LogGate
  readonly #clients = new Set<RawClient>()
  readonly #behind = new Map<RawClient, Timer>()
  readonly #counts = { notTaken: 0, cutOff: 0, droppedBytes: 0 }

  constructor(deps: Deps, { port, maxClients }: { port: number; maxClients: number }, line: RawSocketLine) {
    const { all, clock, limits, log, shareOf } = deps
    this.#deps = deps
    this.#port = port
    this.#line = line
    const own = createPlaces({ most: maxClients, mostPerAddress: limits.clientsPerAddress, shareOf })
    this.#places = createPlacesWithin(own, all)
    this.#gate = createLogGate(clock, LOG_EVERY_MS, (times, facts) =>
      log.warning('raw tcp clients turned away', { port, times, ...facts }),
    )
  }

  accept(socket: Socket): void {
    const { clock, log } = this.#deps
    socket.on('error', () => socket.destroy())
    const comesMs = clock.monotonicMs()
    let client: RawClient | undefined
    const address = socket.remoteAddress ?? ''
    const holder: Holder = {
      use: () => this.#useOf(client, comesMs),
      giveWay: () => {
        this.#gate.note({ last: 'made room', client: address })
        client?.destroy()
      },
    }
    if (!this.#places.take(address, holder)) {
      this.#gate.note({ last: 'refused', client: address })
      socket.destroy()
      return
    }
    try {
      client = this.#join(socket, () => this.#places.leave(holder))
    } catch (error) {
      this.#counts.notTaken++
      this.#places.leave(holder)
      log.warning('raw tcp client not taken', { port: this.#port, why: String(error) })
      socket.destroy()
    }
  }

  broadcast(bytes: Uint8Array): void {
    for (const client of this.#clients) client.send(bytes)
  }

  counters(): Record<string, number> {
    const { refused, evicted } = this.#places.counts()
    const { notTaken, cutOff, droppedBytes } = this.#counts
    return {
      tcpClients: this.#clients.size,
      tcpRefused: refused + notTaken,
      tcpEvicted: evicted,
      tcpCutOff: cutOff,
      tcpDroppedBytes: droppedBytes,
    }
  }

  closeAll(): void {
    for (const client of this.#clients) client.destroy()
    this.#gate.close()
  }

  #useOf(client: RawClient | undefined, comesMs: number): ReturnType<Holder['use']> {
    const { clock, limits } = this.#deps
    const sinceMs = client?.activeMs ?? comesMs
    // It may be gone: its end arrives behind bytes that its kernel holds while none are read.
    const isStuck = client?.isResting && clock.monotonicMs() - sinceMs > limits.slowClientMs
    return { use: isStuck ? 'idle' : 'kept', sinceMs }
  }

  #join(socket: Socket, left: () => void): RawClient {
    const { clock, limits } = this.#deps
    const { backlogBytes, leftBytes, slowClientMs, tellMs } = limits
    let ending: Timer | undefined
    const client = new RawClient(
      {
        ...{ socket, line: this.#line, clock, backlogBytes, leftBytes, tellMs },
        onBehind: (one) => this.#fallsBehind(one),
        onCaughtUp: (one) => this.#caughtUp(one),
        onEnding() {
          // A client that takes nothing more would never be seen to close.
          ending = clock.after(slowClientMs, () => client.destroy())
        },
        onDropped: (count) => {
          this.#counts.droppedBytes += count
        },
      },
      descriptorOf(socket),
    )
    this.#clients.add(client)
    socket.on('close', () => {
      client.destroy()
      this.#clients.delete(client)
      ending?.cancel()
      this.#caughtUp(client)
      left()
    })
    return client
  }

  #caughtUp(client: RawClient): void {
    this.#behind.get(client)?.cancel()
    if (this.#behind.delete(client) && this.#behind.size === 0) this.#line.resume()
  }

  #tooSlow(client: RawClient): void {
    this.#counts.cutOff++
    this.#deps.log.warning('raw tcp client cut off', {
      port: this.#port,
      client: client.socket.remoteAddress,
      waitedMs: this.#deps.limits.slowClientMs,
      heldBytes: client.waitingBytes,
    })
    client.destroy()
  }

  #fallsBehind(client: RawClient): void {
    if (this.#behind.has(client)) return
    if (this.#behind.size === 0) this.#line.pause()
    const { clock, limits } = this.#deps
    this.#behind.set(
      client,
      clock.after(limits.slowClientMs, () => this.#tooSlow(client)),
    )
  }
}

/** Node has the descriptor of an open socket, though its types do not show it. */
export function descriptorOf(socket: Socket): number {
  return (socket as Socket & { _handle?: { fd?: number } })._handle?.fd ?? -1
}
