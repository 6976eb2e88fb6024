/** What a Modbus line knows of its units. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createBusFaults } from '../../../core/bus/faults.ts'
import { BusUnits } from '../../../core/bus/units.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { MasterHooks } from '../../../core/modbus/master.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import type { ModbusSettings } from '../../../core/modbus/settings.ts'
import { replyFrame } from '../../../wire/modbus-reply.ts'
import { type ModbusRequest, readModbusRequest, sealed } from '../../../wire/modbus-request.ts'
import { type ModbusLine, settingsWith } from './modbus-line.ts'
import { ask, askNow, silence, unit, unitLine } from './modbus-unit-line.ts'
import { modbusRtu } from './rtu.ts'

const faults = createBusFaults(modbusRtu)

t.test('a unit that answers is well, and has its counts and times', async (t) => {
  const { on } = await unitLine()
  for (let n = 0; n < 4; n++) await askNow(on, 'poll')
  await askNow(on, 'poll', 1, 99)
  const view = unit(on)
  t.match(view, {
    state: 'well',
    requests: 5,
    replies: 5,
    exceptions: 1,
    timeouts: 0,
    crcErrors: 0,
    badReplies: 0,
    lateReplies: 0,
    lastReplyAt: on.clock.epochMs(),
    lastError: { code: 'modbus_exception', message: /Illegal Data Address/, at: on.clock.epochMs() },
    heldUntil: null,
    nextTryAt: null,
  })
  t.ok((view?.latencyMs?.last ?? 0) > 0 && (view?.latencyMs?.max ?? 0) < 20)
  t.equal(view?.histogram.at(-1)?.count, 5)
  t.strictSame(
    on.adapter.faces?.units?.list().map(({ unitId }) => unitId),
    [1],
    'a unit that nobody asked is not listed',
  )
})

t.test('units are listed by number, and a broadcast is not listed', async (t) => {
  const { on } = await unitLine()
  await askNow(on, 'operator', 2)
  await askNow(on, 'operator', 1)
  await on.askNow({ unitId: 0, fc: 6, address: 0, values: [1] })
  t.strictSame(
    on.adapter.faces?.units?.list().map(({ unitId, state }) => [unitId, state]),
    [
      [1, 'well'],
      [2, 'well'],
    ],
  )
})

t.test('a late reply proves that a unit is there: it is slow, and not held back', async (t) => {
  const { on, far } = await unitLine({ settings: { breaker_failures: 1 } })
  far.delayMs = 450
  const asked = ask(on, 'poll')
  await on.clock.run(330)
  t.equal(asked.came, 'modbus_timeout')
  t.equal(unit(on)?.state, 'silent')
  t.not(unit(on)?.heldUntil, null)
  await on.clock.run(300)
  t.match(unit(on), { state: 'slow', lateReplies: 1, replies: 0, timeouts: 1, nextTryAt: null, heldUntil: null })
  t.ok(Math.abs((unit(on)?.latencyMs?.max ?? 0) - 445) < 2, 'the time it took is known, to choose a timeout')
  far.delayMs = 5
  t.equal(await askNow(on, 'poll'), 10)
  t.equal(unit(on)?.state, 'slow')
  await on.clock.run(300_000)
  await askNow(on, 'poll')
  t.equal(unit(on)?.state, 'well')
  t.match(on.told.unit.slice(1), [
    { state: 'slow', previous: 'silent', message: /longer than 300 ms/ },
    { state: 'well', previous: 'slow', message: /in time for 5 min/ },
  ])
})

t.test('one missing answer does not change the state of a unit that answers', async (t) => {
  const { on, far } = await unitLine()
  await askNow(on, 'poll')
  far.isDead = true
  await askNow(on, 'poll')
  t.match(unit(on), { state: 'well', timeouts: 1, lately: { exchanges: 2, missing: 1 } }, 'it is counted')
  far.isDead = false
  await askNow(on, 'poll')
  t.match(unit(on), { state: 'well', lately: { exchanges: 4, missing: 1 } }, 'with the read that settles what it owed')
  t.equal(on.told.unit.length, 1)
})

t.test('invalid answers count as bad replies, and damaged ones against the unit asked', async (t) => {
  const { on } = await unitLine({ say: (bytes) => [{ afterMs: 1, bytes: bytes.with(4, (bytes[4] ?? 0) ^ 1) }] })
  t.equal(await askNow(on, 'poll'), 'modbus_bad_reply')
  t.match(unit(on), { state: 'failing', badReplies: 1, crcErrors: 1, timeouts: 0 })
  for (let n = 0; n < 2; n++) await askNow(on, 'poll')
  t.equal(unit(on)?.state, 'silent', 'it costs the line as much as a unit that does not answer')
})

t.test('background work does not list or blame a number that no unit has', async (t) => {
  const { on } = await unitLine()
  t.equal(await askNow(on, 'background', 9), 'modbus_timeout')
  t.equal(unit(on, 9), undefined)
  t.strictSame(on.errors, [])
  t.strictSame([on.count('timeouts'), on.count('scanUnanswered')], [0, 1])
  t.equal(await askNow(on, 'background', 1), 10)
  t.match(unit(on, 1), { state: 'well', requests: 1, replies: 1 })
})

t.test('closing a line makes every unit unknown, and keeps its counts', async (t) => {
  const both = await unitLine()
  const { on } = both
  await silence(both)
  const told = on.told.unit.length
  await on.adapter.detach()
  t.match(unit(on), { state: 'unknown', timeouts: 3, nextTryAt: null })
  t.equal(on.told.unit.length, told, 'the port says that it was closed')
  on.adapter.attach(on.line)
  both.far.isDead = false
  await on.clock.run(400)
  t.equal(await askNow(on, 'poll'), 10)
  t.match(on.told.unit.at(-1), { state: 'well', previous: 'unknown' })
})

t.test('a unit that never answered is forgotten once nobody asked it for forget_unit_ms', async (t) => {
  const on = await lineWithNobody(9)
  await askNow(on, 'operator', 9)
  await askNow(on, 'operator', 2)
  await on.clock.run(599_000)
  t.match(unit(on, 9), { state: 'failing', replies: 0 })
  t.strictSame(on.adapter.faces?.units?.states(), { failing: 1, well: 1 })
  await on.clock.run(2000)
  t.strictSame(on.adapter.faces?.units?.states(), { well: 1 }, 'by whatever call the units are looked at first')
  t.equal(unit(on, 9), undefined)
  await on.clock.run(6_000_000)
  t.equal(unit(on, 2)?.state, 'well', 'one that answered stays')
})

t.test('a unit that is asked repeatedly is not forgotten, not even while it is held back', async (t) => {
  const on = await lineWithNobody(9, { breaker_retry_ms: 3_600_000, breaker_retry_max_ms: 3_600_000 })
  for (let n = 0; n < 3; n++) await askNow(on, 'poll', 9)
  for (let n = 0; n < 5; n++) {
    await on.clock.run(400_000)
    t.equal(await askNow(on, 'poll', 9), 'modbus_unit_silent')
  }
  t.match(unit(on, 9), { state: 'silent', requests: 3 })
  await on.clock.run(600_000)
  t.equal(unit(on, 9), undefined)
})

t.test('a unit that a point names is not forgotten, however seldom it is read', async (t) => {
  const polled = new Set([9])
  const on = await lineWithNobody(9, {}, { isPolled: (unitId) => polled.has(unitId) })
  await askNow(on, 'poll', 9)
  await on.clock.run(86_400_000)
  t.equal(unit(on, 9)?.state, 'failing')
  polled.clear()
  t.equal(unit(on, 9), undefined)
})

t.test('a silent unit that was forgotten is gone, and the next request to it begins a new record', async (t) => {
  const rig = await unitLine()
  const { on, far } = rig
  await askNow(on, 'poll')
  await silence(rig)
  on.adapter.faces?.units?.forget(1)
  t.equal(unit(on), undefined)
  t.throws(() => on.adapter.faces?.units?.forget(1), { code: 'unknown_unit' })
  t.equal(await askNow(on, 'poll'), 'modbus_timeout', 'its polls are not held back any more')
  t.match(unit(on), { state: 'failing', requests: 1, timeouts: 1 })
  far.isDead = false
  await on.clock.run(2000)
  t.equal(await askNow(on, 'poll'), 10)
})

t.test('what a unit owes outlives its record: a late answer is not taken for another', async (t) => {
  const { on, far } = await unitLine()
  await askNow(on, 'operator', 1, 0)
  far.delayMs = 450
  const given = ask(on, 'operator', 1, 1)
  await on.clock.run(320)
  t.equal(given.came, 'modbus_timeout')
  const { heldUntil } = unit(on) ?? {}
  t.not(heldUntil, null)
  on.adapter.faces?.units?.forget(1)
  far.delayMs = 5
  t.equal(await askNow(on, 'operator', 1, 2), 30)
  t.ok(on.count('lateReplies') >= 1, 'it was recognised as late')
  t.match(unit(on), { unitId: 1, lateReplies: 1 })
})

t.test('a unit that is forgotten during a request counts that request', async (t) => {
  const { on, far } = await unitLine()
  far.isDead = true
  const asked = ask(on, 'operator')
  await on.clock.run(100)
  on.adapter.faces?.units?.forget(1)
  await on.clock.run(400)
  t.equal(asked.came, 'modbus_timeout')
  t.match(unit(on), { state: 'failing', requests: 1, timeouts: 1 })
})

t.test('every unit of a line, with a full window of exchanges, takes the memory its row says', async (t) => {
  const settings = settingsWith()
  const bytes = await heapBytesOf(() => {
    const clock = fakeClock()
    const units = new BusUnits<ModbusRequest, ModbusReply>({ clock, faults, settings, publish() {}, onSilent() {} })
    for (let unitId = 1; unitId <= 247; unitId++) {
      const frame = sealed([unitId, 3, 0, 1, 0, 1])
      const asking = { sent: { frame, request: readModbusRequest(frame) }, how: { priority: 'poll' } } as const
      const reply = modbusRtu.openReply(asking.sent, replyFrame(asking.sent.request, [1]))
      for (let times = 0; times < settings.noisy_window + 5; times++) {
        clock.advance(0.7)
        units.sent(asking)
        if (times % 3 > 0) units.replied(asking, reply, 3.7 + times)
        else units.missed(asking, faults.noReply(asking.sent.request, times, {}))
      }
    }
    return [clock, units]
  })
  const { eachBytes = 0 } = rowOf(memoryPlan().rows, 'what is known of units', { 'ports.max': 1 })
  t.ok(bytes < eachBytes, `${bytes / 247} bytes a unit, of ${eachBytes / 247}`)
})

async function lineWithNobody(
  unitId: number,
  settings: Partial<ModbusSettings> = {},
  hooks: MasterHooks = {},
): Promise<ModbusLine> {
  const say = (bytes: Uint8Array, request: { unitId: number }) =>
    request.unitId === unitId ? [] : [{ afterMs: 1, bytes }]
  const { on } = await unitLine({ say, settings, hooks })
  return on
}
