/** Tests of the page's log: events folded into lines. */
import t from 'tap'
import type { PortEvent } from '../../core/lines/ports.ts'
import { createFrameLog, isBad, matching, printableText, trafficRow } from '../../web/traffic.ts'

function frame(over: Record<string, unknown> = {}, timestamp = 1000): PortEvent {
  const payload = { direction: 'rx', monotonicUs: timestamp * 1000, hex: '4F 4B', length: 2, decoded: null, ...over }
  return { port: '/dev/ttyUSB0', event: 'frame', timestamp, payload }
}

function decoded(facts: Record<string, unknown>, direction = 'rx'): PortEvent {
  return frame({ direction, decoded: facts })
}

t.test('says what a Modbus master asks and what answer it gets', async (t) => {
  const ask = trafficRow(decoded({ kind: 'request', unitId: 1, fc: 4, address: 0, quantity: 2 }, 'tx'))
  t.match(ask, { kind: 'ask', unit: 1, what: 'Read input 0–1', lit: null })
  const answer = trafficRow(
    decoded({ kind: 'reply', unitId: 1, fc: 4, address: 0, quantity: 2, values: [17254, 39322], tookMs: 19 }),
  )
  t.match(answer, { kind: 'answer', unit: 1, value: '17254, 39322', tookMs: 19 })
  const write = trafficRow(
    decoded({ kind: 'request', unitId: 21, fc: 6, address: 10, quantity: 1, values: [215] }, 'tx'),
  )
  t.equal(write?.what, 'Write holding 10 = 215')
  const taken = trafficRow(
    decoded({ kind: 'reply', unitId: 21, fc: 6, address: 10, quantity: 1, values: [215], tookMs: 3 }),
  )
  t.match(taken, { value: '10 = 215', what: 'taken' })
})

t.test('says what a frame of another protocol holds by the names that it is decoded to', async (t) => {
  const ask = trafficRow(decoded({ kind: 'request', unitId: 5, name: 'temp' }, 'tx'))
  t.match(ask, { kind: 'ask', unit: 5, what: 'name temp' })
  const answer = trafficRow(decoded({ kind: 'reply', unitId: 5, name: 'temp', value: 21.5, tookMs: 3 }))
  t.match(answer, { kind: 'answer', unit: 5, value: 'name temp, value 21.5', what: '', tookMs: 3 })
})

t.test('distinguishes the requests of a scan from others', async (t) => {
  const asked = (priority?: string) =>
    trafficRow(frame({ direction: 'tx', decoded: { kind: 'request' }, priority }))?.isScan
  t.same([asked('background'), asked('poll'), asked('operator'), asked()], [true, false, false, false])
})

t.test('highlights frames with a fault', async (t) => {
  const exception = { kind: 'exception', unitId: 21, fc: 3, exception: { code: 2, name: 'illegal data address' } }
  t.match(trafficRow(decoded(exception)), { what: 'Exception 02: illegal data address', lit: 'warn' })
  t.match(trafficRow(decoded({ kind: 'late', unitId: 17, fc: 4, tookMs: 412 })), { kind: 'late', lit: 'warn' })
  const silent = { code: 'modbus_timeout', message: 'Unit 17 did not answer.', unitId: 17, waitedMs: 300.4 }
  const miss = trafficRow({ port: 'p', event: 'error', timestamp: 5, payload: silent })
  t.match(miss, { kind: 'miss', unit: 17, what: 'No reply within 300\u202fms', lit: 'fault' })
})

t.test('shows bytes as text only if they are text', async (t) => {
  t.equal(printableText('4F 4B 0D 0A'), 'OK\\r\\n')
  t.equal(printableText('02 50 03'), null)
  t.equal(printableText('0D 0A'), null)
  t.equal(printableText(''), null)
})

t.test('keeps a limited number of lines, the newest last', async (t) => {
  const log = createFrameLog(10)
  for (let at = 0; at < 35; at++) log.add(frame({ hex: '41' }, at))
  t.equal(log.rows().length, 10)
  t.equal(log.rows().at(-1)?.at, 34)
  t.equal(log.taken(), 35)
})

t.test(
  'shows equal frames of one read as often as they came, and those sent again after a reconnect once',
  async (t) => {
    const log = createFrameLog(10)
    log.add(frame())
    log.add(frame())
    t.equal(log.rows().length, 2)
    log.replayed()
    log.add(frame())
    log.add(frame())
    log.add(frame({}, 2000))
    log.add(frame({}, 2000))
    t.equal(log.rows().length, 4)
  },
)

t.test('says when frames were left out', async (t) => {
  const log = createFrameLog(10)
  log.skipped(128, 1000)
  t.match(log.rows()[0], { lit: 'warn', what: /^128 frames skipped/ })
})

t.test('filters by whole numbers and parts of words', async (t) => {
  const log = createFrameLog(10)
  log.add(decoded({ kind: 'request', unitId: 17, fc: 4, address: 5, quantity: 2 }, 'tx'))
  const rows = log.rows()
  t.equal(matching(rows, 'unit 17', false).length, 1)
  t.equal(matching(rows, 'unit 1', false).length, 0)
  t.equal(matching(rows, 'read inp', false).length, 1)
  t.equal(matching(rows, '', true).length, 0, 'a frame that is well is not an error')
  t.equal(rows.some(isBad), false)
})
