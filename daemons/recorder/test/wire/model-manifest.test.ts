import fc from 'fast-check'
import t from 'tap'
import { networkInput, toldBoxes } from '../../wire/model-input.ts'
import { readManifest } from '../../wire/model-manifest.ts'

const GOOD = {
  name: 'mine',
  file: 'mine.onnx',
  sha256: 'a'.repeat(64),
  decoder: 'yolov8',
  input: {
    layout: 'nchw-float32',
    colours: 'bgr',
    fit: 'pad',
    sizes: [[64, 32]],
    mean: [10, 20, 30],
    deviation: [2, 4, 5],
  },
  labels: ['person', null, 'car'],
  thresholds: { seen: 0.5, weak: 0.1, overlap: 0.6 },
}

t.test('a manifest is read, and what it leaves out has a meaning', (t) => {
  const read = readManifest(JSON.stringify({ ...GOOD, more: 'is left unread' }))
  t.same(read, { ...GOOD, input: { ...GOOD.input, fill: 0 }, outputs: [] })
  t.end()
})

t.test('what is wrong with a manifest is said in a sentence', (t) => {
  const cases: [object, RegExp][] = [
    [{ file: '../../etc/passwd' }, /file is "..\/..\/etc\/passwd", and has to be the name of a file beside it/],
    [{ file: '/dev/zero' }, /file/],
    [{ sha256: 'no' }, /sha256 is "no", and has to be 64 hexadecimal digits/],
    [{ name: 'x'.repeat(61) }, /name/],
    [{ decoder: 'yolov9' }, /decoder is "yolov9", and has to be one of nanodet, yolox, yolov8, detr/],
    [{ decoder: '__proto__' }, /decoder/],
    [{ outputs: ['a', 'b'] }, /outputs names 2, and yolov8 has 1/],
    [{ labels: [] }, /labels/],
    [{ labels: [null] }, /at least one is not null/],
    [{ labels: ['person', 'Person'] }, /labels\[1\] is "Person"/],
    [{ labels: Array(401).fill('person') }, /1 to 400/],
    [{ input: [] }, /input has to be an object/],
    [{ input: { ...GOOD.input, sizes: [[64, 31]] } }, /input.sizes\[0\] is \[64,31\]/],
    [{ input: { ...GOOD.input, sizes: [[4000, 32]] } }, /input.sizes/],
    [{ input: { ...GOOD.input, sizes: Array(9).fill([64, 64]) } }, /1 to 8 pairs/],
    [{ input: { ...GOOD.input, deviation: [1, 0, 1] } }, /above 0/],
    [{ input: { ...GOOD.input, mean: [1, 2] } }, /three numbers/],
    [{ input: { ...GOOD.input, layout: 'nhwc-uint8' } }, /bytes are handed over as they are/],
    [{ input: { ...GOOD.input, fill: 256 } }, /fill is 256, and has to be a number from 0 to 255/],
    [{ thresholds: { ...GOOD.thresholds, weak: 0.6 } }, /weak has to be at most thresholds.seen/],
    [{ thresholds: { ...GOOD.thresholds, overlap: '0.5' } }, /overlap is "0.5"/],
  ]
  for (const [change, sentence] of cases)
    t.throws(() => readManifest(JSON.stringify({ ...GOOD, ...change })), { code: 'bad_model', message: sentence })
  t.throws(() => readManifest('{"name": '), { code: 'bad_model', message: /it is not JSON/ })
  t.throws(() => readManifest(`"${'x'.repeat(70_000)}"`), { code: 'bad_model', message: /longer/ })
  t.end()
})

t.test('any JSON is a manifest, or refused with its code', (t) => {
  const field = fc.constantFrom('name', 'file', 'sha256', 'decoder', 'input', 'labels', 'thresholds', 'outputs')
  fc.assert(
    fc.property(field, fc.jsonValue(), (name, value) => {
      try {
        readManifest(JSON.stringify({ ...GOOD, [name]: value }))
      } catch (fault) {
        t.match(fault, { code: 'bad_model' })
      }
    }),
    { numRuns: 300 },
  )
  t.end()
})

const RED = { width: 4, height: 2, rgb: Uint8Array.from({ length: 24 }, (_, at) => (at % 3 === 0 ? 200 : at % 3)) }
const BYTES = { layout: 'nhwc-uint8', colours: 'rgb', mean: [0, 0, 0], deviation: [1, 1, 1], fill: 9 } as const

t.test('a picture is stretched to the size with the nearest proportions, or put into its corner', (t) => {
  const stretched = networkInput(RED, {
    ...BYTES,
    fit: 'stretch',
    sizes: [
      [4, 8],
      [8, 5],
      [5, 5],
    ],
  })
  t.match(stretched, { width: 8, height: 5, shape: [1, 5, 8, 3], filled: { width: 8, height: 5 } })
  t.same([...stretched.data].slice(0, 3), [200, 1, 2])
  t.ok(
    stretched.data.every((shade, at) => shade === [200, 1, 2][at % 3]),
    'one colour stays one',
  )
  const padded = networkInput(RED, { ...BYTES, colours: 'bgr', fit: 'pad', sizes: [[8, 8]] })
  t.match(padded, { shape: [1, 8, 8, 3], filled: { width: 8, height: 4 } })
  t.same([...padded.data].slice(3 * 8 * 4 - 3, 3 * 8 * 4 + 3), [2, 1, 200, 9, 9, 9], 'blue first, and the rest below')
  const planes = networkInput(RED, { ...readManifest(JSON.stringify(GOOD)).input, sizes: [[4, 4]], fill: 30 })
  t.same(planes.shape, [1, 3, 4, 4])
  const rows = [0, 1, 2].map((plane) => [...planes.data].slice(plane * 16 + 4, plane * 16 + 12))
  t.same(rows, [
    [-4, -4, -4, -4, 10, 10, 10, 10],
    [-4.75, -4.75, -4.75, -4.75, 2.5, 2.5, 2.5, 2.5],
    [34, 34, 34, 34, 0, 0, 0, 0],
  ])
  t.end()
})

t.test('stretching lies between the nearest pixels', (t) => {
  const ramp = { width: 4, height: 1, rgb: Uint8Array.from([0, 0, 0, 100, 0, 0, 200, 0, 0, 40, 0, 0]) }
  const red = (width: number) =>
    [...networkInput(ramp, { ...BYTES, fit: 'stretch', sizes: [[width, 1]] }).data].filter((_, at) => at % 3 === 0)
  t.same(red(4), [0, 100, 200, 40])
  t.same(red(8), [0, 25, 75, 125, 175, 160, 80, 40])
  t.same(red(2), [50, 120])
  t.end()
})

t.test('boxes are told as fractions of the picture, with what is to be believed at 0.4', (t) => {
  const { labels, thresholds } = readManifest(JSON.stringify(GOOD))
  const box = { left: 2, top: 1, right: 4, bottom: 8 }
  const told = toldBoxes(
    [
      { label: 0, score: 0.5, ...box },
      { label: 1, score: 0.9, ...box },
      { label: 2, score: 0.25, ...box },
      { label: 2, score: 1, ...box },
      { label: 0, score: 0.9, ...box, left: 8, right: 9 },
      { label: 7, score: 0.9, ...box },
    ],
    { width: 8, height: 4 },
    { labels, thresholds },
  )
  t.same(told, [
    { label: 'person', score: 0.4, box: [0.25, 0.25, 0.5, 1] },
    { label: 'car', score: 0.2, box: [0.25, 0.25, 0.5, 1] },
    { label: 'car', score: 1, box: [0.25, 0.25, 0.5, 1] },
  ])
  t.end()
})
