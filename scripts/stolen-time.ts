/**
 * How much of a machine's time its hypervisor gave to others, and how much was idle: time measurements are only valid
 * if the former is little.
 */
import { readFileSync } from 'node:fs'

/** Ticks of all cores since boot, those given to others, and the idle ones. */
export interface CpuTicks {
  all: number
  stolen: number
  idle: number
}

/** The present values; zeros if the kernel does not report them. @source proc(5): stat, idle and steal */
export function readTicks(): CpuTicks {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, count) => sum + count, 0), stolen: ticks[7] ?? 0, idle: ticks[3] ?? 0 }
}

/** Percent of time stolen between two readings. */
export function stolenPercent(from: CpuTicks, to: CpuTicks): number {
  return (100 * (to.stolen - from.stolen)) / Math.max(1, to.all - from.all)
}

/** Percent of time idle between two readings, not counting waits for a disk. */
export function idlePercent(from: CpuTicks, to: CpuTicks): number {
  return (100 * (to.idle - from.idle)) / Math.max(1, to.all - from.all)
}
