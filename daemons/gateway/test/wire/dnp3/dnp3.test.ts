import fc from 'fast-check'
import t from 'tap'
import { controlByte, openRequest, readHeaders, responseOf } from '../../../wire/dnp3/application.ts'
import { cutFrame, type LinkFrame, linkCrc, PRIMARY, sealFrame } from '../../../wire/dnp3/link.ts'
import { commandSize, encoderOf, openCommand, timeBytes, timeOfBytes } from '../../../wire/dnp3/objects.ts'
import { type Assembly, assemble, segmentsOf } from '../../../wire/dnp3/transport.ts'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const hex = (bytes: Iterable<number>) =>
  Buffer.from([...bytes])
    .toString('hex')
    .toUpperCase()

const frame: LinkFrame = {
  isFromMaster: true,
  isPrimary: true,
  frameCountBit: null,
  function: PRIMARY.unconfirmedData,
  destination: 1,
  source: 100,
  data: new Uint8Array(0),
}

t.test('IEEE 1815 9.2.5 a link frame has the checksum of its header and of each sixteen bytes', async (t) => {
  // A reset of link states from 3 to 4, as published in many captures: 05 64 05 C0 01 00 00 04 E9 21.
  t.equal(
    hex(sealFrame({ ...frame, function: PRIMARY.resetLink, destination: 1, source: 1024 })),
    '056405C001000004E921',
  )
  t.equal(linkCrc(bytesOf('056405C001000004')), 0x21e9)
  const long = sealFrame({ ...frame, data: Uint8Array.from({ length: 20 }, (_, at) => at) })
  t.equal(long.length, 10 + 18 + 6)
  t.match(cutFrame(long), {
    kind: 'frame',
    bytes: long.length,
    frame: { source: 100, destination: 1, isFromMaster: true },
  })
  for (let at = 10; at < long.length; at++)
    t.match(cutFrame(long.map((byte, index) => (index === at ? byte ^ 1 : byte))), {
      kind: 'damaged',
      bytes: long.length,
    })
  for (let at = 2; at < 10; at++)
    t.match(cutFrame(long.map((byte, index) => (index === at ? byte ^ 1 : byte))), { kind: 'damaged', bytes: 2 })
  t.equal(cutFrame(long.subarray(0, 9)), undefined)
  t.equal(cutFrame(long.subarray(0, 20)), undefined)
  t.same(cutFrame(bytesOf('00 05 05 64')), { kind: 'noise', bytes: 2 })
})

t.test('IEEE 1815 8.2 a fragment goes in segments and comes back, whatever is lost or said twice', async (t) => {
  const fragment = Uint8Array.from({ length: 600 }, (_, at) => at & 0xff)
  const segments = segmentsOf(fragment, 62)
  t.same(
    segments.map(([header = 0]) => header),
    [0x40 | 62, 63, 0x80 | 0],
  )
  const take = (all: Uint8Array[], most = 2048) => {
    let assembly: Assembly | undefined
    const whole: Uint8Array[] = []
    for (const segment of all) {
      const next = assemble(assembly, segment, most)
      assembly = next.assembly
      if (next.fragment) whole.push(next.fragment)
    }
    return whole
  }
  t.same(take(segments), [fragment])
  const [one, two, three] = segments as [Uint8Array, Uint8Array, Uint8Array]
  t.same(take([one, two, two, three]), [fragment], 'a segment that comes twice is one')
  t.same(take([one, three]), [])
  t.same(take([two, three]), [])
  t.same(take([one, one, two, three]), [fragment], 'a first one begins anew')
  t.same(take(segments, 500), [], 'beyond the bound it is dropped')
  t.same(take([new Uint8Array(0)]), [])
})

t.test('IEEE 1815 4.2.2 headers of a request are read, and what is cut off is refused', async (t) => {
  const none = () => undefined
  t.match(openRequest(bytesOf('C3 01 3C 02 06')), {
    control: { isFirst: true, isFinal: true, sequence: 3 },
    function: 1,
  })
  t.equal(openRequest(bytesOf('C3')), undefined)
  t.match(readHeaders(bytesOf('3C 02 06 3C 03 07 05 01 00 00 02 04 1E 05 01 10 01 20 01'), none), [
    { group: 60, variation: 2, range: { kind: 'all' } },
    { group: 60, variation: 3, range: { kind: 'count', count: 5 } },
    { group: 1, range: { kind: 'indices', start: 2, stop: 4 } },
    { group: 30, range: { kind: 'indices', start: 272, stop: 288 } },
  ])
  const crob = '0C 01 28 01 00 07 00 03 01 64 00 00 00 64 00 00 00 00'
  const [header] = readHeaders(bytesOf(crob), commandSize)
  t.match(header, { range: { kind: 'prefixed', indices: [7] } })
  t.same(openCommand(12, 1, 7, header?.objects[0] ?? new Uint8Array(11)), {
    kind: 'binary_output',
    index: 7,
    operation: 'latch_on',
    relay: null,
    count: 1,
    onMs: 100,
    offMs: 100,
  })
  for (const [text, message] of [
    ['3C 02', /bytes are missing/],
    ['01 00 00 05 02', /a range goes from 5 to 2/],
    ['01 00 55', /qualifier 55 is not known/],
    ['0C 01 28 01 00 07 00 03', /bytes are missing/],
    ['0C 01 28 FF FF', /announces 65535 objects/],
  ] as const)
    t.throws(() => readHeaders(bytesOf(text), commandSize), { code: 'dnp3_objects', message })
  const control = { isFirst: true, isFinal: true, wantsConfirm: true, isUnsolicited: true, sequence: 5 }
  t.equal(controlByte(control), 0xf5)
  t.equal(hex(responseOf(control, 0x8002, bytesOf('01'))), 'F582028001')
})

t.test('IEEE 1815 annex A points are encoded in the variations that are asked for', async (t) => {
  const state = { flags: 1, timeMs: 1_700_000_000_000 }
  const rows: [number, number, boolean | number, string][] = [
    [1, 0, true, '81'],
    [1, 2, false, '01'],
    [2, 2, true, '810068E5CF8B01'],
    [3, 2, 2, '81'],
    [4, 1, 1, '41'],
    [20, 1, 70_000, '0170110100'],
    [20, 6, 70_000, '7011'],
    [22, 5, 1, '01010000000068E5CF8B01'],
    [30, 1, -2, '01FEFFFFFF'],
    [30, 2, 40_000, '21FF7F'],
    [30, 4, 7, '0700'],
    [30, 5, 1.5, '010000C03F'],
    [30, 6, 1.5, '01000000000000F83F'],
    [32, 7, 1.5, '010000C03F0068E5CF8B01'],
  ]
  for (const [group, variation, value, expected] of rows)
    t.equal(hex(encoderOf(group, variation, { ...state, value })?.bytes ?? []), expected, `g${group}v${variation}`)
  t.same(encoderOf(110, 0, { ...state, value: bytesOf('414243') }), { variation: 3, bytes: [0x41, 0x42, 0x43] })
  t.equal(encoderOf(30, 99, { ...state, value: 1 }), undefined)
  t.equal(timeOfBytes(Uint8Array.from(timeBytes(1_700_000_000_123))), 1_700_000_000_123)
})

t.test('random bytes never throw anything but the named fault, and frames survive noise', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      cutFrame(bytes)
      openRequest(bytes)
      assemble({ sequence: 1, bytes }, bytes, 500)
      try {
        readHeaders(bytes, commandSize)
      } catch (error) {
        return (error as { code?: string }).code === 'dnp3_objects'
      }
      return true
    }),
    { numRuns: 3000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 250 }), fc.uint8Array({ maxLength: 30 }), (data, noise) => {
      const sealed = sealFrame({ ...frame, data })
      let bytes = Uint8Array.of(...noise.map((byte) => (byte === 5 ? 6 : byte)), ...sealed)
      for (let cut = cutFrame(bytes); cut; cut = cutFrame(bytes)) {
        if (cut.kind === 'frame') return hex(cut.frame.data) === hex(data)
        bytes = bytes.slice(cut.bytes)
      }
      return false
    }),
  )
})
