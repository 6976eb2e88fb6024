/** Turns a failed open of a device into a sentence for people. */
import { readFileSync } from 'node:fs'
import { Fault } from '#kit/fault.ts'
import type { CallError } from '#native/serial/index.ts'

/** Errnos that mean the device is not there (any more); EIO is a pty whose far end has closed. */
const ABSENT = ['ENOENT', 'ENXIO', 'ENODEV', 'EIO', 'HANGUP']

/** @returns Fault `line_absent`, `line_busy`, `line_not_tty` or `line_refused`; details name the call and the errno */
export function lineFaultOf(error: CallError, path: string): Fault {
  const facts = { ioctl: error.syscall, errno: error.errno }
  if (ABSENT.includes(error.code))
    return new Fault('line_absent', `${path} is not there; it may be unplugged.`, { cause: error, details: facts })
  if (error.code === 'EBUSY') return busy(error, path)
  if (error.code === 'ENOTTY')
    return new Fault('line_not_tty', `${path} is no serial line: ${error.syscall} says ENOTTY.`, { cause: error })
  return new Fault('line_refused', sentenceOf(error, path), {
    cause: error,
    details: error.field ? { ...facts, field: error.field, wanted: error.wanted, got: error.got } : facts,
  })
}

function sentenceOf(error: CallError, path: string): string {
  if (error.field !== undefined)
    return `The driver of ${path} did not keep ${error.field}: wanted ${error.wanted}, ${error.syscall} reads back ${error.got}.`
  if (error.code === 'EACCES' || error.code === 'EPERM')
    return `${path} may not be opened: ${error.syscall} says ${error.code} (errno ${error.errno}). The user of this daemon needs the group that owns the device, usually dialout.`
  if (error.path === undefined) return `${path} cannot be set: ${error.message}.`
  return `${path} refused the settings: ${error.syscall} says ${error.code} (errno ${error.errno}).`
}

function busy(error: CallError, path: string): Fault {
  if (error.holder === undefined)
    return new Fault('line_busy', `${path} is in use by another process.`, { cause: error })
  const program = programOf(error.holder)
  const who = program === undefined ? `process ${error.holder}` : `process ${error.holder} (${program})`
  return new Fault('line_busy', `${path} is in use by ${who}.`, {
    cause: error,
    details: { pid: error.holder, ...(program === undefined ? {} : { program }) },
  })
}

function programOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined // ended meanwhile, or hidden from our user
  }
}
