/** Messages, telegrams and values of KNX. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import {
  connectRequest,
  groupTelegram,
  groupText,
  isKnxType,
  knxValue,
  readGroup,
  readKnxMessage,
  readKnxValue,
  readTelegram,
  tunnelRequest,
} from '../../wire/knx.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytes = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

t.test('asks for a tunnel to the link layer, answers to where it came from', async (t) => {
  t.equal(hex(connectRequest()), '06100205001a0801000000000000080100000000000004040200')
})

t.test('a telegram of six bits and one of bytes', async (t) => {
  t.equal(hex(groupTelegram('write', 0x0901, Uint8Array.of(1))), '1100bce0000009010100' + '81')
  t.equal(hex(groupTelegram('write', 0x0901, Uint8Array.of(0x0c, 0x1a), false)), '1100bce0000009010300800c1a')
  t.equal(hex(groupTelegram('read', 0x0901)), '1100bce00000090101' + '0000')
})

t.test('reads messages, and telegrams with what interfaces add before them', async (t) => {
  const said = readKnxMessage(tunnelRequest(7, 3, groupTelegram('write', 0x0901, Uint8Array.of(1))))
  t.match(said, { service: 0x0420, channel: 7, sequence: 3 })
  t.match(readTelegram(said?.cemi ?? new Uint8Array()), {
    kind: 'request',
    service: 'write',
    group: 0x0901,
    data: Uint8Array.of(1),
  })
  t.match(readTelegram(bytes('29 03 010203 bce0 1105 0901 01 00 41')), { kind: 'indication', service: 'response' })
  t.match(readTelegram(bytes('2e 00 bde0 1105 0901 01 00 81')), { kind: 'confirm', isFailed: true })
  t.match(readKnxMessage(bytes('0610 0206 0014 15 00 0801c0a8010a0e57 04041102')), {
    channel: 0x15,
    status: 0,
    dataPort: 3671,
  })
  t.match(readKnxMessage(bytes('0610 0206 0008 00 24')), { status: 0x24, dataPort: 0 })
  t.equal(readTelegram(bytes('29 00 bc60 1105 0901 01 00 81')), undefined, 'a single device is not a group')
})

t.test('group addresses of three levels and of two', async (t) => {
  t.equal(readGroup('1/1/1'), 0x0901)
  t.equal(readGroup('1/257'), 0x0901)
  t.equal(groupText(0x0901), '1/1/1')
  for (const text of ['', '1', '0/0/0', '32/0/1', '1/8/1', '1/1/256', '1/2048', '1/1/1/1', 'a/b/c', '-1/1/1'])
    t.equal(readGroup(text), undefined, text)
})

// @source KNX Standard 3/7/2: the worked values of each type
const values: [string, number | boolean, string][] = [
  ['1.001', true, '01'],
  ['5.001', 0, '00'],
  ['5.001', 100, 'ff'],
  ['5.003', 360, 'ff'],
  ['5.010', 129, '81'],
  ['6.010', -2, 'fe'],
  ['7.001', 65_535, 'ffff'],
  ['8.001', -1, 'ffff'],
  ['9.001', 21.5, '0c33'],
  ['9.001', -30, '8a24'],
  ['9.001', 0.01, '0001'],
  ['12.001', 4_294_967_295, 'ffffffff'],
  ['13.001', -2_147_483_648, '80000000'],
  ['14.056', 1.5, '3fc00000'],
  ['17.001', 5, '05'],
]
for (const [type, value, data] of values)
  t.test(`${value} of type ${type} is ${data}`, async (t) => {
    t.equal(hex(knxValue(type, value).data), data)
    t.equal(readKnxValue(type, bytes(data)), value)
  })

t.test('a value beyond its type is refused, and data of another size or without a value is none', async (t) => {
  for (const [type, value] of [
    ['5.001', 101],
    ['9.001', 700_000],
    ['17.001', 64],
    ['14.000', Number.NaN],
    ['99.001', 1],
  ] as const)
    t.throws(() => knxValue(type, value), { code: 'driver_value' })
  t.equal(readKnxValue('9.001', bytes('7fff')), undefined)
  t.equal(readKnxValue('9.001', bytes('0c')), undefined)
  t.equal(readKnxValue('14.001', bytes('7fc00000')), undefined)
  t.ok(isKnxType('9') && !isKnxType('16.000') && !isKnxType('__proto__') && !isKnxType('9.'))
})

t.test('a number of two bytes is as near as its exponent allows', async (t) => {
  const law = fc.property(fc.double({ min: -671_088, max: 670_433, noNaN: true }), (value) => {
    const read = readKnxValue('9.001', knxValue('9.001', value).data)
    return typeof read === 'number' && Math.abs(read - value) <= Math.max(0.0051, Math.abs(value) / 1000)
  })
  holds(t, law)
})

t.test('whatever bytes come, they are read or they are none', async (t) => {
  const law = fc.property(fc.uint8Array({ maxLength: 40 }), (some) => {
    const framed = Uint8Array.from([6, 0x10, 4, 0x20, 0, some.length + 6, ...some])
    for (const one of [some, framed]) {
      const message = readKnxMessage(one)
      if (message) readTelegram(message.cemi)
    }
    readTelegram(some)
    for (const type of ['1', '5.001', '9', '14']) readKnxValue(type, some)
    return true
  })
  holds(t, law)
})
