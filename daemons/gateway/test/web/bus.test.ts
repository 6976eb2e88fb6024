/** Tests of what the page reads from frames: units, and which of them held the line. */
import t from 'tap'
import { quantile, slotsOf, unitsOf } from '../../web/port-verdict.ts'
import type { Row } from '../../web/traffic.ts'

function row(over: Partial<Row>): Row {
  const plain: Row = {
    serial: 0,
    id: '',
    at: 10_000,
    monotonicMs: null,
    kind: 'answer',
    direction: 'rx',
    unit: 1,
    value: '',
    what: '',
    hex: '',
    length: 8,
    tookMs: null,
    lit: null,
  }
  return { ...plain, ...over }
}

t.test('judges each unit by its latest frames', async (t) => {
  const units = unitsOf(
    [
      row({ tookMs: 20 }),
      row({ tookMs: 30 }),
      row({ unit: 17, kind: 'miss' }),
      row({ unit: 17, kind: 'late', tookMs: 412 }),
      row({ unit: 5, kind: 'miss' }),
      row({ unit: 5, tookMs: 12 }),
      row({ unit: 9, at: 1 }),
    ],
    5000,
  )
  t.same(
    units.map(({ unit, isWell }) => [unit, isWell]),
    [
      [1, true],
      [5, true],
      [17, false],
    ],
  )
  t.equal(units[0]?.middleMs, 30)
  t.equal(units[2]?.lateMs, 412)
})

t.test('an exception in answer to a scan does not count against the unit, one in answer to a poll does', async (t) => {
  const ask = (over: Partial<Row>) => row({ kind: 'ask', direction: 'tx', ...over })
  const refused = row({ lit: 'warn' })
  const exceptions = (rows: Row[]) => unitsOf(rows, 5000).map(({ exceptions }) => exceptions)
  t.same(exceptions([ask({ isScan: true }), refused]), [0])
  t.same(exceptions([ask({ isScan: true }), refused, ask({ isScan: false }), refused]), [1])
  t.same(exceptions([ask({ isScan: true, unit: 2 }), refused]), [1])
})

t.test('draws frames as long as they took, and the wait for a reply that never came', async (t) => {
  const rows = [
    row({ kind: 'ask', direction: 'tx', at: 8000, length: 30 }),
    row({ kind: 'answer', at: 8100, length: 30 }),
    row({ kind: 'ask', direction: 'tx', at: 9000, length: 30 }),
    row({ kind: 'miss', direction: null, at: 9330, length: 0 }),
  ]
  const slots = slotsOf(rows, { toMs: 10_000, spanMs: 3000, msPerByte: 1 })
  const [ask, answer, , wait, miss] = slots
  t.match(ask, { kind: 'ask', width: 10 })
  t.ok(Math.abs((ask?.x ?? 0) - 1000 / 3) < 0.01)
  t.ok(Math.abs((answer?.x ?? 0) + 10 - 1100 / 3) < 0.01, 'a received frame ends when its last byte arrives')
  t.equal(wait?.kind, 'wait')
  t.ok(Math.abs((wait?.width ?? 0) - 100) < 0.01)
  t.equal(miss?.kind, 'miss')
})

t.test('leaves out frames older than the strip', async (t) => {
  t.same(slotsOf([row({ at: 1000 })], { toMs: 10_000, spanMs: 3000, msPerByte: 1 }), [])
})

t.test('finds the middle', async (t) => {
  t.equal(quantile([], 0.5), null)
  t.equal(quantile([3, 1, 2], 0.5), 2)
  t.equal(quantile([3, 1, 2], 0.99), 3)
})
