/** Who goes first on a Modbus line. */
import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { AskHow, Priority, SeenReply } from '../../../core/bus/transactions.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { type ModbusLine, modbusLine } from './modbus-line.ts'

const units = () => [simulatedUnit({ unitId: 1, holding: Array.from({ length: 100 }, (_, at) => at) })]

/** Addresses requested, in the order in which they were sent. */
function sentOf({ line }: ModbusLine): number[] {
  return line.written.map((frame) => (frame[2] ?? 0) * 256 + (frame[3] ?? 0))
}

/** Asks for the register at an address. @returns what became of it, by value or fault code */
function read(on: ModbusLine, address: number, how: AskHow | Priority): { came?: unknown } {
  const told: { came?: unknown } = {}
  const request = { unitId: 1, fc: 3, address, quantity: 1 }
  on.adapter.asker.ask(request, typeof how === 'string' ? { priority: how } : how).then(
    (reply) => {
      told.came = reply?.values?.[0]
    },
    (fault) => {
      told.came = fault.code
    },
  )
  return told
}

t.test('operators go before polls, polls before background work, each in order of arrival', async (t) => {
  const on = await modbusLine({ units: units() })
  const order = ['poll', 'background', 'poll', 'operator', 'background', 'operator'] as const
  const asked = order.map((priority, address) => read(on, address, priority))
  await on.clock.run(500)
  t.strictSame(sentOf(on), [3, 5, 0, 2, 1, 4])
  t.strictSame(
    asked.map(({ came }) => came),
    [0, 1, 2, 3, 4, 5],
  )
})

t.test("an operator's request goes out within one transaction, however many polls wait", async (t) => {
  const on = await modbusLine({ units: units(), say: (bytes) => [{ afterMs: 20, bytes }] })
  for (let address = 0; address < 40; address++) read(on, address, 'poll')
  await on.clock.run(100)
  const before = on.line.written.length
  const asked = read(on, 99, 'operator')
  await on.clock.run(60)
  t.equal(asked.came, 99)
  t.ok(sentOf(on).indexOf(99) <= before, 'it is the very next')
  await on.clock.run(5000)
  t.equal(on.line.written.length, 41)
})

t.test('polls cannot fill the queue places of operators, nor background work those of polls', async (t) => {
  const settings = { queue: 10, queue_reserve: 3 }
  const on = await modbusLine({ units: units(), settings, say: () => [] })
  const fill = (priority: Priority) => Array.from({ length: 12 }, (_, address) => read(on, address, priority))
  const asked = { background: fill('background'), poll: fill('poll'), operator: fill('operator') }
  await on.clock.run(0)
  const waiting = (of: { came?: unknown }[]) => of.filter(({ came }) => came !== 'queue_full').length
  t.strictSame([waiting(asked.background), waiting(asked.poll), waiting(asked.operator)], [4, 3, 3])
  t.equal(on.count('queueFull'), 26)
})

t.test('a queue that is smaller than its reserve still has one place for each priority', async (t) => {
  const on = await modbusLine({ units: units(), settings: { queue: 1, queue_reserve: 8 } })
  const asked = read(on, 7, 'background')
  await on.clock.run(100)
  t.equal(asked.came, 7)
})

t.test('each request has its own deadline', async (t) => {
  const on = await modbusLine({ units: units(), say: () => [] })
  const hurried = read(on, 1, { priority: 'poll', deadlineMs: 1000 })
  const patient = read(on, 2, { priority: 'poll', deadlineMs: 60_000 })
  const blocking = read(on, 0, 'operator')
  await on.clock.run(650)
  t.equal(blocking.came, 'modbus_timeout')
  t.equal(hurried.came, 'modbus_expired')
  t.equal(patient.came, undefined)
})

t.test('each valid reply is published with its request and its time, whoever asked', async (t) => {
  const seen: SeenReply<ModbusRequest, ModbusReply>[] = []
  const on = await modbusLine({
    units: units(),
    say: (bytes) => [{ afterMs: 25, bytes }],
    hooks: { onReply: (reply) => void seen.push(reply) },
  })
  await on.askNow({ unitId: 1, fc: 3, address: 4, quantity: 1 })
  await on.askNow({ unitId: 1, fc: 3, address: 99, quantity: 2 })
  await on.askNow({ unitId: 0, fc: 6, address: 4, values: [1] })
  t.equal(seen.length, 2, 'a broadcast has no reply')
  t.match(seen[0], { request: { unitId: 1, fc: 3, address: 4, quantity: 1 }, reply: { frame: { 2: 2, 4: 4 } } })
  t.match(seen[1], { request: { address: 99 }, reply: { frame: { 1: 0x83, 2: 2 } } })
  t.ok(seen.every(({ tookMs }) => tookMs !== null && tookMs > 15 && tookMs <= 26))
})
