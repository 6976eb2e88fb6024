/** A sound card: which one, how a pipeline names it, and how it is kept on the audio clock. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { SoundCard } from '../../wire/sound-cards.ts'
import { SAMPLE_RATE } from '../../wire/streams/description.ts'

/** What a card is wanted for. */
type CardUse = 'plays' | 'captures'

/** The card that was chosen. */
interface ChosenCard {
  /** What ALSA opens. */
  alsa: string
  /** For people. */
  name: string
  /** Whether it is plugged in; null where its name is one of ALSA's own, that says nothing of a card. */
  found: boolean | null
}

const USE_VERBS: Readonly<Record<CardUse, string>> = { plays: 'plays', captures: 'records' }

/**
 * Which card is used, whether the installer named one or not.
 * @param wanted ALSA name as the settings have it; empty for the first card
 * @throws Fault `no_card` where none is named and none is there
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

// The parts of a pipeline that end in a sound card, and what they are called in it.

/** Element of either fragment that opens the card: `fill`, `starts`, `xruns` and `dropped` are read from it. */
const CARD = 'card'
/** Element of either fragment that `ppm` is set on. */
const DRIFT = 'drift'

/** What a card is opened with. */
export interface CardOptions {
  /** ALSA name. */
  alsa: string
  /** What is kept between the board and the card, in ms: late threads and late cards live on it. */
  fillMs: number
  /** Room of the card's own buffer, in ms; more than the fill. */
  bufferMs: number
}

/**
 * Takes S32LE at 48 kHz of any number of channels: the card's are filled from the first, silent where there are no more;
 * one channel goes to all of the card's. A card of fewer bits gets the upper ones, unchanged.
 */
export function sinkFragment(options: CardOptions): string {
  return `plantroomdrift name=${DRIFT} ! plantroomcardsink name=${CARD} ${settings(options)}`
}

/** Gives S32LE at 48 kHz of `channels` channels: the card's first ones, silent where it has fewer. Live. */
export function sourceFragment(options: CardOptions, channels: number): string {
  const caps = `audio/x-raw,format=S32LE,rate=${SAMPLE_RATE},channels=${channels},layout=interleaved${maskOf(channels)}`
  return `plantroomcardsrc name=${CARD} ${settings(options)} ! ${caps} ! plantroomdrift name=${DRIFT}`
}

function settings({ alsa, fillMs, bufferMs }: CardOptions): string {
  return `device="${alsa.replace(/[\\"]/g, '\\$&')}" fill-ms=${fillMs} buffer-ms=${bufferMs}`
}

/** Beyond two, channels have no loudspeaker that is theirs; GStreamer wants that said. */
function maskOf(channels: number): string {
  return channels > 2 ? ',channel-mask=(bitmask)0x0' : ''
}

// How a sound card is kept on the audio clock: state x event -> next state.

/** In `settling` it is found out what the buffer's fill is when all is well; in `resting` nothing is corrected. */
export type CardServoState = 'settling' | 'resting' | 'catching' | 'holding'

/**
 * - `started` the card was started, or started anew with a fresh fill
 * - `settled` the fill has been looked at long enough
 * - `known` so it has, and the card's drift is known from before
 * - `strayed` the fill has left the band in which it is let be
 * - `caught` it is back in the middle, and stays
 * - `even` the card has no drift that is worth a correction
 */
export type CardServoEvent = 'started' | 'settled' | 'known' | 'strayed' | 'caught' | 'even'

/** A pair that is not listed does not change the state. */
export const cardServoStateTable: Readonly<Record<CardServoState, Partial<Record<CardServoEvent, CardServoState>>>> = {
  settling: { settled: 'resting', known: 'holding' },
  resting: { started: 'settling', strayed: 'catching' },
  catching: { started: 'settling', caught: 'holding' },
  holding: { started: 'settling', strayed: 'catching', even: 'resting' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextCardServoState(state: CardServoState, event: CardServoEvent): CardServoState {
  return cardServoStateTable[state][event] ?? state
}

// By how much sound has to be resampled so that a card with a clock of its own neither runs dry nor over.

/** Seconds after a start in which the usual fill is found out. What a card tells is coarse: its mean is what counts. */
const SETTLE_S = 4
/** Seconds over which the fill is averaged. */
const WINDOW_S = 4
/** Frames (0.67 ms) by which the fill may stray before it is corrected: a card on the same clock is left alone. */
const BAND_FRAMES = 32
/** Frames within which a fill that is being corrected counts as in the middle. */
const MIDDLE_FRAMES = 8
/** Seconds for which it has to stay there. */
const MIDDLE_S = 10
/** A drift below this is let be: it takes ten minutes and more to cross the band. */
const EVEN_PPM = 1
/** Seconds of a fill that no steering explains, after which the card is filled anew. */
const LOST_S = 3

/**
 * Parts in a million per frame of error, and per frame and second: critically damped, with a time constant of 10 s while
 * it is caught and of 40 s afterwards, when the noise of the fill should move the pitch as little as it can.
 */
const GAINS: Readonly<Record<'catching' | 'holding', { p: number; i: number }>> = {
  catching: { p: 4, i: 0.192 },
  holding: { p: 1, i: 0.012 },
}

interface CardServoOptions {
  /** Frames that are meant to be in the buffer. */
  targetFrames: number
  /** The most it may steer either way. */
  mostPpm: number
}

/** What the card told since the last look. */
interface CardLook {
  /** Mean of the frames in its buffer; null where it told none. */
  fillFrames: number | null
  /** How often it was started, from its opening on. */
  starts: number
  /** Since the last look. */
  elapsedS: number
}

/** What is to be done about it. */
interface CardAdvice {
  /** Above 0: the board uses up more frames than it gives. */
  ppm: number
  /** The card is to be filled anew: the fill is so far away that steering would take minutes. */
  refill: boolean
}

/** Begins in state `settling`. */
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

  /** What is as far away as this says nothing of the drift. */
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
    // At its limit the steering shows nothing of the drift.
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

// The card of one open pipeline, kept on the audio clock, and what happened to it.

const FRAMES_PER_MS = SAMPLE_RATE / 1000

/** What of a pipeline is needed: the elements of a card fragment, by name and property. */
interface CardPipeline {
  get(element: string, property: string): unknown
  set(element: string, property: string, value: number | boolean): void
}

/** A card that is steered. */
export interface CardView {
  /** Sound that waits in the card's buffer, in ms: behind the board where it plays, ahead of it where it captures. */
  latency_ms: number | null
  /** How much faster the card's clock runs than the board's; 0 while nothing has to be corrected, null before it is known. */
  drift_ppm: number | null
  state: CardServoState
  /** Times that the card had run dry, or over, and was started anew. */
  xruns: number
  /** Frames thrown away because the card took none, or gave too many. */
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

/** Begins at once; `close` before the pipeline is closed. */
export function createCardSteering(options: CardSteeringOptions) {
  const { clock, pipeline, use, fillMs, lookMs } = options
  const servo = createCardServo({ targetFrames: fillMs * FRAMES_PER_MS, mostPpm: options.mostPpm })
  let lastLookMs = clock.monotonicMs()
  let fillFrames: number | null = null
  let ppm = 0

  function look(): void {
    const nowMs = clock.monotonicMs()
    // Below 0: nothing has passed since the last look.
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
      // More of what we give is used up where we are the faster ones: the signs differ by direction.
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
  // No -0: it is written as such nowhere.
  return Math.round(value * parts) / parts + 0
}
