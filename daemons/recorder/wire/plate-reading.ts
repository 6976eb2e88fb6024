/**
 * Reads number plates by two networks: what a picture is turned into for them, and what their numbers mean. The first says where
 * text is, the second what a line of it says.
 * @source PaddleOCR, PP-OCRv4: its detection by Differentiable Binarization, its recognition by CTC
 */
import { networkInput, type RgbPicture } from './model-input.ts'
import type { ModelInput } from './model-manifest.ts'

/** A line of text in a picture: its middle, its length and height in pixels, and by how much it falls to the right, in radians. */
export interface TextLine {
  x: number
  y: number
  length: number
  height: number
  angle: number
}

/** What a line says. */
interface ReadText {
  text: string
  /** 0 to 1: the mean over its characters. */
  confidence: number
}

/** A plate as the detector protocol has it. */
export interface ReadPlate extends ReadText {
  /** Left, top, right, bottom as fractions of the picture. */
  box: readonly [number, number, number, number]
}

/** Numbers of a network's output. */
interface Tensor {
  shape: readonly number[]
  data: Float32Array
}

/** Sides that the first network takes are multiples of it. */
const GRID = 32
/** The longer side that it is given: a plate of 90 pixels in a picture of 640 is read, and one look takes a tenth of a second. */
const MOST_SIDE = 640
const FIND: Omit<ModelInput, 'sizes'> = {
  ...{ layout: 'nchw-float32', colours: 'bgr', fit: 'stretch', fill: 0 },
  ...{ mean: [123.675, 116.28, 103.53], deviation: [58.395, 57.12, 57.375] },
}
/** The second is given a line of this height, of 0 to 255 as -1 to 1. */
const LINE = { height: 48, width: 320 } as const
const READ: Omit<ModelInput, 'sizes'> = {
  ...{ layout: 'nchw-float32', colours: 'bgr', fit: 'stretch', fill: 0 },
  ...{ mean: [127.5, 127.5, 127.5], deviation: [127.5, 127.5, 127.5] },
}

/** From here on a place is text. */
const IS_TEXT = 0.3
/** A line is one whose places have so much on average, and that is so high and long, in pixels of the network. */
const LEAST_SCORE = 0.5
const LEAST_HEIGHT = 3
const LEAST_LENGTH = 8
/** The network was taught with the middle of lines: they are larger by their area times this, divided by their circumference. */
const GROWN = 1.6
const MOST_LINES = 32

/** @returns what the first network is given */
export function findingInput(picture: RgbPicture) {
  const by = Math.min(1, MOST_SIDE / Math.max(picture.width, picture.height))
  const side = (length: number) => Math.max(GRID, Math.round((length * by) / GRID) * GRID)
  return networkInput(picture, { ...FIND, sizes: [[side(picture.width), side(picture.height)]] })
}

/**
 * @param tensor what the first network made: how likely text is at each place
 * @returns lines in pixels of the picture, the longest first
 */
export function linesOf({ data, shape }: Tensor, picture: { width: number; height: number }): TextLine[] {
  const [height = 0, width = 0] = shape.slice(-2)
  const [byX, byY] = [picture.width / width, picture.height / height]
  const seen = new Uint8Array(width * height)
  const lines: TextLine[] = []
  for (let at = 0; at < width * height; at++) {
    if (seen[at] === 1 || (data[at] ?? 0) < IS_TEXT) continue
    const line = lineOf(islandAt(at, { data, seen, width, height }), { data, width })
    if (line) lines.push(scaledLine(line, byX, byY))
  }
  return lines.sort((a, b) => b.length * b.height - a.length * a.height).slice(0, MOST_LINES)
}

interface Ground {
  data: Float32Array
  seen: Uint8Array
  width: number
  height: number
}

/** All places of text that hang together. */
function islandAt(start: number, { data, height, seen, width }: Ground): number[] {
  const island = [start]
  seen[start] = 1
  for (let next = 0; next < island.length; next++) {
    const at = island[next] ?? 0
    const x = at % width
    const near = [x > 0 ? at - 1 : -1, x < width - 1 ? at + 1 : -1, at - width, at + width]
    for (const one of near) {
      if (one < 0 || one >= width * height || seen[one] === 1 || (data[one] ?? 0) < IS_TEXT) continue
      seen[one] = 1
      island.push(one)
    }
  }
  return island
}

/** The rectangle around an island along its longer axis. */
function lineOf(
  island: readonly number[],
  { data, width }: { data: Float32Array; width: number },
): TextLine | undefined {
  if (island.length < LEAST_HEIGHT * LEAST_LENGTH) return undefined
  let [sum, sumX, sumY] = [0, 0, 0]
  for (const at of island) {
    sum += data[at] ?? 0
    sumX += at % width
    sumY += Math.floor(at / width)
  }
  if (sum / island.length < LEAST_SCORE) return undefined
  const [meanX, meanY] = [sumX / island.length, sumY / island.length]
  let [xx, xy, yy] = [0, 0, 0]
  for (const at of island) {
    const [dx, dy] = [(at % width) - meanX, Math.floor(at / width) - meanY]
    xx += dx * dx
    xy += dx * dy
    yy += dy * dy
  }
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy)
  // Text that stands upright is no plate.
  if (Math.abs(angle) > Math.PI / 4) return undefined
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  let [left, right, top, bottom] = [0, 0, 0, 0]
  for (const at of island) {
    const [dx, dy] = [(at % width) - meanX, Math.floor(at / width) - meanY]
    const [along, across] = [dx * cos + dy * sin, dy * cos - dx * sin]
    left = Math.min(left, along)
    right = Math.max(right, along)
    top = Math.min(top, across)
    bottom = Math.max(bottom, across)
  }
  const [length, height] = [right - left + 1, bottom - top + 1]
  if (length < LEAST_LENGTH || height < LEAST_HEIGHT) return undefined
  const [along, across] = [(left + right) / 2, (top + bottom) / 2]
  const grown = (length * height * GROWN) / (length + height)
  const [x, y] = [meanX + along * cos - across * sin + 0.5, meanY + along * sin + across * cos + 0.5]
  return { x, y, length: length + grown, height: height + grown, angle }
}

function scaledLine({ angle, height, length, x, y }: TextLine, byX: number, byY: number): TextLine {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  return {
    ...{ x: x * byX, y: y * byY, angle: Math.atan2(sin * byY, cos * byX) },
    ...{ length: length * Math.hypot(cos * byX, sin * byY), height: height * Math.hypot(sin * byX, cos * byY) },
  }
}

/** @returns what the second network is given: the line turned level, at most so wide as it was taught with */
export function readingInput(picture: RgbPicture, line: TextLine) {
  const width = Math.min(LINE.width, Math.max(LINE.height, Math.round((line.length / line.height) * LINE.height)))
  const input = networkInput(
    { width, height: LINE.height, rgb: turnedLevel(picture, line, width) },
    { ...READ, sizes: [[width, LINE.height]] },
  )
  // The rest is as empty as where it was taught.
  const data = new Float32Array(3 * LINE.height * LINE.width)
  for (let row = 0; row < 3 * LINE.height; row++)
    data.set((input.data as Float32Array).subarray(row * width, (row + 1) * width), row * LINE.width)
  return { shape: [1, 3, LINE.height, LINE.width], data }
}

/** Between the four nearest pixels of each place. */
function turnedLevel({ height, rgb, width }: RgbPicture, line: TextLine, length: number): Uint8Array {
  const made = new Uint8Array(length * LINE.height * 3)
  const [cos, sin] = [Math.cos(line.angle), Math.sin(line.angle)]
  for (let row = 0; row < LINE.height; row++)
    for (let column = 0; column < length; column++) {
      const along = ((column + 0.5) / length - 0.5) * line.length
      const across = ((row + 0.5) / LINE.height - 0.5) * line.height
      const x = within(line.x + along * cos - across * sin - 0.5, width)
      const y = within(line.y + along * sin + across * cos - 0.5, height)
      const [left, top] = [Math.floor(x), Math.floor(y)]
      const [right, below] = [Math.min(width - 1, left + 1), Math.min(height - 1, top + 1)]
      const [partX, partY] = [x - left, y - top]
      for (let colour = 0; colour < 3; colour++) {
        const shade = (px: number, py: number) => rgb[(py * width + px) * 3 + colour] ?? 0
        const upper = shade(left, top) * (1 - partX) + shade(right, top) * partX
        const lower = shade(left, below) * (1 - partX) + shade(right, below) * partX
        made[(row * length + column) * 3 + colour] = Math.round(upper * (1 - partY) + lower * partY)
      }
    }
  return made
}

function within(at: number, length: number): number {
  return Math.min(length - 1, Math.max(0, at))
}

/**
 * @param tensor what the second network made: for each step, how likely each character is; the first stands for none
 * @param characters by number, from the second on
 */
export function textOfLine({ data, shape }: Tensor, characters: readonly string[]): ReadText {
  const [steps = 0, classes = 0] = shape.slice(-2)
  let [text, before, sum, count] = ['', 0, 0, 0]
  for (let step = 0; step < steps; step++) {
    let [best, most] = [0, Number.NEGATIVE_INFINITY]
    for (let one = 0; one < classes; one++) {
      const likely = data[step * classes + one] ?? 0
      if (likely > most) [best, most] = [one, likely]
    }
    if (best !== 0 && best !== before) {
      text += characters[best - 1] ?? ''
      sum += most
      count++
    }
    before = best
  }
  return { text, confidence: count > 0 ? Math.min(1, Math.max(0, sum / count)) : 0 }
}

/** Of plates of all countries: so many letters and digits, and some digit among them. */
const LETTERS = { least: 4, most: 10 } as const
const LEAST_CONFIDENCE = 0.5
const MOST_PLATES = 4

/**
 * What of lines may be a plate: words on a van are none, nor is what is read without certainty.
 * @returns the best one first
 */
export function platesAmong(
  lines: readonly (TextLine & ReadText)[],
  { height, width }: { width: number; height: number },
): ReadPlate[] {
  const part = (at: number, whole: number) => Math.round(1e4 * Math.min(1, Math.max(0, at / whole))) / 1e4
  const plates = lines.flatMap((line): ReadPlate[] => {
    const { confidence, text } = line
    const signs = [...text.normalize('NFKC')].filter((one) => /[\p{L}\p{N}]/u.test(one)).length
    if (signs < LETTERS.least || signs > LETTERS.most || !/\p{N}/u.test(text) || confidence < LEAST_CONFIDENCE)
      return []
    const [cos, sin] = [Math.abs(Math.cos(line.angle)), Math.abs(Math.sin(line.angle))]
    const halfWide = (line.length * cos + line.height * sin) / 2
    const halfHigh = (line.length * sin + line.height * cos) / 2
    const box = [
      ...[part(line.x - halfWide, width), part(line.y - halfHigh, height)],
      ...[part(line.x + halfWide, width), part(line.y + halfHigh, height)],
    ] as [number, number, number, number]
    return [{ text: text.toUpperCase().trim(), confidence: Math.round(confidence * 1000) / 1000, box }]
  })
  return plates.sort((a, b) => b.confidence - a.confidence).slice(0, MOST_PLATES)
}
