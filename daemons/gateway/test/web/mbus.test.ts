/** Tests of what the pages say of meters. */
import t from 'tap'
import { createForm } from '#kit/web/form.ts'
import type { MbusScanJob } from '../../core/mbus/scan.ts'
import type { MeterReading } from '../../web/api.ts'
import { meterOf } from '../../web/mbus-console.ts'
import { judgeMbusScan } from '../../web/mbus-scan.ts'
import { isRecordPoint, pointValueText } from '../../web/points.ts'
import { pointsOfReading, recordBody, recordValues } from '../../web/record-points.ts'
import { progressOf } from '../../web/scan-page.ts'
import { usualLine } from '../../web/words.ts'
import { when } from './port-fixture.ts'

function job(over: Partial<MbusScanJob> = {}): MbusScanJob {
  const plain: MbusScanJob = {
    ...{ by: 'secondary', from: null, to: null, mask: 'FFFFFFFFFFFFFFFF', state: 'running', asked: 12, progress: 0.25 },
    ...{ current: '12FFFFFFFFFFFFFF', found: [], collisions: [], startedAt: when.nowMs, endedAt: null, etaMs: 52_000 },
    fault: null,
  }
  return { ...plain, ...over }
}

const meter = { id: '12345678', manufacturer: 'KAM', version: 1, medium: { code: 4, name: 'heat' } }
const found = { unitId: 12_345_678, address: 0, secondary: '123456782D2C0104', meter, tookMs: 120 }

t.test('says what a scan for meters asks, how far it is, and how it ended', async (t) => {
  t.match(judgeMbusScan(job({ found: [found] }), when), {
    lit: 'busy',
    sentence: 'Asking 12FFFFFFFFFFFFFF. 1 meter answered so far.',
    why: '12 selections made. 52\u202fs to go.',
  })
  t.equal(progressOf(job()), 0.25)
  const done = { state: 'done', endedAt: when.nowMs } as const
  t.match(judgeMbusScan(job({ ...done, found: [found] }), when), { lit: 'ok', sentence: '1 meter answered.' })
  t.match(judgeMbusScan(job({ ...done, by: 'primary', asked: 1 }), when), {
    lit: 'warn',
    why: /1 address asked.*2400 baud/,
  })
  t.match(judgeMbusScan(job({ ...done, found: [found], collisions: ['4'] }), when), {
    lit: 'warn',
    why: /at once at 4/,
  })
  t.match(judgeMbusScan(job({ state: 'cancelled' }), when), { lit: 'off', sentence: 'Stopped. No meter answered.' })
  const fault = { code: 'line_closed', message: 'The line was closed.' }
  t.match(judgeMbusScan(job({ state: 'failed', fault }), when), { lit: 'fault', sentence: 'The line was closed.' })
})

t.test('what is typed for a meter is its address, or the number on it', async (t) => {
  t.same(meterOf(' 5 '), { address: 5 })
  t.same(meterOf('12345678'), { secondary: '12345678' })
  t.same(meterOf('x'), { address: 'x' }, 'the API names what it expects')
})

t.test('a reading makes a point of each present number', async (t) => {
  const record = { unit: 'Wh', value: 5, problem: null, function: 'instantaneous', storage: 0 }
  const reading: MeterReading = {
    ...{ unitId: 5, meter, status: [], isComplete: true, problem: null },
    records: [
      { ...record, record: 'energy' },
      { ...record, record: 'energy storage 1', storage: 1 },
      { ...record, record: 'date', value: '2030-01-01', unit: null },
      { ...record, record: 'power error', function: 'error' },
      { ...record, record: 'credit', unit: 'currency units and more' },
    ],
  }
  t.same(pointsOfReading(reading), [
    { name: '12345678 energy', unitId: 5, record: 'energy', unit: 'Wh' },
    { name: '12345678 credit', unitId: 5, record: 'credit' },
  ])
  t.match(pointsOfReading({ ...reading, meter: null }), [{ name: '5 energy' }, {}])
})

t.test('the form of a record is filled, and read back', async (t) => {
  const point = {
    ...{ name: 'heat', unitId: 5, record: 'energy', scale: 0.001, offset: 0, unit: 'kWh', decimals: 1, pollMs: 60_000 },
    ...{ deadband: 0, template: null },
  }
  const { template: _, ...rest } = point
  t.same(recordBody(createForm(recordValues(point))), rest)
  t.match(recordBody(createForm(recordValues(undefined))), { unitId: 1, unit: null, decimals: null, scale: 1 })
  t.ok(isRecordPoint(point))
  t.notOk(isRecordPoint({ fc: 3 }))
})

t.test('a date of a meter stands as it is, and its line has the usual rate', async (t) => {
  t.equal(pointValueText({ value: '2030-01-01', text: '2030-01-01' }), '2030-01-01')
  t.same(usualLine('mbus'), { baud: 2400, parity: 'even' })
  t.same(usualLine('raw'), {})
})
