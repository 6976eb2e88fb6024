import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { createBlockPool } from '../../wire/picture-blocks.ts'
import { type Picture, PictureAssembler, type VideoCodec, withLengths } from '../../wire/pictures.ts'
import { type RtpPacket, readRtp } from '../../wire/rtp.ts'
import { h264Sets, h265Sets } from '../parameter-sets.ts'

/** A codec with units of it, and how it packs several into one packet and one into several. */
interface Sample {
  codec: VideoCodec
  sets: readonly Uint8Array[]
  key: Uint8Array
  slice: Uint8Array
  aggregateHead: number[]
  /** @param flags 0x80 for the first, 0x40 for the last */
  pieceHead(unit: Uint8Array, flags: number): number[]
}

const samples: Sample[] = [
  {
    ...{ codec: h264Sets.codec, sets: h264Sets.units, aggregateHead: [24] },
    ...{ key: Uint8Array.of(0x65, 1, 2, 3, 4, 5, 6, 7), slice: Uint8Array.of(0x41, 9, 8, 7) },
    pieceHead: ([head = 0], flags) => [(head & 0xe0) | 28, flags | (head & 0x1f)],
  },
  {
    ...{ codec: h265Sets.codec, sets: h265Sets.units, aggregateHead: [96, 1] },
    ...{ key: Uint8Array.of(0x28, 1, 2, 3, 4, 5, 6, 7), slice: Uint8Array.of(0x02, 1, 9, 8, 7) },
    pieceHead: ([head = 0, layer = 0], flags) => [98 | (head & 0x81), layer, flags | ((head >> 1) & 0x3f)],
  },
]

let sequence = 0
function packetOf(payload: Iterable<number>, timestamp: number, isMarked = false): RtpPacket {
  return { payloadType: 96, isMarked, sequence: sequence++, timestamp, source: 1, payload: Uint8Array.from(payload) }
}

function pieces({ codec, pieceHead }: Sample, unit: Uint8Array, timestamp: number, count = 2): RtpPacket[] {
  const body = unit.subarray(codec.headBytes)
  const size = Math.ceil(body.length / count)
  return Array.from({ length: count }, (_, at) => {
    const flags = (at === 0 ? 0x80 : 0) | (at === count - 1 ? 0x40 : 0)
    const part = body.subarray(at * size, (at + 1) * size)
    return packetOf([...pieceHead(unit, flags), ...part], timestamp, at === count - 1)
  })
}

function aggregate({ aggregateHead }: Sample, units: readonly Uint8Array[]): number[] {
  return [...aggregateHead, ...units.flatMap((unit) => [unit.length >> 8, unit.length & 0xff, ...unit])]
}

function stage({ codec }: Sample, known: readonly Uint8Array[], most = 1000) {
  const pictures: Picture[] = []
  const seen = { dropped: 0, mayHold: Number.POSITIVE_INFINITY }
  const assembler = new PictureAssembler(codec, known, {
    ...{ blocks: createBlockPool(0), pictureBytes: most },
    listener: {
      onPicture: (picture) => pictures.push({ ...picture, data: picture.data.slice() }),
      onDropped: () => void seen.dropped++,
      hold: (bytes) => bytes <= seen.mayHold,
    },
  })
  return { assembler, pictures, seen }
}

for (const sample of samples) {
  const { codec, key, sets, slice } = sample
  const name = codec.encoding

  t.test(`${name}: puts pictures together from single units, aggregates and pieces`, async (t) => {
    const { assembler, pictures, seen } = stage(sample, [])
    const packets = [
      packetOf(aggregate(sample, sets), 1),
      ...pieces(sample, key, 1),
      packetOf(slice, 2, true),
      packetOf(slice, 3),
      packetOf([], 3),
      packetOf(slice, 4),
    ]
    for (const packet of packets) assembler.add(packet)
    t.match(
      pictures.map(({ data, isKey, timestamp }) => ({ isKey, timestamp, data: [...data] })),
      [
        { isKey: true, timestamp: 1, data: [...withLengths([key])] },
        { isKey: false, timestamp: 2, data: [...withLengths([slice])] },
        { isKey: false, timestamp: 3, data: [...withLengths([slice])] },
      ],
      'the third ends where the next begins, as it has no mark',
    )
    t.same(pictures[0]?.sets?.units, sets)
    t.equal(pictures[0]?.sets, pictures[2]?.sets, 'the same object while nothing changed')
    t.equal(seen.dropped, 0)
  })

  t.test(`${name}: drops a picture of which a part is missing, and no other`, async (t) => {
    const { assembler, pictures, seen } = stage(sample, sets)
    const [first, middle, last] = pieces(sample, key, 1, 3)
    if (!first || !middle || !last) throw new TypeError()
    for (const packet of [middle, last, first]) assembler.add(packet)
    assembler.gap()
    assembler.add({ ...last, timestamp: 1 })
    assembler.add(packetOf(slice, 2, true))
    assembler.add({ ...first, timestamp: 3 })
    assembler.add(packetOf(slice, 3, true))
    t.same(
      pictures.map(({ timestamp }) => timestamp),
      [2],
    )
    t.equal(seen.dropped, 3, 'without its beginning, without its middle, and without its end')
    assembler.gap()
    t.equal(seen.dropped, 4, 'a whole one, as far as anybody knows')
  })

  t.test(`${name}: parameter sets are kept although a part of their picture is missing`, async (t) => {
    const { assembler, pictures } = stage(sample, [])
    for (const set of sets) assembler.add(packetOf(set, 1))
    assembler.gap()
    assembler.add(packetOf(slice, 1, true))
    assembler.add(packetOf(key, 2, true))
    t.match(pictures, [{ timestamp: 2, isKey: true, sets: { units: sets } }])
  })

  t.test(`${name}: a picture that is too large is dropped, and not held`, async (t) => {
    const { assembler, pictures, seen } = stage(sample, sets)
    const body = new Uint8Array(300)
    for (let at = 0; at < 100; at++)
      assembler.add(packetOf([...sample.pieceHead(key, at === 0 ? 0x80 : 0), ...body], 1))
    assembler.add(packetOf(slice, 1, true))
    assembler.add(packetOf(slice, 2, true))
    t.same([pictures.length, seen.dropped], [1, 1])
  })

  t.test(`${name}: a picture that is more than all cameras may hold is dropped, and the next one is not`, async (t) => {
    const { assembler, pictures, seen } = stage(sample, sets, 200_000)
    seen.mayHold = 100_000
    assembler.add(packetOf([...key, ...new Uint8Array(100_000)], 1, true))
    assembler.add(packetOf(slice, 2, true))
    t.same([pictures.length, seen.dropped], [1, 1])
    seen.mayHold = 400_000
    assembler.add(packetOf([...key, ...new Uint8Array(100_000)], 3))
    assembler.give()
    assembler.add(packetOf(slice, 3, true))
    assembler.add(packetOf(slice, 4, true))
    t.same([pictures.length, seen.dropped], [2, 2], 'as one that was given up for others')
  })

  t.test(`${name}: sets of different numbers stand side by side, and a flood of them is bounded`, async (t) => {
    const { assembler, pictures } = stage(sample, sets)
    const head = [...(sets.at(-1) ?? []).slice(0, codec.headBytes)]
    // Numbers 1 and 3 as ue(v): 010 and 00100.
    for (const bits of [0b0101_0000, 0b0010_0100]) assembler.add(packetOf([...head, bits], 1))
    assembler.add(packetOf(key, 1, true))
    t.equal(pictures[0]?.sets?.units.length, sets.length + 2)
    // 15 zeros, a one and 15 more bits.
    for (let at = 0; at < 5000; at++) assembler.add(packetOf([...head, 0, 1, at >> 7, (at << 1) & 0xff], 2))
    for (const set of sets) assembler.add(packetOf(set, 2))
    assembler.add(packetOf(key, 2, true))
    t.equal(pictures[1]?.sets?.units.length, 32)
    t.throws(() => assembler.add(packetOf([...head, ...new Uint8Array(900)], 3)), { code: 'rtp_broken' })
  })

  t.test(`${name}: packets of noise give pictures or faults, and nothing else`, async () => {
    const head = Uint8Array.of(0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1)
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 30 }), fc.boolean(), (packets, isWhole) => {
        const { assembler, pictures } = stage(sample, [], 500)
        for (const bytes of packets)
          try {
            assembler.add(readRtp(isWhole ? Uint8Array.from([...head, ...bytes]) : bytes))
          } catch (error) {
            if (!(error instanceof Fault) || error.code !== 'rtp_broken') throw error
          }
        return pictures.every(({ data }) => data.length <= 500)
      }),
    )
  })

  t.test(`${name}: a parameter set that is cut or wrong is a fault, whatever it says`, async () => {
    const number = sets.length - 2
    const good = sets[number] ?? new Uint8Array()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(good.length), fc.nat(good.length), (noise, at, length) => {
        const mutated = Uint8Array.from([...good.subarray(0, at), ...noise, ...good.subarray(at, length)])
        const all = sets.map((set, place) => (place === number ? mutated : set))
        try {
          const { height, width } = codec.factsOf(all)
          codec.writeConfig(all)
          return width >= 1 && height >= 1 && width <= 16_384 && height <= 16_384
        } catch (error) {
          return error instanceof Fault && error.code === 'bad_parameter_set'
        }
      }),
    )
  })

  t.test(`${name}: what a file says of it is read back, and cut anywhere it is none`, async (t) => {
    const config = codec.writeConfig(sets)
    t.same(codec.readConfig(config), sets)
    const short = config.length - (name === 'H264' ? 5 : 1)
    for (let length = 0; length <= short; length++)
      if (codec.readConfig(config.subarray(0, length))) t.fail(`cut at ${length}`)
  })
}

t.test('H265: units of another layer are left out', async (t) => {
  const [, sample] = samples
  if (!sample) throw new TypeError()
  const { assembler, pictures } = stage(sample, sample.sets)
  assembler.add(packetOf(sample.key, 1))
  assembler.add(packetOf([0x03, 1, 7, 7], 1))
  assembler.add(packetOf([0x02, 0x09, 7, 7], 1, true))
  t.same(pictures[0]?.data, withLengths([sample.key]))
})
