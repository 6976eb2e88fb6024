/** Puts a picture into the form that a network wants, and its boxes back into fractions of the picture. */
import type { SeenBox } from './model-boxes.ts'
import type { ModelInput, ModelManifest } from './model-manifest.ts'

/** Red, green and blue of each pixel, row by row from the top. */
export interface RgbPicture {
  width: number
  height: number
  rgb: Uint8Array
}

/** What a network is given: one picture. */
export interface NetworkInput {
  /** In pixels. */
  width: number
  height: number
  /** What the picture fills of it, from the upper left corner. */
  filled: Size
  shape: readonly number[]
  data: Uint8Array | Float32Array
}

interface Size {
  width: number
  height: number
}

/** What recorders take for certain enough to begin a track with: `detector.score` unless it is set. */
const BELIEVED = 0.4

/** @source docs/recorder.md, the manifest of a model */
export function networkInput(picture: RgbPicture, input: ModelInput): NetworkInput {
  const size = nearestSize(picture, input)
  const filled = filledBy(picture, size, input)
  const rgb = scaled(picture, filled)
  const { height, width } = size
  if (input.layout === 'nhwc-uint8')
    return { ...size, filled, shape: [1, height, width, 3], data: pixels({ rgb, ...filled }, size, input) }
  return { ...size, filled, shape: [1, 3, height, width], data: planes({ rgb, ...filled }, size, input) }
}

/** The one whose proportions are nearest, as factors. */
function nearestSize(picture: Size, { sizes }: ModelInput): Size {
  let best: Size = { width: 0, height: 0 }
  let least = Number.POSITIVE_INFINITY
  for (const [width, height] of sizes) {
    const apart = Math.abs(Math.log((picture.width * height) / (picture.height * width)))
    if (apart < least) {
      best = { width, height }
      least = apart
    }
  }
  return best
}

function filledBy(picture: Size, size: Size, { fit }: ModelInput): Size {
  if (fit === 'stretch') return size
  const by = Math.min(size.width / picture.width, size.height / picture.height)
  const side = (length: number, most: number) => Math.min(most, Math.max(1, Math.round(length * by)))
  return { width: side(picture.width, size.width), height: side(picture.height, size.height) }
}

/** Between the four nearest pixels of each place: first in height, which is all that most pictures need, then in width. */
function scaled(picture: RgbPicture, to: Size): Uint8Array {
  const high = picture.height === to.height ? picture.rgb : scaledHigh(picture, to.height)
  return picture.width === to.width ? high : scaledWide({ ...picture, height: to.height, rgb: high }, to.width)
}

function scaledHigh({ height, rgb, width }: RgbPicture, to: number): Uint8Array {
  const row = width * 3
  const made = new Uint8Array(to * row)
  for (let y = 0; y < to; y++) {
    const { first, part, second } = betweenOf(y, to, height)
    const [upper, lower, from] = [first * row, second * row, y * row]
    for (let at = 0; at < row; at++)
      made[from + at] = ((rgb[upper + at] ?? 0) * (WHOLE - part) + (rgb[lower + at] ?? 0) * part + WHOLE / 2) / WHOLE
  }
  return made
}

function scaledWide({ height, rgb, width }: RgbPicture, to: number): Uint8Array {
  const made = new Uint8Array(to * height * 3)
  for (let x = 0; x < to; x++) {
    const { first, part, second } = betweenOf(x, to, width)
    for (let y = 0; y < height; y++) {
      const [left, right, at] = [(y * width + first) * 3, (y * width + second) * 3, (y * to + x) * 3]
      for (let colour = 0; colour < 3; colour++)
        made[at + colour] =
          ((rgb[left + colour] ?? 0) * (WHOLE - part) + (rgb[right + colour] ?? 0) * part + WHOLE / 2) / WHOLE
    }
  }
  return made
}

const WHOLE = 256

/** The two pixels of a row between whose middles the middle of a new one lies, and its part of the second, of `WHOLE`. */
function betweenOf(at: number, length: number, from: number): { first: number; second: number; part: number } {
  const middle = Math.min(from - 1, Math.max(0, ((at + 0.5) * from) / length - 0.5))
  const first = Math.floor(middle)
  return { first, second: Math.min(from - 1, first + 1), part: Math.round((middle - first) * WHOLE) }
}

function pixels(picture: RgbPicture, { height, width }: Size, { colours, fill }: ModelInput): Uint8Array {
  const data = new Uint8Array(width * height * 3).fill(fill)
  const row = picture.width * 3
  for (let y = 0; y < picture.height; y++) data.set(picture.rgb.subarray(y * row, (y + 1) * row), y * width * 3)
  if (colours === 'rgb') return data
  for (let at = 0; at < data.length; at += 3) {
    const red = data[at] ?? 0
    data[at] = data[at + 2] ?? 0
    data[at + 2] = red
  }
  return data
}

function planes(picture: RgbPicture, { height, width }: Size, input: ModelInput): Float32Array {
  const size = width * height
  const data = new Float32Array(3 * size)
  for (let plane = 0; plane < 3; plane++) {
    const [mean, deviation] = [input.mean[plane] ?? 0, input.deviation[plane] ?? 1]
    const colour = input.colours === 'rgb' ? plane : 2 - plane
    data.fill((input.fill - mean) / deviation, plane * size, (plane + 1) * size)
    for (let y = 0; y < picture.height; y++)
      for (let x = 0; x < picture.width; x++) {
        const shade = picture.rgb[(y * picture.width + x) * 3 + colour] ?? 0
        data[plane * size + y * width + x] = (shade - mean) / deviation
      }
  }
  return data
}

/** A box as the detector protocol has it. */
interface ToldBox {
  label: string
  score: number
  /** Left, top, right, bottom as fractions of the picture. */
  box: readonly number[]
}

/**
 * Scores are told so that what the network's manifest calls seen has 0.4, whichever the network: recorders know one threshold
 * for all.
 * @param boxes in pixels of the network's input
 * @returns those whose label is told and that reach into the picture
 * @source docs/recorder.md, the detector protocol
 */
export function toldBoxes(
  boxes: readonly SeenBox[],
  filled: Size,
  { labels, thresholds }: Pick<ModelManifest, 'labels' | 'thresholds'>,
): ToldBox[] {
  return boxes.flatMap(({ bottom, label: number, left, right, score, top }) => {
    const label = labels[number]
    const part = (at: number, whole: number) => Math.min(1, at / whole)
    const box = [
      part(left, filled.width),
      part(top, filled.height),
      part(right, filled.width),
      part(bottom, filled.height),
    ] as const
    if (label === undefined || label === null || box[0] >= box[2] || box[1] >= box[3]) return []
    return [{ label, score: toldScore(score, thresholds.seen), box }]
  })
}

function toldScore(score: number, seen: number): number {
  if (score < seen) return (score / seen) * BELIEVED
  return BELIEVED + ((score - seen) / (1 - seen)) * (1 - BELIEVED)
}
