/** What went through the server: one line and one count for each request, counts for what was turned away. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress } from '../net/address.ts'
import type { Metrics } from './metrics.ts'

/** One line for connections turned away is written at most this often. */
const TURNED_AWAY_LINE_MS = 60_000

const BOUNDS_S = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

/** One request that was answered, by the label of its path in the route table, never by the path that a client made up. */
export interface Answered {
  route: string
  path: string
  status: number
  tookMs: number
}

/** Takes those that Fastify does not see. */
export type CountAnswered = (request: IncomingMessage, answered: Answered) => void

/** Counts and logs. @returns for what is answered without a route */
export function watchTraffic(app: FastifyInstance, { log, clock, metrics, onAnswered }: Needs): CountAnswered {
  const durations = metrics.histogram(
    { name: 'http_request_duration_seconds', help: 'Time from head to reply', labels: ['method', 'route', 'status'] },
    BOUNDS_S,
  )
  const observe = byKind((kind) => durations.of(kind))
  const known: ReadonlySet<string> = new Set(app.supportedMethods)
  function count({ method: said = '', socket, headers }: IncomingMessage, answered: Answered): void {
    const { route, path, status, tookMs } = answered
    const method = known.has(said) ? said : 'other'
    const from = plainAddress(socket.remoteAddress)
    observe(method, route, status)(tookMs / 1000)
    log.info('request', { method, path, status, tookMs: Math.round(tookMs), from })
    onAnswered?.({ from, at: plainAddress(socket.localAddress), agent: headers['user-agent'] ?? '' })
  }
  app.addHook('onResponse', async (request, reply) => {
    const route = request.is404 ? unrouted(reply.statusCode) : (request.routeOptions.url ?? 'unknown')
    const path = request.url.split('?', 1)[0] ?? ''
    count(request.raw, { route, path, status: reply.statusCode, tookMs: reply.elapsedTime })
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
  return count
}

type Observe = (seconds: number) => void

/** Finds who counts a request without making anything: there are few kinds, and requests are many. */
function byKind(make: (kind: { method: string; route: string; status: string }) => Observe) {
  const routes = new Map<string, Map<string, Observe[]>>()
  return (method: string, route: string, status: number): Observe => {
    const methods = routes.get(route) ?? new Map<string, Observe[]>()
    if (methods.size === 0) routes.set(route, methods)
    const classes = methods.get(method) ?? []
    if (classes.length === 0) methods.set(method, classes)
    const hundreds = Math.floor(status / 100)
    classes[hundreds] ??= make({ method, route, status: `${hundreds}xx` })
    return classes[hundreds]
  }
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
