/** Requests of the API on a Modbus line, answered by simulated units. */

import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { quarantineMs } from '../../../core/bus/settings.ts'
import { act } from '../act.ts'
import { modbusLine, settingsWith } from './modbus-line.ts'

function board() {
  const coils = Array.from({ length: 40 }, (_, at) => at % 2)
  const holding = Array.from({ length: 200 }, (_, at) => at * 3)
  const identity = ['Maker \u00c4', 'Code', '1.0', 'https://example.com', 'Product']
  const unit = simulatedUnit({ unitId: 7, coils, discreteInputs: coils, holding, input: () => holding, identity })
  return { coils, holding, unit }
}

t.test('6.1 to 6.4 reads give exactly the quantity asked', async (t) => {
  const { unit } = board()
  const { askNow } = await modbusLine({ units: [unit] })
  const bits = await askNow({ unitId: 7, fc: 1, address: 1, quantity: 10 })
  t.strictSame(bits.answer, { unitId: 7, fc: 1, address: 1, quantity: 10, values: [1, 0, 1, 0, 1, 0, 1, 0, 1, 0] })
  const inputs = await askNow({ unitId: 7, fc: 2, address: 0, quantity: 3 })
  t.strictSame(inputs.answer?.values, [0, 1, 0])
  const words = await askNow({ unitId: 7, fc: 3, address: 10, quantity: 2 })
  t.strictSame(words.answer, { unitId: 7, fc: 3, address: 10, quantity: 2, values: [30, 33] })
  const most = await askNow({ unitId: 7, fc: 4, address: 0, quantity: 125 })
  t.equal(most.answer?.values.length, 125)
})

t.test('6.5 to 6.12, 6.16, 6.17 writes do what they say and answer with what was written', async (t) => {
  const { coils, holding, unit } = board()
  const { askNow } = await modbusLine({ units: [unit] })
  const coil = await askNow({ unitId: 7, fc: 5, address: 0, quantity: 1, values: [true] })
  t.strictSame(coil.answer, { unitId: 7, fc: 5, address: 0, quantity: 1, values: [1] })
  t.equal(coils[0], 1)
  t.strictSame((await askNow({ unitId: 7, fc: 6, address: 5, values: [65535] })).answer?.values, [65535])
  t.equal(holding[5], 65535)
  const many = await askNow({ unitId: 7, fc: 15, address: 8, quantity: 9, values: [1, 1, 0, 0, 1, 0, 0, 0, 1] })
  t.strictSame(many.answer?.quantity, 9)
  t.strictSame(coils.slice(8, 17), [1, 1, 0, 0, 1, 0, 0, 0, 1])
  t.strictSame((await askNow({ unitId: 7, fc: 16, address: 20, values: [7, 8] })).answer, {
    unitId: 7,
    fc: 16,
    address: 20,
    quantity: 2,
    values: [7, 8],
  })
  await askNow({ unitId: 7, fc: 6, address: 4, values: [0x12] })
  t.strictSame((await askNow({ unitId: 7, fc: 22, address: 4, and_mask: 0xf2, or_mask: 0x25 })).answer?.values, [])
  t.equal(holding[4], 0x17, "the standard's own example")
  const both = { unitId: 7, fc: 23, address: 30, quantity: 3, write_address: 31, values: [1000] }
  t.strictSame((await askNow(both)).answer?.values, [90, 1000, 96])
})

t.test('6.21 device identification is requested until nothing more follows', async (t) => {
  const { unit } = board()
  const { askNow, count } = await modbusLine({ units: [unit] })
  const regular = await askNow({ unitId: 7, fc: 43, address: 0, quantity: 2 })
  t.strictSame(regular.answer?.values, [
    { id: 0, name: 'VendorName', value: 'Maker Ä' },
    { id: 1, name: 'ProductCode', value: 'Code' },
    { id: 2, name: 'MajorMinorRevision', value: '1.0' },
    { id: 3, name: 'VendorUrl', value: 'https://example.com' },
    { id: 4, name: 'ProductName', value: 'Product' },
  ])
  t.equal(count('requests'), 5)
  const single = await askNow({ unitId: 7, fc: 43, address: 4, quantity: 4 })
  t.strictSame(single.answer?.values, [{ id: 4, name: 'ProductName', value: 'Product' }])
})

t.test('an exception has its code and name, and delays no other request', async (t) => {
  const { unit } = board()
  const { askNow, count, frames } = await modbusLine({ units: [unit] })
  const { fault } = await askNow({ unitId: 7, fc: 3, address: 199, quantity: 2 })
  t.equal(fault?.code, 'modbus_exception')
  t.match(fault?.details, { unitId: 7, fc: 3, exception: { code: 2, name: 'Illegal Data Address' } })
  t.match(frames.at(-1)?.decoded, { kind: 'exception', exception: { code: 2, name: 'Illegal Data Address' } })
  t.equal(count('exceptions'), 1)
  t.equal(count('unitsHeld'), 0)
})

t.test('2.4.1 a broadcast waits for the turnaround delay and for no reply', async (t) => {
  const { holding, unit } = board()
  const { ask, clock, count } = await modbusLine({ units: [unit] })
  const asked = ask({ unitId: 0, fc: 6, address: 3, values: [99] })
  const next = ask({ unitId: 7, fc: 3, address: 3, quantity: 1 })
  await clock.run(80)
  t.equal(asked.outcome, undefined)
  await clock.run(40)
  t.match(asked.outcome?.answer, { unitId: 0, fc: 6, values: [99] })
  await clock.run(40)
  t.strictSame(next.outcome?.answer?.values, [99])
  t.equal(holding[3], 99)
  t.equal(count('broadcasts'), 1)
})

t.test('every frame is published with its bytes and its meaning, in both directions', async (t) => {
  const { unit } = board()
  const { askNow, frames } = await modbusLine({ units: [unit] })
  await askNow({ unitId: 7, fc: 3, address: 1, quantity: 1 })
  t.match(frames[0], {
    direction: 'tx',
    hex: '07 03 00 01 00 01 D5 AC',
    length: 8,
    decoded: { kind: 'request', unitId: 7, fc: 3, name: 'Read Holding Registers', address: 1, quantity: 1 },
    priority: 'operator',
  })
  t.match(frames[1], { direction: 'rx', length: 7, decoded: { kind: 'reply', address: 1, quantity: 1, values: [3] } })
  t.equal(frames.length, 2)
})

t.test('another action is refused with the name of the protocol', async (t) => {
  const { adapter } = await modbusLine()
  await t.rejects(act(adapter, 'tx', { hex: '00' }), { code: 'wrong_protocol' })
})

t.test('the quarantine is the larger of a second and three response timeouts, unless it is set', async (t) => {
  t.equal(quarantineMs(settingsWith({})), 1000)
  t.equal(quarantineMs(settingsWith({ response_timeout_ms: 500 })), 1500)
  t.equal(quarantineMs(settingsWith({ quarantine_ms: 200 })), 200)
})
