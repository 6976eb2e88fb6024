/** A port that is set up again while a unit is being asked. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { UnitDebts } from '../../../core/bus/holds.ts'
import { createBusDebts } from '../../../core/bus/transactions.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { type ModbusLine, modbusLine } from './modbus-line.ts'

const held = (unitId: number, overMs: number): UnitDebts<ModbusRequest> => ({
  unitId,
  overMs,
  untilMs: 0,
  owed: [],
  known: [],
  longestLateMs: 0,
})

/** Each read is answered with the address it asked for, 600 ms later: too late, and within the quarantine. */
async function lateLine(): Promise<{ before: ModbusLine; after: ModbusLine }> {
  const clock = fakeClock()
  const debts = createBusDebts<ModbusRequest>(clock)('/dev/ttyTEST')
  const before = await modbusLine({ clock, hooks: { debts } })
  const after = await modbusLine({ clock, hooks: { debts } })
  await after.adapter.detach()
  return { before, after }
}

/** The reply to a read of one register of unit 1, as it comes. */
const REPLY = Uint8Array.of(1, 3, 2, 0, 7, 0xf9, 0x86)

t.test(
  'late-replies: a late reply to a request from before the port was set up again answers no request',
  async (t) => {
    const { before, after } = await lateLine()
    const { clock } = before
    before.ask({ unitId: 1, fc: 3, address: 7, quantity: 1 })
    await clock.run(10)
    await before.adapter.detach()
    after.adapter.attach(after.line)
    const asked = after.ask({ unitId: 1, fc: 3, address: 8, quantity: 1 })
    await clock.run(600)
    after.line.arrive(REPLY)
    await clock.run(1)
    t.equal(asked.outcome, undefined)
    t.match(after.adapter.counters(), { lateReplies: 1, replies: 0 })
  },
)

t.test('other units are asked as soon as the line has settled', async (t) => {
  const { before, after } = await lateLine()
  const { clock } = before
  before.ask({ unitId: 1, fc: 3, address: 7, quantity: 1 })
  await clock.run(10)
  await before.adapter.detach()
  after.adapter.attach(after.line)
  after.ask({ unitId: 2, fc: 3, address: 8, quantity: 1 })
  await clock.run(310)
  t.equal(after.line.written.length, 1)
})

t.test('an adapter that comes back is not given its own debts', (t) => {
  const clock = fakeClock()
  const debts = createBusDebts<ModbusRequest>(clock)('/dev/ttyA')
  const [one, other] = [{}, {}]
  debts.leave(one, [held(1, 1000)])
  t.same(debts.take(one), [])
  debts.leave(one, [held(1, 1000)])
  t.same(debts.take(other), [held(1, 1000)])
  t.same(debts.take(other), [], 'they are taken once')
  t.end()
})

t.test('an adapter that never had the line leaves the debts of others alone', (t) => {
  const clock = fakeClock()
  const debts = createBusDebts<ModbusRequest>(clock)('/dev/ttyA')
  const [one, refused, third] = [{}, {}, {}]
  debts.leave(one, [held(1, 1000), held(2, 500)])
  debts.leave(refused, [])
  clock.advance(600)
  t.same(debts.take(third), [held(1, 1000)], 'an expired debt is gone')
  t.end()
})

t.test('lines do not share debts', (t) => {
  const debtsOf = createBusDebts(fakeClock())
  debtsOf('/dev/ttyA').leave({}, [held(1, 1000)])
  t.same(debtsOf('/dev/ttyB').take({}), [])
  t.end()
})
