/** Why a decoder is silent, or not well: each reason made with real packets and a real output. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { compare } from '../../../test/sound/compare.ts'
import { burstLoss, randomLoss } from '../../../test/sound/faults.ts'
import { countedPattern } from '../../../test/sound/pattern.ts'
import { type SenderOptions, startSender, timestampOfNow } from '../../../test/sound/rtp-sender.ts'
import { readWav } from '../../../test/sound/wav.ts'
import { heardStream } from './core/decoder-rig.ts'
import { decoderHere, OWN_MAC, PORT } from './decoder-here.ts'

const skip = gstMissing()
const pattern = countedPattern(24, 2)

/** The stream as an encoder on this machine announces it. */
function announced(mcast: string, change: Partial<HeardStream> = {}): HeardStream {
  const refclk = { kind: 'localmac', mac: OWN_MAC } as const
  return heardStream({ mcast, port: PORT, source: '127.0.0.1', refclk, ...change })
}

function sends(test: Parameters<typeof startSender>[0], group: string, change: Partial<SenderOptions> = {}) {
  return startSender(test, {
    to: [{ group, port: PORT }],
    encoding: 'L24',
    channels: 2,
    sample: pattern.sample,
    ...change,
  })
}

t.test('other_time: timestamps that do not match the announced clock', { skip }, async (t) => {
  const group = '239.69.191.1'
  const { play, reason } = await decoderHere(t, [announced(group)], { sink: 'null' })
  await sends(t, group, { timestamp: (timestampOfNow() - 37 * 48_000) >>> 0 })
  await play(group)
  t.match(await reason('clock', 'other_time'), /Timestamps are 3[67]\.\d+ s behind the clock of this board/)
})

t.test('wrong_encoding: packets that do not match the announcement', { skip }, async (t) => {
  const group = '239.69.191.2'
  const { play, reason } = await decoderHere(t, [announced(group)], { sink: 'null' })
  await sends(t, group, { encoding: 'L16', sample: countedPattern(16, 2).sample })
  await play(group)
  t.match(
    await reason('format', 'wrong_encoding'),
    /carry 4 bytes for each sample of all channels; L24 with 2 channels has 6/,
  )
})

t.test('loss: one packet in ten is lost, and the sound continues', { skip }, async (t) => {
  const group = '239.69.191.3'
  const { play, reason, view } = await decoderHere(t, [announced(group)], { sink: 'null' })
  const fault = randomLoss(0.1, 7)
  await sends(t, group, { to: [{ group, port: PORT, fault }] })
  await play(group)
  t.match(await reason('loss', 'loss'), /% was missing in the last minute/)
  await until('more than ten were stood in for', () => view().counters.concealed > 10)
  t.ok(view().playing)
})

t.test('late: packets that come after their time to be played', { skip }, async (t) => {
  const group = '239.69.191.4'
  const { play, reason, house } = await decoderHere(t, [announced(group)], { sink: 'null' })
  await sends(t, group, { timestamp: (timestampOfNow() - 48 * 450) >>> 0 })
  await play(group)
  t.match(await reason('loss', 'late'), /packets came later than the link offset of 400 ms allows: raise it/)
  t.match(house.verdict(), { state: 'fault', text: /^Lobby music is silent\. / })
})

t.test('ST 2022-7 packets lost on one of two paths come by the other, sample for sample', { skip }, async (t) => {
  const [group, second] = ['239.69.191.5', '239.69.191.6']
  const dup = { mcast: second, port: PORT, source: '127.0.0.1' }
  const { file, play, stop, view } = await decoderHere(t, [announced(group, { dup })])
  const to = [
    { group, port: PORT, fault: burstLoss(5, 3, 20) },
    { group: second, port: PORT, fault: burstLoss(12, 6, 20) },
  ]
  await play(second)
  const sender = await sends(t, group, { to })
  await sender.after(1400)
  const { counters } = view()
  t.match(counters.paths, [{ mcast: group }, { mcast: second }])
  t.ok(
    counters.paths.every(({ lost }) => lost > 50),
    'both have lost',
    { counters },
  )
  t.match(counters, { lost: 0, concealed: 0 })
  await stop()
  const { begin, equal, frames, jumps, silent, wrong } = compare(readWav(file).samples, pattern)
  t.ok(begin !== null && frames > 30_000, `${frames} frames`)
  t.same({ equal, silent, wrong }, { equal: frames, silent: 0, wrong: 0 })
  // A machine that stalls for a quarter of a second leaves blocks out.
  t.ok(jumps.length <= 1, `${jumps.length} jumps`)
})

for (const [which, change] of [
  ['second', { second_interface: 'none-0' }],
  ['first', { interface: 'none-0', second_interface: 'lo' }],
] as const)
  t.test(`ST 2022-7 without the ${which} of its two networks a stream is heard by the other`, { skip }, async (t) => {
    const [group, second] = ['239.69.191.9', '239.69.191.10']
    const dup = { mcast: second, port: PORT, source: '127.0.0.1' }
    const { play, view } = await decoderHere(t, [announced(group, { dup })], { sink: 'null', ...change })
    await sends(t, group, { to: [group, second].map((each) => ({ group: each, port: PORT })) })
    await play(group)
    await until('it plays', () => view().playing && view().counters.packets > 100)
    const [heard, away] = which === 'second' ? [0, 1] : [1, 0]
    const { paths } = view().counters
    t.match(paths[heard], { mcast: [group, second][heard], sender: '127.0.0.1', lost: 0 })
    t.match(paths[away], { mcast: [group, second][away], sender: null, packets: 0 })
  })

t.test('an output that cannot be opened is named, and everything else works', { skip }, async (t) => {
  const group = '239.69.191.7'
  const card = await decoderHere(t, [announced(group)], { sink: 'hw:29' })
  await sends(t, group)
  await card.play(group)
  t.match(await card.reason('output', 'no_card'), 'The sound card hw:29 is not plugged in.')
  t.match(card.view(), { sender: '127.0.0.1', output: { name: 'hw:29', found: false, state: /waiting|starting/ } })
  const folder = await decoderHere(t, [announced(group)], { sink: 'file:/nowhere/x.wav' })
  await folder.play(group)
  t.match(await folder.reason('output', 'output_failed'), 'The recording to /nowhere/x.wav does not start')
})

t.test('a full recording begins again', { skip }, async (t) => {
  const group = '239.69.191.8'
  const { play, view } = await decoderHere(t, [announced(group)], { record_mb: 1, card_retry_ms: 100 })
  await sends(t, group)
  await play(group)
  await until('it begins again', () => view().output.restarts === 1 && view().playing, 15_000)
})
