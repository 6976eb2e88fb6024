import t from 'tap'
import { createAudioClock } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, frameIn, LEAD_MS, PORT, receive, recordFrom, untilPlayed } from './playing.ts'
import { channelOf, openFeed, packets, type Stream, sharpest } from './rtp-feed.ts'

const skip = gstMissing()
// Each waits for sound to be played: they do so side by side.
t.jobs = 2
const stereo = { encoding: 'L24', channels: 2, framesPerPacket: 48 } as const

/** Chance that is the same in every run. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** 997 Hz at -20 dB, as whole numbers of 24 bits. */
const tone: Stream['sound'] = (frame) =>
  Math.round(0.1 * 2 ** 23 * Math.sin((2 * Math.PI * 997 * (frame % 48_000)) / 48_000))

for (const { title, losses, group } of [
  { title: 'ST 2022-7 of a stream on two paths nothing is missing where one loses 1 %', losses: [0.01, 0], group: 5 },
  {
    title: 'ST 2022-7 where both paths lose 5 %, what both lost is stood in for without a click',
    losses: [0.05, 0.05],
    group: 7,
  },
])
  t.test(title, { skip, buffered: true }, async (t) => {
    const clock = createAudioClock()
    const groups = [`239.67.4.${group}`, `239.67.4.${group + 1}`]
    const receiver = receive(clock, groups[0] ?? '', {
      paths: groups.map((each) => ({ group: each, port: PORT, interfaceAddress: '127.0.0.1', source: null })),
      ringMs: 8000,
    })
    const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
    const feeds = await Promise.all(groups.map((each) => openFeed(each, PORT)))
    const from = frameIn(clock, LEAD_MS)
    const count = 2000
    const random = chance(7)
    const lost = losses.map((loss) =>
      Array.from({ length: count }, (_, index) => index > 20 && index < count - 40 && random() < loss),
    )
    const all = packets(from, count, { ...stereo, sound: tone })
    await Promise.all(feeds.map((feed, path) => feed.send(all.filter((_, index) => !lost[path]?.[index]))))
    await untilPlayed(recording, clock, from + count * 48, 100)
    const sound = channelOf(await recording.stop(), 2, 0)
    const stats = receiver.stats()
    const onBoth = all.filter((_, index) => lost.every((each) => each[index])).length
    for (const feed of feeds) feed.close()
    receiver.close()
    t.match(stats, { packets: count - onBoth, lost: onBoth, late: 0 })
    for (const [path, each] of lost.entries())
      t.match(stats.paths[path], { lost: each.filter(Boolean).length, duplicate: 0 }, `path ${path} has its own count`)
    t.ok(onBoth / count < 0.003, 'under 0.3 % are missing', { onBoth })
    // Where the output is the tone, and from there what is off is the receiver's making.
    const expected = (frame: number) => tone(from + frame, 0, 'L24') << 8
    const isHere = (at: number) => [500, 501, 502, 503].every((frame) => sound[at + frame] === expected(frame))
    const first = sound.findIndex((_, at) => isHere(at))
    t.ok(first >= 0, 'the tone is in the output')
    const off = new Int32Array((count - 10) * 48)
    for (let at = FADE_FRAMES; at < off.length; at++) off[at] = (sound[first + at] ?? 0) - expected(at)
    t.ok(sharpest(off.subarray(FADE_FRAMES)) < 0.001, 'no click above -60 dB', { sharpest: sharpest(off) })
    const wrong = off.filter((sample) => sample !== 0).length
    t.ok(wrong <= onBoth * 48, 'no frame is touched that came', { wrong, onBoth })
    if (onBoth > 0) t.ok(wrong > 0, 'the test sees what is stood in for')
  })
