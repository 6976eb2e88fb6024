/** Requests whose askers leave. */
import t from 'tap'
import { simulatedUnit } from '../../../../scripts/sim/modbus-unit.ts'
import { type ModbusLine, modbusLine } from './modbus-line.ts'

const units = () => [simulatedUnit({ unitId: 1, holding: Array.from({ length: 100 }, (_, at) => at) })]

/** Asks for the register at an address on behalf of somebody. @returns what became of it, by value or fault code */
function read(on: ModbusLine, address: number, owner?: object): { came?: unknown } {
  const told: { came?: unknown } = {}
  const request = { unitId: 1, fc: 3, address, quantity: 1 }
  on.adapter.asker.ask(request, { priority: 'poll', owner }).then(
    ([value]) => {
      told.came = value
    },
    (fault) => {
      told.came = fault.code
    },
  )
  return told
}

t.test('what waits for an owner that left is never sent, what others asked is', async (t) => {
  const on = await modbusLine({ units: units(), say: (bytes) => [{ afterMs: 20, bytes }] })
  const [anna, ben] = [{}, {}]
  const asked = [read(on, 0, anna), read(on, 1, ben), read(on, 2, anna), read(on, 3)]
  await on.clock.run(10)
  t.equal(on.line.written.length, 1, 'the first is out')
  on.adapter.asker.withdraw(anna)
  await on.clock.run(500)
  t.strictSame(
    asked.map(({ came }) => came),
    [0, 1, 'modbus_withdrawn', 3],
  )
  t.strictSame(
    on.line.written.map((frame) => frame[3]),
    [0, 3, 1],
    'polls of points and those of others take turns',
  )
  t.equal(on.count('waiting'), 0)
})

t.test('an owner without requests withdraws nothing', async (t) => {
  const on = await modbusLine({ units: units() })
  const asked = read(on, 7)
  on.adapter.asker.withdraw({})
  await on.clock.run(100)
  t.equal(asked.came, 7)
})
