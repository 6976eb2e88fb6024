import t from 'tap'
import { decoderView, routeView } from '../../core/decoder-view.ts'
import { decoderRig, heardStream } from './decoder-rig.ts'

const SETTINGS = { link_ms: 10 }

t.test('B.route shows the current group, port, source, link offset, media clock offset and channels', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream({ mclk_offset: 4711 }))
  await rig.route({ mcast: '239.69.10.4', port: '5004', source: '10.20.4.12', link_ms: '7' })
  t.match(routeView(rig.decoder, SETTINGS), { channels: null, sender: null })
  await rig.hear()
  t.same(routeView(rig.decoder, SETTINGS), {
    ...{ mcast: '239.69.10.4', port: 5004, source: '10.20.4.12', link_ms: 7, ext_link_ms: 0, effective_link_ms: 7 },
    ...{ mclk_offset: 4711, encoding: 'L24', channels: 2, packet_ms: 1, name: 'Lobby music', sender: '10.20.4.12' },
    ...{ sync: 'clock', given: { link_ms: 7, mclk_offset: null, encoding: null } },
  })
})

t.test('B.route stopped, the group is empty', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  t.match(routeView(rig.decoder, SETTINGS), {
    ...{ mcast: '', port: 5004, source: null, link_ms: 10, mclk_offset: 0, encoding: 'L24', channels: null },
    sender: null,
  })
})

t.test('the status has route, volume, chain, counters, arrival, output and meters', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream({ dup: { mcast: '239.70.10.4', port: 5004, source: '10.21.4.12' } }))
  await rig.play()
  rig.receiver().stats = {
    ...rig.receiver().stats,
    ...{ lost: 4, late: 6, concealed: 3, glitches: 1, senderPpm: -2.5 },
    arrival: { earliestUs: 9100, latestUs: 7300, jitterP50Us: 12, jitterP99Us: 80, jitterMaxUs: 950 },
  }
  await rig.hear('10.20.4.12', [{ reordered: 2 }, { duplicate: 1, late: 9 }])
  rig.output.events.level([-3], [-12])
  const view = decoderView(rig.decoder, SETTINGS)
  t.match(view, {
    playing: true,
    volume: { volume: 74, volume_db: 0, mute: false },
    stream: { name: 'Lobby music', channels: 2 },
    counters: {
      ...{ packets: 2000, lost: 4, late: 6, duplicate: 1, reordered: 2, concealed: 3, glitches: 1 },
      paths: [
        { mcast: '239.69.10.4', sender: '10.20.4.12', reordered: 2 },
        { mcast: '239.70.10.4', late: 9 },
      ],
    },
    arrival: { earliest_us: 9100, latest_us: 7300, headroom_us: 7300, link_us: 10_000, jitter_max_us: 950 },
    output: { kind: 'alsa', name: 'hw:1', state: 'playing', found: true, latency_ms: 5, drift_ppm: 12.5 },
    meters: { peak_db: [-3], rms_db: [-12] },
    realtime: { granted: true },
  })
  t.ok((view.counters.loss_percent_1min ?? 0) > 0.3)
  t.same(JSON.parse(JSON.stringify(view)), view, 'it is JSON')
})

t.test('each second is added to the hour: its counts, the range of arrivals, clock and card', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream())
  await rig.play()
  const arrival = { earliestUs: 9000, latestUs: 8000, jitterP50Us: 10, jitterP99Us: 20, jitterMaxUs: 30 }
  rig.receiver().stats = { ...rig.receiver().stats, arrival }
  await rig.hear()
  rig.receiver().stats = {
    ...rig.receiver().stats,
    lost: 7,
    arrival: { ...arrival, latestUs: -500, jitterMaxUs: 9000 },
  }
  rig.output.events.level([-20, -3], [-30, -12])
  await rig.hear()
  const { series, step_s } = rig.decoder.history()
  t.equal(step_s, 1)
  t.same(series.lost, [0, 7])
  t.equal(series.peak_db?.[1], -3)
  t.same(series.packets, [1000, 1000])
  t.same(series.latest_us, [8000, -500])
  t.same(series.earliest_us, [9000, 9000])
  t.same(series.link_us, [10_000, 10_000])
  t.same(series.jitter_max_us, [30, 9000])
  t.same(series.ptp_offset_ns, [38, 38])
  t.same(series.drift_ppm, [12.5, 12.5])
  t.same(series.sender_ppm, [null, null])
})
