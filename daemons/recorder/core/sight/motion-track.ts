/**
 * Follows that something moves in the pictures of one camera: one motion at a time, wherever it is, as long as anything
 * moves. Which of it belongs together, and what it is, the built-in detector cannot tell.
 */
import { areaOf, type Box, type SeenBox } from './boxes.ts'
import { groupOf, MOTION } from './labels.ts'
import { createPatience, type Track, type Tracker, type TrackerLimits, type TrackerNews } from './tracker.ts'

/** A longer one ends, and the next begins: who looks for what was seen in an hour looks no further back. */
const LONGEST_MS = 1_800_000

/** @param numbered the number before that of its first track. @returns a tracker whose boxes are around all that moves */
export function createMotionTracker(limits: Pick<TrackerLimits, 'agree' | 'lostMs'>, numbered = 0): Tracker {
  const patience = createPatience(limits.lostMs)
  let motion: Motion | undefined
  let number = numbered

  function over(at: number): Track[] {
    if (!motion) return []
    const isOver = at - motion.track.lastAt > patience.ms() || at - motion.track.firstAt > LONGEST_MS
    return isOver ? end() : []
  }

  function end(): Track[] {
    const ended = motion && isBelieved(motion, limits.agree) ? [motion.track] : []
    motion = undefined
    return ended
  }

  return {
    update(at, boxes) {
      const news: TrackerNews = { seen: [], begun: [], ended: [] }
      if (!patience.takes(at)) return news
      news.ended = over(at)
      const box = aroundAll(boxes)
      if (!box) return news
      if (!motion) number++
      motion = goesOn(motion, { number, at, box, score: Math.max(...boxes.map(({ score }) => score)) }, limits.agree)
      if (!isBelieved(motion, limits.agree)) return news
      const { before, pictures, track } = motion
      if (pictures === limits.agree) news.begun = [{ track, before }]
      news.seen = [track]
      return news
    },
    expire: (at) => over(at),
  }
}

interface Motion {
  track: Track
  /** That have shown it. */
  pictures: number
  /** What showed it until it was believed. */
  before: Track['best'][]
}

function isBelieved({ pictures }: Motion, agree: number): boolean {
  return pictures >= agree
}

function goesOn(motion: Motion | undefined, now: Track['best'] & { number: number }, agree: number): Motion {
  const { at, box, number, score } = now
  const seen = { at, score, box }
  const { best, firstAt } = motion?.track ?? { best: seen, firstAt: at }
  const pictures = (motion?.pictures ?? 0) + 1
  return {
    track: {
      ...{ trackId: number, label: MOTION, group: groupOf(MOTION), score, box, firstAt, lastAt: at },
      best: areaOf(box) > areaOf(best.box) ? seen : best,
    },
    pictures,
    before: pictures > agree ? [] : [...(motion?.before ?? []), seen],
  }
}

function aroundAll(boxes: readonly SeenBox[]): Box | undefined {
  const [first, ...others] = boxes.map(({ box }) => box)
  return others.reduce<Box | undefined>(
    (all, [left, top, right, bottom]) =>
      all && [Math.min(all[0], left), Math.min(all[1], top), Math.max(all[2], right), Math.max(all[3], bottom)],
    first,
  )
}
