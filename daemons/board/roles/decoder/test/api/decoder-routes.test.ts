/** What the routes of the decoder pass on, and what reaches the journal and Prometheus. */
import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import type { Ask } from '#kit/http/route.ts'
import { decoderRoutes, measureDecoder } from '../../api/decoder-routes.ts'
import { decoderRig, heardStream } from '../core/decoder-rig.ts'

async function routesHere() {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream())
  const told: unknown[][] = []
  const tell =
    (kind: string) =>
    async (_asker: unknown, ...what: unknown[]) =>
      void told.push([kind, ...what])
  const recorder = { changed: tell('changed'), sent: tell('sent') }
  const routes = decoderRoutes({ decoder: rig.decoder, settings: { link_ms: 10 }, recorder })
  const call = async (method: string, path: string, body: unknown = {}) =>
    await routes.find((one) => one.method === method && one.path === path)?.handle({ body } as Ask<never, never, never>)
  return { call, rig, routes, told }
}

t.test('B.streams the streams that are heard are listed', async (t) => {
  const { call } = await routesHere()
  t.match(await call('GET', '/api/streams'), [{ name: 'Lobby music', mcast: '239.69.10.4', port: 5004, channels: 2 }])
})

t.test('B.route POST answers like GET, and the journal says who plays what', async (t) => {
  const { call, told } = await routesHere()
  const form = { mcast: '239.69.10.4', port: '5004', source: '10.20.4.12' }
  const answer = await call('POST', '/api/route', form)
  t.same(answer, await call('GET', '/api/route'))
  await call('POST', '/api/route', { mcast: '' })
  t.same(told, [
    ['changed', 'played another stream', '239.69.10.4:5004', { source: '10.20.4.12' }],
    ['changed', 'stopped playing', undefined, {}],
  ])
  await t.rejects(call('POST', '/api/route', { mcast: '239.69.10.4', port: '5004', gain: '2' }), { code: 'bad_fields' })
})

t.test('B.volume all three paths read the same, and each accepts its own fields', async (t) => {
  const { call, told } = await routesHere()
  t.same(await call('POST', '/api/volume', { volume: '50' }), { volume: 50, volume_db: -20.53, mute: false })
  t.same(await call('POST', '/api/volume_db', { volume_db: '-10', mute: '1' }), {
    volume: 61,
    volume_db: -10,
    mute: true,
  })
  const last = { volume: 61, volume_db: -10, mute: false }
  t.same(await call('POST', '/api/mute', { mute: 'toggle' }), last)
  t.same(await call('POST', '/api/mute', { mute: '0' }), last)
  for (const path of ['/api/volume', '/api/volume_db', '/api/mute']) t.same(await call('GET', path), last)
  t.equal(told.length, 3, 'a call without a change is not recorded')
})

t.test('every route is for the administrator only', async (t) => {
  t.ok((await routesHere()).routes.every(({ who }) => who === 'admin'))
})

t.test('Prometheus gets packets, the chain, and the volume', async (t) => {
  const { call, rig } = await routesHere()
  const metrics = createMetrics({ process: false })
  measureDecoder(metrics, rig.decoder)
  t.notMatch(await metrics.text(), /headroom_seconds \d/, 'an unknown value is left out')
  await call('POST', '/api/route', { mcast: '239.69.10.4', port: '5004' })
  const arrival = { earliestUs: 9000, latestUs: 8000, jitterP50Us: 10, jitterP99Us: 20, jitterMaxUs: 30 }
  rig.receiver().stats = { ...rig.receiver().stats, arrival }
  await rig.hear()
  const text = await metrics.text()
  t.match(text, 'plantroom_decoder_events_total{kind="packets"} 1000')
  t.match(text, 'plantroom_decoder_check_ok{check="packets"} 1')
  t.match(text, 'plantroom_decoder_headroom_seconds 0.008')
  t.match(text, 'plantroom_decoder_jitter_seconds{quantile="0.99"} 0.00002')
  t.match(text, 'plantroom_decoder_volume_db 0')
})

t.test('a packet counted as lost that still arrives does not decrease a counter of Prometheus', async (t) => {
  const { call, rig } = await routesHere()
  const metrics = createMetrics({ process: false })
  measureDecoder(metrics, rig.decoder)
  await call('POST', '/api/route', { mcast: '239.69.10.4', port: '5004' })
  for (const [lost, told] of [
    [7, 7],
    [5, 7],
    [8, 8],
  ] as const) {
    rig.receiver().stats = { ...rig.receiver().stats, lost }
    await rig.hear()
    t.match(await metrics.text(), `plantroom_decoder_events_total{kind="lost"} ${told}\n`)
  }
})
