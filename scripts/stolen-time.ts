/**
 * How much of a machine's time its hypervisor gave to others, and how much was idle: time measurements are only valid
 * if the former is little.
 */
import { readFileSync } from 'node:fs'

/** On every Linux that Node runs on. @source proc(5): sysconf(_SC_CLK_TCK) */
const TICKS_PER_S = 100

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

/** Processor seconds of what this process started and waited for, and what that waited for in turn. @source proc(5): cutime and cstime */
export function endedCpuS(): number {
  const text = readFileSync('/proc/self/stat', 'utf8')
  // The name before may have blanks and brackets in it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_S
}
