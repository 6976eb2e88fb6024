import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Decoder, readBoxes, type SeenBox, type Tensor } from '../../wire/model-boxes.ts'

const SIZE = { width: 96, height: 64 }
const LABELS = 5
const READING = { ...SIZE, labels: LABELS, score: 0.3, overlap: 0.6, most: 256 }

/** How each family would write a box that it sees, as its own source has it; the reverse of what is tested. */
const WRITERS: Readonly<Record<Decoder, (boxes: readonly SeenBox[]) => Tensor[]>> = {
  nanodet(boxes) {
    const cells = places()
    const scores = tensor([1, cells.length, LABELS])
    const distances = tensor([1, cells.length, 44], -40)
    for (const box of boxes) {
      const at = cells.findIndex(({ stride, x, y }) => isMiddle(box, stride, (x + 0.5) * stride, (y + 0.5) * stride))
      const { stride = 1, x = 0, y = 0 } = cells[at] ?? {}
      const [centreX, centreY] = [(x + 0.5) * stride, (y + 0.5) * stride]
      scores.data[at * LABELS + box.label] = box.score
      const sides = [centreX - box.left, centreY - box.top, box.right - centreX, box.bottom - centreY]
      for (const [side, distance] of sides.entries()) {
        // A distance between two steps is half the one and half the other, or as near as it is.
        const whole = Math.floor(distance / stride)
        const part = distance / stride - whole
        distances.data[(at * 4 + side) * 11 + whole] = Math.log(1 - part)
        distances.data[(at * 4 + side) * 11 + whole + 1] = part > 0 ? Math.log(part) : -40
      }
    }
    return [scores, distances]
  },
  yolox(boxes) {
    const cells = places()
    const output = tensor([1, cells.length, 5 + LABELS])
    for (const box of boxes) {
      const at = cells.findIndex(({ stride, x, y }) => isMiddle(box, stride, (x + 0.5) * stride, (y + 0.5) * stride))
      const { stride = 1, x = 0, y = 0 } = cells[at] ?? {}
      const row = [
        (box.left + box.right) / 2 / stride - x,
        (box.top + box.bottom) / 2 / stride - y,
        Math.log((box.right - box.left) / stride),
        Math.log((box.bottom - box.top) / stride),
        // It is there, and then this is what it is.
        Math.sqrt(box.score),
      ]
      output.data.set(row, at * (5 + LABELS))
      output.data[at * (5 + LABELS) + 5 + box.label] = Math.sqrt(box.score)
    }
    return [output]
  },
  yolov8(boxes) {
    const many = boxes.length + 3
    const output = tensor([1, 4 + LABELS, many])
    for (const [at, box] of boxes.entries()) {
      output.data[at] = (box.left + box.right) / 2
      output.data[many + at] = (box.top + box.bottom) / 2
      output.data[2 * many + at] = box.right - box.left
      output.data[3 * many + at] = box.bottom - box.top
      output.data[(4 + box.label) * many + at] = box.score
    }
    return [output]
  },
  detr(boxes) {
    const many = boxes.length + 2
    const logits = tensor([1, many, LABELS], -20)
    const sides = tensor([1, many, 4])
    for (const [at, { bottom, label, left, right, score, top }] of boxes.entries()) {
      logits.data[at * LABELS + label] = Math.log(score / (1 - score))
      const { height, width } = SIZE
      const place = [
        (left + right) / 2 / width,
        (top + bottom) / 2 / height,
        (right - left) / width,
        (bottom - top) / height,
      ]
      sides.data.set(place, at * 4)
    }
    return [logits, sides]
  },
}

function tensor(shape: number[], value = 0): Tensor {
  return { shape, data: new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(value) }
}

function places(): { stride: number; x: number; y: number }[] {
  const cells: { stride: number; x: number; y: number }[] = []
  for (const stride of [8, 16, 32])
    for (let y = 0; y < SIZE.height / stride; y++)
      for (let x = 0; x < SIZE.width / stride; x++) cells.push({ stride, x, y })
  return cells
}

/** Whether the place of the grid lies near the middle of the box, which reaches no further than ten steps. */
function isMiddle(box: SeenBox, stride: number, x: number, y: number): boolean {
  const sides = [x - box.left, box.right - x, y - box.top, box.bottom - y]
  return sides.every((distance) => distance >= 0 && distance < 9 * stride)
}

/** Boxes in a corner each, so that none hides another. */
const boxes = fc
  .array(
    fc.record({
      label: fc.nat(LABELS - 1),
      score: fc.double({ min: 0.35, max: 0.95, noNaN: true }),
      left: fc.integer({ min: 1, max: 12 }),
      top: fc.integer({ min: 1, max: 8 }),
      width: fc.double({ min: 12, max: 30, noNaN: true }),
      height: fc.double({ min: 12, max: 20, noNaN: true }),
    }),
    { maxLength: 4 },
  )
  .map((all) =>
    all.map(({ height, label, left, score, top, width }, at): SeenBox => {
      const [x, y] = [left + (at % 2) * 48, top + Math.floor(at / 2) * 32]
      return { label, score, left: x, top: y, right: x + width, bottom: y + height }
    }),
  )

function same(t: Test, seen: readonly SeenBox[], written: readonly SeenBox[]): void {
  t.ok(
    seen.every(({ score }, at) => score <= (seen[at - 1]?.score ?? 1)),
    'best first',
  )
  // Of two with the same score either may come first.
  const corner = ({ left, top }: SeenBox) => Math.floor(left / 48) + 2 * Math.floor(top / 32)
  const found = [...seen].sort((one, other) => corner(one) - corner(other))
  t.equal(found.length, written.length)
  for (const [at, box] of found.entries()) {
    const names = Object.keys(box) as (keyof SeenBox)[]
    const wrong = names.filter((name) => !(Math.abs(box[name] - (written[at]?.[name] ?? Number.NaN)) < 1e-3))
    t.same(wrong, [], `${JSON.stringify(box)} was ${JSON.stringify(written[at])}`)
  }
}

for (const decoder of Object.keys(WRITERS) as Decoder[]) {
  t.test(`boxes as ${decoder} writes them are read as they were, best first`, (t) => {
    fc.assert(
      fc.property(boxes, (written) => same(t, readBoxes(decoder, WRITERS[decoder](written), READING), written)),
      { numRuns: 60 },
    )
    t.end()
  })

  t.test(
    `${decoder}: whatever a network gives, boxes are numbers within the picture, or it is refused in a sentence`,
    (t) => {
      const numbers = fc.oneof(fc.float(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1e30, 1e30))
      fc.assert(
        fc.property(fc.array(numbers, { minLength: 1, maxLength: 40 }), (values) => {
          const tensors = WRITERS[decoder]([])
          for (const { data } of tensors) for (const at of data.keys()) data[at] = values[at % values.length] ?? 0
          for (const { bottom, label, left, right, score, top } of readBoxes(decoder, tensors, READING)) {
            t.ok(score >= READING.score && score <= 1 && Number.isInteger(label) && label < LABELS)
            t.ok(left >= 0 && left < right && right <= SIZE.width && top >= 0 && top < bottom && bottom <= SIZE.height)
          }
        }),
        { numRuns: 40 },
      )
      const tensors = WRITERS[decoder]([])
      const cut = tensors.map(({ data, shape }) => ({ shape, data: data.subarray(1) }))
      t.throws(() => readBoxes(decoder, cut, READING), { code: 'model_unfit' })
      t.throws(() => readBoxes(decoder, [...tensors, tensor([1])], READING), { code: 'model_unfit' })
      t.throws(() => readBoxes(decoder, tensors, { ...READING, labels: LABELS + 1 }), { code: 'model_unfit' })
      t.end()
    },
  )
}

t.test('of boxes around the same thing the best stays; neighbours stay both', (t) => {
  const box = (label: number, score: number, left: number) => ({
    label,
    score,
    left,
    top: 10,
    right: left + 20,
    bottom: 40,
  })
  const read = (...written: SeenBox[]) =>
    readBoxes('yolov8', WRITERS.yolov8(written), READING).map(({ label, left }) => [label, Math.round(left)])
  t.same(read(box(0, 0.5, 10), box(0, 0.9, 12)), [[0, 12]], 'the same label')
  t.same(
    read(box(0, 0.5, 10), box(0, 0.9, 20)),
    [
      [0, 20],
      [0, 10],
    ],
    'two side by side',
  )
  t.same(read(box(1, 0.5, 10), box(2, 0.9, 10.5)), [[2, 11]], 'a van is a car and a truck')
  t.same(
    read(box(1, 0.5, 10), box(2, 0.9, 13)),
    [
      [2, 13],
      [1, 10],
    ],
    'a rider on a bicycle',
  )
  t.equal(readBoxes('yolov8', WRITERS.yolov8([box(0, 0.5, 10), box(0, 0.6, 60)]), { ...READING, most: 1 }).length, 1)
  t.end()
})
