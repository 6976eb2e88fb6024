import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAudioClock, type GstMessage, openPipeline, openSender } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { type CaughtPacket, catchPackets } from './packet-catcher.ts'
import { agoFrames, GROUP, pathTo, sending } from './sending.ts'
import { knownSample, knownWav } from './wav-file.ts'

const skip = gstMissing()
const SECOND_GROUP = '239.69.180.2'
/** By the clock that is meant, however busy the machine: clocks here step by at least 37 s. */
const NEAR_FRAMES = 10 * 48_000

/** Every sample of a packet, signed. */
function samplesOf({ payload }: CaughtPacket, bits: number): number[] {
  const bytes = bits / 8
  return Array.from({ length: payload.length / bytes }, (_, index) => payload.readIntBE(index * bytes, bytes))
}

for (const [encoding, channels, framesPerPacket] of [
  ['L24', 1, 48],
  ['L24', 2, 6],
  ['L24', 8, 48],
  ['L16', 2, 192],
] as const) {
  const bits = encoding === 'L16' ? 16 : 24
  t.test(
    `RFC 3190 4, RFC 3551 4.5.11 ${encoding} with ${channels} channels carries every sample of its source`,
    { skip },
    async (t) => {
      const { port, packets, until } = await catchPackets(t, GROUP)
      const file = join(t.testdir({}), 'known.wav')
      const count = Math.floor(9600 / framesPerPacket)
      writeFileSync(file, knownWav(count * framesPerPacket, channels, bits))
      const source = `filesrc location=${file} ! wavparse`
      const { messages } = await sending(t, source, { paths: [pathTo(port)], encoding, channels, framesPerPacket })
      await until(count)
      t.equal(packets.length, count, JSON.stringify(messages))
      const heard = packets.flatMap((packet) => samplesOf(packet, bits))
      const sent = heard.map((_, index) => knownSample(Math.floor(index / channels), index % channels, bits))
      t.ok(
        heard.every((sample, index) => sample === sent[index]),
        'each of them is the same',
      )
      t.ok(packets.every(({ payload }) => payload.length === (framesPerPacket * channels * bits) / 8))
    },
  )
}

t.test(
  'RFC 3550 5.1 packets are numbered one by one, and timestamps count frames without a gap',
  { skip },
  async (t) => {
    const { port, packets, until } = await catchPackets(t, GROUP)
    const { sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
    await until(300)
    const [first] = packets
    t.match(first, { firstByte: 0x80, hasMarker: false, payloadType: 97, ssrc: 0xdeadbeef })
    t.ok(packets.every((packet, index) => packet.sequence === ((first?.sequence ?? 0) + index) % 65_536))
    t.ok(packets.every((packet, index) => packet.timestamp === ((first?.timestamp ?? 0) + 48 * index) % 2 ** 32))
    const stats = sender.stats()
    t.match(stats, { resyncs: 0, paths: [{ packets: Number, errors: 0, error: null }] })
    t.ok(stats.packets >= 300)
    // Where the machine stood still after the packets, the sender takes up the clock anew, between two of these counts even.
    if (sender.stats().resyncs === 0) t.equal((stats.nextTimestamp ?? 0) % 48, (first?.timestamp ?? 0) % 48)
    t.equal(sender.packetBytes, 12 + 48 * 2 * 3)
  },
)

t.test('RFC 7273 5 no packet leaves before the audio clock reaches its timestamp', { skip }, async (t) => {
  const { port, packets, until } = await catchPackets(t, GROUP)
  const { clock } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  for (const count of [1, 20, 50]) {
    await until(count)
    const ago = agoFrames(clock.read().audioNs, packets.at(-1)?.timestamp ?? 0)
    t.ok(ago >= 0 && ago < NEAR_FRAMES, `${ago} frames ago`)
  }
})

t.test('ST 2022-7 two paths carry the same packets', { skip }, async (t) => {
  const one = await catchPackets(t, GROUP)
  const other = await catchPackets(t, SECOND_GROUP)
  const paths = [pathTo(one.port), pathTo(other.port, SECOND_GROUP)]
  await sending(t, 'audiotestsrc', { paths })
  await one.until(100)
  await other.until(100)
  t.same(one.packets.slice(0, 100), other.packets.slice(0, 100))
})

t.test(
  'a clock that steps is followed at once, counted once, and packets go on in their order',
  { skip },
  async (t) => {
    const { port, packets, until } = await catchPackets(t, GROUP)
    const { clock, sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
    await until(20)
    for (const [stepNs, resyncs] of [
      [37_000_000_000n, 1],
      [-1_700_000_000_000_000_000n, 2],
    ] as const) {
      const { monotonicNs, audioNs } = clock.read()
      clock.calibrate({ monotonicNs, audioNs: audioNs + stepNs, ratePpb: 0 })
      await until(packets.length + 60)
      t.equal(sender.stats().resyncs, resyncs)
      const ago = agoFrames(clock.read().audioNs, packets.at(-1)?.timestamp ?? 0)
      t.ok(ago >= 0 && ago < NEAR_FRAMES, `${ago} frames ago`)
    }
    t.ok(packets.every(({ sequence }, index) => sequence === ((packets[0]?.sequence ?? 0) + index) % 65_536))
  },
)

t.test('a clock that runs faster is followed without beginning anew', { skip }, async (t) => {
  const { port, packets, until } = await catchPackets(t, GROUP)
  const { clock, sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(20)
  const { monotonicNs, audioNs } = clock.read()
  // Half a per mille, and a correction of a quarter of a packet.
  clock.calibrate({ monotonicNs, audioNs: audioNs + 250_000n, ratePpb: 500_000 })
  await until(packets.length + 200)
  t.equal(sender.stats().resyncs, 0)
})

t.test('a source that comes too late begins anew, and what it sends then is in time', { skip }, async (t) => {
  const { port, packets, until } = await catchPackets(t, GROUP)
  const clock = createAudioClock()
  const options = { encoding: 'L24' as const, channels: 1, framesPerPacket: 48, payloadType: 97, ssrc: 1 }
  const sender = openSender({ ...options, clock, paths: [pathTo(port)], mostLateMs: 30 })
  // A buffer of 200 ms, and the next one 100 ms after it should have come.
  const caps = 'audio/x-raw,format=S24BE,rate=48000,channels=1'
  const source = `audiotestsrc samplesperbuffer=9600 ! ${caps} ! identity name=brake sleep-time=300000`
  const pipeline = openPipeline(`${source} ! plantroomrtpsink sender=${sender.id}`, {
    clock,
    realtimePriority: 0,
    onMessage() {},
  })
  t.teardown(async () => {
    await pipeline.close()
    sender.close()
  })
  await pipeline.play()
  await until(500)
  t.ok(sender.stats().resyncs >= 1, `${sender.stats().resyncs} times`)
  t.ok(packets.length >= 500)
})

t.test('a source that was held up is caught up with, and no frame is left out', { skip }, async (t) => {
  const { port, packets, until } = await catchPackets(t, GROUP)
  const source = 'audiotestsrc ! identity name=brake'
  const { pipeline, sender } = await sending(t, source, { paths: [pathTo(port)], mostLateMs: 1000 })
  await until(100)
  pipeline.set('brake', 'sleep-time', 150_000)
  await sleep(40)
  pipeline.set('brake', 'sleep-time', 0)
  await until(packets.length + 800)
  t.equal(sender.stats().resyncs, 0)
  t.ok(packets.every((packet, index) => packet.timestamp === ((packets[0]?.timestamp ?? 0) + 48 * index) % 2 ** 32))
})

t.test('a source that has lost time begins anew after a second in which nothing was in time', { skip }, async (t) => {
  const { port, until } = await catchPackets(t, GROUP)
  // A millisecond of sound every millisecond and a quarter.
  const source = 'audiotestsrc samplesperbuffer=48 ! identity sleep-time=1250'
  const { sender } = await sending(t, source, { paths: [pathTo(port)], mostLateMs: 1000 })
  await until(200)
  t.equal(sender.stats().resyncs, 0)
  await until(1400)
  t.ok(sender.stats().resyncs >= 1, `${sender.stats().resyncs} times`)
})

t.test('how late packets left, and how they were spaced, is told', { skip }, async (t) => {
  const { port, until } = await catchPackets(t, GROUP)
  const { sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(100)
  const { lateUs, spacingUs } = sender.stats()
  t.match(spacingUs, { p50: Number, p99: Number, max: Number })
  t.ok(lateUs !== null && lateUs.p50 >= 0 && lateUs.p50 <= lateUs.p99 && lateUs.p99 <= lateUs.max)
})

t.test('a pipeline that stops, and one whose sender is gone, end', { skip }, async (t) => {
  const { port, until } = await catchPackets(t, GROUP)
  const { sender, pipeline } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(10)
  await pipeline.close()
  sender.close()
  t.throws(() => sender.stats(), { code: 'closed' })
  const messages: GstMessage[] = []
  const late = openPipeline(`audiotestsrc ! plantroomrtpsink sender=${sender.id}`, {
    clock: createAudioClock(),
    realtimePriority: 0,
    onMessage: (message) => void messages.push(message),
  })
  await t.rejects(late.play(), { code: 'gst_play', message: /There is no sender \d+/ })
  await late.close()
})

t.test('what cannot be sent is refused or counted', { skip }, async (t) => {
  const clock = createAudioClock()
  const base = { clock, encoding: 'L24' as const, channels: 2, payloadType: 97, ssrc: 1, mostLateMs: 20 }
  t.throws(() => openSender({ ...base, framesPerPacket: 192, channels: 8, paths: [pathTo(5004)] }), {
    message: '4608 bytes of sound a packet, at most 1440 fit',
  })
  const elsewhere = { ...pathTo(5004), interfaceAddress: '192.0.2.7' }
  t.throws(() => openSender({ ...base, framesPerPacket: 48, paths: [elsewhere] }), { code: 'EADDRNOTAVAIL' })
  t.throws(() => openSender({ ...base, framesPerPacket: 48, paths: [{ ...pathTo(5004), group: 'nowhere' }] }), {
    code: 'EINVAL',
  })
  // Nobody listens there: the machine says so to a socket that is connected.
  const { sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(9, '127.0.0.1')] })
  for (let tries = 0; tries < 100 && (sender.stats().paths[0]?.errors ?? 0) === 0; tries++) await sleep(10)
  const [path] = sender.stats().paths
  t.ok((path?.errors ?? 0) > 0, JSON.stringify(path))
})
