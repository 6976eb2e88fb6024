import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { H264Assembler, type Picture } from '../../wire/h264.ts'
import { readSps } from '../../wire/h264-sps.ts'
import { type RtpPacket, readRtp } from '../../wire/rtp.ts'

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
/** Of x264: 320 x 240, High profile, 15 a second. */
const sps = bytesOf('6764000cacb40a0fd80880000003008000000f478a1550')
const pps = bytesOf('68ef0fcb')
const idr = Uint8Array.from([0x65, 1, 2, 3, 4, 5, 6, 7])
const slice = Uint8Array.from([0x41, 9, 8, 7])

let sequence = 0
function packetOf(payload: Iterable<number>, timestamp: number, isMarked = false): RtpPacket {
  return { payloadType: 96, isMarked, sequence: sequence++, timestamp, source: 1, payload: Uint8Array.from(payload) }
}

function pieces(unit: Uint8Array, timestamp: number): RtpPacket[] {
  const [head = 0, ...body] = unit
  const half = body.length >> 1
  const of = (flags: number, part: number[], isLast: boolean) =>
    packetOf([(head & 0xe0) | 28, flags | (head & 0x1f), ...part], timestamp, isLast)
  return [of(0x80, body.slice(0, half), false), of(0x40, body.slice(half), true)]
}

function shown(pictures: Picture[]) {
  return pictures.map(({ isKey, sets, timestamp, units }) => ({
    isKey,
    timestamp,
    units: units.map((unit) => [...unit]),
    sets,
  }))
}

t.test('puts pictures together from single units, aggregates and pieces', async (t) => {
  const assembler = new H264Assembler([], 1000)
  const stap = [24, 0, sps.length, ...sps, 0, pps.length, ...pps]
  const packets = [
    packetOf(stap, 1),
    ...pieces(idr, 1),
    packetOf(slice, 2, true),
    packetOf(slice, 3),
    packetOf(slice, 4),
  ]
  const pictures = shown(packets.flatMap((packet) => assembler.add(packet)))
  t.match(
    pictures,
    [
      { isKey: true, timestamp: 1, units: [[...idr]] },
      { isKey: false, timestamp: 2, units: [[...slice]] },
      { isKey: false, timestamp: 3, units: [[...slice]] },
    ],
    'the third ends where the next begins, as it has no mark',
  )
  t.same(pictures[0]?.sets, { sps, pps })
  t.equal(pictures[0]?.sets, pictures[2]?.sets, 'the same object while nothing changed')
  t.equal(assembler.dropped(), 0)
})

t.test('drops a picture of which a part is missing, and no other', async (t) => {
  const assembler = new H264Assembler([sps, pps], 1000)
  const [first, second] = pieces(idr, 1)
  if (!first || !second) throw new TypeError()
  t.same(assembler.add(second), [], 'its beginning is missing')
  t.same(assembler.add(first), [])
  assembler.gap()
  t.same(assembler.add(packetOf(slice, 2, true)).length, 1)
  t.same(assembler.add(packetOf([28], 3, true)), [])
  t.equal(assembler.dropped(), 3)
})

t.test('a picture that is too large is dropped, and not held', async (t) => {
  const assembler = new H264Assembler([sps, pps], 1000)
  for (let times = 0; times < 100; times++) assembler.add(packetOf([28, times === 0 ? 0x85 : 5, ...idr, ...idr], 1))
  t.same(assembler.add(packetOf(slice, 1, true)), [])
  t.equal(assembler.dropped(), 1)
})

t.test('reads size, rate and codec of a parameter set', async (t) => {
  t.match(readSps(sps), { width: 320, height: 240, codec: 'avc1.64000c', fps: 15, colours: [1, 0, 0] })
  // 1920 x 1080, whose last macroblocks are cropped; Baseline profile without a rate.
  t.match(readSps(bytesOf('6742c028d900780227e584000003000400000300 f03c60c920')), {
    width: 1920,
    height: 1080,
    codec: 'avc1.42c028',
  })
})

t.test('a parameter set that is cut or wrong is a fault, whatever it says', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(sps.length), fc.nat(sps.length), (noise, at, length) => {
      const mutated = Uint8Array.from([...sps.subarray(0, at), ...noise, ...sps.subarray(at, length)])
      try {
        const { height, width } = readSps(mutated)
        if (width < 1 || height < 1 || width > 16_384 || height > 16_384) throw new TypeError(`${width} x ${height}`)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
})

t.test('packets of noise give pictures or faults, and nothing else', async () => {
  const head = Uint8Array.of(0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1)
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 30 }), fc.boolean(), (packets, isWhole) => {
      const assembler = new H264Assembler([], 500)
      for (const bytes of packets)
        try {
          const packet = readRtp(isWhole ? Uint8Array.from([...head, ...bytes]) : bytes)
          for (const { units } of assembler.add(packet))
            if (units.reduce((sum, { length }) => sum + length, 0) > 500) throw new TypeError('too large')
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
    }),
  )
})
