/** Modbus TCP messages: the guide's example, streams cut at every byte, bytes that are not Modbus, random bytes. */
import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { createMbapCutter, type MbapMessage, mbapException, mbapFrame } from '../../wire/mbap.ts'

const message: fc.Arbitrary<MbapMessage> = fc.record({
  transactionId: fc.nat(65_535),
  body: fc.uint8Array({ minLength: 2, maxLength: 254 }),
})

/** The result of a stream that arrives in these pieces: messages, then the code of the fault that ended it. */
function cut(pieces: readonly Uint8Array[]) {
  const cutter = createMbapCutter()
  const messages: MbapMessage[] = []
  try {
    for (const piece of pieces) {
      cutter.feed(piece)
      for (let next = cutter.next(); next; next = cutter.next()) messages.push(next)
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { messages, fault: error.code, heldBytes: cutter.heldBytes }
  }
  return { messages, fault: undefined, heldBytes: cutter.heldBytes }
}

const plain = (messages: readonly MbapMessage[]) =>
  messages.map(({ transactionId, body }) => [transactionId, hexOf(body)])

t.test(
  'Messaging on TCP/IP V1.0b 4.4.2.1 opens the example of the guide: register 5 of unit FF, transaction 1501',
  async (t) => {
    const { messages } = cut([bytesOfHex('15 01 00 00 00 06 FF 03 00 04 00 01')])
    t.strictSame(plain(messages), [[0x1501, 'FF 03 00 04 00 01']])
  },
)

t.test('4.4.2.3 builds a reply and a refusal with the transaction id of the request', async (t) => {
  const asked = { transactionId: 0x1501, body: bytesOfHex('FF 03 00 04 00 01') }
  t.equal(hexOf(mbapFrame({ ...asked, body: bytesOfHex('FF 03 02 00 05') })), '15 01 00 00 00 05 FF 03 02 00 05')
  t.equal(hexOf(mbapException(asked, 2)), '15 01 00 00 00 03 FF 83 02')
  t.equal(hexOf(mbapException({ transactionId: 7, body: bytesOfHex('01 90') }, 1)), '00 07 00 00 00 03 01 90 01')
})

t.test('messages are recovered whole, however the stream is cut', async (t) => {
  holds(
    t,
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.nat(300), { maxLength: 12 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(mbapFrame))
      const pieces: Uint8Array[] = []
      let at = 0
      for (const length of cuts) {
        pieces.push(Uint8Array.from(stream.subarray(at, at + length)))
        at += length
      }
      pieces.push(Uint8Array.from(stream.subarray(at)))
      const { messages, fault, heldBytes } = cut(pieces)
      return fault === undefined && heldBytes === 0 && JSON.stringify(plain(messages)) === JSON.stringify(plain(sent))
    }),
  )
})

t.test('a stream cut off at any byte gives the complete messages before it, and holds the rest', async (t) => {
  const sent = [
    { transactionId: 1, body: bytesOfHex('01 03 00 00 00 0A') },
    { transactionId: 0xffff, body: bytesOfHex('F7 10 00 01 00 02 04 12 34 56 78') },
  ]
  const stream = Buffer.concat(sent.map(mbapFrame))
  for (let length = 0; length <= stream.length; length++) {
    const { messages, fault, heldBytes } = cut([Uint8Array.from(stream.subarray(0, length))])
    const whole = length >= stream.length ? 2 : length >= 12 ? 1 : 0
    t.equal(fault, undefined)
    t.equal(messages.length, whole, `${length} bytes`)
    t.equal(heldBytes, length - (whole === 2 ? stream.length : whole * 12))
  }
})

t.test('4.4.2.2 another protocol id ends the stream as soon as it is seen', async (t) => {
  t.match(cut([bytesOfHex('00 01 00 01')]), { fault: 'mbap_protocol', messages: [] })
  t.match(cut([bytesOfHex('00 01 00')]), { fault: undefined })
  t.match(cut([Buffer.from('GET / HTTP/1.1\r\n')]), { fault: 'mbap_protocol' })
})

t.test('3.1.3 a length that no Modbus message has ends the stream', async (t) => {
  for (const [length, fault] of [
    [0, 'mbap_length'],
    [1, 'mbap_length'],
    [2, undefined],
    [254, undefined],
    [255, 'mbap_length'],
    [65_535, 'mbap_length'],
  ] as const)
    t.equal(cut([Uint8Array.of(0, 1, 0, 0, length >> 8, length & 0xff)]).fault, fault, `length ${length}`)
})

t.test('complete messages before a broken one are given first', async (t) => {
  const good = mbapFrame({ transactionId: 9, body: bytesOfHex('01 03 00 00 00 0A') })
  const { messages, fault } = cut([Buffer.concat([good, bytesOfHex('00 01 00 02')])])
  t.equal(messages.length, 1)
  t.equal(fault, 'mbap_protocol')
})

t.test('random bytes only ever throw faults, and never give a message outside its limits', async (t) => {
  holds(
    t,
    fc.property(fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 4 }), (pieces) =>
      cut(pieces).messages.every(({ body }) => body.length >= 2 && body.length <= 254),
    ),
  )
})

t.test('a byte changed in a stream of messages never makes one longer than the standard allows', async (t) => {
  holds(
    t,
    fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), fc.nat(), fc.nat(255), (sent, where, byte) => {
      const stream = Uint8Array.from(Buffer.concat(sent.map(mbapFrame)))
      stream[where % stream.length] = byte
      return cut([stream]).messages.every(({ body }) => body.length >= 2 && body.length <= 254)
    }),
  )
})
