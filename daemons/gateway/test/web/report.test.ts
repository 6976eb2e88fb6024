import t from 'tap'
import { judgeReport, type Report, shareText } from '../../web/report-page.ts'
import { port } from './port-fixture.ts'
import { busUnit } from './unit-fixture.ts'

const report = (changes: Partial<Report> = {}): Report => ({
  ...{ atMs: 0, port: port(), units: [busUnit()], points: [] },
  ...changes,
})

t.test('a line on which all is well says so', async (t) => {
  t.strictSame(judgeReport(report()), { lit: 'ok', sentence: '1 unit is well, and 0 points have fresh values.' })
  t.match(judgeReport(report({ units: null, points: null })), { lit: 'ok' })
})

t.test('units and points that are not well are named', async (t) => {
  const units = [busUnit(), busUnit({ unitId: 7, state: 'silent' })]
  t.match(judgeReport(report({ units })), {
    ...{ lit: 'warn', sentence: 'Not all on ttyUSB0 is well.', why: 'Not well: unit 7.' },
  })
  t.match(judgeReport(report({ port: port({ state: 'absent' }) })), {
    ...{ lit: 'fault', sentence: 'ttyUSB0 is not open: nothing on it could be checked.' },
  })
})

t.test('a share is never 0 where there was one', async (t) => {
  t.equal(shareText(0, 0), '–')
  t.equal(shareText(0, 10), '0\u202f%')
  t.equal(shareText(1, 100_000), '<0.1\u202f%')
  t.equal(shareText(1, 8), '12.5\u202f%')
})
