import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { modbusLine } from './modbus-line.ts'

t.test('what a timeout fault says was heard does not change afterwards', async (t) => {
  const bus = await modbusLine({
    settings: { response_timeout_ms: 300 },
    units: [simulatedUnit({ unitId: 3, holding: [1, 2] })],
    say: (reply) => [{ afterMs: 450, bytes: reply }],
  })
  const { fault } = await bus.askNow({ unitId: 3, fc: 3, address: 0, quantity: 2 })
  t.same(fault?.details?.heard, {})
  await bus.clock.run(500)
  t.equal(bus.count('lateReplies'), 1, 'the answer came after all')
  t.same(fault?.details?.heard, {})
  t.same(
    bus.errors.map(({ code, heard }) => ({ code, heard })),
    [{ code: 'modbus_timeout', heard: {} }],
  )
})
