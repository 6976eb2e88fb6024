import t from 'tap'
import { until } from '#kit/test/until.ts'
import { createAudioClock, openPipeline } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, frameIn, LEAD_MS, PORT, receive, recordFrom, untilPlayed } from './playing.ts'
import { compare, openFeed, packets } from './rtp-feed.ts'

const skip = gstMissing()

t.test(
  'AES67 7.1, 7.2 every sample of L16 and L24, 1, 2 and 8 channels, 0.125 to 4 ms, arrives',
  { skip },
  async (t) => {
    const clock = createAudioClock()
    const formats = (['L16', 'L24'] as const).flatMap((encoding) =>
      [1, 2, 8].flatMap((channels) =>
        [6, 12, 48, 192].map((framesPerPacket) => ({ encoding, channels, framesPerPacket })),
      ),
    )
    await Promise.all(
      formats.map(async (format, index) => {
        const name = `${format.encoding} x ${format.channels}, ${format.framesPerPacket} frames a packet`
        const group = `239.67.1.${index + 1}`
        const receiver = receive(clock, group, format)
        const feed = await openFeed(group, PORT)
        const count = Math.min(100, 9600 / format.framesPerPacket)
        const from = frameIn(clock, LEAD_MS)
        const frames = count * format.framesPerPacket
        await feed.send(packets(from, count, format))
        const recording = await recordFrom(clock, `channels=${format.channels} receiver=${receiver.id}`)
        await untilPlayed(recording, clock, from + frames, 100)
        feed.close()
        const { different } = compare(await recording.stop(), { from, count: frames, ...format })
        t.ok(
          different.every((frame) => frame < FADE_FRAMES),
          `${name}: all beyond the fade`,
          { different },
        )
        const { channels } = format
        t.match(receiver.stats(), { packets: count, lost: 0, late: 0, channels, sender: '127.0.0.1' }, name)
        t.same(recording.errors, [])
        receiver.close()
      }),
    )
  },
)

t.test('a receiver that never heard anything makes way for the next one, at once', { skip }, async (t) => {
  const clock = createAudioClock()
  const format = { encoding: 'L24' as const, channels: 2, framesPerPacket: 48 }
  // As a decoder opens it: how many channels there are is found out.
  const unheard = receive(clock, '239.67.2.1', { ...format, channels: 0 })
  const receiver = receive(clock, '239.67.2.2', format)
  const recording = await recordFrom(clock, `channels=2 receiver=${unheard.id}`)
  await untilPlayed(recording, clock, frameIn(clock, 20), 0)
  recording.pipeline.set('in', 'receiver', receiver.id)
  const feed = await openFeed('239.67.2.2', PORT)
  const from = frameIn(clock, 200)
  await feed.send(packets(from, 100, format))
  await untilPlayed(recording, clock, from + 4800, 100)
  feed.close()
  const { different } = compare(await recording.stop(), { from, count: 4800, ...format })
  t.ok(
    different.every((frame) => frame < FADE_FRAMES),
    'all beyond the fade',
    { different },
  )
  for (const one of [unheard, receiver]) one.close()
})

t.test('channels set while it plays change nothing of what the pipeline has agreed on', { skip }, async (t) => {
  const description = 'plantroomrtpsrc name=in channels=2 ! fakesink name=out silent=false'
  const pipeline = openPipeline(description, { clock: createAudioClock(), realtimePriority: 0, onMessage() {} })
  t.teardown(() => pipeline.close())
  await pipeline.play()
  const blocks = () => pipeline.get('in', 'blocks') as bigint
  const played = (count: bigint) => until(`${count} blocks are played`, () => blocks() >= count)
  await played(2n)
  pipeline.set('in', 'channels', 64)
  await played(blocks() + 20n)
  // 48 frames of two channels, four bytes each.
  t.match(pipeline.get('out', 'last-message'), /\(384 bytes/)
  t.equal(pipeline.get('in', 'channels'), 64)
})
