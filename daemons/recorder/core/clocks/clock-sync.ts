/** Looks at the clock of every camera on a schedule, and corrects it where that is wanted. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { CameraClocks, ClockCheck } from './camera-clock.ts'

interface SyncParts {
  clock: Clock
  /** Those that are there now. */
  cameras(): readonly CameraRecord[]
  clocks: Pick<CameraClocks, 'check' | 'set'>
  isEnabled: boolean
  /** Resolves once it is on disk. */
  save(isEnabled: boolean): Promise<void>
  /** From one look at all of them to the next; key `clocks.check_s`. */
  everyMs: number
  /** What is wrong with the clock of a camera, after it was corrected where it is; null: nothing. */
  onFound(camera: CameraRecord, sentence: string | null): void
}

export interface ClockSync {
  isEnabled(): boolean
  /** Looks at all of them at once. @throws Fault `store_write_failed`; then nothing has changed */
  enable(isEnabled: boolean): Promise<void>
  start(): void
  stop(): void
  /** Looks at all of them now, one after the other, those too that are left alone for a while. */
  checkNow(): void
}

export function createClockSync({ cameras, clock, clocks, everyMs, onFound, save, ...given }: SyncParts): ClockSync {
  let { isEnabled } = given
  let timer: Timer | undefined
  let isStopped = false
  let isLooking = false
  let isAgain = false
  const patience = createPatience()

  async function lookAt(camera: CameraRecord): Promise<void> {
    let found = await clocks.check(camera)
    if (found.isRight) patience.forget(camera.id)
    if (isEnabled && found.isOurs && patience.mayCorrect(camera.id)) {
      if (await correct(camera)) found = await clocks.check(camera)
    }
    onFound(camera, sentenceOf(found, isEnabled))
  }

  /** @returns whether the camera took it; what it refuses its writes say */
  async function correct(camera: CameraRecord): Promise<boolean> {
    try {
      await clocks.set(camera, { switchToManual: false }, null)
      return true
    } catch (error) {
      // Somebody else sets it: nobody knows yet how it will stand.
      if (error instanceof Fault && error.code !== 'clock_being_set') return false
      throw error
    }
  }

  async function look(): Promise<void> {
    if (isLooking) {
      isAgain = true
      return
    }
    isLooking = true
    isAgain = false
    const all = cameras().filter(({ enabled, onvif }) => enabled && onvif)
    patience.keep(all.map(({ id }) => id))
    for (const camera of all) {
      if (isStopped) return
      try {
        await lookAt(camera)
      } catch (error) {
        // That a camera does not answer is shown by its recording already. The next look asks it again.
        if (!(error instanceof Fault)) throw error
      }
    }
    isLooking = false
    if (isAgain) await look()
  }

  function checkNow(): void {
    patience.keep([])
    void look()
  }

  return {
    isEnabled: () => isEnabled,
    async enable(wanted) {
      await save(wanted)
      isEnabled = wanted
      checkNow()
    },
    checkNow,
    start() {
      timer = clock.every(everyMs, () => void look())
    },
    stop() {
      isStopped = true
      timer?.cancel()
    },
  }
}

/** A camera that was corrected and is wrong again is left alone for twice as many looks each time, at most so many. */
const MOST_LEFT_OUT = 24

function createPatience() {
  /** By camera: how many times it was corrected in a row, and for how many looks it is left alone. */
  const known = new Map<string, { times: number; leftOut: number }>()
  return {
    /** Counts as a correction where it may. */
    mayCorrect(id: string): boolean {
      const { leftOut, times } = known.get(id) ?? { times: 0, leftOut: 0 }
      if (leftOut > 0) known.set(id, { times, leftOut: leftOut - 1 })
      else known.set(id, { times: times + 1, leftOut: Math.min(MOST_LEFT_OUT, 2 ** times - 1) })
      return leftOut === 0
    },
    forget: (id: string) => known.delete(id),
    keep(ids: readonly string[]): void {
      for (const id of known.keys()) if (!ids.includes(id)) known.delete(id)
    },
  }
}

/** @param isEnabled while clocks are left alone they may have another server of time */
function sentenceOf(found: ClockCheck, isEnabled: boolean): string | null {
  const { driftSeconds, isRight, isServerRight, isTimeRight, isZoneRight } = found
  if (isRight) return null
  if (!isZoneRight) return 'Its clock shows another time zone than the recorder has.'
  if (!isTimeRight)
    return `Its clock is ${durationText(Math.abs(driftSeconds) * 1000)} ${driftSeconds > 0 ? 'ahead' : 'behind'}.`
  return isEnabled && !isServerRight ? 'It does not take the recorder as its server of time.' : null
}
