/** What of a decoder is measured each second, for plots of the last hour. */
import type { Ptp } from '../../../core/ptp/ptp.ts'
import type { Measured } from '../../../core/sound/sound.ts'
import type { ArrivalSpread, OutputFacts } from './ports.ts'
import type { Reception, ReceptionTotals } from './reception.ts'

/** Series of `GET /api/history`; the unit stands at the end of a name, counts are those of one second. */
export const decoderSeries = [
  'packets',
  'lost',
  'late',
  'duplicate',
  'reordered',
  'concealed',
  'glitches',
  'jitter_p50_us',
  'jitter_p99_us',
  'jitter_max_us',
  'earliest_us',
  'latest_us',
  'middle_us',
  'link_us',
  'ptp_offset_ns',
  'ptp_path_delay_ns',
  'sender_ppm',
  'drift_ppm',
  'peak_db',
] as const

export type DecoderSeries = (typeof decoderSeries)[number]

const COUNTED = ['packets', 'lost', 'late', 'duplicate', 'reordered', 'concealed', 'glitches'] as const

/** What a second is made of. */
export interface SecondSources {
  reception: Reception
  ptp: Pick<Ptp, 'view'>
  output(): OutputFacts | null
  /** What arrivals were measured against; null while nothing is received. */
  linkMs(): number | null
  peakDb(): number | null
}

/** Gathers looks, of which there are several a second, into seconds. */
export function createSeconds({ reception, ptp, output, linkMs, peakDb }: SecondSources) {
  let before: ReceptionTotals = reception.totals
  let spread: ArrivalSpread | null = null
  let second: ArrivalSpread | null = null

  return {
    /** Takes in what the last look has found. */
    look(): void {
      const { arrival } = reception
      if (arrival !== null) spread = spread === null ? arrival : widest(spread, arrival)
    },
    /** What the last whole second has seen of arrivals. */
    get arrival(): ArrivalSpread | null {
      return second
    },
    /** Ends a second. */
    end(): Measured<DecoderSeries> {
      const { totals, stats } = reception
      const counts = Object.fromEntries(COUNTED.map((name) => [name, Math.max(0, totals[name] - before[name])]))
      before = totals
      second = spread
      spread = null
      const { offset_ns, path_delay_ns } = ptp.view()
      const link = linkMs()
      return {
        ...counts,
        jitter_p50_us: second?.jitterP50Us ?? null,
        jitter_p99_us: second?.jitterP99Us ?? null,
        jitter_max_us: second?.jitterMaxUs ?? null,
        earliest_us: second?.earliestUs ?? null,
        latest_us: second?.latestUs ?? null,
        middle_us: second === null ? null : second.earliestUs - second.jitterP50Us,
        link_us: link === null ? null : Math.round(link * 1000),
        ptp_offset_ns: offset_ns,
        ptp_path_delay_ns: path_delay_ns,
        sender_ppm: stats?.senderPpm ?? null,
        drift_ppm: output()?.driftPpm ?? null,
        peak_db: peakDb(),
      }
    },
  }
}

/** Of two spreads the ends; of medians, which cannot be joined, the later one. */
function widest(one: ArrivalSpread, other: ArrivalSpread): ArrivalSpread {
  return {
    earliestUs: Math.max(one.earliestUs, other.earliestUs),
    latestUs: Math.min(one.latestUs, other.latestUs),
    jitterP50Us: other.jitterP50Us,
    jitterP99Us: Math.max(one.jitterP99Us, other.jitterP99Us),
    jitterMaxUs: Math.max(one.jitterMaxUs, other.jitterMaxUs),
  }
}
