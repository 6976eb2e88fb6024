/** Sound in which every sample tells its position, so that a recording can be checked without aligning it first. */

/** A sample for each frame and channel: signed whole numbers of `bits`. */
export interface Pattern {
  bits: 16 | 24
  channels: number
  /** Frames after which it restarts. */
  period: number
  sample(frame: number, channel: number): number
  /** Frame of a sample, within one period or within 2^bits, whichever is less; null if no frame has it. */
  frameOf(sample: number, channel: number): number | null
}

/** Odd, so that multiplication by it modulo a power of two can be inverted. */
const STEP = 0x9e3779b1
/** Makes channels differ. */
const CHANNEL_STEP = 0x51ed2709

/**
 * Numbers that take every value once in 2^bits frames, and look like noise.
 * @param period frames after which it restarts; default 2^bits
 */
export function countedPattern(bits: 16 | 24, channels: number, period = 2 ** bits): Pattern {
  const mask = 2 ** bits - 1
  const undo = inverse(STEP, bits)
  const unused = 32 - bits
  return {
    bits,
    channels,
    period,
    sample(frame, channel) {
      const value = (Math.imul(frame % period, STEP) + Math.imul(channel + 1, CHANNEL_STEP)) & mask
      return (value << unused) >> unused
    },
    frameOf(sample, channel) {
      const frame = Math.imul((sample - Math.imul(channel + 1, CHANNEL_STEP)) & mask, undo) & mask
      return frame < period ? frame : null
    },
  }
}

/** The inverse modulo 2^bits, by Newton's iteration: each step doubles the correct bits. */
function inverse(odd: number, bits: number): number {
  let found = odd
  for (let right = 3; right < bits; right *= 2) found = Math.imul(found, 2 - Math.imul(odd, found))
  return found
}

/** Interleaved samples of `count` frames, starting at `from`. */
export function patternFrames(pattern: Pattern, from: number, count: number): Int32Array {
  const { channels } = pattern
  const samples = new Int32Array(count * channels)
  for (let frame = 0; frame < count; frame += 1)
    for (let channel = 0; channel < channels; channel += 1)
      samples[frame * channels + channel] = pattern.sample(from + frame, channel)
  return samples
}

/** A sine in every channel, of `level` of full scale, rounded to whole numbers. */
export function sinePattern(
  bits: 16 | 24,
  channels: number,
  hz: number,
  level: number,
): Pick<Pattern, 'sample'> & { channels: number } {
  const top = (2 ** (bits - 1) - 1) * level
  return { channels, sample: (frame) => Math.round(top * Math.sin((2 * Math.PI * hz * frame) / 48_000)) }
}
