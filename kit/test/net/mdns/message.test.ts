/** Tests of net/mdns/message.ts. */
import fc from 'fast-check'
import t from 'tap'
import { asksFor, isGoodbye, mended, mentions, openMessage } from '../../../net/mdns/message.ts'
import { announced, nameOf, placeOf, query, response, textOf } from './messages.ts'

const KIND = '_plantroom._tcp.local'
const own = { host: 'hall.local', addresses: ['10.0.0.7', 'fd00::7'] }
const ID = `hall.${KIND}`
const pointer = { name: KIND, type: 'PTR' as const, ttlS: 28_800, data: nameOf(ID) }
const place = { name: ID, type: 'SRV' as const, ttlS: 120, data: placeOf(80, 'hall.local') }
const text = { name: ID, type: 'TXT' as const, ttlS: 4500, data: textOf(['a=b']) }
const allKinds = { name: '_services._dns-sd._udp.local', type: 'PTR' as const, ttlS: 120, data: nameOf(KIND) }
const bridge = { name: 'hall.local', type: 'A' as const, ttlS: 120, data: Uint8Array.of(172, 17, 0, 1) }

function opened(bytes: Uint8Array) {
  const message = openMessage(bytes, 64)
  if (!message) throw new Error('the message does not open')
  return message
}

/** The message sent, as [type, name ends at, class, ttl, data] of each record. */
function sent(bytes: Uint8Array) {
  const out = mended(bytes, opened(bytes), own)
  if (!out) return undefined
  const view = Buffer.from(out)
  return opened(out).records.map(({ type, section, classAt, ttlS, dataAt, endAt }) => ({
    type,
    section,
    class: view.readUInt16BE(classAt),
    ttlS,
    data: view.subarray(dataAt, endAt).toString('hex'),
  }))
}

t.test('decodes a consistent message', async (t) => {
  const message = opened(announced({ id: 'a', address: '10.0.0.9' }))
  t.match(message, { isResponse: true, questions: 0, recordsAt: 12 })
  t.same(
    message.records.map(({ type }) => type),
    [12, 33, 16, 1],
  )
  t.equal(opened(query([KIND])).questions, 1)
})

t.test('does not decode a message that is cut off anywhere', async (t) => {
  const whole = announced({ id: 'a', address: '10.0.0.9' })
  for (let length = 0; length < whole.length; length++)
    t.equal(openMessage(whole.subarray(0, length), 64), undefined, `${length} of ${whole.length} bytes`)
})

t.test('does not decode one with an opcode, an error, an unknown label type, or too many entries', async (t) => {
  const whole = query([KIND, KIND, KIND])
  t.ok(openMessage(whole, 3))
  t.equal(openMessage(whole, 2), undefined)
  for (const flags of [0x2800, 0x0003]) {
    const odd = Buffer.from(whole)
    odd.writeUInt16BE(flags, 2)
    t.equal(openMessage(odd, 64), undefined)
  }
  const odd = Buffer.from(whole)
  odd[12] = 0x50
  t.equal(openMessage(odd, 64), undefined)
})

t.test('never throws, whatever the bytes', async () => {
  const mutated = fc.tuple(fc.nat(120), fc.nat(255)).map(([at, byte]) => {
    const bytes = announced({ id: 'a', address: '10.0.0.9' })
    bytes[at % bytes.length] = byte
    return Uint8Array.from(bytes)
  })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 400 }), mutated), (bytes) => {
      const message = openMessage(bytes, 64)
      mentions(bytes, ['_plantroom'])
      if (!message) return
      asksFor(bytes, message, KIND)
      isGoodbye(message)
      const out = mended(bytes, message, own)
      if (out && !openMessage(out, 128)) throw new Error('what is mended does not open')
    }),
    { numRuns: 2000 },
  )
})

t.test('finds a label in any case, and no part of one', async (t) => {
  t.equal(mentions(query(['_PlantRoom._tcp.local']), ['_plantroom']), true)
  t.equal(mentions(query(['x_plantroom._tcp.local']), ['_plantroom']), false)
})

t.test('recognises the question for our service type', async (t) => {
  const asks = (bytes: Uint8Array) => asksFor(bytes, opened(bytes), KIND)
  t.equal(asks(query([KIND])), true)
  t.equal(asks(query(['_plantroom._TCP.local'])), true)
  t.equal(asks(query([KIND, KIND])), false)
  t.equal(asks(query(['_http._tcp.local'])), false)
  t.equal(asks(response([pointer])), false)
})

t.test('a message on a link has its addresses and no others, and replaces earlier records', async (t) => {
  t.same(sent(response([pointer, place, text, allKinds, bridge])), [
    { type: 12, section: 0, class: 1, ttlS: 120, data: nameOf(ID).toString('hex') },
    { type: 33, section: 0, class: 0x8001, ttlS: 120, data: placeOf(80, 'hall.local').toString('hex') },
    { type: 16, section: 0, class: 0x8001, ttlS: 120, data: textOf(['a=b']).toString('hex') },
    { type: 12, section: 0, class: 1, ttlS: 120, data: nameOf(KIND).toString('hex') },
    { type: 1, section: 0, class: 0x8001, ttlS: 120, data: '0a000007' },
    { type: 28, section: 2, class: 0x8001, ttlS: 120, data: 'fd000000000000000000000000000007' },
  ])
})

t.test('a question for an address is answered with that of the link', async (t) => {
  t.match(sent(response([bridge])), [{ type: 1, section: 0, data: '0a000007' }])
})

t.test('a farewell withdraws the daemon, but not the machine or the service type', async (t) => {
  const bytes = response([pointer, place, text, allKinds, bridge].map((record) => ({ ...record, ttlS: 0 })))
  t.equal(isGoodbye(opened(bytes)), true)
  t.same(
    sent(bytes)?.map(({ type, ttlS }) => [type, ttlS]),
    [
      [12, 0],
      [33, 0],
      [16, 0],
    ],
  )
})

t.test('an answer with nothing left is not sent; a question is unchanged', async (t) => {
  t.equal(sent(response([{ ...bridge, ttlS: 0 }])), undefined)
  const asked = query([KIND])
  t.same(mended(asked, opened(asked), own), asked)
})
