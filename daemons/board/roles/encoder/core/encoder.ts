/** An encoder: a source, the stream it feeds, the state of both, and whether receivers can rely on it. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { isLockedState, type Ptp, type PtpView } from '../../../core/ptp/ptp.ts'
import type { Meters } from '../../../core/role.ts'
import {
  type AudioSource,
  type Check,
  createHistory,
  HISTORY_SECONDS,
  type Judgement,
  judgeChain,
  type Measured,
} from '../../../core/sound/sound.ts'
import { FeedCare, type FeedState } from './feed.ts'
import type { FeedOpener, SentFacts } from './ports.ts'

// Loudness of the source, and how long it has been silent.

/** Level of digital silence: nothing measured is ever as low. */
const NOTHING_DB = -200

class Loudness {
  readonly #clock: Clock
  readonly #silenceDb: number
  readonly #listeners = new Set<(meters: Meters) => void>()
  #meters: Meters | null = null
  #loudMs: number | null = null
  #loudestDb: number | null = null

  /** @param silenceDb peak below which it is silent */
  constructor(clock: Clock, silenceDb: number) {
    this.#clock = clock
    this.#silenceDb = silenceDb
  }

  get meters(): Meters | null {
    return this.#meters
  }

  /** How long it has been silent, 0 if it is not; null if nothing was ever measured. */
  get silenceS(): number | null {
    return this.#loudMs === null ? null : Math.floor((this.#clock.monotonicMs() - this.#loudMs) / 1000)
  }

  hear(peakDb: readonly number[], rmsDb: readonly number[]): void {
    const nowMs = this.#clock.monotonicMs()
    this.#loudMs ??= nowMs
    const loudest = Math.max(...peakDb)
    if (loudest >= this.#silenceDb) this.#loudMs = nowMs
    if (loudest > NOTHING_DB) this.#loudestDb = Math.max(loudest, this.#loudestDb ?? loudest)
    this.#meters = { peak_db: peakDb.map(told), rms_db: rmsDb.map(told) }
    for (const listener of this.#listeners) listener(this.#meters)
  }

  /** Call when no more sound comes. */
  rest(): void {
    this.#meters = null
    this.#loudMs = null
  }

  /** The loudest peak since the last call; null if there was none. */
  takeLoudestDb(): number | null {
    const loudest = this.#loudestDb
    this.#loudestDb = null
    return loudest
  }

  /** @returns ends it */
  onMeters(hear: (meters: Meters) => void): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }
}

/** To a hundredth: JSON sent twenty times a second should be short. */
function told(db: number): number | null {
  return db > NOTHING_DB ? Math.round(db * 100) / 100 : null
}

// Measurements of an encoder each second, for plots of the last hour.

/** Series of `GET /api/history`; names end with the unit, counts are per second. */
const encoderSeries = [
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

type EncoderSeries = (typeof encoderSeries)[number]

/** State at the end of a second. */
interface SecondFacts {
  sent: SentFacts | null
  ptp: PtpView
  peakDb: number | null
  driftPpm: number | null
}

/** @returns a function that makes a second's values; counts are relative to the second before */
function createSeconds() {
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

// Whether sound is sent, and whether receivers can rely on it: a chain from the source to the announcement.

export type EncoderCheckName = 'input' | 'level' | 'clock' | 'sending' | 'announced'

/** Facts about an encoder. */
interface EncoderFacts {
  source: {
    name: string
    kind: 'tone' | 'file' | 'alsa'
    state: FeedState
    fault: { code: string; message: string } | null
  }
  channels: number
  packetMs: number
  meters: Meters | null
  silenceS: number | null
  /** Silence longer than this gives a warning. */
  mostSilenceS: number
  ptp: PtpView
  sent: SentFacts | null
  /** Of the last second; null before the first. */
  lastSecond: { packets: number; errors: number } | null
  announced: { sap: boolean; last_at: number | null; rtsp: boolean }
  /** From the settings; `announced.sap` is whether it is possible. */
  isSapWanted: boolean
}

/** Nothing sent for this long is an interruption, not a late packet. */
const IDLE_MS = 1000

/** @returns all links in the order of the chain */
function encoderChecks(facts: EncoderFacts): Check<EncoderCheckName>[] {
  return judgeChain<EncoderCheckName>([
    ['input', () => inputJudgement(facts)],
    ['level', () => levelJudgement(facts)],
    ['clock', () => clockJudgement(facts)],
    ['sending', () => sendingJudgement(facts)],
    ['announced', () => announcedJudgement(facts)],
  ])
}

function ok(text: string, code: string | null = null): Judgement {
  return { state: 'ok', code, text }
}

function inputJudgement({ source: { fault, kind, name, state }, channels }: EncoderFacts): Judgement {
  if (fault !== null) return { state: 'fault', code: fault.code, text: fault.message }
  if (state !== 'sending') return { state: 'not_judged', code: null, text: `${name} is being opened.` }
  const many = channels === 1 ? '1 channel' : `${channels} channels`
  return ok(
    kind === 'tone' ? `${name} in ${many}, in place of a source.` : `${name}, ${many}.`,
    kind === 'tone' ? 'tone' : null,
  )
}

function levelJudgement({ meters, mostSilenceS, silenceS }: EncoderFacts): Judgement {
  if (meters === null) return ok('Not measured yet.')
  if (silenceS !== null && silenceS >= mostSilenceS)
    return {
      state: 'warn',
      code: 'silence',
      text: `The input has been silent for ${silenceS} s: is something plugged in, and playing?`,
    }
  const loudest = Math.max(...meters.peak_db.map((db) => db ?? Number.NEGATIVE_INFINITY))
  return ok(Number.isFinite(loudest) ? `Peak ${loudest.toFixed(1)} dBFS.` : 'Silent.')
}

function clockJudgement({ ptp }: EncoderFacts): Judgement {
  if (!ptp.enabled) return ok('PTP is off: the stream is sent on the clock of this machine alone.', 'own_clock')
  if (ptp.state === 'locked' || ptp.state === 'master') return ok(ptp.text)
  if (isLockedState(ptp.state)) return { state: 'warn', code: 'holdover', text: ptp.text }
  return { state: 'warn', code: 'no_ptp_lock', text: `The board sends on its own clock. ${ptp.text}` }
}

function sendingJudgement({ lastSecond, packetMs, sent }: EncoderFacts): Judgement {
  if (sent === null || lastSecond === null)
    return { state: 'not_judged', code: null, text: 'Nothing has been sent yet.' }
  if (sent.idleMs === null || sent.idleMs > IDLE_MS)
    return { state: 'fault', code: 'nothing_sent', text: 'Nothing goes out: the source gives no sound.' }
  const { packets, errors } = lastSecond
  const why = sent.error === null ? '' : `: ${sent.error}`
  if (errors > 0 && packets === 0)
    return { state: 'fault', code: 'not_sent', text: `The network takes none of the packets${why}.` }
  if (errors > 0)
    return {
      state: 'warn',
      code: 'some_not_sent',
      text: `The network did not take ${errors} packets in the last second${why}.`,
    }
  const lateUs = sent.lateUs?.p99 ?? 0
  if (lateUs > packetMs * 1000)
    return {
      state: 'warn',
      code: 'late',
      text: `One packet of a hundred leaves ${(lateUs / 1000).toFixed(1)} ms late: the machine is too busy.`,
    }
  return ok(`${packets} packets a second, none refused.`)
}

function announcedJudgement({ announced: { last_at: lastAt, rtsp, sap }, isSapWanted }: EncoderFacts): Judgement {
  const ways = [...(sap ? ['SAP'] : []), ...(rtsp ? ['RTSP'] : [])]
  if (sap && lastAt === null)
    return { state: 'warn', code: 'not_announced', text: 'No announcement could be sent yet.' }
  if (isSapWanted && !sap) {
    const text = `No announcement goes out over SAP: the network takes none.${rtsp ? ' It is found by RTSP.' : ''}`
    return { state: 'warn', code: 'not_announced', text }
  }
  if (ways.length === 0) return ok('Announced nowhere: SAP is off in the settings.', 'not_announced')
  return ok(`By ${ways.join(' and ')}.`)
}

// The encoder.

/** How the stream is announced. */
export interface Announcing {
  /** The description may have changed. */
  changed(): void
  /** The present description; undefined while the stream cannot be sent. */
  sdp(): string | undefined
  /** `last_at`: of the last announcement over SAP, epoch ms; null before the first. */
  view(): { sap: boolean; last_at: number | null; rtsp: boolean }
}

/** Limits and intervals, from board.toml. */
interface EncoderLimits {
  silence_db: number
  silence_s: number
  tone_s: number
  card_retry_ms: number
  card_retry_most_ms: number
}

export interface EncoderParts {
  clock: Clock
  log: Log
  opener: FeedOpener
  source: AudioSource
  ptp: Ptp
  announcing: Announcing
  /** The setting `sap`. */
  isSapWanted: boolean
  stream: { channels: number; packetMs: number }
  limits: EncoderLimits
  own(promise: Promise<unknown>): void
  onChange(): void
}

export class Encoder {
  readonly parts: EncoderParts
  readonly care: FeedCare
  readonly loudness: Loudness
  readonly history
  readonly #seconds = createSeconds()
  #ending: (() => void) | undefined
  #timer: Timer | undefined
  #toneTimer: Timer | undefined
  #toneUntil: number | null = null
  #lastSecond: { packets: number; errors: number } | null = null

  constructor(parts: EncoderParts) {
    const { clock, limits, log, opener, own, source } = parts
    this.parts = parts
    this.loudness = new Loudness(clock, limits.silence_db)
    this.history = createHistory<EncoderSeries>({ clock, names: encoderSeries, seconds: HISTORY_SECONDS })
    this.care = new FeedCare({
      ...{ clock, log, opener, source, own },
      retry: { firstMs: limits.card_retry_ms, maxMs: limits.card_retry_most_ms },
      level: (peakDb, rmsDb) => this.loudness.hear(peakDb, rmsDb),
      onChange: () => {
        if (this.care.state !== 'sending') this.loudness.rest()
        parts.onChange()
      },
    })
  }

  /** Epoch ms until which a tone is sent instead of the source; null if none is. */
  get toneUntil(): number | null {
    return this.#toneUntil
  }

  sent(): SentFacts | null {
    return this.parts.opener.sent()
  }

  checks(): Check<EncoderCheckName>[] {
    const { announcing, isSapWanted, limits, ptp, stream } = this.parts
    const { name, source, state, fault } = this.care
    return encoderChecks({
      source: { name, kind: source.kind, state, fault },
      ...stream,
      meters: this.loudness.meters,
      silenceS: this.loudness.silenceS,
      mostSilenceS: limits.silence_s,
      ptp: ptp.view(),
      sent: this.sent(),
      lastSecond: this.#lastSecond,
      announced: announcing.view(),
      isSapWanted,
    })
  }

  start(): Promise<void> {
    const { announcing, clock, ptp } = this.parts
    this.#ending = ptp.onChange(() => announcing.changed())
    this.#timer = clock.every(1000, () => this.#look())
    return this.care.start()
  }

  /** Sends a tone instead of the source, for a while; or the source again. */
  async tone(isOn: boolean): Promise<void> {
    const { clock, limits, source } = this.parts
    this.#toneTimer?.cancel()
    this.#toneUntil = isOn ? clock.epochMs() + limits.tone_s * 1000 : null
    if (isOn) this.#toneTimer = clock.after(limits.tone_s * 1000, () => this.parts.own(this.tone(false)))
    const wanted: AudioSource = isOn ? { kind: 'tone' } : source
    if (wanted.kind !== this.care.source.kind) await this.care.take(wanted)
    this.parts.onChange()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#toneTimer?.cancel()
    this.#ending?.()
    await this.care.close()
  }

  #look(): void {
    const driftPpm = this.care.feed?.card()?.drift_ppm ?? null
    const peakDb = this.loudness.takeLoudestDb()
    const second = this.#seconds({ sent: this.sent(), ptp: this.parts.ptp.view(), peakDb, driftPpm })
    this.#lastSecond = { packets: second.packets ?? 0, errors: second.errors ?? 0 }
    this.history.add(second)
    const { opener, own } = this.parts
    if (!opener.hasMoved()) return
    this.parts.announcing.changed()
    // A source that is not open takes the new addresses when it opens; its retries go on.
    if (this.care.state === 'sending') own(this.care.take(this.care.source))
  }
}
