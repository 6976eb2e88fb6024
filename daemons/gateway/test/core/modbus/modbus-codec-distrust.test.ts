/** A codec that makes mistakes: a frame it builds wrongly is not sent, a reply it cannot read is a fault for the caller. */
import t from 'tap'
import { relayBoard } from '../../../../../scripts/sim/relay-board.ts'
import type { ModbusCodec } from '../../../core/modbus/protocol.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { modbusLine } from './modbus-line.ts'
import { modbusCodec } from './rtu.ts'

const relays = { unitId: 2, fc: 1, address: 0, quantity: 8 }

/** A line with a relay board, and a codec with a mistake in it. */
async function lineBy(codec: Partial<ModbusCodec>) {
  return await modbusLine({ codec: { ...modbusCodec, ...codec }, units: [relayBoard(2)] })
}

t.test('a frame that differs from the request in any field is not sent', async (t) => {
  const cases = [
    { unitId: 3 },
    { fc: 2 },
    { address: 1 },
    { quantity: 9 },
    { fc: 15, values: [1, 0, 0, 0, 0, 0, 0, 0] },
  ]
  for (const wrong of cases) {
    const { askNow, count, frames } = await lineBy({
      frameOf: (request) => modbusCodec.frameOf({ ...request, ...wrong }),
    })
    const { fault } = await askNow(relays)
    t.equal(fault?.code, 'modbus_codec', JSON.stringify(wrong))
    t.same([frames, count('requests')], [[], 0])
  }
})

t.test('a frame with a wrong checksum is not sent', async (t) => {
  const { askNow, frames } = await lineBy({
    frameOf: (request) => modbusCodec.frameOf(request).map((byte, at) => (at === 7 ? byte ^ 1 : byte)),
  })
  t.equal((await askNow(relays)).fault?.code, 'modbus_codec')
  t.same(frames, [])
})

t.test('a valid reply that the codec cannot read is a fault for the caller, and the line keeps running', async (t) => {
  let isBroken = true
  const { askNow, count } = await lineBy({
    valuesOf(request, reply) {
      if (isBroken) throw new RangeError('offset is out of range')
      return modbusCodec.valuesOf(request, reply)
    },
  })
  t.match((await askNow(relays)).fault, { code: 'modbus_codec' })
  isBroken = false
  t.match((await askNow(relays)).answer, { values: [0, 0, 0, 0, 0, 0, 0, 0] })
  t.equal(count('timeouts'), 0)
})

t.test('modbus-serial reports modbus_codec for a reply to another request, and reads the next one', async (t) => {
  const request = { unitId: 1, fc: 3, address: 0, quantity: 2 }
  const wrong = [
    sealed([1, 3, 2, 0, 1]),
    sealed([2, 3, 4, 0, 1, 0, 2]),
    sealed([1, 4, 4, 0, 1, 0, 2]),
    sealed([1, 0x83, 2]),
    new Uint8Array([1, 3, 4, 0, 1, 0, 2, 0, 0]),
  ]
  for (const reply of wrong) t.throws(() => modbusCodec.valuesOf(request, reply), { code: 'modbus_codec' })
  t.throws(() => modbusCodec.frameOf({ ...request, fc: 43 }), { code: 'modbus_codec' })
  t.throws(() => modbusCodec.valuesOf({ ...request, fc: 6 }, sealed([1, 6, 0, 0, 0, 2])), { code: 'modbus_codec' })
  t.same(modbusCodec.valuesOf(request, sealed([1, 3, 4, 0, 1, 0, 2])), [1, 2])
  t.same(modbusCodec.valuesOf({ ...request, fc: 23 }, sealed([1, 23, 4, 0, 3, 0, 4])), [3, 4])
})
