import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { type AudioClock, createAudioClock, type Receiver } from '../index.ts'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, frameIn, LEAD_MS, PORT, playedFor, receive, recordFrom, untilPlayed } from './playing.ts'
import { channelOf, compare, openFeed, packets, placesOf, type Stream, sampleOf, sharpest } from './rtp-feed.ts'

const skip = gstMissing()
// Each waits for sound to be played: they do so side by side.
t.jobs = 6
const buffered = true

const stereo = { encoding: 'L24', channels: 2, framesPerPacket: 48 } as const
/** -60 dB. */
const CLICK = 0.001
const FULL = 2 ** 31

/** Sound that stands still, at a part of full scale: whatever moves then is of the playout's making. */
function still(level: number): Stream['sound'] {
  return () => Math.round(level * 2 ** 23)
}

/** Sends so many milliseconds of a stream, ahead of its time. */
async function feedFrom(clock: AudioClock, group: string, stream: Stream & { ms: number }) {
  const feed = await openFeed(group, PORT)
  const from = frameIn(clock, LEAD_MS)
  await feed.send(packets(from, stream.ms, stream))
  feed.close()
  return { from, count: stream.ms * 48, end: from + stream.ms * 48, ...stream }
}

async function waitFor(receiver: Receiver, packetCount: number): Promise<void> {
  for (let tries = 0; tries < 100 && receiver.stats().packets < packetCount; tries++) await sleep(10)
}

t.test('B.decoder switching fades out in 5 ms and in in 5 ms, without a click', { skip, buffered }, async (t) => {
  const clock = createAudioClock()
  const [one, other] = [receive(clock, '239.67.3.1'), receive(clock, '239.67.3.2')]
  const recording = await recordFrom(clock, `channels=2 receiver=${one.id}`)
  await feedFrom(clock, '239.67.3.1', { ...stereo, sound: still(0.5), ms: 1200 })
  const { from } = await feedFrom(clock, '239.67.3.2', { ...stereo, sound: still(-0.5), ms: 1200 })
  await waitFor(other, 1200)
  await untilPlayed(recording, clock, from, 100)
  recording.pipeline.set('in', 'receiver', other.id)
  await playedFor(recording, clock, 100)
  recording.pipeline.set('in', 'receiver', 0)
  one.close()
  await playedFor(recording, clock, 50)
  const sound = channelOf(await recording.stop(), 2, 0)
  other.close()
  t.ok(sharpest(sound) < CLICK, 'no click', { sharpest: sharpest(sound) })
  t.ok(sound.includes(0.5 * FULL) && sound.includes(-0.5 * FULL), 'both were heard')
  const moving = sound.filter((sample) => sample !== 0 && Math.abs(sample) !== 0.5 * FULL).length
  t.ok(moving > 4 * FADE_FRAMES - 10 && moving <= 4 * FADE_FRAMES, 'four fades of 5 ms', { moving })
  t.equal(sound.at(-1), 0)
})

t.test(
  'B.decoder volume and mute ramp in 20 ms, without a click, and unity is exact',
  { skip, buffered },
  async (t) => {
    const clock = createAudioClock()
    const receiver = receive(clock, '239.67.3.3', { ringMs: 8000 })
    const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
    const { from } = await feedFrom(clock, '239.67.3.3', { ...stereo, sound: still(0.25), ms: 4000 })
    await untilPlayed(recording, clock, from, 100)
    const steps = [{ gain: 0.5 }, { mute: true }, { mute: false }, { gain: 8 }, { gain: 1 }]
    for (const step of steps) {
      for (const [name, value] of Object.entries(step)) recording.pipeline.set('in', name, value)
      await playedFor(recording, clock, 80)
    }
    const clipped = recording.pipeline.get('in', 'clipped-samples')
    const sound = channelOf(await recording.stop(), 2, 0)
    receiver.close()
    const isStill = (sample: number, at: number) => sample === sound[at - 1]
    const levels = [...sound.filter((sample, at) => isStill(sample, at) && isStill(sound[at - 1] ?? 0, at - 1))]
    const seen = levels.filter((level, at) => level !== levels[at - 1]).map((level) => level / FULL)
    t.same(seen, [0, 0.25, 0.125, 0, 0.125, 1 - 2 ** -31, 0.25], 'one level after the other, to the bit')
    t.ok((clipped as bigint) > 0n, 'what is over full scale is counted', { clipped })
    const quiet = sound.subarray(0, sound.indexOf(FULL - 1))
    t.ok(sharpest(quiet) < CLICK, 'no click', { sharpest: sharpest(quiet) })
    const down = sound.findIndex((sample, at) => sample !== 0.25 * FULL && sound[at - 1] === 0.25 * FULL)
    t.equal(sound.indexOf(0.125 * FULL, down) - down, 959, 'the ramp takes 960 frames')
  },
)

t.test('mono goes to all channels; else the first ones, and what lacks is silent', { skip, buffered }, async (t) => {
  const clock = createAudioClock()
  const cases = [
    { has: 1, wants: 2, from: [0, 0] },
    { has: 2, wants: 4, from: [0, 1, null, null] },
    { has: 8, wants: 2, from: [0, 1] },
  ]
  await Promise.all(
    cases.map(async ({ has, wants, from: sources }) => {
      const group = `239.67.3.${10 + has}`
      const receiver = receive(clock, group, { channels: has })
      const recording = await recordFrom(clock, `channels=${wants} receiver=${receiver.id}`)
      const sent = await feedFrom(clock, group, { ...stereo, channels: has, ms: 100 })
      await untilPlayed(recording, clock, sent.end, 100)
      const output = await recording.stop()
      receiver.close()
      const heard = channelOf(output, wants, 0)
      const mono = compare(heard, { ...sent, channels: 1 })
      t.ok(mono.different.every((frame) => frame < FADE_FRAMES) && mono.equal > 4000, `${has} to ${wants}: the first`)
      for (const [to, source] of sources.entries()) {
        const expected = (frame: number) => (source === null ? 0 : sampleOf(sent.from + frame, source, 'L24') << 8)
        const isRight = Array.from({ length: 1000 }, (_, at) => 1000 + at).every(
          (frame) => output[(mono.start + frame) * wants + to] === expected(frame),
        )
        t.ok(isRight, `${has} to ${wants}: channel ${to}`)
      }
    }),
  )
})

t.test('another link offset is taken by a fade, and is exact from there', { skip, buffered }, async (t) => {
  const clock = createAudioClock()
  const receiver = receive(clock, '239.67.3.4')
  const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
  const sound: Stream['sound'] = (frame, channel, encoding) => (channel === 0 ? sampleOf(frame, 0, encoding) : 2 ** 21)
  const sent = await feedFrom(clock, '239.67.3.4', { ...stereo, sound, ms: 600 })
  await untilPlayed(recording, clock, sent.from + 4800, 100)
  receiver.setLink(150_000_000n)
  t.equal(receiver.linkNs(), 150_000_000n)
  await untilPlayed(recording, clock, sent.end, 150)
  const output = await recording.stop()
  receiver.close()
  const places = [...placesOf(output, sent)].filter(([, frames]) => frames > 1000).map(([place]) => place)
  t.equal(places.length, 2)
  t.equal(Math.abs((places[1] ?? 0) - (places[0] ?? 0)), 2400, '50 ms later')
  t.ok(sharpest(channelOf(output, 2, 1)) < CLICK, 'no click')
})

t.test('a clock that steps is one phase jump, and the pace is kept', { skip, buffered }, async (t) => {
  const clock = createAudioClock()
  const receiver = receive(clock, '239.67.3.5')
  const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
  const read = (name: string) => Number(recording.pipeline.get('in', name))
  await until('the first block is made', () => read('blocks') > 0)
  const from = { blocks: read('blocks'), dueNs: read('due-ns') }
  const before = clock.read()
  clock.calibrate({ monotonicNs: before.monotonicNs, audioNs: before.audioNs - 37_000_000_000n, ratePpb: 0 })
  const sent = await feedFrom(clock, '239.67.3.5', { ...stereo, ms: 100 })
  await untilPlayed(recording, clock, sent.end, 100)
  const dueMs = () => (read('due-ns') - from.dueNs) / 1e6
  const [least, blocks, most] = [dueMs(), read('blocks') - from.blocks, dueMs()]
  t.equal(recording.pipeline.get('in', 'phase-jumps'), 1n)
  t.ok(blocks > least - 2 && blocks < most + 2, 'a block each millisecond', { least, blocks, most })
  const { different } = compare(await recording.stop(), sent)
  receiver.close()
  t.ok(
    different.every((frame) => frame < FADE_FRAMES),
    'exact by the new time',
    { different },
  )
})

t.test(
  'sound that is playing goes on at its new place when the clock steps, without a click',
  { skip, buffered },
  async (t) => {
    const clock = createAudioClock()
    const receiver = receive(clock, '239.67.3.6')
    const recording = await recordFrom(clock, `channels=2 receiver=${receiver.id}`)
    const sound: Stream['sound'] = (frame, channel, encoding) =>
      channel === 0 ? sampleOf(frame, 0, encoding) : 2 ** 21
    const sent = await feedFrom(clock, '239.67.3.6', { ...stereo, sound, ms: 600 })
    await untilPlayed(recording, clock, sent.from + 4800, 100)
    const { monotonicNs, audioNs } = clock.read()
    clock.calibrate({ monotonicNs, audioNs: audioNs + 10_000_000n, ratePpb: 0 })
    await playedFor(recording, clock, 100)
    t.equal(receiver.stats().glitches, 1, 'it is heard once')
    await untilPlayed(recording, clock, sent.end, 100)
    const output = await recording.stop()
    receiver.close()
    const places = [...placesOf(output, sent)].filter(([, frames]) => frames > 1000).map(([place]) => place)
    t.equal(places.length, 2)
    const skipped = Math.abs((places[1] ?? 0) - (places[0] ?? 0))
    t.ok(Math.abs(skipped - 480) <= 1, '10 ms are left out', { skipped })
    t.ok(sharpest(channelOf(output, 2, 1)) < CLICK, 'no click')
  },
)

t.test('what begins to be heard is as loud as it is to be from its first sample', { skip, buffered }, async (t) => {
  const clock = createAudioClock()
  const receiver = receive(clock, '239.67.3.7')
  const recording = await recordFrom(clock, 'channels=2')
  const { from } = await feedFrom(clock, '239.67.3.7', { ...stereo, sound: still(0.5), ms: 1500 })
  await untilPlayed(recording, clock, from, 100)
  // As a decoder does when its output was made anew.
  recording.pipeline.set('in', 'gain', 0.125)
  recording.pipeline.set('in', 'receiver', receiver.id)
  await playedFor(recording, clock, 300)
  const sound = channelOf(await recording.stop(), 2, 0)
  receiver.close()
  t.ok(sound.includes(0.0625 * FULL), 'it was heard')
  t.equal(Math.max(...sound.map(Math.abs)), 0.0625 * FULL, 'and never louder')
})
