import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createAudioClock } from '#native/node-gst/index.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { catchPackets } from '#native/node-gst/test/packet-catcher.ts'
import { knownSample, knownWav } from '#native/node-gst/test/wav-file.ts'
import { secondGroupFault } from '../../../../core/sound/keys.ts'
import type { AudioSource } from '../../../../core/sound/sound.ts'
import type { FeedEvents } from '../../core/ports.ts'
import { createGstFeeds, type GstFeedsParts } from '../../io/gst-feeds.ts'

const skip = gstMissing()
const GROUP = '239.69.183.1'

const limits = {
  realtime_priority: 0,
  late_ms: 500,
  meter_ms: 20,
  tone_db: -20,
  dscp: 34,
  ttl: 1,
  payload_type: 97,
  card_fill_ms: 5,
  card_buffer_ms: 40,
  card_most_ppm: 1000,
  card_look_ms: 1000,
}

type Group = GstFeedsParts['groups'][number]

/** Feeds into a stream on loopback, and what it carries. */
async function rig(t: Test, { second, ...change }: Partial<GstFeedsParts> & { second?: Group } = {}) {
  const caught = await catchPackets(t, GROUP)
  const opener = createGstFeeds({
    ...{ clock: systemClock, audio: createAudioClock(), limits },
    stream: { encoding: 'L24', channels: 2, framesPerPacket: 48 },
    groups: [{ group: GROUP, port: caught.port }, ...(second ? [second] : [])],
    addresses: () => ['127.0.0.1'],
    cards: async () => [],
    ...change,
  })
  t.teardown(() => opener.close())
  const levels: number[][] = []
  const deaths: Fault[] = []
  const events: FeedEvents = {
    level: (peakDb) => void levels.push([...peakDb]),
    died: (why) => void deaths.push(why),
  }
  async function open(source: AudioSource) {
    const feed = await opener.open(source, events)
    t.teardown(() => feed.close())
    return feed
  }
  return { ...caught, opener, levels, deaths, open }
}

t.test(
  'a tone of 997 Hz is sent at its level, and the stream continues its counts with the next source',
  { skip },
  async (t) => {
    const { levels, open, opener, packets, until } = await rig(t)
    t.equal(opener.sent(), null)
    const feed = await open({ kind: 'tone' })
    await until(100)
    for (let tries = 0; tries < 100 && levels.length < 2; tries++) await sleep(10)
    t.ok(Math.abs((levels[1]?.[0] ?? 0) + 20) < 0.05, `peak ${levels[1]}`)
    t.equal(feed.captureMs(), null, 'a tone is not captured')
    t.match(feed.realtime(), { granted: false, text: /switched off/ })
    await feed.close()
    const first = packets.length
    const ssrc = packets[0]?.ssrc
    await open({ kind: 'tone' })
    await until(first + 50)
    t.ok(
      packets.every(
        (packet, index) => packet.ssrc === ssrc && packet.sequence === ((packets[0]?.sequence ?? 0) + index) % 65_536,
      ),
    )
    t.match(opener.sent(), { errors: 0, error: null, resyncs: 0, spacingUs: { p50: Number } })
    // A packet can arrive before its sender has counted it.
    t.ok((opener.sent()?.bytes ?? 0) >= (packets.length - 1) * 300)
  },
)

t.test('a file is sent sample by sample, repeatedly, without a gap', { skip }, async (t) => {
  const { deaths, open, opener, packets, until } = await rig(t)
  const path = join(t.testdir({}), 'a "quoted" name.wav')
  const frames = 4800
  writeFileSync(path, knownWav(frames, 2, 24))
  await open({ kind: 'file', path })
  await until(350)
  const samples = packets.flatMap(({ payload }) =>
    Array.from({ length: payload.length / 3 }, (_, index) => payload.readIntBE(index * 3, 3)),
  )
  const wrong = samples.findIndex(
    (sample, index) => sample !== knownSample(Math.floor(index / 2) % frames, index % 2, 24),
  )
  t.equal(wrong, -1, 'three times from its beginning to its end')
  t.ok(samples.length > 2 * 3 * frames)
  t.same(deaths, [])
  t.equal(opener.sent()?.resyncs, 0)
})

for (const [inFile, inStream] of [
  [1, 2],
  [2, 1],
  [2, 8],
  [8, 2],
] as const) {
  t.test(`a file of ${inFile} channels goes into a stream of ${inStream}`, { skip }, async (t) => {
    const { deaths, levels, open, packets, until } = await rig(t, {
      stream: { encoding: 'L24', channels: inStream, framesPerPacket: 48 },
    })
    const path = join(t.testdir({}), 'many.wav')
    writeFileSync(path, knownWav(4800, inFile, 16))
    await open({ kind: 'file', path })
    await until(50)
    t.same(deaths, [])
    t.equal(levels[0]?.length, inStream)
    // Channels that GStreamer would downmix stay where they are.
    const frame = packets[1]?.payload.subarray(0, 3 * inStream)
    const heard = Array.from({ length: inStream }, (_, channel) => frame?.readIntBE(channel * 3, 3))
    const sent = (channel: number) => (channel < inFile ? knownSample(48, channel, 16) * 256 : 0)
    if (inStream === 8)
      t.same(
        heard,
        heard.map((_, channel) => sent(channel)),
      )
  })
}

t.test('a source that cannot be opened is named, with the reason', { skip }, async (t) => {
  const { open } = await rig(t)
  await t.rejects(open({ kind: 'file', path: '/nonexistent.wav' }), {
    code: 'input_failed',
    message: '/nonexistent.wav: Resource not found.',
  })
  await t.rejects(open({ kind: 'alsa', name: '' }), { code: 'no_card' })
  await t.rejects(open({ kind: 'alsa', name: 'hw:7' }), {
    code: 'no_card',
    message: /^The sound card hw:7 is not there/,
  })
  const nowhere = await rig(t, {
    addresses() {
      throw new Fault('no_interface', 'no address')
    },
  })
  await t.rejects(nowhere.open({ kind: 'tone' }), { code: 'no_interface' })
  const elsewhere = await rig(t, { addresses: () => ['192.0.2.77'] })
  await t.rejects(elsewhere.open({ kind: 'tone' }), { code: 'sender_failed', message: /192\.0\.2\.77/ })
  const refused = await rig(t, { refusal: secondGroupFault('10.0.0.1', GROUP) })
  await t.rejects(refused.open({ kind: 'tone' }), {
    code: 'sender_failed',
    message: /^audio\.second_group: 10\.0\.0\.1/,
  })
  t.match(secondGroupFault(GROUP, GROUP), /is the group of the stream itself/)
  t.same([secondGroupFault('', GROUP), secondGroupFault('239.69.183.2', GROUP)], [undefined, undefined])
  const tooMuch = await rig(t, { stream: { encoding: 'L24', channels: 8, framesPerPacket: 192 } })
  await t.rejects(tooMuch.open({ kind: 'tone' }), { code: 'sender_failed', message: /4608 bytes/ })
})

t.test('a file that is not sound fails with its reason', { skip }, async (t) => {
  const { deaths, open } = await rig(t)
  await open({ kind: 'file', path: import.meta.filename }).catch((fault) => deaths.push(fault))
  for (let tries = 0; tries < 100 && deaths.length === 0; tries++) await sleep(10)
  t.match(deaths[0], { code: 'input_failed', message: /gst-feeds\.test\.ts/ })
})

t.test('a machine with another address sends from that one', { skip }, async (t) => {
  let address = '127.0.0.1'
  const { open, opener, packets, until } = await rig(t, { addresses: () => [address] })
  const feed = await open({ kind: 'tone' })
  await until(10)
  const before = opener.sent()?.packets ?? 0
  t.equal(opener.hasMoved(), false)
  address = '127.0.0.2'
  t.equal(opener.hasMoved(), true)
  await feed.close()
  await open({ kind: 'tone' })
  t.equal(opener.hasMoved(), false)
  // What the first one sent may still arrive.
  const first = packets[0]?.ssrc
  while (packets.filter(({ ssrc }) => ssrc !== first).length < 10) await until(packets.length + 1)
  t.ok((opener.sent()?.packets ?? 0) >= before + 10, 'packets sent before are counted')
  t.not(packets.at(-1)?.ssrc, first, 'a new sender is a new source. RFC 3550 8.2')
  const sent = opener.sent()?.packets ?? 0
  address = '192.0.2.77'
  await t.rejects(open({ kind: 'tone' }), { code: 'sender_failed' })
  t.ok((opener.sent()?.packets ?? 0) >= sent, 'also if there is no sender now')
  t.match(opener.sent(), { idleMs: null, lateUs: null })
})

t.test('ST 2022-7 one of two networks is enough, and the other is used once it is there', { skip }, async (t) => {
  let second: string | null = null
  const other = await catchPackets(t, '239.69.183.2')
  const { open, opener, packets, until } = await rig(t, {
    addresses: () => ['127.0.0.1', second],
    second: { group: '239.69.183.2', port: other.port },
  })
  const feed = await open({ kind: 'tone' })
  await until(20)
  t.ok(packets.length >= 20)
  t.match(opener.sent(), { errors: 0, error: null })
  t.equal(other.packets.length, 0)
  second = '127.0.0.1'
  t.equal(opener.hasMoved(), true)
  await feed.close()
  await open({ kind: 'tone' })
  await other.until(20)
  t.ok(other.packets.length >= 20)
  second = null
  t.equal(opener.hasMoved(), false, 'an unplugged network is waited for')
})
