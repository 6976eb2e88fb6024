/** What one camera may send in a second, and whether it sends too much all the time. */
import { Fault } from '#kit/pure/fault.ts'

/** So many times what it may send in a second is a flood, which alone would keep this process busy. */
const FLOOD = 4

/** A camera that sends too much is named after so many seconds, each of them: a burst is waited out. */
const FLOOD_S = 10

export type ByteBudget = ReturnType<typeof createByteBudget>

/** @param onFlood see `StreamListener` */
export function createByteBudget(bytesPerS: number, onFlood: (fault: Fault | undefined) => void) {
  let bytes = 0
  /** Seconds up to now, each of which had too much. */
  let floodedS = 0

  function follow(seconds: number): void {
    if (seconds === 0 && floodedS >= FLOOD_S) onFlood(undefined)
    floodedS = seconds
    if (floodedS === FLOOD_S) onFlood(tooMuch(bytesPerS))
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
    nextSecond(): void {
      follow(bytes > bytesPerS ? floodedS + 1 : 0)
      bytes = 0
    },
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
