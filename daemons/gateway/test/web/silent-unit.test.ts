import t from 'tap'
import type { UnitView } from '../../core/bus/units.ts'
import type { Port } from '../../web/api.ts'
import { findingsOf } from '../../web/silent-unit.ts'
import { port, when } from './port-fixture.ts'
import { busUnit } from './unit-fixture.ts'

/** Unit 7 was asked 12 times and never answered; `over` changes what was counted of it. */
function found(over: Partial<UnitView> = {}, others: UnitView[] = [], counters: Port['counters'] = null) {
  const unit = busUnit({ unitId: 7, state: 'silent', requests: 12, replies: 0, timeouts: 12, ...over })
  return findingsOf({ port: port({ counters }), unit, units: [unit, ...others] }, when)
}

t.test('what was tried is told in numbers', async (t) => {
  t.equal(found().tried, 'Asked 12 times: 0 replies, 12 times nothing valid within the wait.')
  t.match(found({ crcErrors: 2, badReplies: 1 }).tried, /3 with damaged bytes/)
})

t.test('not one byte came in: the cable is the first to look at', async (t) => {
  const { checks, found: sentence } = found({}, [], { rxBytes: 0 })
  t.match(sentence, 'Not one byte has come in on this line.')
  t.match(checks[0], /A and B/)
})

t.test('bytes come in but nobody is understood: rate or parity', async (t) => {
  const driver = { rx: 0, tx: 0, frame: 4, overrun: 0, parity: 1, brk: 0, buf_overrun: 0 }
  const { checks, found: sentence } = found({}, [], { rxBytes: 90, driver } as unknown as Port['counters'])
  t.equal(sentence, 'Bytes come in, but nothing in them is a reply; the driver counted 5 with a wrong frame or parity.')
  t.match(checks[0], /9600 8N1|8N1|8E1/)
})

t.test('others answer and this one sends nothing: it is this device', async (t) => {
  const { checks, found: sentence } = found({}, [busUnit({ unitId: 1 }), busUnit({ unitId: 3 })], { rxBytes: 500 })
  t.equal(sentence, 'Units 1 and 3 answer on this line; unit 7 sent nothing at all.')
  t.match(checks[0], /number/)
})

t.test('damaged bytes, late replies, refusals and an end that was seen each have their own finding', async (t) => {
  t.match(found({ crcErrors: 3 }).found, /damaged/)
  t.match(found({ badReplies: 2 }).checks.join(' '), /two devices have the number 7/i)
  t.match(found({ lateReplies: 4 }).found, /too late/)
  t.match(found({ replies: 5, exceptions: 5 }).found, /refuses/)
  t.match(found({ replies: 5, lastReplyAt: when.nowMs - 60_000 }).found, 'Unit 7 answered until 13:59, and not since.')
})
