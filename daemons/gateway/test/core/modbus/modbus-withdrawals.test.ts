/** Requests whose callers leave. */

import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { act } from '../act.ts'
import { type ModbusLine, modbusLine } from './modbus-line.ts'

const units = () => [simulatedUnit({ unitId: 1, holding: Array.from({ length: 100 }, (_, at) => at) })]

/** Asks for the register at an address on behalf of somebody. @returns what became of it, by value or fault code */
function read(on: ModbusLine, address: number, owner?: object): { came?: unknown } {
  const told: { came?: unknown } = {}
  const request = { unitId: 1, fc: 3, address, quantity: 1 }
  on.adapter.asker.ask(request, { priority: 'poll', owner }).then(
    (reply) => {
      told.came = reply?.values?.[0]
    },
    (fault) => {
      told.came = fault.code
    },
  )
  return told
}

t.test('waiting requests of an owner that left are never sent, those of others are', async (t) => {
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

/** Asks as a route does. @returns what became of it, by answer or fault code */
function request(on: ModbusLine, body: object, gone: AbortSignal): { came?: unknown } {
  const told: { came?: unknown } = {}
  act(on.adapter, 'request', { unitId: 1, ...body }, gone).then(
    (answer) => {
      told.came = (answer as { values: unknown }).values
    },
    (fault) => {
      told.came = fault.code
    },
  )
  return told
}

t.test('an HTTP caller that leaves withdraws its waiting request, but not one under way', async (t) => {
  const on = await modbusLine({
    settings: { local_echo: 'absent' },
    units: units(),
    say: (bytes) => [{ afterMs: 20, bytes }],
  })
  const [anna, ben, carl] = [new AbortController(), new AbortController(), new AbortController()]
  const out = request(on, { fc: 6, address: 1, values: [11] }, anna.signal)
  const waiting = request(on, { fc: 6, address: 2, values: [22] }, ben.signal)
  const other = request(on, { fc: 3, address: 3, quantity: 1 }, carl.signal)
  await on.clock.run(10)
  for (const leaver of [anna, ben]) leaver.abort()
  await on.clock.run(500)
  t.strictSame([out.came, waiting.came, other.came], [[11], 'modbus_withdrawn', [3]])
  t.strictSame(
    on.line.written.map((frame) => frame[3]),
    [1, 3],
  )
  const late = request(on, { fc: 6, address: 4, values: [44] }, ben.signal)
  await on.clock.run(500)
  t.equal(late.came, 'modbus_withdrawn', 'it had left before the request was made')
  t.equal(on.line.written.length, 2)
})

t.test('an identification of many replies ends with its caller', async (t) => {
  const identity = Array.from({ length: 8 }, (_, at) => `${at}`.repeat(100))
  const on = await modbusLine({ units: [simulatedUnit({ unitId: 1, identity })] })
  const leaver = new AbortController()
  const asked = request(on, { fc: 43, address: 0, quantity: 3 }, leaver.signal)
  while (on.line.written.length < 2) await on.clock.run(1)
  leaver.abort()
  await on.clock.run(2000)
  t.equal(asked.came, 'modbus_withdrawn')
  t.equal(on.line.written.length, 2)
})
