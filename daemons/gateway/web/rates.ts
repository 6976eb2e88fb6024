/** Rates from counters: what came per second between two looks, and how full the line was. */
import type { Counters, Port } from './api.ts'
import { bitsPerByte } from './words.ts'

/** One look at a port's counters. */
export interface Sample {
  atMs: number
  counters: Counters
}

/** Looks kept for each port: a minute at one every two seconds. */
export const SAMPLES = 30

/** Adds a look. Counters that went down (a new port, a restart) start over. */
export function withSample(samples: readonly Sample[], port: Port, atMs: number): readonly Sample[] {
  if (!port.counters) return []
  const last = samples.at(-1)
  const isAnew = last !== undefined && total(last.counters) > total(port.counters)
  return [...(isAnew ? [] : samples.slice(-SAMPLES + 1)), { atMs, counters: port.counters }]
}

function total(counters: Counters): number {
  return (counters.rxBytes ?? 0) + (counters.txBytes ?? 0)
}

/** Per second between each look and the one before, of the sum of these counters, oldest first. */
export function ratesOf(samples: readonly Sample[], names: readonly string[]): number[] {
  const sum = (counters: Counters): number => names.reduce((all, name) => all + (counters[name] ?? 0), 0)
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at]
    if (!before || sample.atMs <= before.atMs) return []
    return [Math.max(0, ((sum(sample.counters) - sum(before.counters)) * 1000) / (sample.atMs - before.atMs))]
  })
}

/** How much of the line's time bytes took, in percent, oldest first. Empty where the line is not set up. */
export function loadsOf(samples: readonly Sample[], port: Port): number[] {
  const { line } = port
  if (!line) return []
  return ratesOf(samples, ['rxBytes', 'txBytes']).map((rate) =>
    Math.min(100, (rate * bitsPerByte(line) * 100) / line.baud),
  )
}

/** The newest of a history over its last few looks, so that one slow look does not jump; null without any. */
export function steady(history: readonly number[]): number | null {
  const last = history.slice(-3)
  return last.length === 0 ? null : last.reduce((all, each) => all + each, 0) / last.length
}
