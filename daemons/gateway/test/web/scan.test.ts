/** Tests of what the page says of a scan. */
import t from 'tap'
import type { ModbusScanJob } from '../../core/modbus/master.ts'
import { foundText, guessText, judgeScan, progressOf, saidText } from '../../web/scan-page.ts'
import { when } from './port-fixture.ts'

function job(over: Partial<ModbusScanJob> = {}): ModbusScanJob {
  const plain: ModbusScanJob = {
    state: 'running',
    from: 1,
    to: 247,
    fc: 3,
    address: 0,
    identify: false,
    asked: 84,
    total: 247,
    current: 85,
    found: [],
    startedAt: when.nowMs,
    endedAt: null,
    etaMs: 52_000,
    fault: null,
  }
  return { ...plain, ...over }
}

const unit = { unitId: 17, tookMs: 20, exception: null, identity: null }

t.test('says which unit is asked, how many answered and how long it takes', async (t) => {
  t.match(judgeScan(job({ found: [unit] }), when), {
    lit: 'busy',
    sentence: 'Asking unit 85. 1 unit answered so far.',
    why: '84 of 247 asked. 52\u202fs to go.',
  })
  t.equal(progressOf(job()), 84 / 247)
  t.equal(progressOf(job({ asked: 0, total: 0 })), 0)
})

t.test('says how it ended', async (t) => {
  t.match(judgeScan(null, when), { lit: 'off', sentence: 'No scan was run yet.' })
  t.match(judgeScan(job({ state: 'done', endedAt: when.nowMs, found: [unit] }), when), {
    lit: 'ok',
    sentence: '1 unit answered.',
    why: 'Units 1 to 247 at 14:00.',
  })
  t.match(judgeScan(job({ state: 'done' }), when), { lit: 'warn', why: /rate, parity and wiring/ })
  t.match(judgeScan(job({ state: 'cancelled' }), when), { sentence: 'Stopped after 84 of 247. No unit answered.' })
  const fault = { code: 'line_closed', message: 'The line was closed.' }
  t.match(judgeScan(job({ state: 'failed', fault }), when), { lit: 'fault', sentence: 'The line was closed.' })
})

t.test('an exception is an answer too', async (t) => {
  t.equal(foundText(unit), 'answered')
  const exception = { code: 2, name: 'illegal data address' }
  t.equal(foundText({ ...unit, exception }), 'answered with exception 02: illegal data address')
})

t.test('says as certain what a unit says itself, and as a guess what it could be', async (t) => {
  const objects = [
    { id: 0, name: 'VendorName', value: 'Acme' },
    { id: 1, name: 'ProductCode', value: 'X-1' },
  ]
  t.equal(saidText({ kind: 'said', objects, candidates: [], tried: '' }), 'It says: Acme, X-1.')
  const guess = { template: 'b23', maker: 'ABB', model: 'B23', signs: 2, fit: 1, by: 'codes' } as const
  t.equal(guessText(guess), 'Could be: ABB B23 (1 of 2 signs fits).')
  t.equal(guessText({ ...guess, by: 'values' }), 'Could be: ABB B23 (the values at its addresses are plausible).')
  const job3 = job({ identify: true, asked: 247, current: 17, found: [unit], etaMs: null })
  t.match(judgeScan(job3, when), { lit: 'busy', sentence: /^Asking unit 17 what it is\. / })
})
