/** TCP servers of lines: they accept clients, enforce the limits, and disconnect slow and idle clients. */
import { createServer, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { closed, descriptorOf, listening, SocketWriter } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import type { ShareOf } from '#kit/net/address.ts'
import { createPlaces, createPlacesWithin, type Holder } from '#kit/net/places.ts'
import { createLogGate } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { LetGo, LineTcpLimits, TcpClient, TcpHouse, TcpPeer, TcpServerOpener } from '../core/lines/tcp.ts'

/** Time until keep-alive probes start, so that a client whose host has vanished is noticed. */
const KEEP_ALIVE_MS = 30_000

/** Disconnected clients may reconnect at once, for ever; the log reports them at most this often. */
const LOG_EVERY_MS = 10_000

export interface LineTcpServerParts {
  /** In the log: `modbus tcp`. */
  name: string
  limits: LineTcpLimits
  shareOf: ShareOf
  clock: Clock
  log: Log
}

/** @returns an opener whose servers share the limits */
export function createLineTcpOpener(parts: LineTcpServerParts): TcpServerOpener {
  const { clients_per_address: mostPerAddress, clients: most } = parts.limits
  const all = createPlaces({ most, mostPerAddress: most, shareOf: parts.shareOf })
  return async ({ port, maxClients }, house) => {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }
    const server = createServer({ ...options, pauseOnConnect: true })
    const clients = new Set<Connection>()
    const places = createPlacesWithin(createPlaces({ most: maxClients, mostPerAddress, shareOf: parts.shareOf }), all)
    const gate = createLogGate(parts.clock, LOG_EVERY_MS, (times, facts) =>
      parts.log.warning(`${parts.name} clients let go`, { port, times, ...facts }),
    )
    const letGo: TellLetGo = (why, detail, socket) => {
      house.onLetGo(why)
      if (why !== 'idle') gate.note({ why, detail, client: socket.remoteAddress })
    }
    server.on('connection', (socket) => {
      const client = new Connection(socket, parts, letGo)
      if (!places.take(socket.remoteAddress ?? '', client)) {
        letGo('full', `${places.size} clients are connected, and no other address has more than this one`, socket)
        socket.destroy()
        return
      }
      clients.add(client)
      client.open(house, () => {
        places.leave(client)
        clients.delete(client)
      })
    })
    await listening(server, parts.limits.host, port)
    const idle = watchIdle(parts, clients)
    return {
      async close() {
        idle?.cancel()
        await closed(server, () => {
          for (const client of clients) client.destroy()
        })
        gate.close()
      },
    }
  }
}

type TellLetGo = (why: LetGo, detail: string, socket: Socket) => void

/** One client's socket. It is read only while its session accepts more and the client takes its replies. */
class Connection implements TcpPeer, Holder {
  readonly #socket: Socket
  readonly #parts: LineTcpServerParts
  readonly #letGo: TellLetGo
  readonly #writer: SocketWriter
  #client: TcpClient | undefined
  /** Who reads the socket. */
  #reader: { pause(): void; resume(): void }
  #isPaused = false
  /**
   * Runs while the client has more than `backlog_bytes` to take, or is being disconnected and has not taken all yet.
   */
  #slow: Timer | undefined
  #activeMs: number
  #hasAsked = false

  constructor(socket: Socket, parts: LineTcpServerParts, letGo: TellLetGo) {
    this.#socket = socket
    this.#reader = socket
    this.#parts = parts
    this.#letGo = letGo
    this.#writer = new SocketWriter(socket, () => this.#caughtUp())
    this.#activeMs = parts.clock.monotonicMs()
  }

  open(house: TcpHouse, onClosed: () => void): void {
    const socket = this.#socket
    const client = house.onClient(this)
    this.#client = client
    socket.on('data', (bytes: Buffer) => {
      client.onBytes(bytes)
      // A request that comes byte by byte and is never complete does not count: its place is for others.
      if (client.waiting === 0) return
      this.#hasAsked = true
      this.#activeMs = this.#parts.clock.monotonicMs()
    })
    // A client that has closed its sending side is gone: these clients keep both directions open.
    socket.on('end', () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#slow?.cancel()
      onClosed()
      client.onClosed()
    })
    this.#flow()
  }

  get address(): string {
    return this.#socket.remoteAddress ?? ''
  }

  get waitingBytes(): number {
    return this.#writer.waitingBytes
  }

  get descriptor(): number {
    return this.#socket.destroyed ? -1 : descriptorOf(this.#socket)
  }

  send(bytes: Uint8Array, isUnasked = false): void {
    const socket = this.#socket
    if (!socket.writable) return
    if (!isUnasked) {
      this.#hasAsked = true
      this.#activeMs = this.#parts.clock.monotonicMs()
    }
    if (bytes.length > 0) this.#writer.write(bytes)
    if (this.#writer.waitingBytes <= this.#parts.limits.backlog_bytes || this.#slow) return
    this.#slow = this.#parts.clock.after(this.#parts.limits.slow_client_ms, () => {
      this.#letGo('slow', `${this.#writer.waitingBytes} bytes of replies were not taken`, socket)
      socket.destroy()
    })
    this.#flow()
  }

  readBy(reader: { pause(): void; resume(): void } | undefined): void {
    this.#reader = reader ?? this.#socket
    this.#flow()
  }

  pause(): void {
    this.#isPaused = true
    this.#flow()
  }

  resume(): void {
    this.#isPaused = false
    this.#flow()
  }

  /** Another address needs its place: whatever is still to be sent to this client is dropped. */
  giveWay(): void {
    this.#letGo('evicted', 'another address needs the place', this.#socket)
    this.#socket.destroy()
  }

  use(): ReturnType<Holder['use']> {
    const isWaiting = this.#client !== undefined && this.#client.waiting > 0
    // A client that has never asked is evicted before one that asks now and then.
    return { use: isWaiting ? 'busy' : 'kept', sinceMs: this.#hasAsked ? this.#activeMs : Number.NEGATIVE_INFINITY }
  }

  end(why: LetGo, detail: string): void {
    if (!this.#socket.writable) return
    this.#letGo(why, detail, this.#socket)
    this.#writer.end()
    // A client that does not take its last replies must not keep its place for ever.
    this.#slow ??= this.#parts.clock.after(this.#parts.limits.slow_client_ms, () => this.#socket.destroy())
  }

  /** @returns since when it has neither asked nor been answered; undefined while it waits for a reply */
  get idleSinceMs(): number | undefined {
    return this.#client?.waiting === 0 ? this.#activeMs : undefined
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #caughtUp(): void {
    this.#slow?.cancel()
    this.#slow = undefined
    this.#flow()
  }

  #flow(): void {
    if (this.#isPaused || this.#slow) this.#reader.pause()
    else this.#reader.resume()
  }
}

function watchIdle({ clock, limits }: LineTcpServerParts, clients: ReadonlySet<Connection>): Timer | undefined {
  const idleMs = limits.idle_ms
  if (idleMs === 0) return undefined
  return clock.every(Math.max(1, Math.round(idleMs / 8)), () => {
    for (const client of clients) {
      const sinceMs = client.idleSinceMs
      if (sinceMs !== undefined && clock.monotonicMs() - sinceMs >= idleMs)
        client.end('idle', `nothing was asked for ${durationText(idleMs)}`)
    }
  })
}
