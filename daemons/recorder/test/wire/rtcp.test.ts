import fc from 'fast-check'
import t from 'tap'
import { createReception, readSenderReport } from '../../wire/rtcp.ts'

const u32 = (value: number) => [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
const report = [
  0x80,
  200,
  0,
  6,
  ...u32(7),
  ...u32(4_000_000_000),
  ...u32(0x8000_0000),
  ...u32(90_000),
  ...u32(1),
  ...u32(2),
]
const bye = [0x81, 203, 0, 1, ...u32(7)]

t.test('reads the report of a sender, alone or behind others', async (t) => {
  const expected = { source: 7, ntpS: 4_000_000_000.5, timestamp: 90_000 }
  t.same(readSenderReport(Uint8Array.from(report)), expected)
  t.same(readSenderReport(Uint8Array.from([...bye, ...report])), expected)
  t.equal(readSenderReport(Uint8Array.from(bye)), undefined)
  t.equal(readSenderReport(Uint8Array.from(report.slice(0, 27))), undefined)
})

t.test('reads noise without end or fault', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(report.length), (noise, at) => {
      readSenderReport(noise)
      readSenderReport(Uint8Array.from([...report.slice(0, at), ...noise]))
    }),
  )
})

function packetOf(sequence: number, timestamp: number, source = 7): Uint8Array {
  return Uint8Array.from([0x80, 96, (sequence >> 8) & 0xff, sequence & 0xff, ...u32(timestamp), ...u32(source)])
}

t.test('tells what came over the wrap of numbers, and what of the last stretch did not', async (t) => {
  const reception = createReception(99, 90_000)
  t.equal(reception.report(0), undefined)
  reception.packet(Uint8Array.of(1), 0)
  for (let at = 0; at < 100; at++)
    if (at % 10 !== 9) reception.packet(packetOf((0xffd0 + at) & 0xffff, at * 900), at * 10)
  const first = Buffer.from(reception.report(1000) ?? [])
  t.same([first.readUInt32BE(4), first.readUInt32BE(8)], [99, 7])
  t.equal(first.readUInt32BE(12) & 0xff_ffff, 9, 'the tenth comes later, if it does')
  t.equal(first.readUInt32BE(16), 0x1_0000 + 0x32, 'the highest number, with its wraps')
  t.equal(first.readUInt32BE(20), 0, 'each came when it was due')
  reception.packet(packetOf(0x33, 100 * 900), 1000)
  reception.packet(packetOf(0x34, 101 * 900), 1040)
  reception.reported({ source: 7, ntpS: 3.5, timestamp: 0 }, 1040)
  const second = Buffer.from(reception.report(2040) ?? [])
  t.equal(second.readUInt32BE(12) >>> 24, 0, 'none of these')
  t.equal(second.readUInt32BE(20), 169, 'a sixteenth of 30 ms')
  t.same([second.readUInt32BE(24), second.readUInt32BE(28)], [3.5 * 65_536, 65_536])
  reception.packet(packetOf(5, 0, 8), 3000)
  t.equal(Buffer.from(reception.report(3000) ?? []).readUInt32BE(12), 0, 'another source begins anew')
})
