import fc from 'fast-check'
import t from 'tap'
import { checkedBoxes, MOST_BOXES } from '../../../core/sight/detector.ts'

const known = new Set(['person', 'car'])
const good = { label: 'person', score: 0.5, box: [0.1, 0.1, 0.5, 0.5] }

t.test('a box that makes no sense is left out, and one that reaches a little beyond is cut off', async (t) => {
  const lies = [
    { ...good, label: 'unheard-of' },
    { ...good, label: 'x'.repeat(1e6) },
    { ...good, label: 7 },
    { ...good, score: Number.NaN },
    { ...good, score: 1.1 },
    { ...good, box: [0.5, 0.1, 0.1, 0.5] },
    { ...good, box: [0, 0, 2, 1] },
    { ...good, box: [0, 0, Number.POSITIVE_INFINITY, 1] },
    { ...good, box: [0, 0, 1] },
    { ...good, box: 'everywhere' },
    null,
    [],
  ]
  t.same(checkedBoxes([...lies, good], known), { boxes: [good], refused: lies.length })
  const beyond = { ...good, box: [-0.04, 0, 1.04, 1] }
  t.same(checkedBoxes([beyond], known).boxes, [{ ...good, box: [0, 0, 1, 1] }])
  t.same(checkedBoxes('no list', known), { boxes: [], refused: 1 })
})

t.test('of a million boxes the first thousand are looked at, and the best are taken', async (t) => {
  const { boxes, refused } = checkedBoxes(new Array(1_000_000).fill(good), known)
  t.equal(boxes.length, MOST_BOXES)
  t.equal(refused, 1_000_000 - MOST_BOXES)
  const scored = Array.from({ length: 400 }, (_, at) => ({ ...good, score: at / 400 }))
  t.equal(checkedBoxes(scored, known).boxes[0]?.score, 399 / 400)
})

t.test('whatever a detector says, boxes are boxes', async () => {
  const side = fc.oneof(fc.double(), fc.double({ min: -0.1, max: 1.1 }), fc.string(), fc.constant(null))
  const box = fc.record({
    label: fc.oneof(fc.constant('car'), fc.anything()),
    score: side,
    box: fc.array(side, { maxLength: 5 }),
  })
  fc.assert(
    fc.property(fc.oneof(fc.array(fc.oneof(box, fc.anything())), fc.anything()), (answer) =>
      checkedBoxes(answer, known).boxes.every(({ box: [left, top, right, bottom], label, score }) => {
        const isInside = left >= 0 && top >= 0 && right <= 1 && bottom <= 1 && left < right && top < bottom
        return isInside && known.has(label) && score >= 0 && score <= 1
      }),
    ),
  )
})
