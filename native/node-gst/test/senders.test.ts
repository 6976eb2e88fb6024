import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAudioClock, type Receiver } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, frameIn, LEAD_MS, PORT, receive, recordFrom, untilPlayed } from './playing.ts'
import { compare, openFeed, packets } from './rtp-feed.ts'

const skip = gstMissing()
t.jobs = 6
const buffered = true
const stereo = { encoding: 'L24', channels: 2, framesPerPacket: 48 } as const
const PACKETS = 200

/** Who is heard, as soon as anybody is. */
async function senderOf(receiver: Receiver): Promise<string | null> {
  for (let tries = 0; tries < 200 && receiver.stats().sender === null; tries++) await sleep(5)
  return receiver.stats().sender
}

for (const { title, source, heard } of [
  { title: 'B.rules.1 where no source is named, the first sender that is heard is played', source: null, heard: 0 },
  { title: 'B.rules.1 the source that is named is played, whoever was first', source: '127.0.0.3', heard: 1 },
])
  t.test(title, { skip, buffered }, async (t) => {
    const group = `239.67.4.${heard + 1}`
    const clock = createAudioClock()
    const receiver = receive(clock, group, {
      paths: [{ group, port: PORT, interfaceAddress: '127.0.0.1', source }],
    })
    const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
    const feeds = [await openFeed(group, PORT, '127.0.0.2'), await openFeed(group, PORT, '127.0.0.3')]
    const from = frameIn(clock, LEAD_MS)
    // The other one is two seconds of sound further: what is heard says who it is.
    const streams = [
      packets(from, PACKETS, stereo),
      packets(from, PACKETS, { ...stereo, ssrc: 2, offset: -2 * 48_000 }),
    ]
    const [one = [], other = []] = streams
    // Turn by turn.
    for (const [index, packet] of one.entries()) {
      void feeds[0]?.send([packet])
      void feeds[1]?.send(other.slice(index, index + 1))
    }
    await untilPlayed(recording, clock, from + PACKETS * 48, 100)
    const { start, equal } = compare(await recording.stop(), { ...stereo, from, count: PACKETS * 48 })
    const stats = receiver.stats()
    for (const feed of feeds) feed.close()
    receiver.close()
    const addresses = ['127.0.0.2', '127.0.0.3']
    t.equal(stats.sender, addresses[heard])
    // The kernel lets nobody else in where a source is named.
    t.match(stats.wrongSource, source === null ? { count: PACKETS, address: '127.0.0.3' } : { count: 0 })
    // What the second sender says is of half a second ago, and late.
    if (heard === 0) t.ok(equal >= PACKETS * 48 - FADE_FRAMES, 'nothing of the other is in it', { equal, start })
    t.equal(stats.paths[0]?.ssrc, heard + 1)
  })

t.test('a sender that has been silent for long enough gives way to another', { skip, buffered }, async (t) => {
  const group = '239.67.4.3'
  const clock = createAudioClock()
  const receiver = receive(clock, group, { senderGoneMs: 1000 })
  const [one, other] = [await openFeed(group, PORT, '127.0.0.2'), await openFeed(group, PORT, '127.0.0.3')]
  await one.send(packets(frameIn(clock, 0), 5, stereo))
  t.equal(await senderOf(receiver), '127.0.0.2')
  for (let tries = 0; tries < 500 && receiver.stats().sender !== null; tries++) await sleep(10)
  t.equal(receiver.stats().sender, null, 'nobody')
  await other.send(packets(frameIn(clock, 0), 5, stereo))
  t.equal(await senderOf(receiver), '127.0.0.3')
  one.close()
  other.close()
  receiver.close()
})

t.test(
  'a sender that starts again, with another source number, is played after three packets',
  { skip, buffered },
  async (t) => {
    const group = '239.67.4.4'
    const clock = createAudioClock()
    const receiver = receive(clock, group)
    const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
    const feed = await openFeed(group, PORT)
    const from = frameIn(clock, LEAD_MS)
    const [before, after] = [packets(from, 100, stereo), packets(from, 200, { ...stereo, ssrc: 7 }).slice(100)]
    await feed.send([...before, ...after])
    await untilPlayed(recording, clock, from + 9600, 100)
    const { different } = compare(await recording.stop(), { ...stereo, from, count: 9600 })
    t.same(
      different.filter((frame) => frame >= FADE_FRAMES),
      Array.from({ length: 96 }, (_, frame) => 4800 + frame),
      'two packets are not believed',
    )
    t.match(receiver.stats().paths[0], { wrongSsrc: 2, ssrc: 7, lost: 0 })
    feed.close()
    receiver.close()
  },
)
