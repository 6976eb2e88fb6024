/** What drivers get of this machine: TCP connections that are kept for a moment, a log that does not overflow. */
import { lookup } from 'node:dns'
import { connect, type LookupFunction, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createSharedLookup } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate, createTurn } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { DriverWorld } from '../core/drivers/driver.ts'

// The TCP connection to one device: opened when something is to be sent, kept for a moment, then closed.

interface ConnectionLimits {
  /** Deadline of connecting. */
  connectMs: number
  /** How long a connection is kept after what was sent last. */
  keepMs: number
}

/** Where a device listens. An IPv6 address stands with or without brackets. */
export interface Place {
  host: string
  port: number
}

/** How long a device that was idle has to close its side. */
const LINGER_MS = 1000

const SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }

const sharedLookup = createSharedLookup((hostname, options, answered) => lookup(hostname, options, answered))

/** A resolver out of reach is asked once for each name, however many devices wait for it. */
const resolved: LookupFunction = (hostname, options, answered) => {
  sharedLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error || options.all) return answered(error, addresses)
    answered(null, addresses[0]?.address ?? '', addresses[0]?.family)
  })
}

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
  readonly #inTurn = createTurn()
  readonly #open = new Set<Socket>()
  #kept: Kept | undefined
  #isClosed = false

  constructor(clock: Clock, limits: ConnectionLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Resolves when the kernel has all bytes. @throws Fault `device_unreachable`, `device_cut_off`, or the reason of `signal` */
  send(place: Place, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
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

  #connect({ host, port }: Place, signal: AbortSignal): Promise<Socket> {
    const name = nameOf({ host, port })
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(cutOff(name))
      const socket = connect({ host: bare(host), port, lookup: resolved, ...SOCKET })
      const late = () =>
        fail(new Fault('device_unreachable', `${name} did not answer within ${durationText(this.#limits.connectMs)}`))
      const timer = this.#clock.after(this.#limits.connectMs, late)
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
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
      socket.once('close', closed)
      // Stays for good: an error of a kept connection is told by its end.
      socket.on('error', (cause: NodeJS.ErrnoException) => fail(unreachable(name, cause)))
      socket.once('connect', () => {
        done()
        socket.resume()
        resolve(socket)
      })
    })
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

function unreachable(name: string, cause: NodeJS.ErrnoException): Fault {
  const { code = cause.message } = cause
  const sentence = code === 'ECONNREFUSED' ? `${name} refuses connections` : `${name} cannot be reached`
  return new Fault('device_unreachable', `${sentence} (${code})`, { cause })
}

function cutOff(name: string, cause?: unknown): Fault {
  return new Fault('device_cut_off', `the connection to ${name} was cut before all was sent`, { cause })
}

function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

function nameOf({ host, port }: Place): string {
  return `${bare(host).includes(':') ? `[${bare(host)}]` : host}:${port}`
}

// The world of a driver.
interface DriverWorldLimits extends ConnectionLimits {
  /** One line of a driver's own a device and period; the others are counted. */
  logEveryMs: number
}

interface DriverWorldParts {
  clock: Clock
  log: Log
  /** 0 <= n < 1 */
  chance(): number
  limits: DriverWorldLimits
}

export function createDriverWorld({ clock, log, chance, limits }: DriverWorldParts): DriverWorld {
  return {
    clock,
    chance,
    open(device) {
      const connection = new DeviceConnection(clock, limits)
      const said = createLogGate(clock, limits.logEveryMs, (count, facts) =>
        log.info('driver_said', { device: device.id, count, ...facts }),
      )
      return {
        log: (sentence) => said.note({ sentence }),
        tcp: (place, bytes, signal) => connection.send(place, bytes, signal),
        close() {
          connection.close()
          said.close()
        },
      }
    },
  }
}
