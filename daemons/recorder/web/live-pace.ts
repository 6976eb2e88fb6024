/** How a live film is played: as close behind its newest picture as the network allows without standing still. */

/** Where it stands, in seconds of the film. */
interface Stand {
  /** The stretch that holds the newest picture. */
  start: number
  end: number
  newest: number
  now: number
}

/** What to do. */
interface Step {
  rate: number
  seekTo?: number
}

/** How far behind the newest picture it is played at first; more after each time that it stood still. */
const LEAST_S = 0.1
const MOST_S = 1
const STARVED_STEP_S = 0.05
/** What it is too far behind to be caught up by playing faster. */
const FAR_S = 1.5
/** The network is given up to be as bad as it was, by so much in a second. */
const EASED_S = 0.0075
/**
 * Browsers play sound by the count of its samples, so a camera whose clock is wrong takes it away from its pictures,
 * by 0.3 s in ten minutes at 500 ppm. A jump puts both together again.
 */
const TOGETHER_S = 600

/** @param isHeard whether it has sound */
export function createPace(isHeard: boolean) {
  let behindS = LEAST_S
  let hasBegun = false
  /** Where it stood with the step before, and where it jumped to last. */
  let lastS = 0
  let soughtS = 0

  return {
    /** It stood still since nothing had come. */
    starved(): void {
      if (hasBegun) behindS = Math.min(MOST_S, behindS + STARVED_STEP_S)
    },
    step({ end, newest, now, start }: Stand): Step {
      behindS = Math.max(LEAST_S, behindS - EASED_S * Math.max(0, Math.min(1, now - lastS)))
      lastS = now
      const lagS = newest - now
      const isApart = isHeard && now - soughtS > TOGETHER_S
      const isElsewhere = now < start - 0.01 || now > end + 0.5
      if (!hasBegun || isElsewhere || isApart || lagS > behindS + FAR_S) {
        hasBegun = true
        soughtS = Math.max(start, newest - behindS)
        lastS = soughtS
        return { rate: 1, seekTo: soughtS }
      }
      if (lagS > behindS + 0.3) return { rate: 1.25 }
      return { rate: lagS > behindS + 0.04 ? 1.08 : 1 }
    },
  }
}
