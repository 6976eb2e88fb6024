/** The output of a decoder: where it plays to, its pipeline, and what keeps it playing. */

import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { type BackoffLimits, createBackoff } from '#kit/pure/pace.ts'
import type { Meters } from '../../../core/role.ts'
import type { Output, OutputFacts, OutputOpener } from './ports.ts'
import { createLastMinute } from './reception.ts'

/** What `audio.sink` and the setting `audio_device` come to. */
export type Sink = { kind: 'null' } | { kind: 'file'; path: string } | { kind: 'alsa'; device: string }

/**
 * @param audioDevice of the settings: an ALSA name; empty takes the sink of board.toml
 * @param sink of board.toml: `null`, `file:PATH` or an ALSA name; empty is the first card
 */
export function chooseSink(audioDevice: string, sink: string): Sink {
  if (audioDevice !== '') return { kind: 'alsa', device: audioDevice }
  if (sink === 'null') return { kind: 'null' }
  const path = /^file:(.+)$/s.exec(sink)?.[1]
  return path === undefined ? { kind: 'alsa', device: sink } : { kind: 'file', path }
}

// The pipeline, as GStreamer is told of it.

/** Names of its elements. */
export const SOURCE = 'rtp'
export const LEVEL = 'level'

/** How often levels are told. */
const LEVEL_NS = 50_000_000

/**
 * What is received, as loud as it is to be; then the levels of that; then what it ends in. The source gives 24 bits in
 * the upper ones of 32, which every end takes over as they are.
 * @param end fragment that takes S32LE at 48 kHz
 */
export function outputDescription(channels: number, end: string): string {
  const source = `plantroomrtpsrc name=${SOURCE} channels=${channels}`
  return `${source} ! level name=${LEVEL} post-messages=true interval=${LEVEL_NS} ! ${end}`
}

/** Takes samples as fast as they come, which is the pace of the clock, and plays them to nobody. */
export const NULL_END = 'fakesink sync=false'

/** Records what would be heard, 24 bits; at once, so that who reads along, as from a named pipe, hears it in time. */
export function fileEnd(path: string): string {
  const location = path.replace(/[\\"]/g, '\\$&')
  const convert = 'audioconvert dithering=none noise-shaping=none ! audio/x-raw,format=S24LE'
  return `${convert} ! wavenc ! filesink buffer-mode=unbuffered sync=false location="${location}"`
}

// Its life: state x event -> next state.

/**
 * - `starting` the pipeline is being made
 * - `playing` it runs
 * - `waiting` it ended, or could not be made; it is tried again
 * - `closed` the board stops
 */
export type OutputState = 'starting' | 'playing' | 'waiting' | 'closed'

/**
 * - `started` it runs
 * - `failed` it ended by itself, or could not be made
 * - `retry` the wait is over
 * - `closing` the board stops
 */
export type OutputEvent = 'started' | 'failed' | 'retry' | 'closing'

/** A pair that is not listed does not change the state. */
export const outputStateTable: Readonly<Record<OutputState, Partial<Record<OutputEvent, OutputState>>>> = {
  starting: { started: 'playing', failed: 'waiting', closing: 'closed' },
  playing: { failed: 'waiting', closing: 'closed' },
  waiting: { retry: 'starting', closing: 'closed' },
  closed: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextOutputState(state: OutputState, event: OutputEvent): OutputState {
  return outputStateTable[state][event] ?? state
}

// What ends is made anew, with waits that grow, and plays what is to be heard then.

/** What the care is made of. */
interface OutputCareParts {
  clock: Clock
  log: Log
  opener: OutputOpener
  retry: BackoffLimits
  /** Looks in a row at which it has not moved, before it is made anew. Looks, since a process that stood still missed both. */
  stallLooks: number
  /** Takes over a promise nobody awaits. */
  own(promise: Promise<unknown>): void
  onChange(): void
}

/** A pipe that nobody reads, and a card that hangs, must not keep the board from its page. */
const MOST_WAIT_MS = 2000

/** Softer than this is silence: a 16-bit sample cannot tell it from nothing. */
const SILENCE_DB = -96

export class OutputCare {
  readonly #parts: OutputCareParts
  readonly #backoff: ReturnType<typeof createBackoff>
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
    this.#backoff = createBackoff(parts.retry)
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

  /** How often it ended by itself, or could not be made. */
  get restarts(): number {
    return this.#restarts
  }

  /** Looks at it, and counts how often it ran empty, and what was left out. */
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

  /** How often it ran empty in the last minute. */
  get underruns1Min(): number {
    return this.#minute.sum('underruns')
  }

  /** What was left out in the last minute. */
  get skippedMs1Min(): number {
    return this.#minute.sum('skippedMs')
  }

  get meters(): Meters | null {
    return this.#meters
  }

  /** For how long what is listened to has been nothing but silence, in ms; null where nothing of it was ever played. */
  get silenceMs(): number | null {
    return this.#loudMs === null ? null : this.#parts.clock.monotonicMs() - this.#loudMs
  }

  /** Makes it for the first time; one that cannot be made is tried again later, one that takes long is not waited for. */
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

  /** What is heard, now and after it was made anew. */
  listen(receiverId: number): void {
    if (receiverId === this.#receiverId) return
    this.#receiverId = receiverId
    // What was heard of another stream, or of none, says nothing of this one.
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
    // One that held for long begins with short waits again.
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
    // A card is free for the next try once the last one has let go of it.
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
    // Levels are of what is played: how soft the volume makes it is no word about the stream.
    const softestDb = SILENCE_DB + Math.min(0, 20 * Math.log10(this.#gain))
    if (meters.peak_db.some((peak) => peak !== null && peak > softestDb)) this.#loudMs = this.#parts.clock.monotonicMs()
    for (const hear of this.#listeners) hear(meters)
  }
}

/** Silence is endlessly far below full scale, which JSON cannot say, and GStreamer calls it -350; a tenth is enough for a page. */
function told(db: number): number | null {
  return db > NOTHING_DB ? Math.round(db * 10) / 10 + 0 : null
}

/** The smallest sample of 24 bits is at -138 dB. */
const NOTHING_DB = -200
