/** TCP to devices: short-lived connections for sending, and lasting connections that are read. */
import { lookup } from 'node:dns'
import { connect, type LookupFunction, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { createSharedLookup } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Place, Sender } from '../../core/drivers/driver.ts'
import { within } from '../../core/turns.ts'

export interface ConnectionLimits extends UnsentLimits {
  /** Timeout of connecting. */
  connectMs: number
  /** How long a connection is kept after the last message. */
  keepMs: number
}

/** How long a device has to close its side after an idle connection was ended. */
export const LINGER_MS = 1000

const SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }

// Connecting.

const sharedLookup = createSharedLookup((hostname, options, answered) => lookup(hostname, options, answered))

/** Shares look-ups: a resolver out of reach is asked once per name, however many devices wait. */
export const resolved: LookupFunction = (hostname, options, answered) => {
  sharedLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error || options.all) return answered(error, addresses)
    answered(null, addresses[0]?.address ?? '', addresses[0]?.family)
  })
}

/**
 * @param opened receives the socket before it is connected: destroying it then makes this fail
 * @returns a socket that is not read yet; its errors are reported by its end
 * @throws Fault `device_unreachable`, `device_cut_off`, or the reason of `signal`
 */
export async function connectTcp(
  place: Place,
  { clock, connectMs }: { clock: Clock; connectMs: number },
  signal: AbortSignal,
  opened: (socket: Socket) => void = () => {},
): Promise<Socket> {
  signal.throwIfAborted()
  const { host, port } = place
  const name = addressText(place)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host: bare(host), port, lookup: resolved, ...SOCKET })
  opened(socket)
  socket.once('close', () => reject(cutOff(name)))
  // Stays for good: errors of an open connection are reported by its end.
  socket.on('error', (cause: NodeJS.ErrnoException) => reject(unreachable(name, cause)))
  socket.once('connect', resolve)
  await untilOpen(promise, {
    ...{ clock, connectMs, signal },
    late: () => tooSlow(name, connectMs),
    destroy: () => socket.destroy(),
  })
  return socket
}

interface Opening {
  clock: Clock
  connectMs: number
  signal: AbortSignal
  /** The error for a connection that takes longer. */
  late(): Fault
  /** Ends what was not opened. */
  destroy(): void
}

/** @throws what `open` rejects with, `late()`, or the reason of `signal` */
export async function untilOpen(open: Promise<void>, by: Opening): Promise<void> {
  const { clock, connectMs, signal, late, destroy } = by
  try {
    await within(open, { clock, limitMs: connectMs, late, stop: signal })
  } catch (reason) {
    destroy()
    throw reason
  }
}

// The queue of messages.

export interface UnsentLimits {
  /** Most messages queued for one device. */
  unsent: number
  /** Most bytes of those messages. */
  unsentBytes: number
}

/** Runs the tasks of one device one after another, whether or not earlier ones failed. */
export class SendTurns {
  readonly #limits: UnsentLimits
  readonly #name: string
  #before: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #bytes = 0

  /** @param name the device's name in messages */
  constructor(limits: UnsentLimits, name: string) {
    this.#limits = limits
    this.#name = name
  }

  /** Bytes of queued messages, including the one in progress. */
  get bytes(): number {
    return this.#bytes
  }

  /** @param size of the message; a single one may have any. @throws Fault `device_busy`, or what `task` threw */
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

// A connection that is opened to send something, kept for a moment, then closed.

interface Kept {
  socket: Socket
  name: string
  idle: Timer | undefined
}

/**
 * Lives as long as a session. Sends one message after another; what the device answers is discarded. A connection is
 * kept only for a moment: meanwhile it preserves the order of messages. Later, a new one proves that the device is
 * there, and a device that serves one client at a time is free for others.
 */
export class DeviceConnection {
  readonly #clock: Clock
  readonly #limits: ConnectionLimits
  readonly #turns: SendTurns
  readonly #open = new Set<Socket>()
  #kept: Kept | undefined
  #isClosed = false

  /** @param name the device's name in messages */
  constructor(clock: Clock, limits: ConnectionLimits, name: string) {
    this.#clock = clock
    this.#limits = limits
    this.#turns = new SendTurns(limits, name)
  }

  /**
   * Resolves when the kernel has accepted all bytes. @throws Fault `device_unreachable`, `device_cut_off`, or the
   * reason of `signal`
   */
  send(place: Place, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    return this.#turns.run(bytes.length, async () => {
      const name = addressText(place)
      const kept = await this.#usable(name)
      if (kept) {
        try {
          return await this.#write(kept, bytes, signal)
        } catch (error) {
          // The kernel had lost the connection before it accepted the bytes: they may be sent on a new one.
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

  /** Sends in progress fail; what was sent still arrives. */
  close(): void {
    this.#isClosed = true
    this.#kept?.idle?.cancel()
    for (const socket of this.#open) {
      if (socket === this.#kept?.socket) socket.destroySoon()
      else socket.destroy()
    }
    this.#kept = undefined
  }

  /** The kept connection, if it leads to this place and the other side has not ended it. */
  async #usable(name: string): Promise<Kept | undefined> {
    const kept = this.#kept
    if (!kept) return undefined
    this.#kept = undefined
    kept.idle?.cancel()
    // Lets the event loop read a pending end of the connection.
    await new Promise<void>((resolve) => this.#clock.soon(resolve))
    if (kept.name === name && kept.socket.writable && !kept.socket.readableEnded) return kept
    kept.socket.destroySoon()
    return undefined
  }

  async #connect(place: Place, signal: AbortSignal): Promise<Socket> {
    if (this.#isClosed) throw cutOff(addressText(place))
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
      // Half of the message may be out: nothing else may follow on this connection.
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

// A lasting connection.

/** Carries bytes: a connected socket. */
export interface Wire {
  /** Resolves when the kernel has accepted all bytes. @throws Fault `device_cut_off` */
  write(bytes: Uint8Array): Promise<void>
  /** Pauses or resumes reading. @returns false if the other side cannot be held back */
  hold(isHeld: boolean): boolean
  /** What was written still arrives. */
  close(): void
}

/** Events of a wire. */
export interface WireEvents {
  bytes(chunk: Uint8Array): void
  /** Called once, whatever the cause. */
  closed(reason: string): void
}

/** @param socket connected and not read yet; the wire owns it from now on */
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

// Errors and names.

export function unreachable(name: string, cause: NodeJS.ErrnoException): Fault {
  const { code = cause.message } = cause
  const sentence = code === 'ECONNREFUSED' ? `${name} refuses connections` : `${name} cannot be reached`
  return new Fault('device_unreachable', `${sentence} (${code})`, { cause })
}

export function tooSlow(name: string, connectMs: number): Fault {
  return new Fault('device_unreachable', `${name} did not answer within ${durationText(connectMs)}`)
}

export function cutOff(name: string, cause?: unknown): Fault {
  return new Fault('device_cut_off', `the connection to ${name} was cut before all was sent`, { cause })
}

export function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

export function addressText({ host, port }: Place): string {
  return `${bare(host).includes(':') ? `[${bare(host)}]` : host}:${port}`
}
