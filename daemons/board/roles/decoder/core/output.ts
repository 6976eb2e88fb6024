/** The output of a decoder: its sink, its pipeline, and the retries that keep it playing. */

import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import type { Meters } from '../../../core/role.ts'
import type { Output, OutputFacts, OutputOpener } from './ports.ts'
import { createLastMinute } from './reception.ts'

/** The sink that results from `audio.sink` and the setting `audio_device`. */
export type Sink = { kind: 'null' } | { kind: 'file'; path: string } | { kind: 'alsa'; device: string }

/**
 * @param audioDevice from the settings: an ALSA name; empty takes the sink of board.toml
 * @param sink from board.toml: `null`, `file:PATH` or an ALSA name; empty is the first card
 */
export function chooseSink(audioDevice: string, sink: string): Sink {
  if (audioDevice !== '') return { kind: 'alsa', device: audioDevice }
  if (sink === 'null') return { kind: 'null' }
  const path = /^file:(.+)$/s.exec(sink)?.[1]
  return path === undefined ? { kind: 'alsa', device: sink } : { kind: 'file', path }
}

// The pipeline description for GStreamer.

/** Names of its elements. */
export const SOURCE = 'rtp'
export const LEVEL = 'level'

/** Interval between level messages. */
const LEVEL_NS = 50_000_000

/**
 * The received sound with volume applied; then level metering; then the end. The source delivers 24 bits in the upper
 * bits of 32, which every end takes unchanged.
 * @param end fragment that takes S32LE at 48 kHz
 */
export function outputDescription(channels: number, end: string): string {
  const source = `plantroomrtpsrc name=${SOURCE} channels=${channels}`
  return `${source} ! level name=${LEVEL} post-messages=true interval=${LEVEL_NS} ! ${end}`
}

/** Takes samples as fast as they come, which is the pace of the clock, and discards them. */
export const NULL_END = 'fakesink sync=false'

/** Records what would be heard, 24 bits; unbuffered, so that a reader, as of a named pipe, gets it in time. */
export function fileEnd(path: string): string {
  const location = path.replace(/[\\"]/g, '\\$&')
  const convert = 'audioconvert dithering=none noise-shaping=none ! audio/x-raw,format=S24LE'
  return `${convert} ! wavenc ! filesink buffer-mode=unbuffered sync=false location="${location}"`
}

// State table of the output: state x event -> next state.

/**
 * - `starting` the pipeline is being opened
 * - `playing` it runs
 * - `waiting` it ended, or could not be opened; it is tried again
 * - `closed` the board stops
 */
export type OutputState = 'starting' | 'playing' | 'waiting' | 'closed'

/**
 * - `started` it runs
 * - `failed` it ended by itself, or could not be opened
 * - `retry` the wait is over
 * - `closing` the board stops
 */
export type OutputEvent = 'started' | 'failed' | 'retry' | 'closing'

/** Events not listed leave the state as it is. */
export const outputStateTable: Readonly<Record<OutputState, Partial<Record<OutputEvent, OutputState>>>> = {
  starting: { started: 'playing', failed: 'waiting', closing: 'closed' },
  playing: { failed: 'waiting', closing: 'closed' },
  waiting: { retry: 'starting', closing: 'closed' },
  closed: {},
}

/** @returns the next state; the same if the table has no such pair */
export function nextOutputState(state: OutputState, event: OutputEvent): OutputState {
  return outputStateTable[state][event] ?? state
}

// Reopens an output that ends, with back-off, and restores what it should play.

/** Dependencies and settings. */
interface OutputCareParts {
  clock: Clock
  log: Log
  opener: OutputOpener
  retry: BackoffLimits
  /**
   * Looks in a row at which it has not moved, before it is reopened. Counted in looks, since a stalled process misses
   * both.
   */
  stallLooks: number
  /** Takes charge of a promise that nobody awaits. */
  own(promise: Promise<unknown>): void
  onChange(): void
}

/** A pipe without a reader, or a card that hangs, must not keep the board from serving its page. */
const MOST_WAIT_MS = 2000

/** Softer sound counts as silence: a 16-bit sample cannot represent it. */
const SILENCE_DB = -96

export class OutputCare {
  readonly #parts: OutputCareParts
  readonly #backoff: Backoff
  readonly #minute
  readonly #listeners = new Set<(meters: Meters) => void>()
  #state: OutputState = 'starting'
  #output: Output | null = null
  #fault: Fault | null = null
  #receiverId = 0
  #gain = 1
  #timer: Timer | undefined
  #opening: Promise<void> | undefined
  #playingMs = 0
  #meters: Meters | null = null
  #loudMs: number | null = null
  #restarts = 0
  #counted = { underruns: 0, skippedMs: 0 }
  #stillLooks = 0

  constructor(parts: OutputCareParts) {
    this.#parts = parts
    this.#backoff = new Backoff(parts.retry)
    this.#minute = createLastMinute(parts.clock, ['underruns', 'skippedMs'])
  }

  get name(): string {
    return this.#parts.opener.name
  }

  get kind(): OutputOpener['kind'] {
    return this.#parts.opener.kind
  }

  get state(): OutputState {
    return this.#state
  }

  /** Why it does not play; null while it does. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** How often it ended by itself, or could not be opened. */
  get restarts(): number {
    return this.#restarts
  }

  /** Reads its state, and counts underruns and skipped sound. */
  look(): OutputFacts | null {
    const facts = this.#output?.facts() ?? null
    const { underruns, skippedMs } = facts ?? { underruns: 0, skippedMs: 0 }
    this.#minute.add({
      underruns: Math.max(0, underruns - this.#counted.underruns),
      skippedMs: Math.max(0, skippedMs - this.#counted.skippedMs),
    })
    this.#counted = { underruns, skippedMs }
    this.#stillLooks += 1
    if (this.#state === 'playing' && this.#stillLooks >= this.#parts.stallLooks)
      this.#died(`${this.name} has not moved for a while, and is opened anew.`)
    return facts
  }

  /** Underruns in the last minute. */
  get underruns1Min(): number {
    return this.#minute.sum('underruns')
  }

  /** Sound skipped in the last minute. */
  get skippedMs1Min(): number {
    return this.#minute.sum('skippedMs')
  }

  get meters(): Meters | null {
    return this.#meters
  }

  /** How long the present stream has been silent, in ms; null if nothing of it was played yet. */
  get silenceMs(): number | null {
    return this.#loudMs === null ? null : this.#parts.clock.monotonicMs() - this.#loudMs
  }

  /** Opens it for the first time; if that fails it is tried again later, if it is slow it is not waited for. */
  async start(): Promise<void> {
    this.#opening = this.#open()
    await atMost(this.#parts.clock, MOST_WAIT_MS, this.#opening)
  }

  async close(): Promise<void> {
    this.#step('closing')
    this.#timer?.cancel()
    await this.#opening
    await this.#letGo()
  }

  /** Selects the receiver to play, also after a reopening. */
  listen(receiverId: number): void {
    if (receiverId === this.#receiverId) return
    this.#receiverId = receiverId
    // What was heard of another stream, or of none, says nothing about this one.
    this.#loudMs = null
    this.#output?.listen(receiverId)
  }

  setGain(gain: number): void {
    if (this.#gain === 0) this.#loudMs = null
    this.#gain = gain
    this.#output?.setGain(gain)
  }

  onMeters(hear: (meters: Meters) => void): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }

  async #open(): Promise<void> {
    try {
      let hasDied: string | undefined
      let output: Output | undefined
      output = await this.#parts.opener.open({
        level: (peakDb, rmsDb) => this.#hear({ peak_db: peakDb.map(told), rms_db: rmsDb.map(told) }),
        died: (why) => {
          hasDied = why
          if (output !== undefined && this.#output === output) this.#died(why)
        },
      })
      this.#output = output
      if (this.#state === 'closed') return
      if (hasDied !== undefined) return this.#died(hasDied)
      output.setGain(this.#gain)
      output.listen(this.#receiverId)
      this.#fault = null
      this.#playingMs = this.#parts.clock.monotonicMs()
      this.#stillLooks = 0
      this.#step('started')
    } catch (error) {
      this.#failed(faultOf(error, 'output_failed', `${this.name} cannot be played to`))
    }
  }

  #died(why: string): void {
    // After it has held for long, back-off starts with short waits again.
    const { clock, retry } = this.#parts
    if (this.#state === 'playing' && clock.monotonicMs() - this.#playingMs > retry.maxMs) this.#backoff.reset()
    this.#failed(faultOf(undefined, 'output_failed', why))
  }

  #failed(fault: Fault): void {
    if (this.#state === 'closed' || this.#state === 'waiting') return
    const waitMs = this.#backoff.next()
    if (this.#fault?.message !== fault.message) this.#parts.log.error('output failed', { output: this.name, fault })
    this.#fault = fault
    this.#restarts += 1
    this.#meters = null
    this.#step('failed')
    // A card is free for the next try only after the last one has closed it.
    const closed = this.#letGo()
    this.#parts.own(closed)
    this.#timer = this.#parts.clock.after(waitMs, () => {
      this.#step('retry')
      this.#opening = closed.then(() => this.#open())
      this.#parts.own(this.#opening)
    })
  }

  async #letGo(): Promise<void> {
    const output = this.#output
    this.#output = null
    await output?.close()
  }

  #step(event: OutputEvent): void {
    const before = this.#state
    this.#state = nextOutputState(before, event)
    if (this.#state !== before) this.#parts.onChange()
  }

  #hear(meters: Meters): void {
    this.#stillLooks = 0
    this.#meters = meters
    this.#loudMs ??= this.#parts.clock.monotonicMs()
    // Levels are measured after the volume: compensate, so that a low volume is not taken for a silent stream.
    const softestDb = SILENCE_DB + Math.min(0, 20 * Math.log10(this.#gain))
    if (meters.peak_db.some((peak) => peak !== null && peak > softestDb)) this.#loudMs = this.#parts.clock.monotonicMs()
    for (const hear of this.#listeners) hear(meters)
  }
}

/**
 * Digital silence is minus infinity, which JSON cannot express, and GStreamer reports as -350; a tenth of a dB is
 * enough for a page.
 */
function told(db: number): number | null {
  return db > NOTHING_DB ? Math.round(db * 10) / 10 + 0 : null
}

/** The smallest sample of 24 bits is at -138 dB. */
const NOTHING_DB = -200
