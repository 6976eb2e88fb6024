/** Metrics for Prometheus, those of the traffic among them. */

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { Log } from '../log.ts'
import { plainAddress } from '../net/address.ts'

// How often something took how long, in the form that prom-client gathers: counted by additions alone, as every request is.

type Labels = Readonly<Record<string, string | number>>

/** One value of a histogram, as a registry of prom-client takes it. */
interface HistogramValue {
  metricName: string
  labels: Labels
  value: number
}

interface Histogram {
  /** @returns counts one more under these labels, in seconds; made once by who counts often */
  of(labels: Labels): (seconds: number) => void
  /** All counts under names that end in `_bucket`, `_sum` and `_count`. @source Prometheus exposition formats, text format 0.0.4 */
  values(): HistogramValue[]
}

interface Counted {
  labels: Labels
  /** One for each bound, and one for all that is above them. */
  buckets: number[]
  sum: number
}

/** @param boundsS upper bounds in seconds, ascending */
export function createHistogram(name: string, boundsS: readonly number[]): Histogram {
  const all = new Map<string, Counted>()

  function countedOf(labels: Labels): Counted {
    const key = JSON.stringify(Object.entries(labels).sort())
    let counted = all.get(key)
    if (counted === undefined) {
      counted = { labels, buckets: new Array<number>(boundsS.length + 1).fill(0), sum: 0 }
      all.set(key, counted)
    }
    return counted
  }

  return {
    of(labels) {
      const counted = countedOf(labels)
      return (seconds) => {
        let place = 0
        while (seconds > (boundsS[place] ?? Number.POSITIVE_INFINITY)) place++
        counted.buckets[place] = (counted.buckets[place] ?? 0) + 1
        counted.sum += seconds
      }
    },
    values: () => [...all.values()].flatMap((counted) => valuesOf(name, boundsS, counted)),
  }
}

function valuesOf(name: string, boundsS: readonly number[], { labels, buckets, sum }: Counted): HistogramValue[] {
  let count = 0
  const bars = buckets.map((bucket, place) => {
    count += bucket
    return { metricName: `${name}_bucket`, labels: { le: boundsS[place] ?? '+Inf', ...labels }, value: count }
  })
  return [
    ...bars,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}

/** What a metric is called and what it is labelled with. Label values come from small fixed sets, or from configured things. */
interface MetricSpec {
  /** `plantroom_` is put before it; unit as the last word, counters end in `_total`. */
  name: string
  help: string
  labels?: string[]
}

/** One value of a gauge that is read when asked for. */
export interface Sample {
  labels: Record<string, string | number>
  value: number
}

/** A registry of its own, so that two servers in one process do not share counts. */
export interface Metrics {
  /** A number that only grows. */
  counter(spec: MetricSpec): { add(labels?: Record<string, string | number>, by?: number): void }
  /** Numbers that are looked up whenever somebody asks, so that nobody has to keep them current. */
  gauge(spec: MetricSpec, read: () => Sample[]): void
  /** Counts that a part keeps itself and that only grow, looked up whenever somebody asks. */
  counts(spec: MetricSpec, read: () => Sample[]): void
  /** How long things take, in seconds. */
  histogram(spec: MetricSpec, boundsS: readonly number[]): Pick<Histogram, 'of'>
  text(): Promise<string>
  /** Those measurements alone whose labels `shows` lets through. */
  textOf(shows: (labels: Readonly<Record<string, unknown>>) => boolean): Promise<string>
  contentType: string
}

/** @param process whether memory, processor time and event loop delay of the process are told too */
export function createMetrics(options: { process: boolean }): Metrics {
  const registry = new Registry()
  if (options.process) collectDefaultMetrics({ register: registry })
  const settings = ({ name, help, labels = [] }: MetricSpec) => ({
    name: `plantroom_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  })
  return {
    counter(spec) {
      const counter = new Counter(settings(spec))
      return { add: (labels = {}, by = 1) => counter.inc(labels, by) }
    },
    gauge(spec, read) {
      new Gauge({
        ...settings(spec),
        collect() {
          this.reset()
          const samples = read()
          // A gauge without labels is 0 after its reset: what is not known is not there instead.
          if (samples.length === 0 && !spec.labels?.length) this.remove()
          for (const { labels, value } of samples) this.set(labels, value)
        },
      })
    },
    counts(spec, read) {
      new Counter({
        ...settings(spec),
        collect() {
          this.reset()
          for (const { labels, value } of read()) this.inc(labels, value)
        },
      })
    },
    histogram(spec, boundsS) {
      const { name, help } = settings(spec)
      const histogram = createHistogram(name, boundsS)
      const get = async () => ({ name, help, type: 'histogram', values: histogram.values(), aggregator: 'sum' })
      // A registry asks a metric for its name and its values alone. prom-client's own costs 6 us a request.
      registry.registerMetric({ name, get } as unknown as Metric)
      return histogram
    },
    text: () => registry.metrics(),
    async textOf(shows) {
      const metrics = (await registry.getMetricsAsJSON()) as unknown as Measured[]
      return metrics.map((metric) => textOfMetric(metric, shows)).join('')
    },
    contentType: registry.contentType,
  }
}

/** One metric as prom-client gives it; `metricName` where a value has another name, as the buckets of a histogram do. */
interface Measured {
  name: string
  help: string
  type: string
  values: { value: number; labels: Record<string, unknown>; metricName?: string }[]
}

/** @source Prometheus exposition formats, text format 0.0.4 */
function textOfMetric({ name, help, type, values }: Measured, shows: (labels: Record<string, unknown>) => boolean) {
  const lines = values
    .filter(({ labels }) => shows(labels))
    .map(({ value, labels, metricName = name }) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text), true)}"`)
      return `${metricName}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberText(value)}\n`
    })
  if (lines.length === 0) return ''
  return `# HELP ${name} ${escaped(help, false)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escaped(text: string, isLabel: boolean): string {
  const plain = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return isLabel ? plain.replaceAll('"', '\\"') : plain
}

// What went through the server: one line and one count for each request.

const BOUNDS_S = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

/** One request that was answered, by the label of its path in the route table, never by the path that a client made up. */
interface Answered {
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
