/** The real board in the role decoder: what it plays, how loud, why not, and what a restart leaves. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { faultsOf } from '../../../test/running-board.ts'
import { compare } from '../../../test/sound/compare.ts'
import { readWav } from '../../../test/sound/wav.ts'
import { announces, GROUP, PORT, sends, startDecoder } from './decoder-world.ts'

const skip = gstMissing()

t.test('a board in the role decoder', { skip }, async (t) => {
  const folder = t.testdir()
  const board = await startDecoder(t, folder)
  const { body: settings } = await board.get('/api/config')
  const first = await sends(t, '127.0.0.1')

  await t.test('B.settings it plays the group of its settings from its first start on', async (t) => {
    t.match((await board.get('/api/route')).body, { mcast: settings.mcast, port: settings.port, encoding: 'L24' })
    t.match(await board.reason('packets', 'no_packets'), settings.mcast)
    t.match((await board.get('/api/status')).body.verdict, { state: 'fault', text: /No packet comes to/ })
  })

  await t.test('B.route POST plays at once, as announced', async (t) => {
    await until('it is heard of', async () => {
      await announces('127.0.0.1', 'Lobby music', { mediaOffset: 4800 })
      return (await board.get('/api/streams')).body.length === 1
    })
    t.match((await board.get('/api/streams')).body, [{ name: 'Lobby music', mcast: GROUP, port: PORT, channels: 2 }])
    const { body } = await board.post('/api/route', {
      mcast: GROUP,
      port: String(PORT),
      link_ms: '400',
      mclk_offset: '0',
    })
    t.match(body, { mcast: GROUP, source: null, link_ms: 400, mclk_offset: 0, encoding: 'L24', sync: 'clock' })
    await board.reason('output', null)
    t.match(await board.decoder(), { playing: true, sender: '127.0.0.1', route: { channels: 2, packet_ms: 1 } })
    t.match((await board.get('/api/status')).body, {
      verdict: { state: 'ok', text: 'Playing Lobby music from 127.0.0.1.' },
      ptp: { state: 'off' },
    })
  })

  await t.test(
    'B.rules.1 source is the sender that is played; without it the announced sender is played',
    async (t) => {
      const second = await sends(t, '127.0.0.2')
      await second.after(100)
      t.match(await board.decoder(), { playing: true, sender: '127.0.0.1' })
      await board.route({ source: '127.0.0.2', link_ms: '400' })
      await until('the other one is played', async () => (await board.decoder()).sender === '127.0.0.2')
      await board.route({ source: '127.0.0.9' })
      t.match(
        await board.reason('sender', 'wrong_source'),
        /Packets arrive from 127\.0\.0\.[12]; this route wants 127\.0\.0\.9/,
      )
      await second.stop()
    },
  )

  await t.test('B.rules.1 if two announce, the first one heard is played', async (t) => {
    await announces('127.0.0.2', 'Stage')
    await until('both are heard of', async () => (await board.get('/api/streams')).body.length === 2)
    await board.route({ link_ms: '400', mclk_offset: '0' })
    await until('it is played', async () => (await board.decoder()).sender === '127.0.0.1')
    t.match((await board.decoder()).route, { source: null, name: 'Lobby music' })
  })

  await t.test('B.route another encoding than announced is reported, and not played', async (t) => {
    await board.route({ source: '127.0.0.1', encoding: 'L16' })
    t.match(await board.reason('format', 'wrong_encoding'), 'This route plays L16; 127.0.0.1 announces L24.')
  })

  await t.test('B.errors everything wrong or unknown is named, and nothing changes', async (t) => {
    const before = (await board.get('/api/route')).body
    const { status, body } = await board.post('/api/route', { mcast: '10.0.0.1', port: 'x', gain: '3' })
    t.equal(status, 400)
    t.equal(body.error, 'bad_fields')
    t.match(faultsOf(body), { mcast: String, port: String, gain: String })
    t.equal((await board.post('/api/volume', {})).status, 400)
    t.match(faultsOf((await board.post('/api/mute', { mute: 'loud' })).body), { mute: /1, 0 and toggle/ })
    t.same((await board.get('/api/route')).body.given, before.given)
  })

  await t.test('B.limits volume is saved 2 s after its last change', async (t) => {
    const saved = () => JSON.parse(readFileSync(join(folder, 'volume.json'), 'utf8'))
    t.throws(saved, 'nothing is saved before anything is changed')
    t.same((await board.post('/api/volume', { volume: '50' })).body, { volume: 50, volume_db: -20.53, mute: false })
    t.same((await board.post('/api/mute', { mute: 'toggle' })).body, { volume: 50, volume_db: -20.53, mute: true })
    t.match(await board.decoder(), { volume: { mute: true } })
    t.throws(saved)
    await until('it is saved', () => {
      try {
        return saved().mute === true
      } catch {
        return false
      }
    })
    t.match((await board.get('/api/volume_db')).body, { volume_db: -20.53, mute: true })
  })

  await t.test('route and volume survive a kill; the last change is saved by a stop', async (t) => {
    await board.route({ link_ms: '400', mclk_offset: '0' })
    await board.stop('SIGKILL')
    const again = await startDecoder(t, folder, 'again.wav')
    t.match(await again.decoder(), { route: { mcast: GROUP, link_ms: 400 }, volume: { volume: 50, mute: true } })
    await again.reason('volume', 'muted')
    await again.post('/api/volume_db', { volume_db: '0', mute: '0' })
    await until('it plays', async () => (await again.decoder()).playing)
    await first.after(first.sent() + 1200)
    const { counters } = await again.decoder()
    t.match(counters, { lost: 0, late: 0 })
    t.match((await again.get('/api/history')).body, { step_s: 1, series: { packets: Array, latest_us: Array } })
    t.match((await again.get('/metrics')).body, /plantroom_decoder_events_total\{kind="packets"\} \d{3}/)
    t.equal(await again.stop(), 0)
    t.match(JSON.parse(readFileSync(join(folder, 'volume.json'), 'utf8')), { volume_db: 0, mute: false })

    const { begin, equal, frames, jumps, silent, wrong } = compare(readWav(again.file).samples, first.pattern)
    t.ok(begin !== null && frames > 40_000, `${frames} frames are recorded`)
    t.same({ equal, silent, wrong }, { equal: frames, silent: 0, wrong: 0 }, 'sample for sample what was sent')
    // A machine that stalls for a quarter of a second leaves blocks out.
    t.ok(jumps.length <= 1, `${jumps.length} jumps`)
  })
})
