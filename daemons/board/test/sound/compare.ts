/** Compares a recording with the pattern that was played: what is equal, what is missing, where it jumps. */
import type { Pattern } from './pattern.ts'

/** A place where the recording does not go on where it was. */
export interface Jump {
  /** Frame of the recording. */
  at: number
  /** Frames of the pattern that were left out; below 0 where some came twice. */
  skipped: number
}

export interface Comparison {
  /** Frames from the first to the last that are the pattern's. */
  frames: number
  /** Of these: equal in every channel; silent in every channel; neither. */
  equal: number
  silent: number
  wrong: number
  jumps: Jump[]
  /** Frame of the recording, and of the pattern, where the first is equal; null where nothing is. */
  begin: { recorded: number; pattern: number } | null
  /** Frame of the recording after the last one that is equal. */
  end: number
}

/** Frames in a row that must be equal before a place is believed. */
const SURE = 8

/** A comparison that takes a recording in pieces. */
export interface Comparing {
  /** Whole frames, interleaved, with the pattern's channels and bits. */
  take(samples: Int32Array): void
  /** What was found; nothing may be taken afterwards. */
  end(): Comparison
}

/** Silence and fades before the first equal frames and after the last are left out. */
export function compare(samples: Int32Array, pattern: Pattern): Comparison {
  const comparing = createComparing(pattern)
  comparing.take(samples)
  return comparing.end()
}

/** As `compare`, for a recording that is longer than memory. */
export function createComparing(pattern: Pattern): Comparing {
  const { channels, period } = pattern
  const result: Comparison = { frames: 0, equal: 0, silent: 0, wrong: 0, jumps: [], begin: null, end: 0 }
  let kept = new Int32Array()
  let done = 0
  let next: number | null = null
  // What was seen since the last equal frame: counted only when an equal one follows.
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

/** Where the pattern says these frames belong, if several in a row agree. */
function placeOf(look: Look, at: number): number | null {
  const { samples, pattern, count } = look
  const frame = pattern.frameOf(samples[at * pattern.channels] ?? 0, 0)
  if (frame === null || at + SURE > count) return null
  for (let ahead = 0; ahead < SURE; ahead += 1)
    if (!isEqual(look, at + ahead, (frame + ahead) % pattern.period)) return null
  return frame
}

/** A way round a circle has two lengths; the shorter one is meant. */
function shortest(way: number, { bits, period }: Pattern): number {
  const round = Math.min(period, 2 ** bits)
  const ahead = ((way % round) + round) % round
  return ahead > round / 2 ? ahead - round : ahead
}
