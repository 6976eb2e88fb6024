import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { dataCrc, decodeExtended, encodeExtended, headerCrc } from '../../../wire/mstp/checks.ts'
import {
  encodeMstpFrame,
  FRAME_TYPES,
  frameOfSend,
  frameTypeName,
  frameTypeOf,
  isExtended,
  type MstpFrame,
  type MstpSend,
  readMstpFrame,
} from '../../../wire/mstp/frame.ts'
import { npduOf } from '../../../wire/mstp/npdu.ts'
import { golden, goldenExtended } from './golden.ts'

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

t.test('Annex G.1: the register of the header CRC after each octet of a token from 5 to 16', async (t) => {
  const octets = [0x00, 0x10, 0x05, 0x00, 0x00, 0x8c]
  const registers: number[] = []
  octets.reduce((register, octet) => {
    registers.push(headerCrc(register, octet))
    return registers.at(-1) ?? 0
  }, 0xff)
  t.same(registers, [0x55, 0xc2, 0xbc, 0x95, 0x73, 0x55])
})

t.test('Annex G.2: the register of the data CRC after each octet of 01 22 30', async (t) => {
  const registers: number[] = []
  for (const octet of [0x01, 0x22, 0x30, 0x10, 0xbd]) registers.push(dataCrc(registers.at(-1) ?? 0xffff, octet))
  t.same(registers, [0x1e0e, 0xeb70, 0x42ef, 0x0f3a, 0xf0b8])
})

for (const { decoded, hex, title } of golden)
  t.test(`9.3 ${title}`, async (t) => {
    const frame = readMstpFrame(bytesOf(hex))
    t.match({ ...frame, frameType: frameTypeName(frame.frameType), data: hexOf(frame.data) }, decoded)
    t.equal(hexOf(encodeMstpFrame(frame)), hex, 'and made again it is the same')
  })

t.test('9.10 an extended frame has the octets that another implementation gives it', async (t) => {
  const data = Uint8Array.from({ length: 520 }, (_, at) => at % 251)
  const frame = encodeMstpFrame({ frameType: 32, destination: 9, source: 3, data })
  t.equal(frame.length, goldenExtended.bytes)
  t.equal(createHash('sha256').update(frame).digest('hex'), goldenExtended.sha256)
  t.same(readMstpFrame(frame).data, data)
})

t.test('Annex T: data of every length and kind pass COBS and CRC-32K, and no octet is the preamble', async (t) => {
  const kinds = [(at: number) => at % 256, () => 0, () => 1, () => 0x55, (at: number) => (at * 7919) % 251]
  for (const kind of kinds)
    for (const length of [1, 2, 253, 254, 255, 256, 508, 509, 1496, 1497]) {
      const data = Uint8Array.from({ length }, (_, at) => kind(at))
      const encoded = encodeExtended(data)
      t.equal(Buffer.compare(decodeExtended(encoded), data), 0, `${length} octets`)
      t.notOk(encoded.includes(0x55))
      t.ok(encoded.length <= length + Math.ceil(length / 254) + 5)
    }
})

const frames: fc.Arbitrary<MstpFrame> = fc
  .record({
    frameType: fc.constantFrom(...Object.values(FRAME_TYPES), 128, 200, 255),
    destination: fc.nat(255),
    source: fc.nat(254),
    data: fc.uint8Array({ minLength: 2, maxLength: 501 }),
  })
  .map((frame) => frame)

t.test('9.3 what is encoded is read as it was', async () => {
  fc.assert(
    fc.property(frames, (frame) => {
      const read = readMstpFrame(encodeMstpFrame(frame))
      return (
        Buffer.compare(read.data, frame.data) === 0 && hexOf(encodeMstpFrame(read)) === hexOf(encodeMstpFrame(frame))
      )
    }),
    { numRuns: 500 },
  )
})

/** Reads it, and counts what came of it. @returns whether it was read, or refused by a name of its own */
function isNamed(read: () => unknown, counts: { read: number; refused: number }): boolean {
  try {
    read()
    counts.read++
    return true
  } catch (error) {
    counts.refused++
    return error instanceof Fault && error.code.startsWith('mstp_')
  }
}

t.test('random bytes and golden frames with changed octets are read, or refused by name', async (t) => {
  const random = { read: 0, refused: 0 }
  const changed = { read: 0, refused: 0 }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => isNamed(() => readMstpFrame(bytes), random)),
    { numRuns: 3000 },
  )
  t.same(random, { read: 0, refused: 3000 }, 'random bytes are no frame')
  const change = fc.record({ at: fc.nat(golden.length - 1), place: fc.nat(80), value: fc.nat(255), cut: fc.nat(80) })
  fc.assert(
    fc.property(change, ({ at, cut, place, value }) => {
      const bytes = bytesOf(golden[at]?.hex ?? '')
      bytes[place % bytes.length] = value
      return isNamed(() => npduOf(readMstpFrame(bytes.subarray(0, bytes.length - (cut % 3)))), changed)
    }),
    { numRuns: 3000 },
  )
  t.equal(changed.read + changed.refused, 3000)
  t.ok(changed.refused > 2000, `${changed.refused} of the changed ones are refused`)
})

t.test('a changed octet is never taken for another frame', async (t) => {
  for (const { hex } of golden) {
    const bytes = bytesOf(hex)
    for (const [place] of bytes.entries())
      for (const flip of [0x01, 0x80, 0xff]) {
        const damaged = bytes.slice()
        damaged[place] = (damaged[place] ?? 0) ^ flip
        t.throws(() => readMstpFrame(damaged), `${hex} at ${place}`)
      }
  }
})

const flaws: [string, string, string][] = [
  ['55 FF 00 10 05 00 00', 'mstp_short', 'header is cut'],
  ['55 FE 00 10 05 00 00 8C', 'mstp_preamble', 'preamble is wrong'],
  ['55 FF 00 10 05 00 00 8D', 'mstp_header_crc', 'checksum of the header is wrong'],
  ['55 FF 06 FF 00 00 03 42 01 22 30 11 BD', 'mstp_header_crc', 'header is another'],
  ['55 FF 00 10 05 00 00 8C 00', 'mstp_length', 'something follows that is no padding'],
]
for (const [hex, code, title] of flaws)
  t.test(`a frame whose ${title} is refused as ${code}`, async (t) => {
    t.throws(() => readMstpFrame(bytesOf(hex)), { code })
  })

t.test('octets FF after a frame are padding (9.3)', async (t) => {
  t.match(readMstpFrame(bytesOf('55 FF 00 10 05 00 00 8C FF')), { frameType: 0, destination: 16, source: 5 })
})

t.test('data beyond what a type carries are refused', async (t) => {
  const frame = { destination: 1, source: 2, data: new Uint8Array(502) }
  t.throws(() => encodeMstpFrame({ ...frame, frameType: 5 }), { code: 'mstp_length' })
  t.doesNotThrow(() => encodeMstpFrame({ ...frame, frameType: 32 }))
  t.throws(() => encodeMstpFrame({ ...frame, frameType: 32, data: new Uint8Array(1498) }), { code: 'mstp_length' })
  t.throws(() => encodeMstpFrame({ ...frame, frameType: 32, data: new Uint8Array(0) }), { code: 'mstp_length' })
})

t.test('each type has the name that the standard gives it, and is found by it', async (t) => {
  for (const [name, type] of Object.entries(FRAME_TYPES)) {
    t.equal(frameTypeName(type), name)
    t.equal(frameTypeOf(name), type)
  }
  t.equal(frameTypeName(200), 'PROPRIETARY_200')
  t.equal(frameTypeOf('PROPRIETARY_200'), 200)
  t.equal(frameTypeName(40), 'RESERVED_40')
  for (const name of ['RESERVED_40', 'PROPRIETARY_127', 'PROPRIETARY_256', 'toString', ''])
    t.equal(frameTypeOf(name), undefined)
  t.ok(isExtended(32) && isExtended(127) && !isExtended(31) && !isExtended(128))
})

t.test('A.protocol-bodies.bacnet-mstp a frame is given by its parts, or whole', async (t) => {
  const parts = { frameType: 'BACNET_DATA_EXPECTING_REPLY', destination: 9, source: 3 }
  const wanted = { frameType: 5, destination: 9, source: 3, data: Uint8Array.of(1, 0x22, 0x30) }
  t.same(frameOfSend({ ...parts, dataHex: '01 22 30' }, 3), wanted)
  t.same(frameOfSend({ ...parts, dataHex: '012230' }, 3), wanted, 'pairs may run together')
  t.same(frameOfSend({ ...parts, source: undefined, dataHex: '01 22 30' }, 3), wanted, 'from this node')
  t.same(frameOfSend({ frameHex: hexOf(encodeMstpFrame(wanted)) }, 7), wanted)
  t.same(frameOfSend({ ...parts, dataHex: '' }, 3).data.length, 0)
})

const refused: [MstpSend, string, RegExp][] = [
  [{}, 'bad_send', /neither frameHex nor/],
  [{ frameType: 'BACNET_DATA_EXPECTING_REPLY' }, 'bad_send', /neither/],
  [{ frameHex: '55 FF', destination: 4 }, 'bad_send', /both frameHex and destination/],
  [{ frameType: 'DATA', destination: 1 }, 'bad_send', /no frame type "DATA"/],
  [{ frameType: 'TOKEN', destination: 1 }, 'bad_send', /break the ring/],
  [{ frameType: 'REPLY_POSTPONED', destination: 1 }, 'bad_send', /break the ring/],
  [{ frameHex: '55 FF 00 10 05 00 00 8C' }, 'bad_send', /TOKEN/],
  [{ frameType: 'TEST_REQUEST', destination: 3, source: 3 }, 'bad_send', /to itself/],
  [{ frameType: 'TEST_REQUEST', destination: 3, source: 255 }, 'bad_send', /everybody/],
  [{ frameType: 'PROPRIETARY_128', destination: 1, dataHex: '01' }, 'bad_send', /two bytes/],
  [{ frameType: 'TEST_REQUEST', destination: 1, dataHex: '01 0' }, 'bad_hex', /position/],
  [{ frameType: 'TEST_REQUEST', destination: 1, dataHex: '010' }, 'bad_hex', /position/],
  [{ frameHex: '55 FF 05 09 03 00 00 00' }, 'mstp_header_crc', /CRC-8/],
]
for (const [body, code, sentence] of refused)
  t.test(`rest/send with ${JSON.stringify(body)} is refused`, async (t) => {
    t.throws(() => frameOfSend(body, 7), { code, message: sentence })
  })
