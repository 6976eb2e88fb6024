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
/** The network is given up to be as bad as it was, by this part with each step. */
const EASED = 0.0005

export function createPace() {
  let behindS = LEAST_S
  let hasBegun = false

  return {
    /** It stood still since nothing had come. */
    starved(): void {
      if (hasBegun) behindS = Math.min(MOST_S, behindS + STARVED_STEP_S)
    },
    step({ end, newest, now, start }: Stand): Step {
      behindS = Math.max(LEAST_S, behindS - EASED)
      const lagS = newest - now
      const isElsewhere = now < start - 0.01 || now > end + 0.5
      if (!hasBegun || isElsewhere || lagS > behindS + FAR_S) {
        hasBegun = true
        return { rate: 1, seekTo: Math.max(start, newest - behindS) }
      }
      if (lagS > behindS + 0.3) return { rate: 1.25 }
      return { rate: lagS > behindS + 0.1 ? 1.08 : 1 }
    },
  }
}
