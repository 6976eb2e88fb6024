/** The audio clock: nanoseconds since the PTP epoch, as integers. */
import { addon } from './addon.ts'

declare const kind: unique symbol
/** Handle of a native clock. */
export interface NativeClock {
  [kind]: 'clock'
}

/** Native clock calls. Instants are bigint. */
interface ClockCalls {
  createClock(): NativeClock
  readClock(clock: NativeClock): [monotonicNs: bigint, realtimeNs: bigint, audioNs: bigint]
  /** @param ratePpt parts in 10^12 that audio time runs faster than CLOCK_MONOTONIC */
  calibrateClock(clock: NativeClock, monotonicNs: bigint, audioNs: bigint, ratePpt: bigint): undefined
  audioAt(clock: NativeClock, monotonicNs: bigint): bigint
  monotonicAt(clock: NativeClock, audioNs: bigint): bigint
}

/** The machine's clocks and the audio clock at the same instant. */
interface ClockReading {
  monotonicNs: bigint
  realtimeNs: bigint
  audioNs: bigint
}

/** One calibration: an instant, its audio time, and the rate from there on. */
interface Calibration {
  monotonicNs: bigint
  audioNs: bigint
  /** Parts in 10^9 by which audio time runs faster than CLOCK_MONOTONIC, to a thousandth; -500,000..500,000. */
  ratePpb: number
}

/** No crystal is further off, and no servo may ask for more. */
const MOST_PPB = 500_000

/** One clock based on CLOCK_MONOTONIC; starts with the machine's wall clock. Its users keep it after `close`. */
export interface AudioClock {
  /** For other modules of this folder. */
  readonly native: NativeClock
  read(): ClockReading
  /** Audio time at an instant of CLOCK_MONOTONIC, by the current calibration. */
  audioAt(monotonicNs: bigint): bigint
  /** The first instant of CLOCK_MONOTONIC at which audio time is `audioNs`. */
  monotonicAt(audioNs: bigint): bigint
  /** @throws RangeError if the rate is out of range */
  calibrate(at: Calibration): void
  /** Calls after it throw. */
  close(): void
}

/** @throws Error as startGst does */
export function createAudioClock(): AudioClock {
  const calls = addon() as ClockCalls
  let open: NativeClock | undefined = calls.createClock()
  const clock = {
    get native() {
      if (open === undefined) throw new Error('the audio clock is closed')
      return open
    },
    read() {
      const [monotonicNs, realtimeNs, audioNs] = calls.readClock(clock.native)
      return { monotonicNs, realtimeNs, audioNs }
    },
    audioAt: (monotonicNs: bigint) => calls.audioAt(clock.native, monotonicNs),
    monotonicAt: (audioNs: bigint) => calls.monotonicAt(clock.native, audioNs),
    calibrate({ monotonicNs, audioNs, ratePpb }: Calibration) {
      if (!(Math.abs(ratePpb) <= MOST_PPB))
        throw new RangeError(`rate of ${ratePpb} ppb, at most ${MOST_PPB} either way`)
      calls.calibrateClock(clock.native, monotonicNs, audioNs, BigInt(Math.round(ratePpb * 1000)))
    },
    close() {
      open = undefined
    },
  }
  return clock
}
