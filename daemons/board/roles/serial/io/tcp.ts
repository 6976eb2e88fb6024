/** TCP ports of the serial server, and each client: what the line does not pass by itself, in order, within the backlog. */
import { createServer, type Socket } from 'node:net'
import type { ControlledLine, SteeredSocket } from '#kit/line/line.ts'
import { listening, SocketWriter } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import { networkOf, plainAddress } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Patience, setPatience } from '#native/usbip/index.ts'
import type { Arrival, Client, ClientHandlers, ClientLimits, Listener, ListenerOpener } from '../core/ports.ts'
import { doubledIac, withCrNul } from '../wire/telnet.ts'

// A socket of Node whose bytes are read by Node at one time and by the serial addon at another.

/** What Node's types leave out of an open socket. */
interface Handle {
  fd?: number
  reading: boolean
  readStart(): void
  readStop(): void
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as Socket & { _handle?: Handle | null })._handle
}

/** -1 where it is no more. */
function descriptorOf(socket: Socket): number {
  return handleOf(socket)?.fd ?? -1
}

/**
 * From now on Node takes nothing from the kernel: `pause` alone would fill a buffer first.
 * @returns what Node had taken and nobody has had
 */
function stopReading(socket: Socket): Uint8Array | undefined {
  socket.pause()
  // Asking for what is not there would begin to read.
  const unread = socket.readableLength > 0 ? (socket.read() as Uint8Array | null) : null
  const handle = handleOf(socket)
  if (handle?.reading) {
    handle.reading = false
    handle.readStop()
  }
  return unread ?? undefined
}

/** Node reads again, whoever stopped it. */
function startReading(socket: Socket): void {
  socket.resume()
  const handle = handleOf(socket)
  // The stream believes that it is reading still, and would not begin again.
  if (handle && !handle.reading) {
    handle.reading = true
    handle.readStart()
  }
}

// One client.

/**
 * Owns the socket. While there is a line, and all is well, the line passes bytes both ways by itself and this only hears
 * of them. Node's socket sends what is in order with them but not of the line, and what the client did not take at once;
 * until it has caught up it sends all. Without a line Node's socket reads, too.
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
  /** The line sends to it by itself. */
  #isDirect = false
  #reading: Parameters<Client['setReading']>[0] = 'reading'
  #isEnding = false
  #isBehind = false
  #isTelnet = false
  #isNvt = false
  #reads: Parameters<SteeredSocket['steer']>[0] = 'all'
  /** What is held back, in order; undefined while nothing is. Of the line, or our own words. */
  #held: { bytes: Uint8Array; isOwn: boolean }[] | undefined
  #heldBytes = 0

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
    return this.#writer.waitingBytes + this.#heldBytes
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
      this.#held ??= []
      this.#goIndirect()
      return
    }
    const held = this.#held ?? []
    this.#held = undefined
    this.#heldBytes = 0
    for (const { bytes, isOwn } of held) this.#send(bytes, isOwn)
    this.#caughtUp()
  }

  setReading(how: 'reading' | 'resting' | 'stopped'): void {
    this.#reading = how
    if (this.#passed) this.#passed.flow(how)
    else if (this.#isRead) startReading(this.#socket)
    else this.#socket.pause()
  }

  /** What Node's socket has is on its way. */
  dropWaiting(): void {
    if (this.#held === undefined) return
    this.#held = this.#held.filter(({ isOwn }) => isOwn)
    this.#heldBytes = this.#held.reduce((sum, { bytes }) => sum + bytes.length, 0)
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
    if (this.#held) {
      this.#held.push({ bytes, isOwn })
      this.#heldBytes += bytes.length
    } else this.#writer.write(bytes)
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
    // What has passed before is not yet with the client, and may put it behind again.
    this.#line?.settle()
    if (this.waitingBytes > 0 || this.#socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  #goIndirect(): void {
    if (!this.#isDirect) return
    // What has passed until now is with the client already.
    this.#line?.settle()
    this.#isDirect = false
    this.#passed?.goIndirect()
  }

  /** Node reads what is left, finds the same end, tells the client so and closes. */
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

  /** What a leaving client has sent is read even while others rest, but not while it waits for a change of the line. */
  get #isRead(): boolean {
    return this.#reading === 'reading' || (this.#isEnding && this.#reading === 'resting')
  }
}

// Ports that listen: for both families, with peers that are found when they vanish.

interface ListenerParts {
  /** Address to listen on; `::` takes IPv4 as well. */
  host: string
  /** When a peer that has vanished is given up. */
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
  // Node calls back when the last client has left, too; the port itself is free at once.
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
