import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { FootageFile } from '../../../core/ports.ts'
import { createStream } from '../../../core/recording/stream.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import { alaw, h264Sets } from '../../parameter-sets.ts'

const limits = {
  ...{ reorderPackets: 8, reorderMs: 300, pictureBytes: 10_000, slewPpm: 500, toleranceMs: 2000 },
  ...{ fileMs: 60_000, groupBytes: 100_000, soundBytes: 100_000, filesPerMinute: 30 },
}

function stage() {
  const clock = fakeClock()
  const files: { bytes: Uint8Array[] }[] = []
  const stream = createStream({
    ...{ camera: 'c', clock, limits, onPicture() {} },
    wall: { at: (ms) => 1_900_000_000_000 + ms, epoch: () => 0, aheadMs: () => 0 },
    tap: { picture() {}, hear() {}, sound() {}, lost() {} },
    store: {
      isReady: () => true,
      begin({ head }): FootageFile {
        const file = { bytes: [head] }
        files.push(file)
        return { append: (bytes) => file.bytes.push(bytes) > 0, close() {} }
      },
    },
  })
  stream.onOpened({
    ...{ payloadType: 96, clockRate: 90_000, codec: h264Sets.codec, known: h264Sets.units },
    sound: { payloadType: 8, format: alaw },
  })
  const scans = () =>
    files.map(({ bytes }) => {
      const all = Buffer.concat(bytes)
      return scanMp4((offset, length) => all.subarray(offset, offset + length), all.length)
    })
  return { clock, scans, stream }
}

const packetOf = (type: number, sequence: number, timestamp: number, payload: number[]) =>
  Uint8Array.from([
    ...[0x80, 0x80 | type, (sequence >> 8) & 0xff, sequence & 0xff],
    ...[(timestamp >>> 24) & 0xff, (timestamp >>> 16) & 0xff, (timestamp >>> 8) & 0xff, timestamp & 0xff, 0, 0, 0, 1],
    ...payload,
  ])

/** Ten pictures a second with a key frame each second, and sound. @param isLost says of a picture whether it gets lost */
async function seconds(count: number, { clock, stream }: ReturnType<typeof stage>, isLost = (_: number) => false) {
  for (let at = 0; at < count * 10; at++) {
    const payload = at % 10 === 0 ? [0x65, 1, 2, 3] : [0x41, 1, 2]
    if (!isLost(at)) stream.onPacket(packetOf(96, at, at * 9000, payload), 'pictures')
    stream.onPacket(
      packetOf(
        8,
        at,
        at * 800,
        Array.from({ length: 800 }, () => at & 0xff),
      ),
      'sound',
    )
    await clock.run(100)
  }
}

t.test('what is lost is counted, and costs the pictures up to the next key frame', async (t) => {
  const all = stage()
  await seconds(6, all, (at) => at === 23)
  all.stream.onEnded()
  t.match(all.stream.counts(), { pictures: 59, lostPackets: 1, droppedPictures: 1, brokenPackets: 0 })
  const fragments = all.scans().flatMap(({ fragments }) => fragments)
  t.same(
    fragments.map(({ durationTicks }) => durationTicks / 90),
    [1000, 1000, 300, 1000, 1000, 1000],
    'the rest of the third second refers to what is missing',
  )
})

t.test('pictures and sound are in one file, and packets that make no sense are counted', async (t) => {
  const all = stage()
  await seconds(4, all)
  all.stream.onPacket(Uint8Array.of(1, 2, 3), 'pictures')
  all.stream.onPacket(packetOf(8, 40, 0, [...new Uint8Array(20_000)]), 'sound')
  all.stream.onEnded()
  t.match(all.stream.counts(), { brokenPackets: 2, lostPackets: 0 })
  t.match(
    all.scans().map(({ tracks }) => tracks?.sound?.codec),
    [undefined, 'alaw'],
    'the first key frame came before any sound',
  )
  t.equal(all.stream.sound(), undefined, 'the session is over')
})
