/** The decoder as a whole: its route, volume, reception and output, and why it is silent. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { LateSaveTimes } from '../../../core/late-save.ts'
import type { Ptp } from '../../../core/ptp/ptp.ts'
import type { Meters } from '../../../core/role.ts'
import {
  type Check,
  createHistory,
  HISTORY_SECONDS,
  type HistoryView,
  type Measured,
} from '../../../core/sound/sound.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { type DecoderCheckName, type DecoderFacts, decoderChecks } from './checks.ts'
import { OutputCare } from './output.ts'
import type { ArrivalSpread, OutputFacts, OutputOpener, ReceiverOpener, StreamFinder } from './ports.ts'
import type { Reception, ReceptionTotals } from './reception.ts'
import { createRouteBook, type RouteBook, type SavedRoute } from './route.ts'
import { Tuner, type TunerTimes } from './tuner.ts'
import type { OwnNetwork } from './tuning-plan.ts'
import { VolumeDesk, type VolumeRecord } from './volume.ts'

// Measurements of a decoder each second, for plots of the last hour.

/** Series of `GET /api/history`; names end with the unit, counts are per second. */
const decoderSeries = [
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

type DecoderSeries = (typeof decoderSeries)[number]

const COUNTED = ['packets', 'lost', 'late', 'duplicate', 'reordered', 'concealed', 'glitches'] as const

/** Sources of one second's values. */
interface SecondSources {
  reception: Reception
  ptp: Pick<Ptp, 'view'>
  output(): OutputFacts | null
  /** The link offset that arrivals are measured against; null while nothing is received. */
  linkMs(): number | null
  peakDb(): number | null
}

/** Combines several looks a second into seconds. */
function createSeconds({ reception, ptp, output, linkMs, peakDb }: SecondSources) {
  let before: ReceptionTotals = reception.totals
  let spread: ArrivalSpread | null = null
  let second: ArrivalSpread | null = null

  return {
    /** Adds the results of the last look. */
    look(): void {
      const { arrival } = reception
      if (arrival !== null) spread = spread === null ? arrival : widest(spread, arrival)
    },
    /** Arrivals of the last whole second. */
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

/** Combines the extremes of both spreads; medians cannot be combined, so the later one is used. */
function widest(one: ArrivalSpread, other: ArrivalSpread): ArrivalSpread {
  return {
    earliestUs: Math.max(one.earliestUs, other.earliestUs),
    latestUs: Math.min(one.latestUs, other.latestUs),
    jitterP50Us: other.jitterP50Us,
    jitterP99Us: Math.max(one.jitterP99Us, other.jitterP99Us),
    jitterMaxUs: Math.max(one.jitterMaxUs, other.jitterMaxUs),
  }
}

// The decoder.

/** Times of a decoder, in ms. */
interface DecoderTimes extends TunerTimes {
  /** Interval between two looks at reception. */
  lookMs: number
  save: LateSaveTimes
  retry: { firstMs: number; maxMs: number }
  /** Looks in a row at which an output has not moved, before it is reopened. */
  stallLooks: number
}

/** Storage of route and volume. */
interface DecoderFiles {
  saveRoute(saved: SavedRoute): Promise<void>
  saveVolume(record: VolumeRecord): Promise<void>
}

/** Dependencies and settings of a decoder. */
export interface DecoderParts {
  clock: Clock
  log: Log
  receivers: ReceiverOpener
  output: OutputOpener
  streams: StreamFinder
  ptp: Ptp
  networks(): readonly OwnNetwork[]
  settings: { mcast: string; port: number; link_ms: number; ext_link_ms: number }
  times: DecoderTimes
  files: DecoderFiles
  saved: { route: SavedRoute | null; volume: VolumeRecord }
  own(promise: Promise<unknown>): void
  onChange(): void
}

export class Decoder {
  readonly tuner: Tuner
  readonly output: OutputCare
  readonly volume: VolumeDesk
  readonly book: RouteBook
  readonly #parts: DecoderParts
  readonly #history
  readonly #seconds
  #timers: Timer[] = []
  #endPtp: (() => void) | undefined
  #told = ''
  #facts: OutputFacts | null = null

  constructor(parts: DecoderParts) {
    const { clock, log, onChange, own, ptp, saved, settings, streams, times } = parts
    this.#parts = parts
    this.output = new OutputCare({
      clock,
      log,
      opener: parts.output,
      retry: times.retry,
      stallLooks: times.stallLooks,
      own,
      onChange,
    })
    this.volume = new VolumeDesk({
      ...{ clock, log, times: times.save, record: saved.volume },
      save: (record) => parts.files.saveVolume(record),
      apply: (gain) => this.output.setGain(gain),
      onChange: () => this.#judge(),
    })
    this.output.setGain(this.volume.gain)
    this.book = createRouteBook({
      saved: saved.route,
      settings: { mcast: settings.mcast, port: settings.port },
      save: (route) => parts.files.saveRoute(route),
      apply: (route) => {
        this.tuner.play(route)
        this.#judge()
      },
    })
    this.tuner = new Tuner(
      {
        ...{ clock, log, streams, ptp, settings, times, opener: parts.receivers },
        networks: () => parts.networks(),
        listen: (receiverId) => this.output.listen(receiverId),
      },
      this.book.route,
    )
    this.#history = createHistory({ clock, names: decoderSeries, seconds: HISTORY_SECONDS })
    this.#seconds = createSeconds({
      reception: this.tuner.reception,
      ptp,
      output: () => this.#facts,
      linkMs: () => this.tuner.tuning?.linkMs ?? null,
      peakDb: () => loudest(this.output.meters),
    })
  }

  async start(): Promise<void> {
    const { clock, log, ptp, times } = this.#parts
    await this.book.settle().catch((fault) => log.warning('route not saved', { fault }))
    await this.output.start()
    this.tuner.retune()
    this.#judge()
    this.#endPtp = ptp.onChange(() => this.retune())
    this.#timers = [clock.every(times.lookMs, () => this.look()), clock.every(1000, () => this.#endSecond())]
  }

  async stop(): Promise<void> {
    this.#endPtp?.()
    for (const timer of this.#timers) timer.cancel()
    // Save first, before anything that could hang.
    await this.volume.close()
    await this.output.close()
    this.tuner.close()
  }

  /** Call when announcements or the clock have changed. */
  retune(): void {
    this.tuner.retune()
    this.#judge()
  }

  /** Reads the state of reception and output. */
  look(): void {
    this.tuner.look()
    this.#facts = this.output.look()
    this.#seconds.look()
    this.#judge()
  }

  /** The chain as it is now. */
  checks(): readonly Check<DecoderCheckName>[] {
    return decoderChecks(this.facts())
  }

  /** State of the output at the last look. */
  get outputFacts(): OutputFacts | null {
    return this.#facts
  }

  /** Arrivals of the last whole second. */
  get arrival(): ArrivalSpread | null {
    return this.#seconds.arrival
  }

  history(): HistoryView {
    return this.#history.view()
  }

  /** All announcements of the routed group and port. */
  announced(): readonly HeardStream[] {
    const { mcast, port } = this.tuner.route
    return mcast === '' ? [] : this.#parts.streams.find(mcast, port)
  }

  /** All streams heard. */
  streams(): readonly HeardStream[] {
    return this.#parts.streams.list()
  }

  facts(): DecoderFacts {
    const { output, tuner, volume } = this
    const { ptp, times } = this.#parts
    const { plan, reception } = tuner
    return {
      route: tuner.route,
      tuning: tuner.tuning,
      tuningFault: tuner.fault,
      announcement: plan?.announcement ?? null,
      announced: this.announced(),
      broken: tuner.broken,
      brokenSoon: plan?.broken ?? null,
      sync: plan?.tuning.sync ?? null,
      ptp: ptp.view(),
      refClock: ptp.refClock(),
      reception: {
        otherAddress: reception.otherAddress,
        isOtherHeard: reception.paths.some((path) => path.sender !== null && path.sender === reception.otherAddress),
        sender: reception.sender,
        silentMs: reception.silentMs,
        pathsSilentMs: reception.pathsSilentMs,
        hasHeard: reception.hasHeard,
        soundlessMs: reception.soundlessMs,
        wildAgeMs: reception.wildAgeMs,
        transitMs: reception.stats?.transitMs ?? null,
        frameBytes: reception.stats?.frameBytes ?? null,
        senderGoneMs: times.senderGoneMs,
        otherAgeMs: reception.otherAgeMs,
        formatAgeMs: reception.formatAgeMs,
        channels: reception.stats?.channels ?? null,
        packetMs: reception.stats?.packetMs ?? null,
        lossPercent1Min: reception.lossPercent1Min,
        lateLastMinute: reception.late1Min,
        linkMs: tuner.tuning?.linkMs ?? 0,
      },
      volume: volume.view,
      output: {
        name: output.name,
        kind: output.kind,
        isPlaying: output.state === 'playing',
        fault: output.fault,
        silenceMs: output.silenceMs,
        underrunsPerMinute: output.underruns1Min,
        skippedMsPerMinute: output.skippedMs1Min,
      },
    }
  }

  #endSecond(): void {
    this.#history.add(this.#seconds.end())
  }

  /** Reports a change of the chain, so that a page learns of it at once. */
  #judge(): void {
    const told = this.checks()
      .map(({ state, code }) => `${state} ${code}`)
      .join()
    if (told === this.#told) return
    this.#told = told
    this.#parts.onChange()
  }
}

function loudest(meters: Meters | null): number | null {
  const peaks = (meters?.peak_db ?? []).filter((peak) => peak !== null)
  return peaks.length === 0 ? null : Math.max(...peaks)
}
