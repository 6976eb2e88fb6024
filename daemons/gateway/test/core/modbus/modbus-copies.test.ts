/** Answers that come twice: what is read after a write, and how many answers are kept to recognise a copy. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { BusCopies } from '../../../core/bus/copies.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import { replyFrame, type SentRequest } from '../../../wire/modbus-reply.ts'
import { type ModbusRequest, readModbusRequest, sealed } from '../../../wire/modbus-request.ts'
import { modbusLine, settingsWith } from './modbus-line.ts'
import { orderedUnits } from './ordered-units.ts'
import { modbusRtu } from './rtu.ts'

/** One register of unit 1 is asked for. */
function read(address: number): SentRequest {
  const frame = sealed([1, 3, 0, address, 0, 1])
  return { frame, request: readModbusRequest(frame) }
}

const answer = (value: number) => modbusRtu.openReply(read(0), replyFrame(read(0).request, [value]))

t.test('keeps as many answers of a line as the setting says, for as long as it says', async (t) => {
  const clock = fakeClock()
  const copies = new BusCopies(modbusRtu, clock, settingsWith({ copy_answers: 16 }))
  for (let value = 0; value < 17; value++) copies.note(read(value), answer(value))
  t.equal(copies.isRecent(answer(0).frame), false, 'the oldest is gone')
  t.equal(copies.isRecent(answer(1).frame), true)
  clock.advance(1000)
  t.equal(copies.isRecent(answer(16).frame), false)
})

t.test('the most answers that are kept, each of 125 registers, take no more than their row says', async (t) => {
  const bytes = await heapBytesOf(() => {
    const copies = new BusCopies(modbusRtu, fakeClock(), settingsWith())
    for (let at = 0; at < 1100; at++) {
      const frame = sealed([1 + (at % 247), 3, at >> 8, at & 255, 0, 125])
      const sent = { frame, request: readModbusRequest(frame) }
      const values = Array.from({ length: 125 }, (_, register) => at * 7 + register)
      copies.note(sent, modbusRtu.openReply(sent, replyFrame(sent.request, values)))
    }
    return copies
  })
  const { eachBytes = 0 } = rowOf(memoryPlan().rows, 'answers kept to recognise one that comes twice', {
    'ports.max': 1,
  })
  t.ok(bytes < eachBytes, `${bytes} bytes, of ${eachBytes}`)
})

t.test('an unchanged answer is believed unless it contradicts a write since', async (t) => {
  const clock = fakeClock()
  const settings = settingsWith({ copy_trust_after: 3 })
  const frame = sealed([1, 6, 0, 0, 0, 9])
  const written = { frame, request: readModbusRequest(frame) }
  function afterWrite(): BusCopies<ModbusRequest, ModbusReply> {
    const copies = new BusCopies(modbusRtu, clock, settings)
    copies.note(read(0), answer(5))
    t.equal(copies.doubt(read(0), answer(5)), 'sure', 'most units say the same most of the time')
    copies.note(written, modbusRtu.openReply(written, frame))
    return copies
  }
  t.equal(afterWrite().doubt(read(0), answer(5)), 'again')
  t.equal(afterWrite().doubt(read(0), answer(9)), 'sure', 'the written value')
  t.equal(afterWrite().doubt(read(1), answer(5)), 'again', 'the answer of another register, unchanged')
  const trusted = afterWrite()
  for (let n = 0; n < 3; n++) trusted.proved(1)
  t.equal(trusted.doubt(read(0), answer(5)), 'sure', 'of a unit that has answered often enough without a copy')
  const refused = new BusCopies(modbusRtu, clock, settings)
  refused.note(read(0), answer(5))
  refused.note(written, modbusRtu.openReply(written, sealed([1, 0x86, 2])))
  t.equal(refused.doubt(read(0), answer(5)), 'sure', 'a write that was refused has changed nothing')
})

/** One step: a pause, then a write of the next number or a read. */
const step = fc.record({
  isWrite: fc.boolean(),
  pauseMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 600 }) }),
  /** How much later the answer comes again. */
  copyMs: fc.option(fc.nat({ max: 450 }), { freq: 3 }),
  workMs: fc.integer({ min: 1, max: 80 }),
})

t.test('late-replies: after a write the old value is never read, however answers are repeated', async (t) => {
  const tally = { reads: 0, copies: 0, faults: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      const clock = fakeClock()
      const holding = [0]
      let turn = 0
      const manner = () => {
        const { copyMs, workMs } = steps[turn++ % steps.length] ?? { copyMs: null, workMs: 1 }
        return { workMs, ...(copyMs !== null && { copyMs }) }
      }
      const say = orderedUnits({ nowMs: () => clock.monotonicMs(), mannerOf: manner })
      const on = await modbusLine({ clock, units: [simulatedUnit({ unitId: 1, holding })], say })
      let confirmed = 0
      for (const [at, { isWrite, pauseMs }] of steps.entries()) {
        await clock.run(pauseMs)
        const body = isWrite ? { fc: 6, values: [at + 1] } : { fc: 3, quantity: 1 }
        const asked = on.ask({ unitId: 1, address: 0, ...body })
        while (!asked.outcome) await clock.run(20)
        const { answer, fault } = asked.outcome
        if (fault) tally.faults++
        else if (isWrite) confirmed = at + 1
        else {
          tally.reads++
          if ((answer.values as number[])[0] !== holding[0] || (holding[0] ?? 0) < confirmed) return false
        }
      }
      tally.copies += on.count('copies')
      return true
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 40), ...(process.env.PROPERTY_RUNS === undefined && { seed: 41 }) },
  )
  t.comment(JSON.stringify(tally))
  t.ok(tally.reads > 100 && tally.copies > 100, 'reads and copies were many enough')
})
