import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { holds } from '#kit/test/holds.ts'
import { LINK_TYPES, pcapFileHead, pcapRecord } from '../../wire/pcap.ts'

/** Reads a little-endian file of microseconds, as its description says. */
function readFile(file: Uint8Array) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const records: { epochUs: number; frame: string }[] = []
  for (let at = 24; at < file.length; ) {
    const length = view.getUint32(at + 8, true)
    const epochUs = view.getUint32(at, true) * 1_000_000 + view.getUint32(at + 4, true)
    if (view.getUint32(at + 12, true) !== length) throw new Error('the record was cut')
    records.push({ epochUs, frame: hexOf(file.subarray(at + 16, at + 16 + length)) })
    at += 16 + length
  }
  return { linkType: view.getUint32(20, true), records }
}

t.test('draft-ietf-opsawg-pcap 4: the head says microseconds, version 2.4, and the type of the records', async (t) => {
  t.equal(
    hexOf(pcapFileHead(LINK_TYPES.modbusRtu)),
    'D4 C3 B2 A1 02 00 04 00 00 00 00 00 00 00 00 00 FF FF 00 00 93 00 00 00',
  )
  t.equal(readFile(pcapFileHead(LINK_TYPES.raw)).linkType, 148)
})

t.test('draft-ietf-opsawg-pcap 5: a record has seconds, microseconds, and its length twice', async (t) => {
  t.equal(
    hexOf(pcapRecord(1_700_000_001_000_002, bytesOfHex('01 83 02 C0 F1'))),
    '01 F1 53 65 02 00 00 00 05 00 00 00 05 00 00 00 01 83 02 C0 F1',
  )
})

t.test('a written file reads back frame by frame, to the microsecond', async (t) => {
  const one = fc.record({
    epochUs: fc.integer({ min: 0, max: 4_294_967_295_999_999 }),
    bytes: fc.uint8Array({ maxLength: 8192 }),
  })
  holds(
    t,
    fc.property(fc.array(one, { maxLength: 5 }), (sent) => {
      const file = Buffer.concat([
        pcapFileHead(LINK_TYPES.raw),
        ...sent.map(({ epochUs, bytes }) => pcapRecord(epochUs, bytes)),
      ])
      const wanted = sent.map(({ epochUs, bytes }) => ({ epochUs, frame: hexOf(bytes) }))
      return JSON.stringify(readFile(file).records) === JSON.stringify(wanted)
    }),
  )
})
