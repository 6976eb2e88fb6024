/** Memory of another process, in MB of a million bytes. @source proc(5): status, clear_refs */
import { readFileSync, writeFileSync } from 'node:fs'

/** Its present resident memory. */
export function residentMb(pid: number): number {
  return statusMb(pid, 'VmRSS')
}

/** Its peak resident memory, ever or since `forgetMost`. */
export function mostResidentMb(pid: number): number {
  return statusMb(pid, 'VmHWM')
}

/** Resets the peak. @returns its present resident memory */
export function forgetMost(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return residentMb(pid)
}

function statusMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kib === undefined) throw new Error(`/proc/${pid}/status does not tell ${field}`)
  return (Number(kib) * 1024) / 1e6
}
