/** Gauges and counters in Prometheus text. */
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import { createHistogram, type Histogram } from './histogram.ts'

/** What a metric is called and what it is labelled with. Label values come from small fixed sets, or from configured things. */
export interface MetricSpec {
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
