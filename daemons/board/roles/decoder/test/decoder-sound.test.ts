/** Real packets through a real receiver and a real pipeline into a recording. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { compare } from '../../../test/sound/compare.ts'
import { countedPattern } from '../../../test/sound/pattern.ts'
import { startSender } from '../../../test/sound/rtp-sender.ts'
import { readWav } from '../../../test/sound/wav.ts'
import type { DecoderView } from '../core/decoder-view.ts'
import { heardStream } from './core/decoder-rig.ts'
import { decoderHere, OWN_MAC, PORT } from './decoder-here.ts'

const skip = gstMissing()

t.test('an announced stream is recorded sample for sample, and the recording knows its length', { skip }, async (t) => {
  const group = '239.69.190.1'
  const pattern = countedPattern(24, 2)
  const announced = heardStream({
    mcast: group,
    port: PORT,
    source: '127.0.0.1',
    refclk: { kind: 'localmac', mac: OWN_MAC },
  })
  const { call, file, house, stop } = await decoderHere(t, [announced])
  const sender = await startSender(t, {
    to: [{ group, port: PORT }],
    encoding: 'L24',
    channels: 2,
    sample: pattern.sample,
  })
  await call('POST', '/api/route', { mcast: group, port: String(PORT) })
  t.match(await call('GET', '/api/route'), { sync: 'clock', encoding: 'L24', effective_link_ms: 400 })
  await sender.after(2000)
  const states = () => (house.state() as DecoderView).checks.map(({ state }) => state)
  await until('all is well', () => states().every((state) => state === 'ok'))
  t.equal(states().length, 9)
  t.match((house.state() as DecoderView).counters, { lost: 0, late: 0, glitches: 0, wrong_format: 0 })
  await stop()
  const sound = readWav(file)
  const { begin, equal, frames, jumps, silent, wrong } = compare(sound.samples, pattern)
  t.ok(frames > 48_000, `${frames} frames`)
  t.ok(begin !== null)
  t.same({ equal, silent, wrong }, { equal: frames, silent: 0, wrong: 0 })
  // A machine that stalls for a quarter of a second leaves blocks out.
  t.ok(jumps.length <= 1, `${jumps.length} jumps`)
})

t.test(
  'a stream that nobody announces is played by its arrival; muted or stopped, nothing is heard',
  { skip },
  async (t) => {
    const group = '239.69.190.2'
    const pattern = countedPattern(16, 1)
    const { call, house } = await decoderHere(t)
    const view = () => house.state() as DecoderView
    const loud = () => view().meters?.peak_db.every((peak) => peak !== null && peak > -20) === true
    await startSender(t, {
      to: [{ group, port: PORT }],
      encoding: 'L16',
      channels: 1,
      sample: pattern.sample,
      timestamp: 7,
    })
    await call('POST', '/api/route', { mcast: group, port: String(PORT), encoding: 'L16' })
    await until('it is heard, and looked at', () => loud() && view().route.channels !== null)
    t.match(view(), { route: { sync: 'arrival', channels: 1, packet_ms: 1, sender: '127.0.0.1' } })
    t.equal(view().meters?.peak_db.length, 2, 'one channel goes to all')
    await call('POST', '/api/mute', { mute: '1' })
    await until('it is muted', () => view().meters?.peak_db.every((peak) => peak === null) === true)
    await call('POST', '/api/mute', { mute: '0' })
    await until('it is heard again', loud)
    await call('POST', '/api/route', { mcast: '' })
    await until('it is stopped', () => view().meters?.peak_db.every((peak) => peak === null) === true)
    t.match(house.verdict(), { state: 'off' })
  },
)
