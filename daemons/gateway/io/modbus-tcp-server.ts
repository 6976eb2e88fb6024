/** TCP servers for Modbus lines: accepts clients, keeps each within its bounds, lets go of those that stay behind. */
import { createServer, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { closed, listening, SocketWriter } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import type { ShareOf } from '#kit/net/address.ts'
import { createPlaces, createPlacesWithin, type Holder } from '#kit/net/places.ts'
import { createLogGate } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { LetGo, ModbusTcpLimits, TcpClient, TcpHouse, TcpPeer, TcpServerOpener } from '../core/modbus/tcp.ts'

/** A client's host that vanished is noticed by probes after this long, and then every so often. */
const KEEP_ALIVE_MS = 30_000

/** Clients let go may come back at once, for ever: the log says so this often. */
const LOG_EVERY_MS = 10_000

export interface ModbusTcpServerParts {
  limits: ModbusTcpLimits
  shareOf: ShareOf
  clock: Clock
  log: Log
}

/** @returns an opener whose servers share the limits */
export function createModbusTcpOpener(parts: ModbusTcpServerParts): TcpServerOpener {
  const { clients_per_address: mostPerAddress, clients: most } = parts.limits
  const all = createPlaces({ most, mostPerAddress: most, shareOf: parts.shareOf })
  return async ({ port, maxClients }, house) => {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }
    const server = createServer({ ...options, pauseOnConnect: true })
    const clients = new Set<Connection>()
    const places = createPlacesWithin(createPlaces({ most: maxClients, mostPerAddress, shareOf: parts.shareOf }), all)
    const gate = createLogGate(parts.clock, LOG_EVERY_MS, (times, facts) =>
      parts.log.warning('modbus tcp clients let go', { port, times, ...facts }),
    )
    const letGo: TellLetGo = (why, detail, socket) => {
      house.onLetGo(why)
      if (why !== 'idle') gate.note({ why, detail, client: socket.remoteAddress })
    }
    server.on('connection', (socket) => {
      const client = new Connection(socket, parts, letGo)
      if (!places.take(socket.remoteAddress ?? '', client)) {
        letGo('full', `${places.size} clients are connected, and no address has more than this one would`, socket)
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

/** One client's socket. It is read while its session wants more and its replies are taken. */
class Connection implements TcpPeer, Holder {
  readonly #socket: Socket
  readonly #parts: ModbusTcpServerParts
  readonly #letGo: TellLetGo
  readonly #writer: SocketWriter
  #client: TcpClient | undefined
  #isPaused = false
  /** Runs while more waits for the client than may, and while one that is let go has not taken all. */
  #slow: Timer | undefined
  #activeMs: number
  #hasAsked = false

  constructor(socket: Socket, parts: ModbusTcpServerParts, letGo: TellLetGo) {
    this.#socket = socket
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
      // A request that comes byte by byte, and never whole, is none: its place is for others.
      if (client.waiting === 0) return
      this.#hasAsked = true
      this.#activeMs = this.#parts.clock.monotonicMs()
    })
    // Who has said all it will say is gone: a Modbus client keeps its connection both ways.
    socket.on('end', () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#slow?.cancel()
      onClosed()
      client.onClosed()
    })
    this.#flow()
  }

  send(bytes: Uint8Array): void {
    const socket = this.#socket
    if (!socket.writable) return
    this.#activeMs = this.#parts.clock.monotonicMs()
    this.#writer.write(bytes)
    if (this.#writer.waitingBytes <= this.#parts.limits.backlog_bytes || this.#slow) return
    this.#slow = this.#parts.clock.after(this.#parts.limits.slow_client_ms, () => {
      this.#letGo('slow', `${this.#writer.waitingBytes} bytes of replies were not taken`, socket)
      socket.destroy()
    })
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

  /** Others need its place: what it has yet to be sent goes with it. */
  giveWay(): void {
    this.#letGo('evicted', 'another address needs the place', this.#socket)
    this.#socket.destroy()
  }

  use(): ReturnType<Holder['use']> {
    const isWaiting = this.#client !== undefined && this.#client.waiting > 0
    // Who has never asked goes before who asks now and then.
    return { use: isWaiting ? 'busy' : 'kept', sinceMs: this.#hasAsked ? this.#activeMs : Number.NEGATIVE_INFINITY }
  }

  end(why: LetGo, detail: string): void {
    if (!this.#socket.writable) return
    this.#letGo(why, detail, this.#socket)
    this.#writer.end()
    // Who does not take what was sent must not keep a place for ever.
    this.#slow ??= this.#parts.clock.after(this.#parts.limits.slow_client_ms, () => this.#socket.destroy())
  }

  /** @returns since when it has neither asked nor been answered; undefined while it waits for an answer */
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
    if (this.#isPaused || this.#slow) this.#socket.pause()
    else this.#socket.resume()
  }
}

function watchIdle({ clock, limits }: ModbusTcpServerParts, clients: ReadonlySet<Connection>): Timer | undefined {
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
