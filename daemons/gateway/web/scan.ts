/** What the page says of a scan for units. */
import type { Judgement } from '#kit/web/lamp.ts'
import { age, many, sinceText } from '#kit/web/numbers.ts'
import type { ScanJob } from '../core/modbus/unit-scan.ts'
import type { When } from './verdicts.ts'

/** Longest part of a scan that a person waits for by the line. */
const ROUNDED_MS = 1000

/** The verdict over a scan; null: none was run. */
export function judgeScan(job: ScanJob | null, { nowMs, zone }: When): Judgement {
  if (job === null)
    return {
      lit: 'off',
      sentence: 'No scan was run yet.',
      why: 'It asks one unit id after the other, behind everything else on the line.',
    }
  const found = job.found.length === 0 ? 'No unit answered' : `${many(job.found.length, 'unit')} answered`
  const range = `units ${job.from} to ${job.to}`
  switch (job.state) {
    case 'running': {
      const left = job.etaMs === null ? '' : ` ${age(Math.max(ROUNDED_MS, job.etaMs))} to go.`
      return {
        lit: 'busy',
        sentence: `Asking unit ${job.current ?? job.from}. ${found} so far.`,
        why: `${job.asked} of ${job.total} asked.${left}`,
      }
    }
    case 'done':
      return {
        lit: job.found.length > 0 ? 'ok' : 'warn',
        sentence: `${found}.`,
        why: `${range} at ${sinceText(job.endedAt ?? nowMs, nowMs, zone)}. ${job.found.length === 0 ? 'Look at rate, parity and wiring; a unit may also answer another function alone.' : ''}`
          .trim()
          .replace(/^u/, 'U'),
      }
    case 'cancelled':
      return { lit: 'off', sentence: `Stopped after ${job.asked} of ${job.total}. ${found}.`, why: '' }
    default:
      return {
        lit: 'fault',
        sentence: job.fault?.message ?? 'The scan failed.',
        why: `${job.asked} of ${job.total} asked. ${found}.`,
      }
  }
}

/** Share of a scan that is done, 0..1. */
export function progressOf({ asked, total }: ScanJob): number {
  return total === 0 ? 0 : asked / total
}

/** What a unit that was found said. */
export function foundText({ exception }: ScanJob['found'][number]): string {
  return exception === null
    ? 'answered'
    : `answered with exception ${String(exception.code).padStart(2, '0')}: ${exception.name}`
}
