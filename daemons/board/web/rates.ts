/** Bytes per second of counters that only grow, from what the page saw of them. */

/** A counter at an instant of the page's clock, ms. */
export interface Sample {
  atMs: number
  total: number
}

/** Samples kept: a minute of looks. */
const MOST = 60

/** Adds a sample; a counter that went back began anew, and so do the samples. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && sample.total < last.total) return [sample]
  if (last && sample.atMs <= last.atMs) return samples
  return [...samples, sample].slice(-MOST)
}

/** Bytes per second between each two samples, oldest first. */
export function ratesOf(samples: readonly Sample[]): number[] {
  return samples.slice(1).map((sample, at) => {
    const before = samples[at] as Sample
    return ((sample.total - before.total) * 1000) / (sample.atMs - before.atMs)
  })
}

/** Samples of what came from a line and went to it. */
export interface Traffic {
  from: readonly Sample[]
  to: readonly Sample[]
}

/** Adds one look at the counters of a port; what it does not count has no samples. */
export function withLook(
  before: Traffic | undefined,
  counters: Readonly<Record<string, number | null>>,
  atMs: number,
): Traffic {
  const add = (samples: readonly Sample[] = [], total: number | null | undefined): readonly Sample[] =>
    total === null || total === undefined ? samples : withSample(samples, { atMs, total })
  return { from: add(before?.from, counters.bytes_from_line), to: add(before?.to, counters.bytes_to_line) }
}
