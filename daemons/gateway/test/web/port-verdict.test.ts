/** Tests of the sentence above one line. */
import t from 'tap'
import type { UnitView as BusUnit } from '../../core/bus/units.ts'
import { longerWait } from '../../web/port-panels.ts'
import { judgePort, type Unit, unitViews } from '../../web/port-verdict.ts'
import { port, when } from './port-fixture.ts'
import { busUnit, seenUnit } from './unit-fixture.ts'

const judge = (bus: BusUnit[], seen: Unit[] = []) => judgePort(port(), unitViews(bus, seen), when)

t.test('says that nobody was asked, or that all answer', async (t) => {
  t.match(judge([]), { lit: 'ok', sentence: /No unit was asked/ })
  t.match(judge([busUnit({ state: 'unknown' })]), { lit: 'ok', sentence: /No unit was asked/ })
  t.match(judge([busUnit()]), { lit: 'ok', sentence: 'Unit 1 answers.' })
  t.match(judge([busUnit(), busUnit({ unitId: 2 })]), { lit: 'ok', sentence: 'Both units answer.' })
  const refusing = seenUnit({ exceptions: 1 })
  t.match(judge([busUnit()], [refusing]), { lit: 'warn', sentence: 'Unit 1 refuses some questions with an exception.' })
})

t.test('a ring says how many nodes are in it, how many have left, and when nobody else is there', async (t) => {
  const ring = (units: object, fault: object | null = null) => {
    const counts = { total: 0, well: 0, slow: 0, noisy: 0, silent: 0, ...units }
    return judgePort(port({ protocol: 'bacnet-mstp', units: counts, fault } as object), [], when)
  }
  t.match(ring({}), { lit: 'ok', sentence: /Nothing was received/ })
  t.match(ring({ total: 3, well: 3 }), { lit: 'ok', sentence: '3 other nodes are in the ring.' })
  t.match(ring({ total: 3, well: 2, silent: 1 }), { lit: 'warn', sentence: '1 of 3 nodes has left the ring.' })
  const fault = { code: 'mstp_alone', message: 'Nobody else is heard any more.' }
  t.match(ring({ total: 3, silent: 3 }, fault), { lit: 'warn', sentence: fault.message })
})

t.test('names the silent unit, how often it was asked in vain, and when it is asked again', async (t) => {
  const silent = busUnit({ unitId: 17, state: 'silent', nextTryAt: when.nowMs + 5000 })
  const seen = seenUnit({ unit: 17, isWell: false, misses: 3 })
  t.match(judge([busUnit(), silent], [seen]), {
    lit: 'warn',
    sentence: 'Unit 17 does not answer. The other one is well.',
    why: 'No reply began within 300\u202fms, 3 times in the last minute. It is asked again at 14:00:05.',
  })
  t.match(judge([silent]), { lit: 'fault', sentence: 'Unit 17 does not answer.' }, 'nobody answers')
  const more = [18, 19].map((unitId) => busUnit({ unitId, state: 'silent' }))
  t.match(judge([busUnit(), busUnit({ unitId: 2 }), silent, ...more]), {
    sentence: 'Units 17, 18 and 19 do not answer. The other 2 are well.',
  })
})

t.test('names the worst unit and counts the rest', async (t) => {
  const units = [busUnit(), busUnit({ unitId: 17, state: 'slow' }), busUnit({ unitId: 21, state: 'silent' })]
  t.match(judge(units), { lit: 'warn', sentence: 'Unit 21 does not answer. 1 more is not well.' })
  t.match(judge([busUnit({ state: 'probing' })]), { lit: 'busy', sentence: 'Unit 1 is being asked again.' })
  const lastError = { code: 'modbus_timeout', message: 'No answer.', at: 1 }
  const failing = busUnit({ state: 'failing', replies: 0, lastError })
  t.match(judge([failing]), { lit: 'warn', sentence: 'Unit 1 has not answered yet.', why: 'No answer.' })
})

t.test('says how many answers of a noisy unit were damaged, when the last one was, and what to look at', async (t) => {
  const lately = { exchanges: 100, damaged: 16, missing: 0, twice: 0, lastBadAt: when.nowMs - 120_000 }
  const noisy = busUnit({ unitId: 12, state: 'noisy', lately })
  t.match(judge([busUnit(), noisy]), {
    lit: 'warn',
    sentence: 'Unit 12 is noisy: 16 of its last 100 answers were damaged. The other one is well.',
    why: 'Look at the cable, the termination, and whether a second master is on the line. The last one was 2\u202fmin ago.',
  })
  const kinds = busUnit({ unitId: 12, state: 'noisy', lately: { ...lately, damaged: 4, missing: 9, twice: 1 } })
  t.match(judge([kinds]), {
    sentence: 'Unit 12 is noisy: of its last 100 answers 4 were damaged, 9 did not come and 1 came twice.',
    why: /whether two units have this number/,
  })
  const twice = busUnit({ unitId: 12, state: 'noisy', lately: { ...lately, damaged: 0, twice: 40 } })
  t.match(judge([twice]), {
    sentence: 'Unit 12 is noisy: 40 of its last 100 answers came twice.',
    why: /^A repeater, an echo of the adapter or a second master/,
  })
})

t.test('noise on every unit is put down to the line, and does not hide a silent unit', async (t) => {
  const lately = { exchanges: 100, damaged: 16, missing: 0, twice: 0, lastBadAt: when.nowMs }
  const all = [3, 4].map((unitId) => busUnit({ unitId, state: 'noisy', lately }))
  t.match(judge(all), {
    sentence: 'Units 3 and 4 are noisy.',
    why: /^32 of their last 200 answers were damaged\. .* Every unit is affected, so begin with what they share\./,
  })
  t.match(judge([busUnit(), ...all]), { why: /second master is on the line\. The last/ })
  t.match(judge([...all, busUnit({ unitId: 9, state: 'silent' })]), {
    sentence: 'Unit 9 does not answer. 2 more are not well.',
  })
})

t.test('says how late a unit is, and how long the line should wait', async (t) => {
  const slow = busUnit({ unitId: 17, state: 'slow', lateReplies: 3 })
  const seen = seenUnit({ unit: 17, isWell: false, late: 3, lateMs: 412 })
  t.match(judge([busUnit(), slow], [seen]), {
    lit: 'warn',
    sentence: 'Unit 17 answers too late. The other one is well.',
    why: /up to 412\u202fms after the request; this line waits 300\u202fms/,
  })
  t.same(longerWait(port(), unitViews([slow], [seen])), { unitId: 17, waitMs: 500 })
  const patient = port({ settings: { response_timeout_ms: 600 } })
  t.equal(longerWait(patient, unitViews([slow], [seen])), null, 'the present timeout is long enough for the times seen')
  t.equal(longerWait(port(), unitViews([slow], [])), null, 'no remedy without a time that was seen')
  const far = seenUnit({ unit: 17, late: 1, lateMs: 59_000 })
  t.equal(longerWait(port(), unitViews([slow], [far])), null, 'none beyond what the gateway accepts')
})

t.test('judges by the frames if the gateway counts no units', async (t) => {
  const late = seenUnit({ unit: 17, isWell: false, late: 1, lateMs: 412 })
  const listening = port({ settings: { mode: 'listen' } })
  t.match(judgePort(listening, unitViews(null, [late]), when), { sentence: 'Unit 17 answers too late.' })
  const silent = seenUnit({ unit: 17, isWell: false, misses: 1 })
  t.match(judgePort(listening, unitViews(null, [silent]), when), { sentence: 'Unit 17 does not answer.' })
  t.match(judgePort(listening, unitViews(null, [seenUnit()]), when), {
    sentence: 'Unit 1 is heard answering another master.',
  })
})

t.test('says whether a master is heard on a line that is itself a unit', async (t) => {
  const slave = port({ settings: { mode: 'slave', slave_units: [3] } })
  t.match(judgePort(slave, [], when), { sentence: 'Unit 3 waits for a master. None has asked yet.' })
  const settings = { mode: 'slave', slave_units: [3, 4] }
  const heard = port({ settings, counters: { rxFrames: 9, asked: 0 } })
  t.match(judgePort(heard, [], when), {
    lit: 'warn',
    sentence: 'A master is heard, but it asks nothing of units 3 and 4.',
  })
  const asked = port({ settings, counters: { rxFrames: 9, asked: 2 } })
  t.match(judgePort(asked, [], when), { lit: 'ok', sentence: 'Units 3 and 4 answer a master.' })
})

t.test('says what the driver refused', async (t) => {
  const failed = port({ state: 'failed', fault: { code: 'line_busy', message: '/dev/ttyUSB0 is in use.' } })
  t.match(judgePort(failed, [], when), { lit: 'fault', sentence: '/dev/ttyUSB0 is in use.' })
})
