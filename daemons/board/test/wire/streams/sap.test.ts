/** Tests of wire/streams/sap.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { readSap, sapHash, writeSap } from '../../../wire/streams/sap.ts'
import { dante } from './wild-sdp.ts'

const packet = { isDeletion: false, hash: 0x1234, origin: '10.0.0.7', sdp: dante }

/** A packet by its bytes: first byte, length of the authentication data, and what follows the address. */
function made(first: number, authWords: number, rest: string): Uint8Array {
  return Buffer.concat([Buffer.from([first, authWords, 0x12, 0x34, 10, 0, 0, 7]), Buffer.from(rest, 'latin1')])
}

t.test('RFC 2974 6 an announcement: version 1, hash, address, type, description', async (t) => {
  const bytes = Buffer.from(writeSap(packet))
  t.equal(bytes.subarray(0, 8).toString('hex'), '200012340a000007')
  t.equal(bytes.subarray(8, 24).toString('latin1'), 'application/sdp\0')
  t.equal(bytes.subarray(24).toString(), dante)
  t.same(readSap(bytes), packet)
})

t.test('RFC 2974 6 a deletion has its bit', async (t) => {
  const bytes = writeSap({ ...packet, isDeletion: true })
  t.equal(bytes[0], 0x24)
  t.equal(readSap(bytes).isDeletion, true)
  t.match(readSap(made(0x24, 0, '')), { isDeletion: true, sdp: '' })
  t.match(readSap(made(0x24, 0, 'o=- 1 1 IN IP4 10.0.0.7\r\n')), { isDeletion: true, sdp: /^o=/ })
})

t.test('RFC 2974 6 the type may be left out', async (t) => {
  t.equal(readSap(made(0x20, 0, dante)).sdp, dante)
})

t.test('RFC 2974 6 authentication data is skipped', async (t) => {
  t.equal(readSap(made(0x20, 2, `12345678application/sdp\0${dante}`)).sdp, dante)
  t.throws(() => readSap(made(0x20, 255, 'v=0')), { code: 'sap_malformed' })
})

t.test('a packet that is encrypted, compressed, of IPv6 or not SDP is not read', async (t) => {
  for (const bytes of [
    made(0x22, 0, dante),
    made(0x21, 0, dante),
    made(0x30, 0, dante),
    made(0x20, 0, 'text/plain\0x'),
  ])
    t.throws(() => readSap(bytes), { code: 'sap_not_read' })
})

t.test('anything that is not an announcement is refused', async (t) => {
  const rows = [made(0x00, 0, dante), made(0x40, 0, dante), made(0x20, 0, ''), made(0x20, 0, 'x'.repeat(20_000))]
  for (const bytes of [...rows, new Uint8Array(7), new Uint8Array(0)])
    t.throws(() => readSap(bytes), { code: 'sap_malformed' })
})

t.test('a hash changes with the description and is never 0', async (t) => {
  t.not(sapHash(dante), sapHash(dante.replace('1423994', '1423995')))
  fc.assert(fc.property(fc.string(), (text) => sapHash(text) > 0 && sapHash(text) <= 0xffff))
})

function isSettled(bytes: Uint8Array): boolean {
  try {
    return readSap(bytes).sdp.length <= bytes.length
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}

t.test('every truncation, every changed byte and any other bytes are read or refused', async (t) => {
  const bytes = writeSap(packet)
  for (let length = 0; length <= bytes.length; length++) t.ok(isSettled(bytes.subarray(0, length)))
  const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 8 }), (changes) => {
      const changed = Uint8Array.from(bytes)
      for (const [at, value] of changes) changed[at] = value
      return isSettled(changed)
    }),
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), isSettled))
  fc.assert(
    fc.property(fc.boolean(), fc.integer({ min: 0, max: 65_535 }), (isDeletion, hash) => {
      t.same(readSap(writeSap({ ...packet, isDeletion, hash })), { ...packet, isDeletion, hash })
    }),
  )
})
