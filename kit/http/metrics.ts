/** Metrics for Prometheus, including those of HTTP traffic. */

import type { IncomingMessage } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { Log } from '../log.ts'
import { plainAddress } from '../net/address.ts'

// Histograms of durations, in the form that prom-client collects: recording is only additions, since every request
// records one.

type Labels = Readonly<Record<string, string | number>>

/** One value of a histogram, as a prom-client registry takes it. */
interface HistogramValue {
  metricName: string
  labels: Labels
  value: number
}

interface Histogram {
  /** @returns records one more under these labels, in seconds; frequent callers should make it once */
  of(labels: Labels): (seconds: number) => void
  /**
   * All counts under names that end in `_bucket`, `_sum` and `_count`.
   * @source Prometheus exposition formats, text format 0.0.4
   */
  values(): HistogramValue[]
}

interface Counted {
  labels: Labels
  /** One for each bound, and one for everything above them. */
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

/** Name and labels of a metric. Label values come from small fixed sets, or from configured things. */
interface MetricSpec {
  /** `plantroom_` is put before it; unit as the last word, counters end in `_total`. */
  name: string
  help: string
  labels?: string[]
}

/** One value of a gauge, read on demand. */
export interface Sample {
  labels: Record<string, string | number>
  value: number
}

/** Has its own registry, so that two servers in one process do not share counts. */
export interface Metrics {
  /** A number that only grows. */
  counter(spec: MetricSpec): { add(labels?: Record<string, string | number>, by?: number): void }
  /** Numbers read when somebody asks, so that nobody has to keep them current. */
  gauge(spec: MetricSpec, read: () => Sample[]): void
  /** Counts that a part keeps itself and that only grow, read when somebody asks. */
  counts(spec: MetricSpec, read: () => Sample[]): void
  /** How long things take, in seconds. */
  histogram(spec: MetricSpec, boundsS: readonly number[]): Pick<Histogram, 'of'>
  text(): Promise<string>
  /** Only the measurements whose labels `shows` accepts. */
  textOf(shows: (labels: Readonly<Record<string, unknown>>) => boolean): Promise<string>
  contentType: string
}

/** @param process whether to include memory, processor time and event loop delay of the process */
export function createMetrics(options: { process: boolean }): Metrics {
  const registry = new Registry()
  if (options.process) collectProcess(registry)
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
          // A gauge without labels is 0 after its reset; an unknown value must be absent instead.
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
      // A registry only asks a metric for its name and values. prom-client's own histogram costs 6 us a request.
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

/** Each look at the event loop wakes the process: with a hundred a second they were a third of what wakes a recorder. */
const LAG_LOOK_MS = 100

/** As long as Node's timers wait at most. */
const NEVER_MS = 2 ** 31 - 1

type Delays = ReturnType<typeof monitorEventLoopDelay>

/** Since they were last asked for, in milliseconds. */
const LAGS: Readonly<Record<string, { help: string; of(delays: Delays): number }>> = {
  min: { help: 'Least lag of the event loop', of: ({ min }) => lagOf(min) },
  max: { help: 'Greatest lag of the event loop', of: ({ max }) => lagOf(max) },
  mean: { help: 'Mean lag of the event loop', of: ({ mean }) => lagOf(mean) },
  stddev: { help: 'Standard deviation of the lag of the event loop', of: ({ stddev }) => stddev / 1e6 },
  p50: { help: 'Median lag of the event loop', of: (delays) => lagOf(delays.percentile(50)) },
  p90: { help: 'Lag of the event loop in nine of ten looks', of: (delays) => lagOf(delays.percentile(90)) },
  p99: { help: 'Lag of the event loop in 99 of 100 looks', of: (delays) => lagOf(delays.percentile(99)) },
}

/** What passed between two looks beside the time that should: 0 if it was less. */
function lagOf(delayNs: number): number {
  return Math.max(0, delayNs / 1e6 - LAG_LOOK_MS)
}

/**
 * Memory, processor time, garbage and event loop of the process. prom-client's own look at the event loop is replaced: it
 * wakes the process each 10 ms, and tells those 10 ms as lag.
 */
function collectProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  const delays = monitorEventLoopDelay({ resolution: LAG_LOOK_MS })
  delays.enable()
  const gauges = Object.entries(LAGS).map(([which, { help, of }], at) => {
    const name = `nodejs_eventloop_lag_${which}_seconds`
    registry.removeSingleMetric(name)
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], ...(at === 0 && { collect: read }) })
    return { gauge, of }
  })

  function read(): void {
    // Asked again before the next look.
    if (delays.count === 0) return
    for (const { gauge, of } of gauges) gauge.set(of(delays) / 1000)
    delays.reset()
  }
}

/**
 * One metric as prom-client returns it; `metricName` where a value has another name, as the buckets of a histogram do.
 */
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

// Traffic: one log line and one count for each request.

const BOUNDS_S = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

/** One answered request, labelled by its path in the route table, never by a path that a client made up. */
interface Answered {
  route: string
  path: string
  status: number
  tookMs: number
}

/** Records requests that Fastify does not see. */
export type CountAnswered = (
  request: Pick<IncomingMessage, 'method' | 'socket' | 'headers'>,
  answered: Answered,
) => void

/** Counts and logs. @returns a function to record what is answered without a route */
export function watchTraffic(app: FastifyInstance, { log, metrics, onAnswered }: Needs): CountAnswered {
  const durations = metrics.histogram(
    { name: 'http_request_duration_seconds', help: 'Time from head to reply', labels: ['method', 'route', 'status'] },
    BOUNDS_S,
  )
  const observe = byKind((kind) => durations.of(kind))
  const known: ReadonlySet<string> = new Set(app.supportedMethods)
  const count: CountAnswered = ({ method: said = '', socket, headers }, answered) => {
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

/** Finds the histogram for a request without allocating: there are few kinds, and many requests. */
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

/** The two addresses of an answered request. */
export interface Contact {
  /** The client's. */
  from: string
  /** This machine's address that the request arrived at; empty if the client has gone already. */
  at: string
  /** The User-Agent header, empty if there is none. */
  agent: string
}

/** Pages have no routes: they share one label. */
function unrouted(status: number): string {
  return status < 400 ? 'page' : 'unknown'
}
