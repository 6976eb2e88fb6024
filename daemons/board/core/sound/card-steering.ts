/** Keeps the card of one open pipeline on the audio clock, and counts what happened to it. */
import type { Clock, Timer } from '#kit/clock.ts'
import { SAMPLE_RATE } from '../../wire/streams/stream-description.ts'
import { CARD, DRIFT } from './card-fragment.ts'
import { createCardServo } from './card-servo.ts'
import type { CardServoState } from './card-servo-state-table.ts'

const FRAMES_PER_MS = SAMPLE_RATE / 1000

/** What of a pipeline is needed: the elements of a card fragment, by name and property. */
export interface CardPipeline {
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

export interface CardSteeringOptions {
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
