/** How often something took how long, in the form that prom-client gathers: counted by additions alone, as every request is. */

export type Labels = Readonly<Record<string, string | number>>

/** One value of a histogram, as a registry of prom-client takes it. */
export interface HistogramValue {
  metricName: string
  labels: Labels
  value: number
}

export interface Histogram {
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
