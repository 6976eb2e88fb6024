/** What went through the server: one line and one count for each request, counts for what was turned away. */
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress } from '../net/address.ts'
import type { Metrics } from './metrics.ts'

/** One line for connections turned away is written at most this often. */
const TURNED_AWAY_LINE_MS = 60_000

const BOUNDS_S = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

/** Counts and logs. Labels are the path of the route table, never the path that a client made up. */
export function watchTraffic(app: FastifyInstance, { log, clock, metrics, onAnswered }: Needs): void {
  const durations = metrics.histogram(
    { name: 'http_request_duration_seconds', help: 'Time from head to reply', labels: ['method', 'route', 'status'] },
    BOUNDS_S,
  )
  app.addHook('onResponse', async (request, reply) => {
    const route = request.is404 ? unrouted(reply.statusCode) : (request.routeOptions.url ?? 'unknown')
    const method = app.supportedMethods.includes(request.method) ? request.method : 'other'
    durations.observe({ method, route, status: `${Math.floor(reply.statusCode / 100)}xx` }, reply.elapsedTime / 1000)
    log.info('request', {
      method,
      path: request.url.split('?', 1)[0],
      status: reply.statusCode,
      tookMs: Math.round(reply.elapsedTime),
      from: plainAddress(request.ip),
    })
    onAnswered?.({
      from: plainAddress(request.ip),
      at: plainAddress(request.socket.localAddress),
      agent: request.headers['user-agent'] ?? '',
    })
  })
  const turnedAway = metrics.counter({
    name: 'http_connections_turned_away_total',
    help: 'Connections closed because as many as allowed were open',
  })
  let lastLineMs = Number.NEGATIVE_INFINITY
  app.server.on('drop', () => {
    turnedAway.add()
    if (clock.monotonicMs() - lastLineMs < TURNED_AWAY_LINE_MS) return
    lastLineMs = clock.monotonicMs()
    log.warning('connections_turned_away', { limit: app.server.maxConnections })
  })
}

interface Needs {
  log: Log
  clock: Clock
  metrics: Metrics
  onAnswered?: (contact: Contact) => void
}

/** Two addresses between which a request was answered. */
export interface Contact {
  /** The client's. */
  from: string
  /** The one of this machine's that the request arrived at; empty where the client has gone already. */
  at: string
  /** The User-Agent header, empty where there is none. */
  agent: string
}

/** Pages have no routes: all of them are one label. */
function unrouted(status: number): string {
  return status < 400 ? 'page' : 'unknown'
}
