/** How pure a sine is: the remainder of a recording once the best-fitting sine is subtracted. */

export interface ToneFit {
  /** Level of the sine relative to full scale. */
  level: number
  /** Everything else relative to the sine, over the whole band, in dB. */
  thdNoiseDb: number
  /** The worst of the remainder: its frame, and its level relative to full scale. */
  worst: { frame: number; level: number }
}

/**
 * Least-squares fit of one sine of known frequency and a constant. Since the frequency is not fitted, a phase jump or a
 * wrong rate counts as distortion.
 * @param samples one channel, signed integers of `bits`
 */
export function fitTone(samples: ArrayLike<number>, bits: number, hz: number, rate = 48_000): ToneFit {
  const full = 2 ** (bits - 1)
  const count = samples.length
  const step = (2 * Math.PI * hz) / rate
  // Normal equations of a cos + b sin + c.
  const sums = [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ]
  for (let at = 0; at < count; at += 1) {
    const row = [Math.cos(step * at), Math.sin(step * at), 1, (samples[at] ?? 0) / full]
    for (const [i, sum] of sums.entries())
      for (let j = 0; j < 4; j += 1) sum[j] = (sum[j] ?? 0) + (row[i] ?? 0) * (row[j] ?? 0)
  }
  const [a = 0, b = 0, c = 0] = solve(sums)
  const worst = { frame: 0, level: 0 }
  let left = 0
  for (let at = 0; at < count; at += 1) {
    const rest = (samples[at] ?? 0) / full - (a * Math.cos(step * at) + b * Math.sin(step * at) + c)
    left += rest * rest
    if (Math.abs(rest) > worst.level) Object.assign(worst, { frame: at, level: Math.abs(rest) })
  }
  const power = (a * a + b * b) / 2
  return { level: Math.hypot(a, b), thdNoiseDb: 10 * Math.log10(left / count / power), worst }
}

/** Gaussian elimination with pivots, for three unknowns. */
function solve(rows: number[][]): number[] {
  const size = rows.length
  for (let at = 0; at < size; at += 1) {
    const best = rows.slice(at).reduce((most, row) => (Math.abs(row[at] ?? 0) > Math.abs(most[at] ?? 0) ? row : most))
    rows.splice(rows.indexOf(best), 1)
    rows.splice(at, 0, best)
    for (const row of rows) {
      if (row === best) continue
      const times = (row[at] ?? 0) / (best[at] ?? 1)
      for (let column = at; column <= size; column += 1) row[column] = (row[column] ?? 0) - times * (best[column] ?? 0)
    }
  }
  return rows.map((row, at) => (row[size] ?? 0) / (row[at] ?? 1))
}

/** One channel of interleaved samples, from frame `from` up to `to`. */
export function channelOf(
  samples: Int32Array,
  channels: number,
  channel = 0,
  [from, to] = [0, Number.POSITIVE_INFINITY],
) {
  const count = Math.min(Math.floor(samples.length / channels), to) - from
  return Int32Array.from({ length: Math.max(0, count) }, (_, at) => samples[(from + at) * channels + channel] ?? 0)
}
