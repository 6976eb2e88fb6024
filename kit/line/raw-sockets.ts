/** TCP clients of a line: taken, written to within bounds, let go. */
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

// What is written to a TCP client: at once, and what waits for a slow one gathered, so that it takes no more than its bytes.

/** Owns what is written to a socket. */
export class SocketWriter {
  readonly #socket: Socket
  readonly #onEmpty: () => void
  readonly #gathered = new Gathered()
  /** Of Node's, that are not over. */
  #writes = 0

  /** @param onEmpty the kernel has taken what was written; not told of a socket that is gone */
  constructor(socket: Socket, onEmpty: () => void) {
    this.#socket = socket
    this.#onEmpty = onEmpty
    // Node ends a socket whose other end has, once this was told: what was gathered is written before.
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
    // What is large is not copied: it may wait for many clients.
    this.#flush()
    this.#write(bytes)
  }

  /** Closes once what waits is sent. */
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

// A TCP port that belongs to a line: taken or refused with a sentence, and given back with every client on it.

/** Ports that lines of this process have: two lines may be given the same. */
const own = new Set<number>()

/** Resolves when the server listens. @throws Fault `tcp_port_taken` */
export async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays for good: a connection that cannot be accepted (no memory, no descriptor) comes here too, and is only that one's loss.
    server.on('error', (error: NodeJS.ErrnoException) => {
      reject(new Fault('tcp_port_taken', sentenceOf(host, port, error), { cause: error }))
    })
    server.listen(port, host, resolve)
  })
  own.add(port)
  server.once('close', () => own.delete(port))
}

/** Who or what is in the way, and what to do. Which program it is may be seen by root alone. */
function sentenceOf(host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  const head = `TCP port ${port} cannot be opened for this line (${code ?? message})`
  if (code === 'EADDRINUSE' && own.has(port))
    return `${head}: another line of this daemon has it. Give one of the two another port.`
  if (code === 'EADDRINUSE')
    return `${head}: another program has it. Stop that one, or choose another port; \`sudo ss -ltnp sport = :${port}\` names it.`
  if (code === 'EACCES') return `${head}: ports below 1024 need a right that this daemon has not. Choose a higher one.`
  if (code === 'EADDRNOTAVAIL') return `${head}: ${host} is no address of this machine.`
  return `${head}.`
}

/** Accepts nobody any more, lets every client go, and resolves when the last is gone. */
export async function closed(server: Server, letClientsGo: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    letClientsGo()
  })
}

// One TCP client of a raw line: what the line does not pass by itself, in order, and within the backlog.

/** What a client is made of. */
interface RawClientParts {
  socket: Socket
  line: RawSocketLine
  clock: Clock
  /** Bytes held for it before it is told to be behind. */
  backlogBytes: number
  /** Most bytes kept of what it sent before it left. */
  leftBytes: number
  /** How long the line may wait before it tells what has passed. */
  tellMs: number
  /** More than the backlog waits for it. */
  onBehind(client: RawClient): void
  /** It has everything. */
  onCaughtUp(client: RawClient): void
  /** It has said all it will say; what waits for it is still sent. */
  onEnding(client: RawClient): void
  /** Bytes it sent were thrown away, as it has left. */
  onDropped(count: number): void
}

/** What is written at once of one that has left, so that others have their turn between. */
const COPY_BYTES = 4096

/**
 * Owns the socket. While all is well the line passes its bytes to the client and the client's to the line, and this only
 * hears of them; Node's socket neither reads nor writes. When the client takes less than it is sent, Node's socket sends
 * the rest and all that follows, until it has caught up. When the line takes less than it is sent, the rest waits its turn
 * with the line, and the client is at rest while its address has enough waiting. What is unread when it ends Node reads.
 */
class RawClient {
  readonly socket: Socket
  readonly #parts: RawClientParts
  readonly #sender: LineSender
  readonly #writer: SocketWriter
  #passed: PassedSocket | undefined
  /** The line sends to it by itself. */
  #isDirect = true
  /** It ended as one does who is done. */
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

  /** Its bytes are not read, as enough of its address waits for the line. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Bytes that it has not taken. */
  get waitingBytes(): number {
    return this.#writer.waitingBytes
  }

  /** When something of it was read last. */
  get activeMs(): number {
    return this.#activeMs
  }

  /** Sends what the line does not. */
  send(bytes: Uint8Array): void {
    if (this.#isDirect || this.socket.destroyed) return
    this.#writer.write(bytes)
    if (this.waitingBytes > this.#parts.backlogBytes) this.#parts.onBehind(this)
  }

  /** Lets the client go, with what waits for it. */
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
    // What has passed before is not yet with the client, and may put it behind again.
    this.#parts.line.settle()
    if (this.waitingBytes > 0 || this.socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  /** Node reads what is left, finds the same end, tells the client so and closes. */
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
      // A copy: where one is thrown away, a view would keep all that was read with it.
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
      this.destroy() // the line closed this very moment; its clients are let go with it
    }
  }
}

/** Bounds of every raw TCP server; keys of the config table `raw_tcp`. */
export interface RawSocketLimits {
  /** Address to listen on. */
  host: string
  /** Bytes held for one client before the line is paused. */
  backlogBytes: number
  /** Most bytes kept of what one client sent before it left. */
  leftBytes: number
  /** Clients of one address, of one line. */
  clientsPerAddress: number
  /** Clients of all lines together. */
  clients: number
  /** How long one client may hold up the line before it is cut off. */
  slowClientMs: number
  /** How long bytes that passed between line and client may wait to be told. */
  tellMs: number
}

/** Clients turned away may come back at once, for ever: the log says so this often. */
const LOG_EVERY_MS = 60_000

interface Deps {
  limits: RawSocketLimits
  shareOf: ShareOf
  /** Places of all lines together. */
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
    // It may have left: its end comes behind bytes that its kernel holds while none are read.
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
          // One that takes nothing more would never be seen to close.
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

/** Node tells it of a socket that is open, though not in its types. */
function descriptorOf(socket: Socket): number {
  return (socket as Socket & { _handle?: { fd?: number } })._handle?.fd ?? -1
}
