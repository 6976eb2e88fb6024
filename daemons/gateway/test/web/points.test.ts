/** Tests of the points as the page shows them. */
import t from 'tap'
import type { PointView, ValuePayload } from '../../core/points/values.ts'
import {
  ageOf,
  definitionOf,
  faultText,
  judgePoints,
  matchingPoints,
  pointValueText,
  type Shown,
  withTable,
  withValues,
} from '../../web/points.ts'

const polling = { reads: 2, pointsPerRead: 2, periodSlipMs: 3, overruns: 0 }

function point(over: Partial<Shown> = {}): Shown {
  const plain: PointView = {
    name: 'Voltage L1',
    unitId: 1,
    fc: 4,
    address: 0,
    type: 'f32',
    wordOrder: 'big',
    byteOrder: 'big',
    bit: null,
    length: null,
    maxRegisters: null,
    noValue: [],
    scale: 1,
    offset: 0,
    unit: 'V',
    decimals: 1,
    pollMs: 1000,
    deadband: 0,
    template: null,
    revision: 'one',
    value: 230.6,
    text: '230.6',
    quality: 'good',
    ageMs: 100,
    changedAt: null,
    readAt: 1000,
    fault: null,
  }
  return { ...plain, changes: 0, ...over }
}

t.test('counts a change when the value differs from the one shown, and not when it is first seen', async (t) => {
  const first = withTable(null, [point()])
  t.equal(first[0]?.changes, 0)
  const same = withTable(first, [point({ readAt: 2000 })])
  t.equal(same[0]?.changes, 0)
  t.equal(withTable(same, [point({ value: 231, text: '231.0' })])[0]?.changes, 1)
})

t.test('moves on to the newest event, and ignores one that is older than what is shown', async (t) => {
  const told: ValuePayload = {
    name: 'Voltage L1',
    unitId: 1,
    value: 231,
    text: '231.0',
    unit: 'V',
    quality: 'good',
    previous: 230.6,
    readAt: 1500,
  }
  const [row] = withValues([point()], [told, { ...told, value: 232, text: '232.0', readAt: 1600 }])
  t.match(row, { value: 232, text: '232.0', readAt: 1600, changes: 1 })
  t.match(withValues([point()], [{ ...told, readAt: 500 }])[0], { value: 230.6, changes: 0 })
  t.match(withValues([point()], [{ ...told, unitId: 2 }])[0], { value: 230.6 }, 'a point of the same name before')
  const gone = { ...told, value: null, text: null, quality: 'bad' as const, readAt: 1500 }
  t.match(withValues([point()], [gone])[0], { value: null, quality: 'bad' })
})

t.test('writes values as people do, unknown as a dash', async (t) => {
  t.equal(pointValueText(point({ text: '182640.3' })), '182\u202f640.3')
  t.equal(pointValueText(point({ text: '-7.1' })), '\u22127.1')
  t.equal(pointValueText(point({ value: true, text: 'true', type: 'bit' })), 'on')
  t.equal(
    pointValueText(point({ value: '1234567', text: '1234567', type: 'string' })),
    '1234567',
    'a text stays a text',
  )
  t.equal(
    pointValueText(point({ value: '18446744073709551615', text: '18446744073709551615', type: 'u64' })).length,
    26,
  )
  t.equal(pointValueText(point({ value: null, text: null })), '–')
  t.equal(ageOf(point({ readAt: null }), 5000), '–')
  t.equal(ageOf(point(), 5000), '4\u202fs')
})

t.test('says briefly why a value is not fresh', async (t) => {
  const of = (code: string) =>
    faultText(point({ unitId: 17, quality: 'stale', fault: { code, message: 'All of it.' } }))
  t.equal(of('modbus_unit_silent'), 'unit 17 is silent')
  t.equal(of('modbus_timeout'), 'unit 17 did not answer')
  t.equal(of('modbus_exception'), 'All of it.')
  t.equal(faultText(point({ quality: 'stale' })), 'old')
})

t.test('finds points by name, unit and quality', async (t) => {
  const rows = [point(), point({ name: 'Power', unitId: 17, quality: 'stale' }), point({ name: 'Flow', unitId: 7 })]
  const names = (filter: string) => matchingPoints(rows, filter).map(({ name }) => name)
  t.same(names('unit 7'), ['Flow'], 'unit 7 is not unit 17')
  t.same(names('pow'), ['Power'])
  t.same(names('stale'), ['Power'])
  t.same(names('old'), ['Power'], 'by the word that is shown')
  t.equal(names('').length, 3)
})

t.test('returns a definition as it came, without the values read', async (t) => {
  const more = { ...point(), noValue: ['8000'] }
  const definition = definitionOf(more) as unknown as Record<string, unknown>
  t.same(definition.noValue, ['8000'], 'keys the form has no field for stay')
  for (const key of ['value', 'text', 'quality', 'ageMs', 'changedAt', 'readAt', 'fault', 'changes'])
    t.notOk(key in definition, key)
})

t.test('judges points by the worst of them', async (t) => {
  const judge = (rows: Shown[], behind = 0, isOpen = true) => judgePoints(rows, polling, behind, isOpen)
  t.match(judge([]), { lit: 'off', sentence: 'This line has no points.' })
  t.match(judge([point()], 0, false), { lit: 'off', sentence: /not open/ })
  t.match(judge([point(), point({ name: 'b' })]), { lit: 'ok', sentence: 'Both points are read.' })
  const old = point({ name: 'Power', unitId: 17, quality: 'stale', fault: { code: 'x', message: 'Silent.' } })
  t.match(judge([point(), old]), { lit: 'warn', sentence: 'Power has no fresh value.', why: 'Silent. All of unit 17.' })
  t.match(judge([old]), { lit: 'fault' })
  t.match(judge([point()], 3), { lit: 'warn', sentence: /Polling falls behind: 3 reads/ })
  t.match(judgePoints([point()], { ...polling, periodSlipMs: 1400 }, 0, true), {
    lit: 'warn',
    sentence: /1\u202fs late or early/,
  })
  t.match(judge([point({ quality: 'unknown' })]), { lit: 'busy', sentence: 'The first values are being read.' })
})
