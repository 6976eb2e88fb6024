/** Raw TCP to a line: accepts clients, keeps each within its backlog, cuts off one that stays behind. */
import { createServer, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate, type LogGate } from '#kit/log-gate.ts'
import { createPlaces, createPlacesWithin, type Holder, type Places } from '#kit/places.ts'
import type { ShareOf } from '../net/address.ts'
import { RawClient } from './raw-client.ts'
import type { RawSocketLine, RawSocketOpener } from './raw-line.ts'
import { closed, listening } from './tcp-port.ts'

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
