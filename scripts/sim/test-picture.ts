/**
 * A moving picture with the time of day burned in, as H.264 that needs no encoder: what changed is sent as it is (I_PCM),
 * what did not is skipped. A decoder shows each dot exactly.
 * @source H.264 clauses 7.3.2.1, 7.3.2.2, 7.3.3, 7.3.5, 7.4.1.1
 */
import type { Film } from './rtsp-cameras.ts'

const WIDTH = 320
const HEIGHT = 240
const COLUMNS = WIDTH / 16
const ROWS = HEIGHT / 16
/** A key frame each second. */
const GROUP = 10
/** Values of mb_type in slices of P and I. */
const PCM_IN_P = 30
const PCM_IN_I = 25

/** Colours as Y, Cb, Cr. */
type Colour = readonly [number, number, number]
const WHITE: Colour = [220, 128, 128]
const BLACK: Colour = [30, 128, 128]

/** How a camera's picture looks. */
export interface Scene {
  sky: Colour
  ground: Colour
  /** What moves along the ground. */
  mover: Colour
  /** Its width and height in dots, and how far it moves in a second. */
  size: readonly [number, number]
  dotsPerS: number
}

export const TEST_PICTURES_PER_S = 10

/** @param now epoch milliseconds at which the next picture is drawn */
export function testFilm(scene: Scene, now: () => number): Film {
  let shown: Picture | undefined
  let count = 0
  return () => {
    const place = count++ % GROUP
    const picture = draw(scene, now())
    const units = place === 0 ? keyFrame(picture, count) : [changesOf(shown ?? picture, picture, place)]
    shown = picture
    return units
  }
}

interface Picture {
  luma: Uint8Array
  blue: Uint8Array
  red: Uint8Array
}

/** Digits of 5 by 7 dots, a row as five bits, and the colon behind 9. */
const DIGITS = [
  [14, 17, 19, 21, 25, 17, 14],
  [4, 12, 4, 4, 4, 4, 14],
  [14, 17, 1, 2, 4, 8, 31],
  [31, 2, 4, 2, 1, 17, 14],
  [2, 6, 10, 18, 31, 2, 2],
  [31, 16, 30, 1, 1, 17, 14],
  [6, 8, 16, 30, 17, 17, 14],
  [31, 1, 2, 4, 8, 8, 8],
  [14, 17, 17, 14, 17, 17, 14],
  [14, 17, 17, 15, 1, 2, 12],
  [0, 4, 4, 0, 4, 4, 0],
]
const COLON = 10
const DOT = 6
const DIGIT_WIDTH = 36

function draw({ dotsPerS, ground, mover, size: [width, height], sky }: Scene, nowMs: number): Picture {
  const picture = {
    luma: new Uint8Array(WIDTH * HEIGHT),
    blue: new Uint8Array((WIDTH * HEIGHT) / 4),
    red: new Uint8Array((WIDTH * HEIGHT) / 4),
  }
  const horizon = 144
  fill(picture, [0, 0, WIDTH, horizon], sky)
  fill(picture, [0, horizon, WIDTH, HEIGHT - horizon], ground)
  const left = Math.floor((nowMs * dotsPerS) / 1000) % (WIDTH - width)
  fill(picture, [left & ~1, 208 - height, width, height], mover)
  fill(picture, [0, 0, 304, 64], BLACK)
  const at = new Date(nowMs)
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()]
  const figures = parts.flatMap((part, index) => [...(index > 0 ? [COLON] : []), Math.floor(part / 10), part % 10])
  for (const [index, figure] of figures.entries()) figureAt(picture, figure, 10 + index * DIGIT_WIDTH)
  return picture
}

function figureAt(picture: Picture, figure: number, left: number): void {
  for (const [row, bits] of (DIGITS[figure] ?? []).entries()) {
    for (let column = 0; column < 5; column++) {
      if (bits & (16 >> column)) fill(picture, [left + column * DOT, 10 + row * DOT, DOT, DOT], WHITE)
    }
  }
}

/** Left, top, width and height in dots, all even. */
type Box = readonly [number, number, number, number]

function fill({ blue, luma, red }: Picture, [left, top, width, height]: Box, [y, cb, cr]: Colour): void {
  for (let row = top; row < top + height; row++) luma.fill(y, row * WIDTH + left, row * WIDTH + left + width)
  for (let row = top / 2; row < (top + height) / 2; row++) {
    const from = (row * WIDTH + left) / 2
    blue.fill(cb, from, from + width / 2)
    red.fill(cr, from, from + width / 2)
  }
}

/** More than a key frame in which nothing is skipped. */
const MOST_BYTES = 2 * WIDTH * HEIGHT

/** Bits of one unit. */
class Bits {
  readonly #bytes = new Uint8Array(MOST_BYTES)
  #length = 0
  #held = 0
  #count = 0

  put(value: number, bits: number): this {
    for (let bit = bits - 1; bit >= 0; bit--) {
      this.#held = (this.#held << 1) | ((value >>> bit) & 1)
      if (++this.#count < 8) continue
      this.#bytes[this.#length++] = this.#held
      this.#held = 0
      this.#count = 0
    }
    return this
  }

  /** An unsigned number as Exp-Golomb. */
  ue(value: number): this {
    const bits = 32 - Math.clz32(value + 1)
    return this.put(0, bits - 1).put(value + 1, bits)
  }

  align(bit: 0 | 1): this {
    if (bit === 1) this.put(1, 1)
    while (this.#count > 0) this.put(0, 1)
    return this
  }

  /** Whole bytes, behind `align`. */
  bytes(samples: Uint8Array): void {
    this.#bytes.set(samples, this.#length)
    this.#length += samples.length
  }

  /** The unit, with the bytes that keep start codes out of it. */
  unit(head: number): Uint8Array {
    this.align(1)
    const unit = new Uint8Array(1 + Math.ceil(this.#length * 1.5))
    unit[0] = head
    let length = 1
    let zeros = 0
    for (let at = 0; at < this.#length; at++) {
      const byte = this.#bytes[at] ?? 0
      if (zeros >= 2 && byte <= 3) {
        unit[length++] = 3
        zeros = 0
      }
      unit[length++] = byte
      zeros = byte === 0 ? zeros + 1 : 0
    }
    return unit.subarray(0, length)
  }
}

function parameterSets(): Uint8Array[] {
  // Constrained baseline, level 3, frame numbers of four bits, shown in the order of decoding, one reference.
  const sequence = new Bits().put(66, 8).put(0xc0, 8).put(30, 8).ue(0).ue(0).ue(2).ue(1).put(0, 1)
  sequence
    .ue(COLUMNS - 1)
    .ue(ROWS - 1)
    .put(0b1100, 4)
  // No slice groups, no weights, deblocking named in each slice.
  const picture = new Bits().ue(0).ue(0).put(0, 2).ue(0).ue(0).ue(0).put(0, 3).ue(0).ue(0).ue(0).put(0b100, 3)
  return [sequence.unit(0x67), picture.unit(0x68)]
}

function keyFrame(picture: Picture, count: number): Uint8Array[] {
  // First block, slice I, its set, frame number, which key frame, no marking, quality, no deblocking.
  const slice = new Bits()
    .ue(0)
    .ue(7)
    .ue(0)
    .put(0, 4)
    .ue(count % 2)
    .put(0, 2)
    .ue(0)
    .ue(1)
  for (let block = 0; block < COLUMNS * ROWS; block++) putBlock(slice.ue(PCM_IN_I), picture, block)
  return [...parameterSets(), slice.unit(0x65)]
}

function changesOf(before: Picture, picture: Picture, place: number): Uint8Array {
  const slice = new Bits().ue(0).ue(5).ue(0).put(place, 4).put(0, 3).ue(0).ue(1)
  let skipped = 0
  for (let block = 0; block < COLUMNS * ROWS; block++) {
    if (isSame(before, picture, block)) skipped++
    else {
      putBlock(slice.ue(skipped).ue(PCM_IN_P), picture, block)
      skipped = 0
    }
  }
  if (skipped > 0) slice.ue(skipped)
  return slice.unit(0x41)
}

function putBlock(bits: Bits, { blue, luma, red }: Picture, block: number): void {
  bits.align(0)
  for (const [samples, side] of [
    [luma, 16],
    [blue, 8],
    [red, 8],
  ] as const) {
    for (let line = 0; line < side; line++) {
      const from = startOf(block, side, line)
      bits.bytes(samples.subarray(from, from + side))
    }
  }
}

function isSame(before: Picture, picture: Picture, block: number): boolean {
  return (
    hasSame(before.luma, picture.luma, block, 16) &&
    hasSame(before.blue, picture.blue, block, 8) &&
    hasSame(before.red, picture.red, block, 8)
  )
}

/** Compared without making anything: the demo draws many a second beside its other devices. */
function hasSame(before: Uint8Array, samples: Uint8Array, block: number, side: number): boolean {
  for (let line = 0; line < side; line++) {
    const from = startOf(block, side, line)
    for (let at = from; at < from + side; at++) if (samples[at] !== before[at]) return false
  }
  return true
}

/** Where a line of a block begins among the samples. */
function startOf(block: number, side: number, line: number): number {
  const [column, row] = [block % COLUMNS, Math.floor(block / COLUMNS)]
  return (row * side + line) * COLUMNS * side + column * side
}
