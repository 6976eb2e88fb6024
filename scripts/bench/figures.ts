/** Figures of merit: processor use as the kernel counts it, and quantiles of what was measured. */
import { readFileSync } from 'node:fs'

/** sysconf(_SC_CLK_TCK), 100 on every Linux this runs on. */
const TICKS_PER_S = 100

/** Percent of one core from the call until `end`. */
export interface CpuMeter {
  end(): number
}

export function meterCpu(pid: number): CpuMeter {
  const beganMs = performance.now()
  const began = cpuSecondsOf(pid)
  return { end: () => ((cpuSecondsOf(pid) - began) * 100_000) / (performance.now() - beganMs) }
}

/** Processor time of a process with all its threads. @source proc(5): stat, fields 14 and 15 */
export function cpuSecondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The process name, in brackets, may contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** Bytes that a process has handed to the disk: the kernel counts pages as they become dirty. @source proc(5): /proc/pid/io, write_bytes */
export function writtenBytesOf(pid: number | 'self'): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** Quantile of measured values. @param part 0..1 */
export function sampleQuantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return sampleQuantile(values, 0.5)
}
