/**
 * How far a picture has moved against another one: by phase correlation, within what both of them show.
 * @source Kuglin and Hines, The phase correlation image alignment method, 1975
 */
import type { Shades } from '../ports.ts'
import { directionOf, type FramePoint, halfTangent, pointOf, type View } from './geometry.ts'

/** What a camera shows. */
export interface GreyPicture extends Shades {
  /** When it was taken, epoch ms. */
  shownAt: number
}

/** How far what is in the middle has moved, in the fractions of a `FramePoint`. */
interface Shift extends FramePoint {
  /** How much the pictures agree on it, 0..1; below `LEAST_AGREED` it is chance. */
  agreed: number
}

/** Samples on each side: a hundredth of the picture and less is told from a peak between them. */
const SIDE = 128
const LEAST_AGREED = 0.05
/** Below so much of each side they have too little in common. */
const LEAST_SHARED = 24
/** Fine detail is noise, and what a coder left out: cycles per sample beyond which it counts little. */
const FINEST = 0.22

/** What both show alike draws the result to where they were laid: each round lays them nearer. */
const ROUNDS = 3
const NEAR_ENOUGH = 0.004

/**
 * @param before taken with `from`
 * @param after taken with `to`, as the camera says or as is expected
 * @returns where that is seen which was expected in the middle; undefined where the pictures do not say
 */
export function shiftOf(before: GreyPicture, from: View, after: GreyPicture, to: View): FramePoint | undefined {
  const found = sampled(after, SAME)
  let view = to
  for (let round = 0; round < ROUNDS; round++) {
    const expected = sampled(before, seenFrom(from, view))
    const rect = sharedRect(expected)
    const shift = rect && correlate(windowed(expected, rect), windowed(found, rect))
    if (!shift || shift.agreed < LEAST_AGREED) return undefined
    view = { ...view, ...directionOf({ x: -shift.x, y: -shift.y }, view) }
    if (Math.hypot(shift.x, shift.y) < NEAR_ENOUGH) break
  }
  return pointOf(to, view)
}

/** From a point of one picture, with 1 as its third, to one of another, by its third: a row after the other. */
type Homography = readonly number[]

const SAME: Homography = [1, 0, 0, 0, 1, 0, 0, 0, 1]

/** For each point of the picture that is expected, where the one before has it. */
function seenFrom(from: View, to: View): Homography {
  const right = halfTangent(to.hfovDeg)
  const up = right * to.aspect
  const wide = halfTangent(from.hfovDeg)
  const high = wide * from.aspect
  const axes = axesOf(from, to)
  return [
    ...[(axes.right[0] * right) / wide, (axes.up[0] * up) / wide, axes.ahead[0] / wide],
    ...[(axes.right[1] * right) / high, (axes.up[1] * up) / high, axes.ahead[1] / high],
    ...[axes.right[2] * right, axes.up[2] * up, axes.ahead[2]],
  ]
}

type Axis = readonly [number, number, number]

/** The axes of one view as another sees them. */
function axesOf(from: View, to: View): { right: Axis; up: Axis; ahead: Axis } {
  const own = frameOf(from)
  const other = frameOf(to)
  const seen = (axis: Axis): Axis => [dot(axis, own.right), dot(axis, own.up), dot(axis, own.ahead)]
  return { right: seen(other.right), up: seen(other.up), ahead: seen(other.ahead) }
}

const dot = (one: Axis, other: Axis): number => one[0] * other[0] + one[1] * other[1] + one[2] * other[2]

const RADIANS = Math.PI / 180

function frameOf({ pan, tilt }: View): { right: Axis; up: Axis; ahead: Axis } {
  const [sinPan, cosPan] = [Math.sin(pan * RADIANS), Math.cos(pan * RADIANS)]
  const [sinTilt, cosTilt] = [Math.sin(tilt * RADIANS), Math.cos(tilt * RADIANS)]
  return {
    right: [cosPan, -sinPan, 0],
    up: [-sinTilt * sinPan, -sinTilt * cosPan, cosTilt],
    ahead: [cosTilt * sinPan, cosTilt * cosPan, sinTilt],
  }
}

/** Samples in rows; NaN where the picture has none. */
function sampled(picture: GreyPicture, by: Homography): Float64Array {
  const samples = new Float64Array(SIDE * SIDE)
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] = by
  for (let row = 0; row < SIDE; row++) {
    const y = 1 - (2 * row + 1) / SIDE
    for (let column = 0; column < SIDE; column++) {
      const x = (2 * column + 1) / SIDE - 1
      const depth = g * x + h * y + i
      samples[row * SIDE + column] =
        depth <= 1e-3 ? Number.NaN : shadeAt(picture, (a * x + b * y + c) / depth, (d * x + e * y + f) / depth)
    }
  }
  return samples
}

function shadeAt({ bytes, height, width }: GreyPicture, x: number, y: number): number {
  const across = ((x + 1) * width) / 2 - 0.5
  const down = ((1 - y) * height) / 2 - 0.5
  if (across < -0.5 || down < -0.5 || across > width - 0.5 || down > height - 0.5) return Number.NaN
  const left = Math.min(width - 2, Math.max(0, Math.floor(across)))
  const top = Math.min(height - 2, Math.max(0, Math.floor(down)))
  const toRight = across - left
  const toBottom = down - top
  const at = top * width + left
  const upper = (bytes[at] ?? 0) * (1 - toRight) + (bytes[at + 1] ?? 0) * toRight
  const lower = (bytes[at + width] ?? 0) * (1 - toRight) + (bytes[at + width + 1] ?? 0) * toRight
  return upper * (1 - toBottom) + lower * toBottom
}

/** Columns and rows, the last ones included. */
interface Rect {
  left: number
  right: number
  top: number
  bottom: number
}

/** A rectangle in which every sample is there; undefined if it would be too small to tell anything. */
function sharedRect(samples: Float64Array): Rect | undefined {
  const rect = { left: 0, right: SIDE - 1, top: 0, bottom: SIDE - 1 }
  const missing = (from: number, step: number, many: number) => {
    let count = 0
    for (let at = 0; at < many; at++) if (Number.isNaN(samples[from + at * step])) count++
    return count / many
  }
  for (;;) {
    const { bottom, left, right, top } = rect
    const [wide, high] = [right - left + 1, bottom - top + 1]
    if (wide < LEAST_SHARED || high < LEAST_SHARED) return undefined
    const edges = {
      left: missing(top * SIDE + left, SIDE, high),
      right: missing(top * SIDE + right, SIDE, high),
      top: missing(top * SIDE + left, 1, wide),
      bottom: missing(bottom * SIDE + left, 1, wide),
    }
    const worst = (Object.keys(edges) as (keyof Rect)[]).reduce((one, other) =>
      edges[other] > edges[one] ? other : one,
    )
    if (edges[worst] === 0) return rect
    rect[worst] += worst === 'left' || worst === 'top' ? 1 : -1
  }
}

/** What is in the rectangle, without its mean, fading out to its edges; the rest is 0. */
function windowed(samples: Float64Array, { bottom, left, right, top }: Rect): Float64Array {
  const result = new Float64Array(SIDE * SIDE)
  let sum = 0
  for (let row = top; row <= bottom; row++)
    for (let column = left; column <= right; column++) sum += samples[row * SIDE + column] ?? 0
  const mean = sum / ((right - left + 1) * (bottom - top + 1))
  for (let row = top; row <= bottom; row++) {
    const down = hann(row - top, bottom - top + 1)
    for (let column = left; column <= right; column++) {
      const at = row * SIDE + column
      result[at] = ((samples[at] ?? 0) - mean) * down * hann(column - left, right - left + 1)
    }
  }
  return result
}

const hann = (at: number, many: number): number => Math.sin((Math.PI * (at + 0.5)) / many) ** 2

/** The shift of one against the other by their cross-power spectrum, of which the phases alone count. */
function correlate(one: Float64Array, other: Float64Array): Shift {
  // Two real pictures as one complex one.
  const real = one
  const imaginary = other
  transform(real, imaginary, false)
  const [phaseReal, phaseImaginary] = [new Float64Array(SIDE * SIDE), new Float64Array(SIDE * SIDE)]
  let weights = 0
  for (let row = 0; row < SIDE; row++)
    for (let column = 0; column < SIDE; column++) {
      const at = row * SIDE + column
      const mirrored = ((SIDE - row) % SIDE) * SIDE + ((SIDE - column) % SIDE)
      const a = real[at] ?? 0
      const b = imaginary[at] ?? 0
      const c = real[mirrored] ?? 0
      const d = imaginary[mirrored] ?? 0
      // Spectra of both, from the even and the odd part; then the second one times the first one's conjugate.
      const oneReal = (a + c) / 2
      const oneImaginary = (b - d) / 2
      const otherReal = (b + d) / 2
      const otherImaginary = (c - a) / 2
      const crossReal = otherReal * oneReal + otherImaginary * oneImaginary
      const crossImaginary = otherImaginary * oneReal - otherReal * oneImaginary
      const size = Math.sqrt(crossReal * crossReal + crossImaginary * crossImaginary)
      const weight = WEIGHTS[at] ?? 0
      weights += weight
      if (size < 1e-9) continue
      phaseReal[at] = (crossReal / size) * weight
      phaseImaginary[at] = (crossImaginary / size) * weight
    }
  transform(phaseReal, phaseImaginary, true)
  return peakOf(phaseReal, weights)
}

const frequency = (at: number): number => (at > SIDE / 2 ? at - SIDE : at) / SIDE

const WEIGHTS = Float64Array.from({ length: SIDE * SIDE }, (_, at) => {
  const size = Math.hypot(frequency(at % SIDE), frequency(Math.floor(at / SIDE)))
  // What is the same all over the picture is its light.
  return size === 0 ? 0 : Math.exp(-((size / FINEST) ** 2))
})

function peakOf(values: Float64Array, most: number): Shift {
  let top = 0
  for (let at = 1; at < values.length; at++) if ((values[at] ?? 0) > (values[top] ?? 0)) top = at
  const [row, column] = [Math.floor(top / SIDE), top % SIDE]
  const value = (down: number, across: number) =>
    values[((row + down + SIDE) % SIDE) * SIDE + ((column + across + SIDE) % SIDE)] ?? 0
  const across = frequency(column) * SIDE + between(value(0, -1), value(0, 0), value(0, 1))
  const down = frequency(row) * SIDE + between(value(-1, 0), value(0, 0), value(1, 0))
  return { x: (2 * across) / SIDE, y: (-2 * down) / SIDE, agreed: (value(0, 0) * SIDE * SIDE) / most }
}

/** Where the top of a curve through three values lies, -0.5..0.5 of the middle one: near its top a peak is one of Gauss. */
function between(left: number, middle: number, right: number): number {
  if (left <= 0 || right <= 0 || middle <= 0) return 0
  const [a, b, c] = [Math.log(left), Math.log(middle), Math.log(right)]
  const bend = a - 2 * b + c
  return bend >= 0 ? 0 : (a - c) / (2 * bend)
}

const COSINES = Float64Array.from({ length: SIDE / 2 }, (_, at) => Math.cos((2 * Math.PI * at) / SIDE))
const SINES = Float64Array.from({ length: SIDE / 2 }, (_, at) => Math.sin((2 * Math.PI * at) / SIDE))
const BITS = Math.log2(SIDE)
const REVERSED = Uint8Array.from({ length: SIDE }, (_, at) =>
  Number.parseInt(at.toString(2).padStart(BITS, '0').split('').reverse().join(''), 2),
)

/** Fourier's transform in both directions, in place. */
function transform(real: Float64Array, imaginary: Float64Array, isBack: boolean): void {
  for (let row = 0; row < SIDE; row++) transformLine(real, imaginary, { from: row * SIDE, step: 1, isBack })
  for (let column = 0; column < SIDE; column++) transformLine(real, imaginary, { from: column, step: SIDE, isBack })
}

const lineReal = new Float64Array(SIDE)
const lineImaginary = new Float64Array(SIDE)

function transformLine(
  real: Float64Array,
  imaginary: Float64Array,
  { from, isBack, step }: { from: number; step: number; isBack: boolean },
): void {
  const sign = isBack ? 1 : -1
  for (let at = 0; at < SIDE; at++) {
    const place = from + (REVERSED[at] ?? 0) * step
    lineReal[at] = real[place] ?? 0
    lineImaginary[at] = imaginary[place] ?? 0
  }
  for (let size = 2; size <= SIDE; size *= 2) {
    const half = size / 2
    for (let begin = 0; begin < SIDE; begin += size)
      for (let at = 0; at < half; at++) {
        const turn = (at * SIDE) / size
        const cos = COSINES[turn] ?? 0
        const sin = (SINES[turn] ?? 0) * sign
        const first = begin + at
        const second = first + half
        const a = lineReal[second] ?? 0
        const b = lineImaginary[second] ?? 0
        const turnedReal = a * cos - b * sin
        const turnedImaginary = a * sin + b * cos
        lineReal[second] = (lineReal[first] ?? 0) - turnedReal
        lineImaginary[second] = (lineImaginary[first] ?? 0) - turnedImaginary
        lineReal[first] = (lineReal[first] ?? 0) + turnedReal
        lineImaginary[first] = (lineImaginary[first] ?? 0) + turnedImaginary
      }
  }
  const scale = isBack ? 1 / SIDE : 1
  for (let at = 0; at < SIDE; at++) {
    real[from + at * step] = (lineReal[at] ?? 0) * scale
    imaginary[from + at * step] = (lineImaginary[at] ?? 0) * scale
  }
}
