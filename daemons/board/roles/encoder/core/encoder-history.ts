/** What of an encoder is measured each second, for plots of the last hour. */
import type { PtpView } from '../../../core/ptp/ptp.ts'
import type { Measured } from '../../../core/sound/sound.ts'
import type { SentFacts } from './ports.ts'

/** Series of `GET /api/history`; the unit stands at the end of a name, counts are those of one second. */
export const encoderSeries = [
  'packets',
  'errors',
  'resyncs',
  'spacing_p50_us',
  'spacing_p99_us',
  'spacing_max_us',
  'late_p99_us',
  'late_max_us',
  'peak_db',
  'drift_ppm',
  'ptp_offset_ns',
  'ptp_path_delay_ns',
] as const

export type EncoderSeries = (typeof encoderSeries)[number]

/** How it is at the end of a second. */
export interface SecondFacts {
  sent: SentFacts | null
  ptp: PtpView
  peakDb: number | null
  driftPpm: number | null
}

/** @returns what makes a second of it; counts are against the second before */
export function createSeconds() {
  let before = { packets: 0, errors: 0, resyncs: 0 }
  return ({ sent, ptp, peakDb, driftPpm }: SecondFacts): Measured<EncoderSeries> => {
    const { packets, errors, resyncs } = sent ?? before
    const counts = {
      packets: packets - before.packets,
      errors: errors - before.errors,
      resyncs: resyncs - before.resyncs,
    }
    before = { packets, errors, resyncs }
    const spacing = counts.packets > 0 ? sent?.spacingUs : null
    const late = counts.packets > 0 ? sent?.lateUs : null
    return {
      ...counts,
      spacing_p50_us: spacing?.p50 ?? null,
      spacing_p99_us: spacing?.p99 ?? null,
      spacing_max_us: spacing?.max ?? null,
      late_p99_us: late?.p99 ?? null,
      late_max_us: late?.max ?? null,
      peak_db: peakDb,
      drift_ppm: driftPpm,
      ptp_offset_ns: ptp.offset_ns,
      ptp_path_delay_ns: ptp.path_delay_ns,
    }
  }
}
