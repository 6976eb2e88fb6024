/** What one camera may send in a second, and whether it sends too much all the time. */
import { Fault } from '#kit/pure/fault.ts'

/** So many times what it may send in a second is a flood, which alone would keep this process busy. */
const FLOOD = 4

/** A camera that sends too much is named after so many seconds, each of them: a burst is waited out. */
const FLOOD_S = 10

const SECOND_MS = 1000

export type ByteBudget = ReturnType<typeof createByteBudget>

/** @param startMs on the monotonic clock, as all times here @param onFlood see `StreamListener` */
export function createByteBudget(bytesPerS: number, startMs: number, onFlood: (fault: Fault | undefined) => void) {
  let bytes = 0
  /** When the second began that is counted. */
  let beganMs = startMs
  /** Seconds up to now, each of which had too much. */
  let floodedS = 0

  function follow(seconds: number): void {
    if (seconds === 0 && floodedS >= FLOOD_S) onFlood(undefined)
    floodedS = seconds
    if (floodedS === FLOOD_S) onFlood(tooMuch(bytesPerS))
  }

  function endSecond(nowMs: number): void {
    follow(bytes > bytesPerS ? floodedS + 1 : 0)
    bytes = 0
    beganMs = nowMs
  }

  return {
    spend(more: number): void {
      bytes += more
    },
    isSpent: (): boolean => bytes > bytesPerS,
    /** For what cannot be told to wait. @throws Fault `camera_floods` */
    refuseFlood(): void {
      if (bytes > FLOOD * bytesPerS) throw flood(bytesPerS)
    },
    /** Ends the seconds that are over by now. It is asked with what comes: a timer for each camera would wake the process. */
    passTo(nowMs: number): void {
      const passed = Math.floor((nowMs - beganMs) / SECOND_MS)
      if (passed < 1) return
      endSecond(beganMs + passed * SECOND_MS)
      // Nothing came in those behind the first.
      if (passed > 1) follow(0)
    },
    restMs: (nowMs: number): number => Math.max(0, beganMs + SECOND_MS - nowMs),
    /** What was told to wait goes on: the second lasted until now. */
    goOn: (nowMs: number): void => endSecond(nowMs),
    /** Nothing more comes. */
    end: (): void => follow(0),
  }
}

function flood(bytesPerS: number): Fault {
  const seen = `sends over UDP more than ${FLOOD} times the ${bytesPerS} bytes a second that cameras.bytes_per_s allows`
  return new Fault('camera_floods', `The camera ${seen}. It is connected again.`)
}

function tooMuch(bytesPerS: number): Fault {
  const seen = `has sent more than the ${bytesPerS} bytes a second that cameras.bytes_per_s allows, for ${FLOOD_S} s`
  return new Fault('camera_floods', `The camera ${seen}: the rest waits in it, or is lost. Have it send less.`)
}
