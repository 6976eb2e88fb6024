/** Gauges and counters in Prometheus text. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

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
  histogram(
    spec: MetricSpec,
    boundsS: number[],
  ): { observe(labels: Record<string, string | number>, seconds: number): void }
  text(): Promise<string>
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
          for (const { labels, value } of read()) this.set(labels, value)
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
      const histogram = new Histogram({ ...settings(spec), buckets: boundsS })
      return { observe: (labels, seconds) => histogram.observe(labels, seconds) }
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
