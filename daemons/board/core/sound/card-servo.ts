/** By how much sound has to be resampled so that a card with a clock of its own neither runs dry nor over. */
import { type CardServoEvent, type CardServoState, nextCardServoState } from './card-servo-state-table.ts'

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

export interface CardServoOptions {
  /** Frames that are meant to be in the buffer. */
  targetFrames: number
  /** The most it may steer either way. */
  mostPpm: number
}

/** What the card told since the last look. */
export interface CardLook {
  /** Mean of the frames in its buffer; null where it told none. */
  fillFrames: number | null
  /** How often it was started, from its opening on. */
  starts: number
  /** Since the last look. */
  elapsedS: number
}

/** What is to be done about it. */
export interface CardAdvice {
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
