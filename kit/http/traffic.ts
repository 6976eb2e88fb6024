/** What went through the server: one line and one count for each request. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Log } from '#kit/log.ts'
import { plainAddress } from '../net/address.ts'
import type { Metrics } from './metrics.ts'

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
export function watchTraffic(app: FastifyInstance, { log, metrics, onAnswered }: Needs): CountAnswered {
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
