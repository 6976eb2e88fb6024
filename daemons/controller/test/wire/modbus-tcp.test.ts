/** Messages of Modbus TCP and values of registers. */
import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { holds } from '#kit/test/holds.ts'
import {
  isModbusReply,
  type ModbusQuestion,
  modbusFrame,
  numberOfWords,
  openModbusReply,
  WORD_ORDERS,
  WORD_TYPES,
  wordCount,
  wordsOfNumber,
} from '../../wire/modbus-tcp.ts'

const question = (more: Partial<ModbusQuestion>): ModbusQuestion => ({
  ...{ unit: 0x11, table: 'holding', address: 0, count: 1 },
  ...more,
})
const bytesOfHex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const hex = (bytes: Uint8Array) => hexOf(bytes).replaceAll(' ', '').toLowerCase()

// The PDUs are the examples of the Modbus Application Protocol V1.1b3, 6.1 to 6.12.
const requests: [string, Partial<ModbusQuestion>, string][] = [
  ['reads coils', { table: 'coil', address: 19, count: 19 }, '01 0013 0013'],
  ['reads discrete inputs', { table: 'discrete', address: 196, count: 22 }, '02 00c4 0016'],
  ['reads holding registers', { address: 107, count: 3 }, '03 006b 0003'],
  ['reads input registers', { table: 'input', address: 8 }, '04 0008 0001'],
  ['writes a coil', { table: 'coil', address: 172, values: [1] }, '05 00ac ff00'],
  ['writes a register', { address: 1, values: [3] }, '06 0001 0003'],
  ['writes coils', { table: 'coil', address: 19, values: [1, 0, 1, 1, 0, 0, 1, 1, 1, 0] }, '0f 0013 000a 02 cd01'],
  ['writes registers', { address: 1, values: [10, 258] }, '10 0001 0002 04 000a 0102'],
  ['writes a register as if it were several', { address: 1, values: [3], isMultiple: true }, '10 0001 0001 02 0003'],
]
for (const [title, more, pdu] of requests)
  t.test(title, async (t) => {
    const wanted = pdu.replaceAll(' ', '')
    const length = (wanted.length / 2 + 1).toString(16).padStart(4, '0')
    t.equal(hex(modbusFrame(question(more), 0x1501)), `15010000${length}11${wanted}`)
  })

const reply = (body: string) => bytesOfHex(`1501 0000 ${bytesOfHex(body).length.toString(16).padStart(4, '0')} ${body}`)

t.test('reads the standard’s replies', async (t) => {
  t.strictSame(openModbusReply(question({ count: 3 }), reply('11 03 06 022b 0000 0064')), [555, 0, 100])
  const coils = openModbusReply(question({ table: 'coil', count: 19 }), reply('11 01 03 cd6b05'))
  t.strictSame(coils, [1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1])
  t.strictSame(openModbusReply(question({ address: 1, values: [3] }), reply('11 06 0001 0003')), [])
})

t.test('a reply of another transaction, protocol, unit or function is no reply', async (t) => {
  const own = question({ count: 1 })
  t.ok(isModbusReply(own, 0x1501, reply('11 03 02 0001')))
  t.ok(isModbusReply(own, 0x1501, reply('11 83 02')), 'an exception is one')
  t.notOk(isModbusReply(own, 0x1502, reply('11 03 02 0001')))
  t.notOk(isModbusReply(own, 0x1501, reply('12 03 02 0001')))
  t.notOk(isModbusReply(own, 0x1501, reply('11 04 02 0001')))
  t.notOk(isModbusReply(own, 0x1501, bytesOfHex('1501 0001 0005 11 03 02 0001')))
})

t.test('an exception is told in words, and whether the unit itself is away', async (t) => {
  const open = (body: string) => () => openModbusReply(question({}), reply(body))
  t.throws(open('11 83 02'), {
    code: 'modbus_refused',
    message: /unit 17: it has nothing at this address \(exception 2\)/,
  })
  t.throws(open('11 83 0b'), { details: { isUnitAway: true } } as never)
  t.throws(open('11 83 02'), { details: { isUnitAway: false } } as never)
  t.throws(open('11 03 04 0001 0002'), { code: 'modbus_reply' })
  t.throws(open('11 03 02 00'), { code: 'modbus_reply' })
  t.throws(() => openModbusReply(question({ address: 1, values: [3] }), reply('11 06 0002 0003')), {
    code: 'modbus_reply',
  })
})

const orders: [string, string][] = [
  ['abcd', '43661eb8'],
  ['cdab', '1eb84366'],
  ['badc', '6643b81e'],
  ['dcba', 'b81e6643'],
]
for (const [order, bytes] of orders)
  t.test(`230.12 as a float in the order ${order}`, async (t) => {
    const words = [Number.parseInt(bytes.slice(0, 4), 16), Number.parseInt(bytes.slice(4), 16)]
    const format = { type: 'float32', order } as never
    t.equal(numberOfWords(words, format), 230.12)
    t.strictSame(wordsOfNumber(230.12, format), words)
  })

t.test('what a type cannot hold is not written', async (t) => {
  const of = (type: string, number: number) => wordsOfNumber(number, { type, order: 'abcd' } as never)
  t.strictSame(
    [of('int16', -32_768), of('int16', 32_768), of('uint16', -1), of('uint32', 2 ** 32)],
    [[0x8000], undefined, undefined, undefined],
  )
  t.equal(of('float32', Number.NaN), undefined)
  t.equal(of('float32', 1e39), undefined)
})

t.test('a number that was written is read again, in every type and order', async (t) => {
  const format = fc.record({ type: fc.constantFrom(...WORD_TYPES), order: fc.constantFrom(...WORD_ORDERS) })
  const law = fc.property(format, fc.integer({ min: 0, max: 32_767 }), fc.boolean(), (of, size, isNegative) => {
    const number = isNegative && !of.type.startsWith('uint') ? -size : size
    const words = wordsOfNumber(number, of)
    return words?.length === wordCount(of) && numberOfWords(words, of) + 0 === number + 0
  })
  holds(t, law)
})

t.test('whatever comes as a reply is read or refused', async (t) => {
  const law = fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom('coil', 'holding'), (bytes, table) => {
    try {
      const read = openModbusReply(question({ table: table as never, count: 3 }), bytes)
      return read.length === 3
    } catch (error) {
      return /^modbus_/.test((error as { code: string }).code)
    }
  })
  holds(t, law)
})
