/**
 * Boxes from the numbers that a network gives: what each family of networks means by them, and which of several boxes
 * around the same thing stays.
 * @source of each family: readBoxes
 */
import { Fault } from '#kit/pure/fault.ts'

/** Numbers as a network gives them: the last dimension lies first. */
export interface Tensor {
  shape: readonly number[]
  data: Float32Array
}

/** What a network saw, in pixels of the picture that it was given. */
export interface SeenBox {
  /** Its number in the list of labels. */
  label: number
  score: number
  left: number
  top: number
  right: number
  bottom: number
}

/** How the numbers are read. */
export interface Reading {
  /** The picture that the network was given, in pixels. */
  width: number
  height: number
  /** How many labels there are. */
  labels: number
  /** Boxes with less are left out: 0 to 1. */
  score: number
  /** Of two boxes of a label that share more than this of their area, the weaker one is left out: 0 to 1. */
  overlap: number
  /** Most boxes; those with the best scores. */
  most: number
}

/** The families whose numbers are understood, with how many tensors each gives. */
export const DECODERS = { nanodet: 2, yolox: 1, yolov8: 1, detr: 2 } as const

export type Decoder = keyof typeof DECODERS

/** How much smaller than the picture the grids are on which NanoDet and YOLOX look. */
const STRIDES = [8, 16, 32]

/** Boxes of different labels that share more than this are the same thing under two names, as a van is a car and a truck. */
const SAME = 0.85

/** More than these are not compared with each other: a network that sees something everywhere would cost seconds. */
const MOST_COMPARED = 1000

/**
 * @param tensors those of the family, in the order of its manifest
 * @returns boxes within the picture, best first. Numbers that are none are left out
 * @throws Fault `model_unfit` where the tensors do not have the shape of the family
 * @source NanoDet 0.4 (`nanodet/model/head/gfl_head.py`), YOLOX (`yolox/models/yolo_head.py`, decode_outputs), Ultralytics'
 *   description of its exported heads, DETR (`models/detr.py`, PostProcess) with sigmoid as RT-DETR and D-FINE have it
 */
export function readBoxes(decoder: Decoder, tensors: readonly Tensor[], reading: Reading): SeenBox[] {
  if (tensors.length !== DECODERS[decoder])
    throw unfit(`${decoder} gives ${DECODERS[decoder]} tensors, and this network ${tensors.length}`)
  const [first = NOTHING, second = NOTHING] = tensors
  const found = READERS[decoder](first, second, reading)
  return bestOf(found.flatMap((box) => withinPicture(box, reading)).sort(byScore), reading)
}

const NOTHING: Tensor = { shape: [], data: new Float32Array() }

const READERS: Readonly<Record<Decoder, (first: Tensor, second: Tensor, reading: Reading) => SeenBox[]>> = {
  /** Scores of each label, and for each side a distribution over steps of its distance. */
  nanodet(scores, distances, reading) {
    const cells = cellsOf(reading)
    const many = sidesOf(distances, cells.length)
    wantShape(scores, [1, cells.length, reading.labels], 'scores')
    return cells.flatMap(({ stride, x, y }, at) => {
      const best = bestLabel(scores.data, at * reading.labels, 1, reading)
      if (!best) return []
      const side = (which: number) => meanOf(distances.data, (at * 4 + which) * many, many) * stride
      const [centreX, centreY] = [(x + 0.5) * stride, (y + 0.5) * stride]
      const [left, top] = [centreX - side(0), centreY - side(1)]
      return [{ ...best, left, top, right: centreX + side(2), bottom: centreY + side(3) }]
    })
  },
  /** Of each cell: centre from its corner, logarithm of its size, whether there is anything, and what. */
  yolox(output, _none, reading) {
    const cells = cellsOf(reading)
    const row = 5 + reading.labels
    wantShape(output, [1, cells.length, row], 'output')
    const { data } = output
    return cells.flatMap(({ stride, x, y }, at) => {
      const from = at * row
      const best = bestLabel(data, from + 5, 1, { ...reading, factor: data[from + 4] ?? 0 })
      if (!best) return []
      const centre = [((data[from] ?? 0) + x) * stride, ((data[from + 1] ?? 0) + y) * stride] as const
      return [
        { ...best, ...around(centre, Math.exp(data[from + 2] ?? 0) * stride, Math.exp(data[from + 3] ?? 0) * stride) },
      ]
    })
  },
  /** One column for each place: centre, size, and a score of each label. */
  yolov8(output, _none, reading) {
    const many = output.shape[2] ?? 0
    wantShape(output, [1, 4 + reading.labels, many], 'output')
    const { data } = output
    const boxes: SeenBox[] = []
    for (let at = 0; at < many; at++) {
      const best = bestLabel(data, 4 * many + at, many, reading)
      const number = (row: number) => data[row * many + at] ?? 0
      if (best) boxes.push({ ...best, ...around([number(0), number(1)], number(2), number(3)) })
    }
    return boxes
  },
  /** Of each question: what it is, before the sigmoid, and centre and size as fractions of the picture. */
  detr(logits, places, reading) {
    const many = logits.shape[1] ?? 0
    wantShape(logits, [1, many, reading.labels], 'logits')
    wantShape(places, [1, many, 4], 'boxes')
    const { height, width } = reading
    const scores = logits.data.map((logit) => 1 / (1 + Math.exp(-logit)))
    return Array.from({ length: many }, (_, at) => at).flatMap((at) => {
      const best = bestLabel(scores, at * reading.labels, 1, reading)
      const number = (which: number) => places.data[at * 4 + which] ?? 0
      if (!best) return []
      return [{ ...best, ...around([number(0) * width, number(1) * height], number(2) * width, number(3) * height) }]
    })
  },
}

/** Places of a grid for each stride, row by row, the finest grid first. */
function cellsOf({ height, width }: Reading): { stride: number; x: number; y: number }[] {
  return STRIDES.flatMap((stride) => {
    const [rows, columns] = [Math.ceil(height / stride), Math.ceil(width / stride)]
    return Array.from({ length: rows * columns }, (_, at) => ({
      ...{ stride, x: at % columns, y: Math.floor(at / columns) },
    }))
  })
}

function wantShape({ data, shape }: Tensor, wanted: readonly number[], what: string): void {
  const isSame = shape.length === wanted.length && shape.every((size, at) => size === wanted[at])
  const many = wanted.reduce((product, size) => product * size, 1)
  if (!isSame || data.length !== many)
    throw unfit(`its ${what} are ${shape.join(' x ') || 'missing'}, and ${wanted.join(' x ')} were expected`)
}

/** @returns how many steps the distance of a side has */
function sidesOf(distances: Tensor, cells: number): number {
  const many = (distances.shape[2] ?? 0) / 4
  if (!Number.isInteger(many) || many < 2) throw unfit(`its distances are ${distances.shape.join(' x ')}`)
  wantShape(distances, [1, cells, 4 * many], 'distances')
  return many
}

/** @returns the best label of a place, or undefined where none reaches the score */
function bestLabel(
  data: Float32Array,
  from: number,
  step: number,
  { factor = 1, labels, score }: Reading & { factor?: number },
): Pick<SeenBox, 'label' | 'score'> | undefined {
  let label = 0
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < labels; at++) {
    const each = data[from + at * step] ?? Number.NEGATIVE_INFINITY
    if (each > best) {
      best = each
      label = at
    }
  }
  const found = Math.min(1, best * factor)
  return found >= score ? { label, score: found } : undefined
}

/** The mean of 0, 1, 2 ... by how likely each is. */
function meanOf(data: Float32Array, from: number, many: number): number {
  let most = Number.NEGATIVE_INFINITY
  for (let at = 0; at < many; at++) most = Math.max(most, data[from + at] ?? 0)
  let sum = 0
  let weighted = 0
  for (let at = 0; at < many; at++) {
    const weight = Math.exp((data[from + at] ?? 0) - most)
    sum += weight
    weighted += weight * at
  }
  return weighted / sum
}

function around([x, y]: readonly [number, number], width: number, height: number) {
  return { left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2 }
}

/** Cut at the edges; none where nothing of it is in the picture, or where its numbers are none. */
function withinPicture(box: SeenBox, { height, width }: Reading): SeenBox[] {
  const cut = (at: number, most: number) => Math.min(most, Math.max(0, at))
  const [left, right] = [cut(box.left, width), cut(box.right, width)]
  const [top, bottom] = [cut(box.top, height), cut(box.bottom, height)]
  return right > left && bottom > top ? [{ ...box, left, top, right, bottom }] : []
}

function byScore(one: SeenBox, other: SeenBox): number {
  return other.score - one.score
}

/** @param boxes best first */
function bestOf(boxes: readonly SeenBox[], { most, overlap }: Reading): SeenBox[] {
  const kept: SeenBox[] = []
  for (const box of boxes.slice(0, MOST_COMPARED)) {
    if (kept.length >= most) break
    const isNew = kept.every((better) => sharedOf(better, box) <= (better.label === box.label ? overlap : SAME))
    if (isNew) kept.push(box)
  }
  return kept
}

/** What two boxes share of the area that both cover together. */
function sharedOf(one: SeenBox, other: SeenBox): number {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left)
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)
  if (width <= 0 || height <= 0) return 0
  return (width * height) / (areaOf(one) + areaOf(other) - width * height)
}

function areaOf({ bottom, left, right, top }: SeenBox): number {
  return (right - left) * (bottom - top)
}

function unfit(why: string): Fault {
  return new Fault('model_unfit', `The network does not fit its manifest: ${why}.`)
}
