/**
 * Follows what is seen in the pictures of one camera: the same thing keeps its number from picture to picture, and a label
 * is believed once some pictures agree. After ByteTrack: strong boxes are matched first, then weak ones, which may keep a
 * track and never begin one.
 * @source Zhang and others, ByteTrack: Multi-Object Tracking by Associating Every Detection Box, 2022
 */
import { areaOf, type Box, overlapOf, type SeenBox } from './boxes.ts'
import { groupOf, type LabelGroup } from './labels.ts'
import { matchPairs } from './matching.ts'

/** Bounds, by the names of their settings. */
export interface TrackerLimits {
  /** A box with a lower score begins no track. */
  score: number
  /** Pictures that have to agree on a label. */
  agree: number
  /** A track that was not seen for so long is over. */
  lostMs: number
  /** Tracks of one camera at once; further things are left out. */
  tracks: number
}

/** Something that is believed in, as the newest picture shows it. */
export interface TrackSight {
  trackId: number
  label: string
  group: LabelGroup
  score: number
  box: Box
}

/** What is known of a track. Instants are those of pictures. */
export interface Track extends TrackSight {
  firstAt: number
  lastAt: number
  /** Its best sighting. */
  best: { at: number; score: number; box: Box }
}

export interface TrackerNews {
  /** Those that this picture shows, in the order of their beginning. */
  seen: Track[]
  /** Those that are believed in from now on, with all sightings of before. */
  begun: { track: Track; before: { at: number; score: number; box: Box }[] }[]
  ended: Track[]
}

export interface Tracker {
  /** @param at of the picture, epoch milliseconds; an older one than the last is left out */
  update(at: number, boxes: readonly SeenBox[]): TrackerNews
  /** No picture has come up to then. @returns the tracks that are over by it */
  expire(at: number): Track[]
}

/** Below, two boxes are not of one thing. */
const LEAST_LIKENESS = 0.12
/** Weak boxes have to fit better: they are more often wrong. */
const WEAK_LIKENESS = 0.4
/** Boxes of lower scores are not looked at. */
const WEAK_SCORE = 0.1
/** A box that has moved or grown by so much of itself is of something that moves. */
const MOVED_PART = 0.2
/** What of a track is kept until it is believed. */
const MOST_BEFORE = 32

/** How long what is not seen may still be there. */
export interface Patience {
  /** @returns false for a picture that is older than the last: it is left out */
  takes(at: number): boolean
  ms(): number
}

export function createPatience(lostMs: number): Patience {
  let lastAt = Number.NEGATIVE_INFINITY
  let usualMs = 0
  return {
    takes(at) {
      if (at <= lastAt) return false
      if (lastAt > 0) usualMs += 0.2 * (Math.min(at - lastAt, 10_000) - usualMs)
      lastAt = at
      return true
    },
    // With few pictures a second, or one in some seconds, the same number of them may miss it.
    ms: () => Math.max(lostMs, 2.5 * usualMs),
  }
}

/** @param numbered the number before that of its first track */
export function createTracker(limits: TrackerLimits, numbered = 0): Tracker {
  let lives: Life[] = []
  let number = numbered
  const patience = createPatience(limits.lostMs)

  function over(at: number): Track[] {
    const gone = lives.filter((life) => at - life.seenAt > patience.ms())
    lives = lives.filter((life) => !gone.includes(life))
    return gone.filter((life) => life.isBelieved).map(trackOf)
  }

  /** @returns boxes that no track took */
  function match(among: readonly Life[], boxes: readonly SeenBox[], at: number, least: number): SeenBox[] {
    const likeness = among.map((life) => boxes.map((box) => likenessOf(life, box, at, least)))
    const pairs = matchPairs(likeness)
    for (const [row, column] of pairs) {
      const [life, box] = [among[row], boxes[column]]
      if (life && box) see(life, box, at)
    }
    const taken = new Set(pairs.map(([, column]) => column))
    return boxes.filter((_, place) => !taken.has(place))
  }

  return {
    update(at, boxes) {
      if (!patience.takes(at)) return { seen: [], begun: [], ended: [] }
      const strong = boxes.filter(({ score }) => score >= limits.score).slice(0, limits.tracks)
      const weak = boxes.filter(({ score }) => score < limits.score && score >= WEAK_SCORE).slice(0, limits.tracks)
      const fresh = match(lives, strong, at, LEAST_LIKENESS)
      match(
        lives.filter((life) => life.seenAt < at),
        weak,
        at,
        WEAK_LIKENESS,
      )
      for (const box of fresh) if (lives.length < limits.tracks) lives.push(beginLife(box, at))
      const begun: TrackerNews['begun'] = []
      for (const life of lives) {
        if (life.isBelieved || life.seenAt !== at || !isBelievable(life, limits.agree)) continue
        life.isBelieved = true
        number++
        life.number = number
        begun.push({ track: trackOf(life), before: life.before })
        life.before = []
      }
      const seen = lives.filter((life) => life.isBelieved && life.seenAt === at).map(trackOf)
      return { seen, begun, ended: over(at) }
    },
    expire: (at) => over(at),
  }
}

/** A track from its first sighting on, believed or not. */
interface Life {
  number: number
  isBelieved: boolean
  firstAt: number
  seenAt: number
  first: Box
  hasMoved: boolean
  newest: SeenBox
  best: Track['best']
  /** Pictures, and the sum of scores, by label. */
  votes: Map<string, { count: number; sum: number }>
  before: { at: number; score: number; box: Box }[]
  /** Middle and size, each with its speed. */
  motions: Motion[]
}

function beginLife(seen: SeenBox, at: number): Life {
  const life: Life = {
    ...{ number: 0, isBelieved: false, firstAt: at, seenAt: at, first: seen.box, hasMoved: false, newest: seen },
    ...{ best: { at, score: seen.score, box: seen.box }, votes: new Map(), before: [] },
    motions: shapeOf(seen.box).map((value) => createMotion(value, at)),
  }
  vote(life, seen, at)
  return life
}

function see(life: Life, seen: SeenBox, at: number): void {
  const shape = shapeOf(seen.box)
  const scale = Math.max(shape[2] ?? 0, shape[3] ?? 0)
  for (const [place, motion] of life.motions.entries()) motion.correct(shape[place] ?? 0, at, 0.05 * scale)
  life.seenAt = at
  life.newest = seen
  life.hasMoved ||= hasMoved(life.first, seen.box)
  if (seen.score * Math.sqrt(areaOf(seen.box)) > life.best.score * Math.sqrt(areaOf(life.best.box)))
    life.best = { at, score: seen.score, box: seen.box }
  vote(life, seen, at)
}

function vote(life: Life, { box, label, score }: SeenBox, at: number): void {
  const votes = life.votes.get(label) ?? { count: 0, sum: 0 }
  // A detector that makes up words fills no table.
  if (life.votes.size < 16 || votes.count > 0) life.votes.set(label, { count: votes.count + 1, sum: votes.sum + score })
  if (!life.isBelieved && life.before.length < MOST_BEFORE) life.before.push({ at, score, box })
}

/** What stands still was there before, as a parked car; a rock may look like a dog on one picture. */
function isBelievable(life: Life, agree: number): boolean {
  return life.hasMoved && (life.votes.get(labelOf(life))?.count ?? 0) >= agree
}

/** The label with most weight; what names a thing counts more than that something moves. */
function labelOf({ votes }: Life): string {
  let best = ''
  let most = -1
  for (const [label, { count, sum }] of votes) {
    const weight = groupOf(label) === 'other' ? sum / 1000 : sum
    if (weight > most && (count > 0 || best === '')) {
      best = label
      most = weight
    }
  }
  return best
}

function trackOf(life: Life): Track {
  const label = labelOf(life)
  return {
    ...{ trackId: life.number, label, group: groupOf(label), score: life.newest.score, box: life.newest.box },
    ...{ firstAt: life.firstAt, lastAt: life.seenAt, best: life.best },
  }
}

function hasMoved(first: Box, now: Box): boolean {
  const [one, other] = [shapeOf(first), shapeOf(now)]
  const scale = Math.max(one[2], one[3], 1e-6)
  const movedBy = Math.hypot(other[0] - one[0], other[1] - one[1])
  const grownBy = Math.max(Math.abs(other[2] - one[2]), Math.abs(other[3] - one[3]))
  return movedBy > MOVED_PART * scale || grownBy > 2 * MOVED_PART * scale
}

function shapeOf([left, top, right, bottom]: Box): [x: number, y: number, width: number, height: number] {
  return [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
}

/** How well a box fits where a track is expected. */
function likenessOf(life: Life, { box, label }: SeenBox, at: number, least: number): number {
  const [x = 0, y = 0, width = 0, height = 0] = life.motions.map((motion) => motion.expected(at))
  const expected: Box = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
  const shape = shapeOf(box)
  const size = Math.hypot(width, height) + Math.hypot(shape[2], shape[3])
  // With few pictures a second boxes of one thing may have nothing in common: then how far they are apart tells.
  const reach = 0.25 * (1 + Math.min(2, (at - life.seenAt) / 1000))
  const apart = size > 0 ? (2 * Math.hypot(shape[0] - x, shape[1] - y)) / size / (2 * reach) : 9
  const sizes = Math.min(areaOf(box), areaOf(expected)) / Math.max(areaOf(box), areaOf(expected), 1e-9)
  const nearness = 0.5 * Math.exp(-apart * apart) * Math.sqrt(sizes)
  const likeness = Math.max(overlapOf(expected, box), nearness)
  const known = labelOf(life)
  const isOther = groupOf(known) !== 'other' && groupOf(label) !== 'other' && groupOf(known) !== groupOf(label)
  const judged = isOther ? likeness / 2 : likeness
  return judged >= least ? judged : 0
}

interface Motion {
  expected(at: number): number
  /** @param noise of what was measured, in the unit of the value */
  correct(value: number, at: number, noise: number): void
}

/** A value that goes on at its speed: a Kalman filter of both. Its noise follows from the size of what is seen. */
function createMotion(first: number, firstAt: number): Motion {
  let value = first
  let speed = 0
  let lastAt = firstAt
  /** Variances of the value and the speed, and what they have in common. */
  let [vv, vs, ss] = [1e-4, 0, 0.04]

  return {
    expected: (at) => value + (speed * Math.min(at - lastAt, 2000)) / 1000,
    correct(measured, at, noise) {
      const passedS = Math.min(at - lastAt, 2000) / 1000
      lastAt = at
      value += speed * passedS
      // Speeds of people change by about a tenth of the picture in a second.
      const push = 0.01 * passedS
      vv += 2 * passedS * vs + passedS * passedS * ss + (push * passedS * passedS) / 3
      vs += passedS * ss + (push * passedS) / 2
      ss += push
      const all = vv + Math.max(noise * noise, 1e-6)
      const [gainV, gainS] = [vv / all, vs / all]
      const off = measured - value
      value += gainV * off
      speed += gainS * off
      ss -= gainS * vs
      vs -= gainV * vs
      vv -= gainV * vv
    },
  }
}
