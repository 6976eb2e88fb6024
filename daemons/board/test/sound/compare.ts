/** Compares a recording with the pattern that was played: what is equal, what is missing, where it jumps. */
import type { Pattern } from './pattern.ts'

/** A place where the recording is not continuous. */
export interface Jump {
  /** Frame of the recording. */
  at: number
  /** Skipped frames of the pattern; below 0 if some were repeated. */
  skipped: number
}

export interface Comparison {
  /** Frames from the first that equals the pattern to the last. */
  frames: number
  /** Of these: equal in every channel; silent in every channel; anything else. */
  equal: number
  silent: number
  wrong: number
  jumps: Jump[]
  /** First equal frame, in the recording and in the pattern; null if there is none. */
  begin: { recorded: number; pattern: number } | null
  /** Frame of the recording after the last one that is equal. */
  end: number
}

/** Consecutive frames that must be equal before a position is accepted. */
const SURE = 8

/** A comparison that takes a recording in pieces. */
export interface Comparing {
  /** Whole frames, interleaved, with the pattern's channels and bits. */
  take(samples: Int32Array): void
  /** The result; take nothing afterwards. */
  end(): Comparison
}

/** Silence and fades before the first equal frame and after the last are ignored. */
export function compare(samples: Int32Array, pattern: Pattern): Comparison {
  const comparing = createComparing(pattern)
  comparing.take(samples)
  return comparing.end()
}

/** Like `compare`, for a recording larger than memory. */
export function createComparing(pattern: Pattern): Comparing {
  const { channels, period } = pattern
  const result: Comparison = { frames: 0, equal: 0, silent: 0, wrong: 0, jumps: [], begin: null, end: 0 }
  let kept = new Int32Array()
  let done = 0
  let next: number | null = null
  // Frames since the last equal one: counted only once another equal one follows.
  const since = { silent: 0, wrong: 0 }

  function frame(look: Look, at: number): void {
    const place: number | null = next !== null && isEqual(look, at, next) ? next : placeOf(look, at)
    if (place === null) {
      since[isSilent(look, at) ? 'silent' : 'wrong'] += 1
      if (next !== null) next = (next + 1) % period
      return
    }
    if (result.begin === null) result.begin = { recorded: done + at, pattern: place }
    else {
      result.silent += since.silent
      result.wrong += since.wrong
      if (next !== null && next !== place)
        result.jumps.push({ at: done + at, skipped: shortest(place - next, pattern) })
    }
    Object.assign(since, { silent: 0, wrong: 0 })
    result.equal += 1
    result.end = done + at + 1
    next = (place + 1) % period
  }
  function go(samples: Int32Array, ahead: number): void {
    const look = { samples, pattern, count: Math.floor(samples.length / channels) }
    const until = Math.max(0, look.count - ahead)
    for (let at = 0; at < until; at += 1) frame(look, at)
    done += until
    kept = samples.slice(until * channels)
  }
  return {
    take(samples) {
      const whole = new Int32Array(kept.length + samples.length)
      whole.set(kept)
      whole.set(samples, kept.length)
      go(whole, SURE)
    },
    end() {
      go(kept, 0)
      result.frames = result.begin === null ? 0 : result.end - result.begin.recorded
      return result
    },
  }
}

interface Look {
  samples: Int32Array
  pattern: Pattern
  count: number
}

function isEqual({ samples, pattern }: Look, at: number, frame: number): boolean {
  const { channels } = pattern
  for (let channel = 0; channel < channels; channel += 1)
    if (samples[at * channels + channel] !== pattern.sample(frame, channel)) return false
  return true
}

function isSilent({ samples, pattern: { channels } }: Look, at: number): boolean {
  for (let channel = 0; channel < channels; channel += 1) if (samples[at * channels + channel] !== 0) return false
  return true
}

/** Position of these frames in the pattern, if several in a row agree. */
function placeOf(look: Look, at: number): number | null {
  const { samples, pattern, count } = look
  const frame = pattern.frameOf(samples[at * pattern.channels] ?? 0, 0)
  if (frame === null || at + SURE > count) return null
  for (let ahead = 0; ahead < SURE; ahead += 1)
    if (!isEqual(look, at + ahead, (frame + ahead) % pattern.period)) return null
  return frame
}

/** The shorter of the two distances round the circle. */
function shortest(way: number, { bits, period }: Pattern): number {
  const round = Math.min(period, 2 ** bits)
  const ahead = ((way % round) + round) % round
  return ahead > round / 2 ? ahead - round : ahead
}
