/**
 * How much of a machine's time its hypervisor gave to others, and how much nobody wanted: what measures time there is right
 * only where the first is little.
 */
import { readFileSync } from 'node:fs'

/** Ticks of all cores since the boot, those of them that went to others, and those that nothing wanted. */
export interface CpuTicks {
  all: number
  stolen: number
  idle: number
}

/** As they are now; none where the kernel does not say. @source proc(5): stat, idle and steal */
export function readTicks(): CpuTicks {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, count) => sum + count, 0), stolen: ticks[7] ?? 0, idle: ticks[3] ?? 0 }
}

/** Percent of the time from one reading to the other. */
export function stolenPercent(from: CpuTicks, to: CpuTicks): number {
  return (100 * (to.stolen - from.stolen)) / Math.max(1, to.all - from.all)
}

/** Percent of the time from one reading to the other in which nothing was to do; nothing waited for a disk either. */
export function idlePercent(from: CpuTicks, to: CpuTicks): number {
  return (100 * (to.idle - from.idle)) / Math.max(1, to.all - from.all)
}
