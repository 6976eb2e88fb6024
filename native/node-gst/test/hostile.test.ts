import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { createAudioClock } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, frameIn, LEAD_MS, PORT, receive, recordFrom, untilPlayed } from './playing.ts'
import { channelOf, compare, openFeed, packets, rtp } from './rtp-feed.ts'

const skip = gstMissing()
const stereo = { encoding: 'L24', channels: 2, framesPerPacket: 48 } as const

/** Datagrams that are no packet of the stream, one of each kind, by what they are counted as. */
const FORGED: Record<string, (good: Buffer) => Buffer> = {
  tooShort: () => Buffer.alloc(11, 0x80),
  version: (good) => Buffer.concat([Buffer.from([0x40]), good.subarray(1)]),
  contributors: (good) => Buffer.concat([Buffer.from([0x8f]), good.subarray(1, 40)]),
  extension: (good) => Buffer.concat([Buffer.from([0x90]), good.subarray(1, 12), Buffer.from([0, 0, 0xff, 0xff])]),
  padding: (good) => Buffer.concat([Buffer.from([0xa0]), good.subarray(1), Buffer.from([0])]),
  empty: (good) => good.subarray(0, 12),
  tooLong: (good) => Buffer.concat([good, Buffer.alloc(9216)]),
}

t.test('what is no RTP packet is counted by kind, and the sound does not hear of it', { skip }, async (t) => {
  const clock = createAudioClock()
  const group = '239.67.5.1'
  const receiver = receive(clock, group)
  const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
  const feed = await openFeed(group, PORT)
  const from = frameIn(clock, LEAD_MS)
  const all = packets(from, 200, stereo)
  const kinds = Object.keys(FORGED)
  const forged = all.map((good, index) => FORGED[kinds[index % kinds.length] ?? '']?.(good) ?? good)
  const random = Array.from({ length: 400 }, (_, index) => randomBytes(index))
  const wild = all.map((good, index) =>
    rtp({ sequence: 65_500 + index, timestamp: 0x4000_0000 * (index % 4) + good.length * index, payload: good }),
  )
  const odd = all.map((_, index) =>
    rtp({ sequence: 65_500 + index, timestamp: from % 2 ** 32, payload: randomBytes(1 + index) }),
  )
  const interspersed = all.flatMap((good, index) => [
    forged[index],
    random[2 * index],
    good,
    random[2 * index + 1],
    wild[index],
    odd[index],
  ])
  await feed.send(interspersed.filter((each) => each !== undefined))
  await untilPlayed(recording, clock, from + 9600, 100)
  const { different } = compare(await recording.stop(), { ...stereo, from, count: 9600 })
  const stats = receiver.stats()
  feed.close()
  receiver.close()
  t.ok(
    different.every((frame) => frame < FADE_FRAMES),
    'every sample of the stream is there',
    { different: different.slice(0, 20) },
  )
  for (const kind of kinds) {
    const seen = stats.paths[0]?.malformed[kind as 'version'] ?? 0
    t.ok(seen >= 28, kind, { seen })
  }
  t.ok(stats.wild > 0 && stats.wrongFormat > 0, 'and what is none of the stream', {
    wild: stats.wild,
    wrongFormat: stats.wrongFormat,
  })
})

t.test('two groups on one port do not mix', { skip }, async (t) => {
  const clock = createAudioClock()
  const [one, other] = [receive(clock, '239.67.5.2'), receive(clock, '239.67.5.3')]
  const feed = await openFeed('239.67.5.2', PORT)
  await feed.send(packets(frameIn(clock, 100), 20, stereo))
  await until('one has them', () => one.stats().packets === 20)
  t.match([one.stats().packets, other.stats().packets], [20, 0])
  feed.close()
  one.close()
  other.close()
})

t.test('what cannot be opened says which call refused it', { skip }, async (t) => {
  const clock = createAudioClock()
  const path = { group: '239.67.5.4', port: PORT, interfaceAddress: '127.0.0.1', source: null }
  const elsewhere = [{ ...path, interfaceAddress: '192.0.2.1' }]
  t.throws(() => receive(clock, '', { paths: elsewhere }), { code: 'ENODEV', syscall: 'IP_ADD_MEMBERSHIP' })
  t.throws(() => receive(clock, '', { paths: [{ ...path, group: 'here' }] }), { code: 'EINVAL' })
  t.throws(() => receive(clock, '', { paths: [] }), RangeError)
  t.throws(() => receive(clock, '', { paths: [path, path, path] }), RangeError)
  for (const channels of [-1, 81, 999]) t.throws(() => receive(clock, '239.67.5.4', { channels }), RangeError)
})

t.test('a hundred receivers leave no socket and no thread behind', { skip }, async (t) => {
  const clock = createAudioClock()
  const held = () => readdirSync('/proc/self/fd').length + readdirSync('/proc/self/task').length
  receive(clock, '239.67.5.5').close()
  const before = held()
  for (let count = 0; count < 100; count++) receive(clock, '239.67.5.5', { ringMs: 200 }).close()
  t.ok(held() <= before, 'as many as before', { before, after: held() })
})

t.test('ST 2110-30 a stream of eighty channels is played like any other', { skip }, async (t) => {
  const clock = createAudioClock()
  const format = { encoding: 'L24', channels: 80, framesPerPacket: 6 } as const
  const receivers = ['239.67.5.6', '239.67.5.7'].map((group) => receive(clock, group, format))
  const recordings = await Promise.all(
    receivers.map(({ id }, index) => recordFrom(clock, `channels=${index === 0 ? 2 : 64} receiver=${id}`)),
  )
  const feed = await openFeed('239.67.5.6', PORT)
  const from = frameIn(clock, LEAD_MS)
  await feed.send(packets(from, 800, format))
  await Promise.all(recordings.map((recording) => untilPlayed(recording, clock, from + 4800, 100)))
  const [output = new Int32Array()] = await Promise.all(recordings.map((recording) => recording.stop()))
  feed.close()
  for (const receiver of receivers) receiver.close()
  const sent = { from, count: 4800, encoding: 'L24', channels: 1, framesPerPacket: 6 } as const
  const { different } = compare(channelOf(output, 2, 0), sent)
  t.ok(
    different.every((frame) => frame < FADE_FRAMES),
    'all beyond the fade',
    { different: different.slice(0, 20) },
  )
})

t.test('a receiver that is closed keeps no sound until the collector comes round', { skip }, async (t) => {
  const clock = createAudioClock()
  const before = process.memoryUsage.rss()
  // Three megabytes each.
  for (let count = 0; count < 100; count++) {
    const receiver = receive(clock, '239.67.5.8', { ringMs: 4000 })
    receiver.close()
    receiver.close()
    receiver.setLink(1n)
    t.match([receiver.stats().packets, receiver.takeArrivals(), receiver.linkNs()], [0, null, 1n])
  }
  const grownMb = (process.memoryUsage.rss() - before) / 2 ** 20
  t.ok(grownMb < 60, 'of 300 MB', { grownMb })
})
