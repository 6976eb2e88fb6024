/** A sound card: which one to use, its part of a pipeline, and how it is kept on the audio clock. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { SoundCard } from '../../wire/sound-cards.ts'
import { SAMPLE_RATE } from '../../wire/streams/description.ts'

/** Purpose of a card. */
type CardUse = 'plays' | 'captures'

/** The card that was chosen. */
interface ChosenCard {
  /** Name that ALSA opens. */
  alsa: string
  /** For people. */
  name: string
  /** Whether it is plugged in; null if its ALSA name does not identify a card. */
  found: boolean | null
}

const USE_VERBS: Readonly<Record<CardUse, string>> = { plays: 'plays', captures: 'records' }

/**
 * Chooses the card, whether or not the installer named one.
 * @param wanted ALSA name from the settings; empty for the first card
 * @throws Fault `no_card` if none is named and none is there
 */
export function chooseCard(cards: readonly SoundCard[], wanted: string, use: CardUse): ChosenCard {
  if (wanted !== '') {
    const named = /^(?:plug)?hw:(?:CARD=)?([^,=]+)(?:,(?:DEV=)?(\d+))?$/.exec(wanted)
    if (!named) return { alsa: wanted, name: wanted, found: null }
    const [, card, device = '0'] = named
    const isIt = (each: SoundCard) => each.id === card || String(each.index) === card
    const found = cards.find((each) => isIt(each) && each.device === Number(device))
    return { alsa: wanted, name: found?.name ?? wanted, found: found?.[use] ?? false }
  }
  const first = cards.find((each) => each[use])
  if (first) return { alsa: first.alsa, name: first.name, found: true }
  const others = cards.length === 0 ? 'no sound card' : `${cards.length} sound devices, and none that ${USE_VERBS[use]}`
  throw new Fault('no_card', `This machine has ${others}: plug one in, or name it in the settings.`)
}

// Pipeline fragments that end in a sound card, and the names of their elements.

/** Element of either fragment that opens the card: `fill`, `starts`, `xruns` and `dropped` are read from it. */
const CARD = 'card'
/** Element of either fragment on which `ppm` is set. */
const DRIFT = 'drift'

/** How to open a card. */
export interface CardOptions {
  /** ALSA name. */
  alsa: string
  /** Sound kept buffered between the board and the card, in ms: allows for late threads and late cards. */
  fillMs: number
  /** Size of the card's own buffer, in ms; more than the fill. */
  bufferMs: number
}

/**
 * Takes S32LE at 48 kHz with any number of channels: the card's channels are filled from the first, the rest are
 * silent; a single channel goes to all of the card's. A card with fewer bits gets the upper ones, unchanged.
 */
export function sinkFragment(options: CardOptions): string {
  return `plantroomdrift name=${DRIFT} ! plantroomcardsink name=${CARD} ${settings(options)}`
}

/** Delivers S32LE at 48 kHz with `channels` channels: the card's first ones, silent beyond its last. Live. */
export function sourceFragment(options: CardOptions, channels: number): string {
  const caps = `audio/x-raw,format=S32LE,rate=${SAMPLE_RATE},channels=${channels},layout=interleaved${maskOf(channels)}`
  return `plantroomcardsrc name=${CARD} ${settings(options)} ! ${caps} ! plantroomdrift name=${DRIFT}`
}

function settings({ alsa, fillMs, bufferMs }: CardOptions): string {
  return `device="${alsa.replace(/[\\"]/g, '\\$&')}" fill-ms=${fillMs} buffer-ms=${bufferMs}`
}

/** Beyond two, channels have no loudspeaker position; GStreamer requires an explicit mask for that. */
function maskOf(channels: number): string {
  return channels > 2 ? ',channel-mask=(bitmask)0x0' : ''
}

// State table of the card servo: state x event -> next state.

/** `settling` measures the usual fill of the buffer; `resting` corrects nothing. */
export type CardServoState = 'settling' | 'resting' | 'catching' | 'holding'

/**
 * - `started` the card was started, or restarted with a fresh fill
 * - `settled` the fill has been measured long enough
 * - `known` the same, and the card's drift is known from before
 * - `strayed` the fill has left the tolerated band
 * - `caught` it is back in the middle, and stays
 * - `even` the card's drift is too small to correct
 */
export type CardServoEvent = 'started' | 'settled' | 'known' | 'strayed' | 'caught' | 'even'

/** Events not listed leave the state as it is. */
export const cardServoStateTable: Readonly<Record<CardServoState, Partial<Record<CardServoEvent, CardServoState>>>> = {
  settling: { settled: 'resting', known: 'holding' },
  resting: { started: 'settling', strayed: 'catching' },
  catching: { started: 'settling', caught: 'holding' },
  holding: { started: 'settling', strayed: 'catching', even: 'resting' },
}

/** @returns the next state; the same if the table has no such pair */
export function nextCardServoState(state: CardServoState, event: CardServoEvent): CardServoState {
  return cardServoStateTable[state][event] ?? state
}

// How much to resample, so that a card with its own clock neither runs dry nor overflows.

/** Seconds after a start for measuring the usual fill. Single values from a card are coarse; only their mean counts. */
const SETTLE_S = 4
/** Seconds over which the fill is averaged. */
const WINDOW_S = 4
/** Frames (0.67 ms) by which the fill may stray before it is corrected: a card on the same clock is left alone. */
const BAND_FRAMES = 32
/** Frames around the middle within which a corrected fill counts as centred. */
const MIDDLE_FRAMES = 8
/** Seconds it has to stay there. */
const MIDDLE_S = 10
/** A smaller drift is not corrected: it takes at least ten minutes to cross the band. */
const EVEN_PPM = 1
/** Seconds of a fill that steering cannot explain, after which the card is refilled. */
const LOST_S = 3

/**
 * Parts in a million per frame of error, and per frame and second: critically damped, with a time constant of 10 s
 * while catching and of 40 s afterwards, when noise in the fill should change the pitch as little as possible.
 */
const GAINS: Readonly<Record<'catching' | 'holding', { p: number; i: number }>> = {
  catching: { p: 4, i: 0.192 },
  holding: { p: 1, i: 0.012 },
}

interface CardServoOptions {
  /** Target number of frames in the buffer. */
  targetFrames: number
  /** Steering limit in either direction. */
  mostPpm: number
}

/** Readings of the card since the last look. */
interface CardLook {
  /** Mean number of frames in its buffer; null without a reading. */
  fillFrames: number | null
  /** Number of starts since it was opened. */
  starts: number
  /** Seconds since the last look. */
  elapsedS: number
}

/** The servo's decision. */
interface CardAdvice {
  /** Above 0: the board consumes more frames than it delivers. */
  ppm: number
  /** Refill the card: the fill is so far off that steering would take minutes. */
  refill: boolean
}

/** Starts in state `settling`. */
export function createCardServo({ targetFrames, mostPpm }: CardServoOptions) {
  let state: CardServoState = 'settling'
  let starts: number | undefined
  let looks: { fill: number; elapsedS: number }[] = []
  let usualFrames = targetFrames
  /** The card's drift as far as it is known. */
  let driftPpm = 0
  let middleS = 0
  let lostS = 0

  function move(event: CardServoEvent): void {
    state = nextCardServoState(state, event)
    middleS = 0
    if (event === 'started') looks = []
    if (event === 'even') driftPpm = 0
  }

  function look({ fillFrames, starts: startsNow, elapsedS }: CardLook): CardAdvice {
    if (startsNow !== starts) {
      starts = startsNow
      move('started')
    }
    if (fillFrames === null) return { ppm: driftPpm, refill: false }
    if (state !== 'settling' && Math.abs(fillFrames - usualFrames) > targetFrames) return lost(elapsedS)
    lostS = 0
    looks.push({ fill: fillFrames, elapsedS })
    while (looks.length > 1 && seconds(looks.slice(1)) >= WINDOW_S) looks.shift()
    const mean = looks.reduce((sum, each) => sum + each.fill * each.elapsedS, 0) / seconds(looks)
    if (state === 'settling') {
      if (seconds(looks) < SETTLE_S) return { ppm: driftPpm, refill: false }
      usualFrames = mean
      move(driftPpm === 0 ? 'settled' : 'known')
    }
    return steer(mean - usualFrames, elapsedS)
  }

  /** A fill this far off says nothing about the drift. */
  function lost(elapsedS: number): CardAdvice {
    lostS += elapsedS
    const refill = lostS >= LOST_S
    if (refill) lostS = 0
    return { ppm: driftPpm, refill }
  }

  function steer(error: number, elapsedS: number): CardAdvice {
    if (Math.abs(error) > BAND_FRAMES && state !== 'catching') move('strayed')
    middleS = Math.abs(error) <= MIDDLE_FRAMES ? middleS + elapsedS : 0
    if (middleS >= MIDDLE_S) {
      if (state === 'catching') move('caught')
      else if (state === 'holding' && Math.abs(driftPpm) < EVEN_PPM) move('even')
    }
    if (state === 'settling' || state === 'resting') return { ppm: 0, refill: false }
    const { p, i } = GAINS[state]
    // At its limit, steering says nothing about the drift.
    if (Math.abs(driftPpm + p * error) < mostPpm) driftPpm = clamp(driftPpm + i * error * elapsedS, mostPpm)
    return { ppm: clamp(driftPpm + p * error, mostPpm), refill: false }
  }

  return {
    look,
    state: () => state,
    /** The lasting part of the correction, which is the drift between card and board; 0 while nothing is corrected. */
    driftPpm: () => driftPpm,
  }
}

function seconds(looks: readonly { elapsedS: number }[]): number {
  return looks.reduce((sum, each) => sum + each.elapsedS, 0)
}

function clamp(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value))
}

// Steers the card of one open pipeline to the audio clock, and reports its state.

const FRAMES_PER_MS = SAMPLE_RATE / 1000

/** What is needed of a pipeline: the elements of a card fragment, by name and property. */
interface CardPipeline {
  get(element: string, property: string): unknown
  set(element: string, property: string, value: number | boolean): void
}

/** State of a steered card. */
export interface CardView {
  /** Sound in the card's buffer, in ms: behind the board when playing, ahead of it when capturing. */
  latency_ms: number | null
  /** How much faster the card's clock runs than the board's; 0 while nothing needs correcting, null while unknown. */
  drift_ppm: number | null
  state: CardServoState
  /** Times that the card ran dry or overflowed, and was restarted. */
  xruns: number
  /** Frames dropped because the card took none, or delivered too many. */
  dropped_frames: number
}

interface CardSteeringOptions {
  clock: Clock
  pipeline: CardPipeline
  use: 'plays' | 'captures'
  fillMs: number
  mostPpm: number
  lookMs: number
}

/** Starts at once; call `close` before the pipeline is closed. */
export function createCardSteering(options: CardSteeringOptions) {
  const { clock, pipeline, use, fillMs, lookMs } = options
  const servo = createCardServo({ targetFrames: fillMs * FRAMES_PER_MS, mostPpm: options.mostPpm })
  let lastLookMs = clock.monotonicMs()
  let fillFrames: number | null = null
  let ppm = 0

  function look(): void {
    const nowMs = clock.monotonicMs()
    // Below 0: no sound has passed since the last look.
    const fill = numberOf(pipeline.get(CARD, 'fill'))
    fillFrames = fill < 0 ? null : fill
    const starts = numberOf(pipeline.get(CARD, 'starts'))
    const advice = servo.look({ fillFrames, starts, elapsedS: (nowMs - lastLookMs) / 1000 })
    lastLookMs = nowMs
    if (advice.refill) pipeline.set(CARD, 'refill', true)
    if (advice.ppm === ppm) return
    ppm = advice.ppm
    pipeline.set(DRIFT, 'ppm', ppm)
  }

  const timer: Timer = clock.every(lookMs, look)
  return {
    view: (): CardView => ({
      latency_ms: fillFrames === null ? null : round(fillFrames / FRAMES_PER_MS, 100),
      // The signs differ by direction: when playing, a faster card consumes more of our frames.
      drift_ppm:
        servo.state() === 'settling' ? null : round(use === 'plays' ? -servo.driftPpm() : servo.driftPpm(), 10),
      state: servo.state(),
      xruns: numberOf(pipeline.get(CARD, 'xruns')),
      dropped_frames: numberOf(pipeline.get(CARD, 'dropped')),
    }),
    close: () => timer.cancel(),
  }
}

function numberOf(value: unknown): number {
  return Number(value)
}

function round(value: number, parts: number): number {
  // Turns -0 into 0.
  return Math.round(value * parts) / parts + 0
}
