/** Finds clicks beside a tone with a spectrogram: a click is broadband, a tone is a single line. */

/** Frames of one window: 10.7 ms. */
const WINDOW = 512
const HOP = 64
/** Lines on each side of the tone that belong to its window; a fade needs no more. */
const NEAR = 12

/** The loudest sound besides the tone. */
export interface Click {
  /** First frame of the window. */
  frame: number
  /** Level of everything beside the tone in this window, in dB of full scale. */
  db: number
}

/**
 * Power beside the tone, window by window.
 * @param samples one channel, signed whole numbers of `bits`
 * @returns the worst window; -Infinity dB for pure silence
 */
export function worstClick(samples: ArrayLike<number>, bits: number, hz: number, rate = 48_000): Click {
  const full = 2 ** (bits - 1)
  const tone = Math.round((hz * WINDOW) / rate)
  let worst: Click = { frame: 0, db: Number.NEGATIVE_INFINITY }
  for (let from = 0; from + WINDOW <= samples.length; from += HOP) {
    const real = Float64Array.from({ length: WINDOW }, (_, at) => ((samples[from + at] ?? 0) / full) * (SHAPE[at] ?? 0))
    const imaginary = new Float64Array(WINDOW)
    transform(real, imaginary)
    let beside = 0
    for (let line = tone + NEAR + 1; line <= WINDOW / 2; line += 1)
      beside += (real[line] ?? 0) ** 2 + (imaginary[line] ?? 0) ** 2
    // Doubled for the other half of the spectrum; relative to a full-scale sine in the same window.
    const db = 10 * Math.log10((4 * beside) / SHAPE_POWER / WINDOW)
    if (db > worst.db) worst = { frame: from, db }
  }
  return worst
}

/** Blackman-Harris, four terms: side lobes 92 dB down. */
const SHAPE = Float64Array.from({ length: WINDOW }, (_, at) => {
  const turn = (2 * Math.PI * at) / WINDOW
  return 0.35875 - 0.48829 * Math.cos(turn) + 0.14128 * Math.cos(2 * turn) - 0.01168 * Math.cos(3 * turn)
})
const SHAPE_POWER = SHAPE.reduce((sum, value) => sum + value * value, 0)

/** Fourier transform in place, radix 2. */
function transform(real: Float64Array, imaginary: Float64Array): void {
  const size = real.length
  for (let at = 1, mirror = 0; at < size; at += 1) {
    let bit = size >> 1
    for (; mirror & bit; bit >>= 1) mirror ^= bit
    mirror ^= bit
    if (at < mirror) {
      swap(real, at, mirror)
      swap(imaginary, at, mirror)
    }
  }
  for (let span = 2; span <= size; span *= 2)
    for (let from = 0; from < size; from += span) turn(real, imaginary, from, span)
}

function turn(real: Float64Array, imaginary: Float64Array, from: number, span: number): void {
  const half = span / 2
  for (let at = 0; at < half; at += 1) {
    const angle = (-2 * Math.PI * at) / span
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    const [low, high] = [from + at, from + at + half]
    const [r, i] = [real[high] ?? 0, imaginary[high] ?? 0]
    const [moreReal, moreImaginary] = [r * cos - i * sin, r * sin + i * cos]
    real[high] = (real[low] ?? 0) - moreReal
    imaginary[high] = (imaginary[low] ?? 0) - moreImaginary
    real[low] = (real[low] ?? 0) + moreReal
    imaginary[low] = (imaginary[low] ?? 0) + moreImaginary
  }
}

function swap(values: Float64Array, one: number, other: number): void {
  const kept = values[one] ?? 0
  values[one] = values[other] ?? 0
  values[other] = kept
}
