import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { type ContentFraming, createCutter } from '../../pure/frames.ts'

const bytes = (...values: number[]) => Uint8Array.from(values)
const framings: ContentFraming[] = [
  { mode: 'delimiter', delimiter: bytes(13, 10) },
  { mode: 'delimiter', delimiter: bytes(10) },
  { mode: 'length', length: 3 },
  { mode: 'length', length: 100 },
  { mode: 'length_field', offset: 1, size: 2, endian: 'big', adjust: 3 },
  { mode: 'length_field', offset: 0, size: 1, endian: 'little', adjust: 0 },
]

function cut(framing: ContentFraming, chunks: Uint8Array[], maxBytes = 64) {
  const cutter = createCutter(framing, maxBytes)
  return { frames: chunks.flatMap((chunk) => cutter.feed(chunk)), held: cutter.heldBytes() }
}

t.test('ends a frame after its delimiter, also when it comes in two reads', async (t) => {
  const { frames, held } = cut({ mode: 'delimiter', delimiter: bytes(13, 10) }, [bytes(1, 13), bytes(10, 2, 13, 10, 3)])
  t.same(
    frames.map(({ bytes, isCut }) => [[...bytes], isCut]),
    [
      [[1, 13, 10], false],
      [[2, 13, 10], false],
    ],
  )
  t.equal(held, 1)
})

t.test('takes the length of a frame from its field', async (t) => {
  const { frames } = cut({ mode: 'length_field', offset: 1, size: 2, endian: 'big', adjust: 3 }, [
    bytes(7, 0, 2, 8, 9, 7, 0, 0),
  ])
  t.same(
    frames.map((frame) => [...frame.bytes]),
    [
      [7, 0, 2, 8, 9],
      [7, 0, 0],
    ],
  )
})

t.test('continues one byte later if a length field cannot be right', async (t) => {
  const framing: ContentFraming = { mode: 'length_field', offset: 0, size: 1, endian: 'big', adjust: 0 }
  const { frames } = cut(framing, [bytes(0, 200, 2, 9)])
  t.same(
    frames.map(({ bytes, isCut }) => [[...bytes], isCut]),
    [
      [[0], true],
      [[200], true],
      [[2, 9], false],
    ],
  )
})

t.test('passes on a frame that never ends in pieces that say so', async (t) => {
  const { frames, held } = cut({ mode: 'delimiter', delimiter: bytes(0) }, [new Uint8Array(150).fill(1)])
  t.same(
    frames.map((frame) => [frame.bytes.length, frame.isCut]),
    [
      [64, true],
      [64, true],
    ],
  )
  t.equal(held, 22)
})

t.test('cuts a fixed length beyond the limit only once the limit is reached', async (t) => {
  const { frames, held } = cut({ mode: 'length', length: 100 }, [new Uint8Array(10), new Uint8Array(60)])
  t.same(
    frames.map((frame) => [frame.bytes.length, frame.isCut]),
    [[64, true]],
  )
  t.equal(held, 6)
})

t.test('loses no byte, keeps their order and holds no more than the limit, however the reads are split', async (t) => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 })
  const law = fc.property(fc.constantFrom(...framings), chunks, (framing, given) => {
    const { frames, held } = cut(framing, given)
    const all = Buffer.concat(given)
    const out = Buffer.concat(frames.map((frame) => frame.bytes))
    return (
      out.equals(all.subarray(0, out.length)) &&
      out.length + held === all.length &&
      held < 64 &&
      frames.every((frame) => frame.bytes.length <= 64)
    )
  })
  holds(t, law)
})

t.test('cuts the same frames whether bytes come at once or one by one', async (t) => {
  const law = fc.property(fc.constantFrom(...framings), fc.uint8Array({ maxLength: 200 }), (framing, all) => {
    const single = Array.from(all, (value) => bytes(value))
    const list = (chunks: Uint8Array[]) => cut(framing, chunks).frames.map((frame) => [...frame.bytes].join())
    const once = list([all])
    const split = list(single)
    return once.join('|') === split.join('|')
  })
  holds(t, law)
})

t.test('a length field may be written in hex digits, and one that has others costs a byte', async (t) => {
  const framing = { mode: 'length_field', offset: 1, size: 2, endian: 'big', isHex: true, adjust: 3 } as const
  const cutter = createCutter(framing, 64)
  const text = (frames: { bytes: Uint8Array; isCut: boolean }[]) =>
    frames.map(({ bytes, isCut }) => `${Buffer.from(bytes).toString('latin1')}${isCut ? '!' : ''}`)
  t.strictSame(text(cutter.feed(Buffer.from('#02ab#0Fab'))), ['#02ab'])
  t.strictSame(text(cutter.feed(Buffer.from('cdefghijklmno'))), ['#0Fabcdefghijklmno'])
  t.strictSame(text(cutter.feed(Buffer.from('x#02ab'))), ['x!', '#02ab'])
})
