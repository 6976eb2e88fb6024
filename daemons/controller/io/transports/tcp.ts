/** TCP to devices: connections that are kept for a moment for what is sent, and connections that stay and are heard. */
import { lookup } from 'node:dns'
import { connect, type LookupFunction, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { createSharedLookup } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Place, Sender } from '../../core/drivers/driver.ts'

export interface ConnectionLimits extends UnsentLimits {
  /** Deadline of connecting. */
  connectMs: number
  /** How long a connection is kept after what was sent last. */
  keepMs: number
}

/** How long a device that was idle has to close its side. */
const LINGER_MS = 1000

const SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }

// Connecting.

const sharedLookup = createSharedLookup((hostname, options, answered) => lookup(hostname, options, answered))

/** A resolver out of reach is asked once for each name, however many devices wait for it. */
export const resolved: LookupFunction = (hostname, options, answered) => {
  sharedLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error || options.all) return answered(error, addresses)
    answered(null, addresses[0]?.address ?? '', addresses[0]?.family)
  })
}

/**
 * @param opened is given the socket before it is connected: whoever destroys it then makes this fail
 * @returns a socket that is not read yet; its errors are told by its end
 * @throws Fault `device_unreachable`, `device_cut_off`, or the reason of `signal`
 */
export function connectTcp(
  place: Place,
  { clock, connectMs }: { clock: Clock; connectMs: number },
  signal: AbortSignal,
  opened: (socket: Socket) => void = () => {},
): Promise<Socket> {
  const { host, port } = place
  const name = nameOf(place)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: bare(host), port, lookup: resolved, ...SOCKET })
    const late = () => fail(new Fault('device_unreachable', `${name} did not answer within ${durationText(connectMs)}`))
    const timer = clock.after(connectMs, late)
    const stopped = () => fail(signal.reason)
    const fail = (reason: unknown) => {
      done()
      socket.destroy()
      reject(reason)
    }
    const done = () => {
      timer.cancel()
      signal.removeEventListener('abort', stopped)
      socket.off('close', closed)
    }
    const closed = () => fail(cutOff(name))
    signal.addEventListener('abort', stopped, { once: true })
    opened(socket)
    socket.once('close', closed)
    // Stays for good: an error of a connection that stands is told by its end.
    socket.on('error', (cause: NodeJS.ErrnoException) => fail(unreachable(name, cause)))
    socket.once('connect', () => {
      done()
      resolve(socket)
    })
  })
}

// Messages that wait.

export interface UnsentLimits {
  /** Messages that wait for one device. */
  unsent: number
  /** Their bytes. */
  unsentBytes: number
}

/** One after another, whatever came of those before. Of one device. */
export class SendTurns {
  readonly #limits: UnsentLimits
  readonly #name: string
  #before: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #bytes = 0

  /** @param name as sentences name the device */
  constructor(limits: UnsentLimits, name: string) {
    this.#limits = limits
    this.#name = name
  }

  /** Of what waits, what is under way included. */
  get bytes(): number {
    return this.#bytes
  }

  /** @param size of the message; one alone may have any. @throws Fault `device_busy`, or what `task` threw */
  run<Result>(size: number, task: () => Promise<Result>): Promise<Result> {
    const { unsent, unsentBytes } = this.#limits
    if (this.#waiting > unsent || (this.#waiting > 0 && this.#bytes + size > unsentBytes)) {
      const sentence = `${this.#waiting} messages with ${this.#bytes} bytes wait for ${this.#name} already`
      return Promise.reject(new Fault('device_busy', sentence))
    }
    this.#waiting++
    this.#bytes += size
    const mine = this.#before.then(task).finally(() => {
      this.#waiting--
      this.#bytes -= size
    })
    this.#before = mine.catch(() => {})
    return mine
  }
}

// A connection that is opened when something is to be sent, kept for a moment, then closed.

interface Kept {
  socket: Socket
  name: string
  idle: Timer | undefined
}

/**
 * Lives as long as a session. Sends one after another; what the device answers is thrown away.
 * Kept for a moment only: within it order is that of one connection, after it a new one proves that the device is
 * there, and a device that serves one client is free for others.
 */
export class DeviceConnection {
  readonly #clock: Clock
  readonly #limits: ConnectionLimits
  readonly #turns: SendTurns
  readonly #open = new Set<Socket>()
  #kept: Kept | undefined
  #isClosed = false

  /** @param name as sentences name the device */
  constructor(clock: Clock, limits: ConnectionLimits, name: string) {
    this.#clock = clock
    this.#limits = limits
    this.#turns = new SendTurns(limits, name)
  }

  /** Resolves when the kernel has all bytes. @throws Fault `device_unreachable`, `device_cut_off`, or the reason of `signal` */
  send(place: Place, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    return this.#turns.run(bytes.length, async () => {
      const name = nameOf(place)
      const kept = await this.#usable(name)
      if (kept) {
        try {
          return await this.#write(kept, bytes, signal)
        } catch (error) {
          // The kernel had lost the connection before it took the bytes: they may go out on a new one.
          if (signal.aborted || this.#isClosed) throw error
        }
      }
      signal.throwIfAborted()
      const socket = await this.#connect(place, signal)
      await this.#write({ socket, name, idle: undefined }, bytes, signal)
    })
  }

  to(place: Place): Sender {
    return { send: (bytes, signal) => this.send(place, bytes, signal) }
  }

  /** What is under way fails; what was sent still arrives. */
  close(): void {
    this.#isClosed = true
    this.#kept?.idle?.cancel()
    for (const socket of this.#open) {
      if (socket === this.#kept?.socket) socket.destroySoon()
      else socket.destroy()
    }
    this.#kept = undefined
  }

  /** The connection that is kept, where it goes there and the other side has not ended it. */
  async #usable(name: string): Promise<Kept | undefined> {
    const kept = this.#kept
    if (!kept) return undefined
    this.#kept = undefined
    kept.idle?.cancel()
    // That the device hung up may lie there unread.
    await new Promise<void>((resolve) => this.#clock.soon(resolve))
    if (kept.name === name && kept.socket.writable && !kept.socket.readableEnded) return kept
    kept.socket.destroySoon()
    return undefined
  }

  async #connect(place: Place, signal: AbortSignal): Promise<Socket> {
    if (this.#isClosed) throw cutOff(nameOf(place))
    const socket = await connectTcp(place, { clock: this.#clock, ...this.#limits }, signal, (opened) => {
      this.#open.add(opened)
      opened.once('close', () => this.#open.delete(opened))
    })
    return socket.resume()
  }

  #write(kept: Kept, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const { socket, name } = kept
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        this.#keep(kept)
        return reject(signal.reason)
      }
      // Half of it may be out: nothing else may follow on this connection.
      const stopped = () => {
        socket.destroy()
        reject(signal.reason)
      }
      const closed = () => end()
      const end = (error?: Error | null) => {
        signal.removeEventListener('abort', stopped)
        socket.off('close', closed)
        if (error || socket.destroyed) return reject(cutOff(name, error))
        this.#keep(kept)
        resolve()
      }
      signal.addEventListener('abort', stopped, { once: true })
      socket.once('close', closed)
      socket.write(bytes, end)
    })
  }

  #keep(kept: Kept): void {
    this.#kept = kept
    kept.idle = this.#clock.after(this.#limits.keepMs, () => {
      if (this.#kept === kept) this.#kept = undefined
      kept.socket.end()
      const linger = this.#clock.after(LINGER_MS, () => kept.socket.destroy())
      kept.socket.once('close', () => linger.cancel())
    })
  }
}

// A connection that stays.

/** What carries bytes: a socket that is connected. */
export interface Wire {
  /** Resolves when the kernel has all bytes. @throws Fault `device_cut_off` */
  write(bytes: Uint8Array): Promise<void>
  /** Stops reading, or goes on. @returns false where nothing can hold the other side back */
  hold(isHeld: boolean): boolean
  /** What was written still arrives. */
  close(): void
}

/** What a wire says. */
export interface WireEvents {
  bytes(chunk: Uint8Array): void
  /** Once, however it came. */
  closed(reason: string): void
}

/** @param socket connected, and not read yet; it is the wire's from now on */
export function tcpWire(socket: Socket, name: string, clock: Clock, { bytes, closed }: WireEvents): Wire {
  let reason = `${name} closed the connection`
  socket.on('error', (error: NodeJS.ErrnoException) => {
    reason = `the connection to ${name} broke (${error.code ?? error.message})`
  })
  socket.once('close', () => closed(reason))
  socket.on('data', bytes)
  return {
    write(message) {
      return new Promise((resolve, reject) => {
        socket.write(message, (error) => (error ? reject(cutOff(name, error)) : resolve()))
      })
    },
    hold(isHeld) {
      if (isHeld) socket.pause()
      else socket.resume()
      return true
    },
    close() {
      socket.destroySoon()
      const linger = clock.after(LINGER_MS, () => socket.destroy())
      socket.once('close', () => linger.cancel())
    },
  }
}

// What is said of it.

export function unreachable(name: string, cause: NodeJS.ErrnoException): Fault {
  const { code = cause.message } = cause
  const sentence = code === 'ECONNREFUSED' ? `${name} refuses connections` : `${name} cannot be reached`
  return new Fault('device_unreachable', `${sentence} (${code})`, { cause })
}

export function cutOff(name: string, cause?: unknown): Fault {
  return new Fault('device_cut_off', `the connection to ${name} was cut before all was sent`, { cause })
}

export function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

export function nameOf({ host, port }: Place): string {
  return `${bare(host).includes(':') ? `[${bare(host)}]` : host}:${port}`
}
