/**
 * TCP ports of the serial server, and each client: sends, in order and within the backlog, what the line does not pass
 * directly.
 */
import { createServer, type Socket } from 'node:net'
import type { ControlledLine, SteeredSocket } from '#kit/line/line.ts'
import { listening, SocketWriter } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import { networkOf, plainAddress } from '#kit/net/address.ts'
import { Gathered } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Patience, setPatience } from '#native/usbip/index.ts'
import type { Arrival, Client, ClientHandlers, ClientLimits, Listener, ListenerOpener } from '../core/ports.ts'
import { doubledIac, withCrNul } from '../wire/telnet.ts'

// A Node socket whose bytes are read by Node at times and by the serial addon at others.

/** Parts of an open socket that Node's types leave out. */
interface Handle {
  fd?: number
  reading: boolean
  readStart(): void
  readStop(): void
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as Socket & { _handle?: Handle | null })._handle
}

/** -1 if it is closed. */
function descriptorOf(socket: Socket): number {
  return handleOf(socket)?.fd ?? -1
}

/**
 * From now on Node takes nothing from the kernel; `pause` alone would first fill a buffer.
 * @returns what Node had already taken and nobody has received
 */
function stopReading(socket: Socket): Uint8Array | undefined {
  socket.pause()
  // Reading from an empty buffer would start reading.
  const unread = socket.readableLength > 0 ? (socket.read() as Uint8Array | null) : null
  const handle = handleOf(socket)
  if (handle?.reading) {
    handle.reading = false
    handle.readStop()
  }
  return unread ?? undefined
}

/** Lets Node read again, whoever stopped it. */
function startReading(socket: Socket): void {
  socket.resume()
  const handle = handleOf(socket)
  // The stream believes that it is still reading, and would not start again.
  if (handle && !handle.reading) {
    handle.reading = true
    handle.readStart()
  }
}

// What is held back from a client that has suspended us.

/** Messages of our own that are told from the line's bytes; what is between those beyond counts as our own. */
const MOST_OWN = 256

/** The line's bytes and our own, in order. Gathered: a line may say single bytes, and each alone would take 270. */
class HeldBack {
  readonly #gathered = new Gathered()
  #pieces: Uint8Array[] = []
  /** Where our own begin and end, in turn. */
  #own: number[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(bytes: Uint8Array, isOwn: boolean): void {
    const from = this.#length
    this.#length += bytes.length
    this.#gathered.add(bytes, (piece) => this.#pieces.push(piece))
    if (!isOwn) return
    if (this.#own.at(-1) === from || this.#own.length === 2 * MOST_OWN) this.#own.pop()
    else this.#own.push(from)
    this.#own.push(this.#length)
  }

  take(): Uint8Array[] {
    const taken = [...this.#pieces, this.#gathered.take()]
    this.#pieces = []
    this.#own = []
    this.#length = 0
    return taken
  }

  /** Keeps our own. */
  dropOfLine(): void {
    const own = this.#own
    const all = Buffer.concat(this.take())
    for (let at = 0; at < own.length; at += 2) this.add(all.subarray(own[at], own[at + 1]), true)
  }
}

// One client.

/**
 * Owns the socket. Normally the line passes bytes both ways and this only gets reports. Node's socket sends our own
 * bytes in order with them, and what the client did not take at once; until it has caught up it sends everything.
 * Without a line, Node's socket also reads.
 */
class TcpClient implements Client {
  readonly address: string
  readonly port: number
  readonly #socket: Socket
  readonly #handlers: ClientHandlers
  readonly #limits: ClientLimits
  readonly #writer: SocketWriter
  #line: ControlledLine | undefined
  #passed: SteeredSocket | undefined
  /** Whether the line sends to it directly. */
  #isDirect = false
  #reading: Parameters<Client['setReading']>[0] = 'reading'
  #isEnding = false
  #isBehind = false
  #isTelnet = false
  #isNvt = false
  #reads: Parameters<SteeredSocket['steer']>[0] = 'all'
  /** Undefined if nothing is to be held back. */
  #held: HeldBack | undefined

  constructor(socket: Socket, handlers: ClientHandlers, limits: ClientLimits) {
    this.address = plainAddress(socket.remoteAddress)
    this.port = socket.remotePort ?? 0
    this.#socket = socket
    this.#handlers = handlers
    this.#limits = limits
    this.#writer = new SocketWriter(socket, () => this.#caughtUp())
    socket.on('data', (bytes) => handlers.onBytes(bytes, 0))
    socket.on('error', () => this.destroy())
    socket.on('close', () => {
      this.destroy()
      handlers.onClosed()
    })
  }

  get waitingBytes(): number {
    return this.#writer.waitingBytes + (this.#held?.length ?? 0)
  }

  attach(line: ControlledLine): void {
    if (this.#socket.destroyed) return
    const unread = stopReading(this.#socket)
    this.#line = line
    this.#passed = line.pass(descriptorOf(this.#socket), this.#limits.tellMs, {
      onBytes: (bytes, taken) => this.#handlers.onBytes(bytes, taken),
      onBehind: (rest, isHalf) => this.#fallBehind(rest, isHalf),
      onEnded: (errno) => this.#ended(errno),
    })
    this.#passed.goIndirect()
    this.#passed.steer(this.#reads, this.#isTelnet)
    this.#passed.flow(this.#reading)
    this.#goDirect()
    if (unread) this.#handlers.onBytes(unread, 0)
  }

  detach(): void {
    this.#passed?.leave()
    this.#passed = undefined
    this.#line = undefined
    this.#isDirect = false
    if (this.#isRead && !this.#socket.destroyed) startReading(this.#socket)
  }

  steer(reads: 'all' | 'untilCommand' | 'none'): void {
    this.#reads = reads
    this.#passed?.steer(reads, this.#isTelnet)
  }

  setTelnet(isNvt: boolean): void {
    this.#isTelnet = true
    this.#isNvt = isNvt
    this.#passed?.steer(this.#reads, true)
    if (isNvt) this.#goIndirect()
  }

  fromLine(bytes: Uint8Array): void {
    if (!this.#isDirect) this.#send(this.#encoded(bytes), false)
  }

  tell(bytes: Uint8Array): void {
    this.#send(bytes, true)
    if (this.#writer.waitingBytes > 0) this.#goIndirect()
  }

  setHeld(isHeld: boolean): void {
    if (isHeld) {
      this.#held ??= new HeldBack()
      this.#goIndirect()
      return
    }
    const held = this.#held?.take() ?? []
    this.#held = undefined
    for (const bytes of held) this.#send(bytes, false)
    this.#caughtUp()
  }

  setReading(how: 'reading' | 'resting' | 'stopped'): void {
    this.#reading = how
    if (this.#passed) this.#passed.flow(how)
    else if (this.#isRead) startReading(this.#socket)
    else this.#socket.pause()
  }

  /** What Node's socket has taken cannot be dropped. */
  dropWaiting(): void {
    this.#held?.dropOfLine()
  }

  destroy(): void {
    this.#passed?.leave()
    this.#passed = undefined
    this.#socket.destroy()
  }

  #encoded(bytes: Uint8Array): Uint8Array {
    if (!this.#isTelnet) return bytes
    return doubledIac(this.#isNvt ? withCrNul(bytes) : bytes)
  }

  #send(bytes: Uint8Array, isOwn: boolean): void {
    if (this.#socket.destroyed || bytes.length === 0) return
    if (this.#held) this.#held.add(bytes, isOwn)
    else this.#writer.write(bytes)
    if (this.#isBehind || this.waitingBytes <= this.#limits.backlogBytes) return
    this.#isBehind = true
    this.#handlers.onBehind()
  }

  #fallBehind(rest: Uint8Array, isHalf: boolean): void {
    this.#isDirect = false
    const bytes = this.#encoded(rest)
    this.#send(isHalf ? bytes.subarray(1) : bytes, false)
  }

  #caughtUp(): void {
    if (this.waitingBytes > 0) return
    if (this.#isBehind) {
      this.#isBehind = false
      this.#handlers.onCaughtUp()
    }
    this.#goDirect()
  }

  #goDirect(): void {
    if (this.#isDirect || this.#isNvt || this.#held) return
    // Bytes passed earlier may not have reached the client yet, and may put it behind again.
    this.#line?.settle()
    if (this.waitingBytes > 0 || this.#socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  #goIndirect(): void {
    if (!this.#isDirect) return
    // Bytes passed until now are already with the client.
    this.#line?.settle()
    this.#isDirect = false
    this.#passed?.goIndirect()
  }

  /** Node reads what is left, sees the same end, tells the client so and closes. */
  #ended(errno: number): void {
    this.#passed = undefined
    this.#isDirect = false
    if (errno !== 0) {
      this.destroy()
      return
    }
    this.#isEnding = true
    this.#handlers.onEnding()
    if (this.#isRead) startReading(this.#socket)
  }

  /** Bytes of a leaving client are read even while others rest, but not while it waits for a change of the line. */
  get #isRead(): boolean {
    return this.#reading === 'reading' || (this.#isEnding && this.#reading === 'resting')
  }
}

// Listening ports: for both IP versions, with detection of vanished peers.

interface ListenerParts {
  /** Address to listen on; `::` takes IPv4 as well. */
  host: string
  /** When to give up on a vanished peer. */
  patience: Patience
  log: Log
}

export function createListenerOpener(parts: ListenerParts): ListenerOpener {
  return async (tcpPort, onArrival) => {
    const accept = (socket: Socket) => onArrival(arrivalOf(socket, parts))
    const [first, ...others] = parts.host === '::' ? ['::', '0.0.0.0'] : [parts.host]
    try {
      return await open(first ?? '::', tcpPort, accept)
    } catch (fault) {
      const [second] = others
      // A machine without IPv6.
      if (second === undefined || !hasNoFamily(fault)) throw fault
      return await open(second, tcpPort, accept)
    }
  }
}

async function open(host: string, tcpPort: number, accept: (socket: Socket) => void): Promise<Listener> {
  const server = createServer({ noDelay: true, pauseOnConnect: true })
  server.on('connection', accept)
  await listening(server, host, tcpPort)
  // Node calls back only when the last client has left; the port itself is free at once.
  return { close: async () => void server.close() }
}

function arrivalOf(socket: Socket, { patience, log }: ListenerParts): Arrival {
  const address = plainAddress(socket.remoteAddress)
  return {
    address,
    port: socket.remotePort ?? 0,
    network: networkOf(address),
    refuse() {
      socket.on('error', () => {}) // it may be gone already
      socket.resetAndDestroy()
    },
    take(handlers, limits) {
      try {
        setPatience(descriptorOf(socket), patience)
      } catch (error) {
        log.info('keep-alive not set', { client: address, why: String(error) }) // it is gone already
      }
      return new TcpClient(socket, handlers, limits)
    },
  }
}

function hasNoFamily(fault: unknown): boolean {
  const cause = fault instanceof Fault ? (fault.cause as NodeJS.ErrnoException | undefined) : undefined
  return cause?.code === 'EAFNOSUPPORT' || cause?.code === 'EADDRNOTAVAIL'
}
