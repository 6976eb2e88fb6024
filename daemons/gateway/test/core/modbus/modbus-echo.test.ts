/** Lines whose adapter echoes our own bytes: an echo is never taken for a unit's answer. */
import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { modbusLine } from './modbus-line.ts'

function units() {
  return [
    simulatedUnit({ unitId: 5, holding: new Array(2000).fill(0).map((_, at) => at), coils: new Array(2000).fill(0) }),
  ]
}

const read = { unitId: 5, fc: 3, address: 7, quantity: 2 }
const write = { unitId: 5, fc: 6, address: 7, values: [1234] }
const slow = (bytes: Uint8Array) => [{ afterMs: 20, bytes }]

t.test('the echo of a read is skipped and counted', async (t) => {
  const line = await modbusLine({ units: units(), say: slow, hasEcho: true })
  t.strictSame((await line.askNow(read)).answer?.values, [7, 8])
  t.equal(line.count('echoes'), 1)
  t.match(line.frames[1]?.decoded, { kind: 'echo', fc: 3, address: 7 })
})

t.test('6.6 a write is answered by the copy that follows the echo', async (t) => {
  const line = await modbusLine({ units: units(), say: slow, hasEcho: true })
  t.strictSame((await line.askNow(write)).answer?.values, [1234])
  t.equal(line.count('echoes'), 1)
  t.equal(line.count('echoChecks'), 0)
})

t.test('6.6 the echo of a write to a missing unit is not an answer, not even the first time', async (t) => {
  const line = await modbusLine({ units: units(), say: slow, hasEcho: true })
  const { fault } = await line.askNow({ ...write, unitId: 9 })
  t.equal(fault?.code, 'modbus_timeout')
  t.match(fault?.message, /may have been carried out/)
  t.equal(line.count('echoChecks'), 1, 'one read of the same place shows that the line has an echo')
  const again = await line.askNow({ ...write, unitId: 10 })
  t.equal(again.fault?.code, 'modbus_timeout')
  t.equal(line.count('echoChecks'), 1, 'which it knows from then on')
})

t.test(
  '6.6 without an echo the one copy is the answer; the first time a read of the same place proves it',
  async (t) => {
    const line = await modbusLine({ units: units(), say: slow })
    t.strictSame((await line.askNow(write)).answer?.values, [1234])
    t.equal(line.count('echoChecks'), 1)
    t.equal(line.count('requests'), 2)
    t.strictSame((await line.askNow({ ...write, values: [1] })).answer?.values, [1])
    t.equal(line.count('requests'), 3)
    t.equal(line.count('echoes'), 0)
  },
)

t.test('after any read a write is answered at once, because the line is known by then', async (t) => {
  const line = await modbusLine({ units: units(), say: slow })
  await line.askNow(read)
  const asked = line.ask(write)
  await line.clock.run(40)
  t.strictSame(asked.outcome?.answer?.values, [1234])
  t.equal(line.count('echoChecks'), 0)
})

t.test('an exception behind one copy shows that the copy was an echo', async (t) => {
  const line = await modbusLine({ units: units(), say: slow, hasEcho: true })
  t.equal((await line.askNow({ ...write, address: 60_000 })).fault?.code, 'modbus_exception')
  t.equal(line.count('echoes'), 1)
})

t.test('6.1 a read whose answer equals its request is distinguished from its echo in the same way', async (t) => {
  const coils = new Array(1000).fill(0)
  // Request 05 01 03 10 00 18 and its answer 05 01 03 10 00 18: three bytes of coils, 10 00 18.
  for (const at of [4, 19, 20]) coils[0x310 + at] = 1
  const unit = () => [simulatedUnit({ unitId: 5, coils })]
  const body = { unitId: 5, fc: 1, address: 0x310, quantity: 24 }
  const without = await modbusLine({ units: unit(), say: slow })
  const answer = await without.askNow(body)
  t.strictSame(answer.answer?.values, coils.slice(0x310, 0x310 + 24))
  const echoing = await modbusLine({ units: unit(), say: () => [], hasEcho: true })
  t.equal((await echoing.askNow(body)).fault?.code, 'modbus_timeout')
})

t.test('a setting of local_echo, present or absent, is trusted without a check', async (t) => {
  const absent = await modbusLine({ units: units(), say: slow, settings: { local_echo: 'absent' } })
  const asked = absent.ask(write)
  await absent.clock.run(40)
  t.strictSame(asked.outcome?.answer?.values, [1234])
  const present = await modbusLine({ units: units(), say: slow, hasEcho: true, settings: { local_echo: 'present' } })
  t.equal((await present.askNow({ ...write, unitId: 9 })).fault?.code, 'modbus_timeout')
  t.equal(absent.count('echoChecks') + present.count('echoChecks'), 0)
})

t.test('a broadcast reveals the echo too', async (t) => {
  const line = await modbusLine({ units: units(), hasEcho: true })
  t.ok((await line.askNow({ ...write, unitId: 0 })).answer)
  t.equal(line.count('echoes'), 1)
  t.equal((await line.askNow({ ...write, unitId: 9 })).fault?.code, 'modbus_timeout')
  t.equal(line.count('echoChecks'), 0)
})

t.test('what was learned about a line is forgotten when it is opened again', async (t) => {
  const line = await modbusLine({ units: units(), say: slow })
  await line.askNow(read)
  await line.adapter.detach()
  line.adapter.attach(line.line)
  await line.clock.run(300)
  await line.askNow(write)
  t.equal(line.count('echoChecks'), 1)
})
