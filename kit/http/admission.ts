/** Who may connect: places for each address and in all. A head that is not whole, and a connection at rest, make room. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate } from '#kit/log-gate.ts'
import { createPlaces, type Holder, type Use } from '#kit/places.ts'
import type { ShareOf } from '../net/address.ts'
import type { Metrics } from './metrics.ts'

/** One line for connections turned away is written at most this often. */
const TURNED_AWAY_LINE_MS = 60_000

export interface AdmissionNeeds {
  config: Pick<HttpConfig, 'max_connections' | 'max_connections_per_address'>
  shareOf: ShareOf
  clock: Clock
  log: Log
  metrics: Metrics
}

/** The door of one daemon, for every server that its address needs: `localhost` is two. */
export interface Admission {
  /** Before the server listens. */
  guard(server: Server): void
  /** Writes what was counted and not said yet. */
  close(): void
}

export function createAdmission({ config, shareOf, clock, log, metrics }: AdmissionNeeds): Admission {
  const { max_connections: most, max_connections_per_address: mostPerAddress } = config
  const places = createPlaces({ most, mostPerAddress, shareOf })
  const gate = createLogGate(clock, TURNED_AWAY_LINE_MS, (times, facts) =>
    log.warning('connections_turned_away', { times, ...facts, limit: most, limitPerAddress: mostPerAddress }),
  )
  count(metrics, () => places.counts())

  function admit(socket: Socket): Connection | undefined {
    const address = socket.remoteAddress ?? ''
    const { evicted } = places.counts()
    const connection = new Connection(socket, clock)
    const isIn = places.take(address, connection)
    if (!isIn || places.counts().evicted > evicted) gate.note({ last: isIn ? 'made room' : 'refused', for: address })
    if (!isIn) {
      socket.destroy()
      return undefined
    }
    socket.once('close', () => places.leave(connection))
    return connection
  }

  return {
    guard(server) {
      const connections = new WeakMap<Socket, Connection>()
      server.on('connection', (socket) => {
        const connection = admit(socket)
        if (connection) connections.set(socket, connection)
      })
      server.prependListener('request', ({ socket }, response) => {
        const connection = connections.get(socket)
        if (!connection) return
        connection.asks()
        response.on('close', connection.answered)
      })
      // Without this listener Node answers an upgrade as any other request: nothing is added but to servers that have one.
      server.on('newListener', function watchUpgrades(event) {
        if (event !== 'upgrade') return
        server.off('newListener', watchUpgrades)
        server.on('upgrade', ({ socket }) => connections.get(socket as Socket)?.lasts())
      })
    },
    close: () => gate.close(),
  }
}

/** What a daemon has open beside connections: lines, sockets, databases, its own files. */
const OTHER_FILES = 128

/**
 * Connections never take the last file that the process may open: without one no disk, line or network can be looked at.
 * Node has raised its own limit as far as it may by now. @source proc_pid_limits(5)
 */
export function withinFiles<Config extends { max_connections: number }>(
  config: Config,
  log: Pick<Log, 'warning'>,
  files = openFiles(),
): Config {
  const { limit, open } = files
  if (limit >= open + config.max_connections + OTHER_FILES) return config
  const max_connections = Math.max(1, Math.min(config.max_connections, Math.floor((limit - open) / 2)))
  const remedy = `raise LimitNOFILE (ulimit -n) to ${open + config.max_connections + OTHER_FILES}`
  log.warning('few files may be open', { limit, connections: max_connections, remedy })
  return { ...config, max_connections }
}

function openFiles(): { limit: number; open: number } {
  const [, limit = 'unlimited'] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return {
    limit: limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit),
    open: readdirSync('/proc/self/fd').length,
  }
}

function count(metrics: Metrics, counts: () => { refused: number; evicted: number }): void {
  metrics.counts(
    {
      name: 'http_connections_turned_away_total',
      help: 'Connections closed because as many as allowed were open, in all or of their address',
    },
    () => [{ labels: {}, value: counts().refused }],
  )
  metrics.counts(
    { name: 'http_connections_evicted_total', help: 'Connections closed to make room for another address' },
    () => [{ labels: {}, value: counts().evicted }],
  )
}

class Connection implements Holder {
  readonly #socket: Socket
  readonly #clock: Clock
  #use: Use = 'opening'
  #sinceMs: number
  #waiting = 0

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  use(): { use: Use; sinceMs: number } {
    return { use: this.#use, sinceMs: this.#sinceMs }
  }

  giveWay(): void {
    this.#socket.destroy()
  }

  asks(): void {
    if (this.#waiting++ === 0) this.#is('busy')
  }

  readonly answered = (): void => {
    if (--this.#waiting === 0) this.#is('idle')
  }

  lasts(): void {
    this.#is('lasting')
  }

  #is(use: Use): void {
    this.#use = use
    this.#sinceMs = this.#clock.monotonicMs()
  }
}
