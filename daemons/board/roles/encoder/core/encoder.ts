/** An encoder: a source, the stream it feeds, and what is known of both. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Ptp } from '../../../core/ptp/ptp.ts'
import { type AudioSource, type Check, createHistory, HISTORY_SECONDS } from '../../../core/sound/sound.ts'
import { type EncoderCheckName, encoderChecks } from './encoder-checks.ts'
import { createSeconds, type EncoderSeries, encoderSeries } from './encoder-history.ts'
import { FeedCare } from './feed-care.ts'
import { Loudness } from './loudness.ts'
import type { FeedOpener, SentFacts } from './ports.ts'

/** How the stream is made known to others. */
export interface Announcing {
  /** The description may be otherwise now. */
  changed(): void
  /** The description as it is now; undefined while the stream cannot be sent. */
  sdp(): string | undefined
  /** `last_at`: of the last announcement over SAP, epoch ms; null before the first. */
  view(): { sap: boolean; last_at: number | null; rtsp: boolean }
}

/** What limits and paces it, from board.toml. */
export interface EncoderLimits {
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

  /** Epoch ms until when a tone goes out in place of the source; null while none does. */
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

  /** Sends a tone in place of the source, for a while; or the source again. */
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
    // A source that is not open takes the new addresses when it is; its waits are its own.
    if (this.care.state === 'sending') own(this.care.take(this.care.source))
  }
}
