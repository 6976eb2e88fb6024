/** How often something is said, learnt from hearing it, and when it has been missing too often. */

/** Announcements that may be missed. */
const MOST_MISSED = 10
/** Until it is known; what AES67 devices do. */
const USUAL_MS = 30_000
/** Packets that were doubled, and pauses longer than any sender makes, are no rhythm. */
const LEAST_MS = 1000
const MOST_MS = 600_000

/** What is said again and again. */
export interface Rhythm {
  /** @param nowMs monotonic */
  heard(nowMs: number): void
  /** Ten were missed. @param nowMs monotonic */
  isOver(nowMs: number): boolean
}

/** @param nowMs monotonic; heard for the first time */
export function createRhythm(nowMs: number): Rhythm {
  let lastMs = nowMs
  let intervalMs: number | undefined

  return {
    heard(nowMs) {
      const gapMs = nowMs - lastMs
      if (gapMs < LEAST_MS) return
      lastMs = nowMs
      const learntMs = Math.min(gapMs, MOST_MS)
      // A quarter of the way: one that was lost, or came late, does not change the picture.
      intervalMs = intervalMs === undefined ? learntMs : intervalMs + (learntMs - intervalMs) / 4
    },
    isOver: (nowMs) => nowMs - lastMs > MOST_MISSED * (intervalMs ?? USUAL_MS),
  }
}
