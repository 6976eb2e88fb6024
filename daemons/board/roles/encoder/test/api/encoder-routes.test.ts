import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import type { Ask, Reply } from '#kit/http/route.ts'
import { encoderRoutes, measureEncoder } from '../../api/encoder-routes.ts'
import { encoderRig } from '../core/encoder-rig.ts'

async function routesHere() {
  const rig = encoderRig()
  await rig.encoder.start()
  const told: unknown[] = []
  const recorder = { changed: async (_asker: unknown, what: string) => void told.push(what) }
  const routes = encoderRoutes({ encoder: rig.encoder, recorder })
  const call = async (path: string, body: unknown = {}) =>
    await routes.find((one) => one.path === path)?.handle({ body } as Ask<never, never, never>)
  return { ...rig, call, routes, told }
}

t.test('B.auth.1 the description is open to anyone, in the type that receivers know', async (t) => {
  const { call, known, routes } = await routesHere()
  t.same(
    routes.map(({ method, path, who }) => `${method} ${path} ${who}`),
    ['GET /stream.sdp anyone', 'GET /api/history admin', 'POST /api/tone admin'],
  )
  const { status, headers, body } = (await call('/stream.sdp')) as Reply
  t.match({ status, headers, body: String(body) }, { status: 200, body: 'v=0\r\n' })
  t.equal(headers['content-type'], 'application/sdp')
  known.sdp = undefined
  await t.rejects(call('/stream.sdp'), { code: 'no_stream' })
})

t.test('a tone is started and stopped, and the journal says by whom', async (t) => {
  const { call, encoder, told } = await routesHere()
  t.same(await call('/api/tone', { on: true }), { tone_until: encoder.toneUntil })
  t.equal(encoder.care.source.kind, 'tone')
  t.same(await call('/api/tone', { on: false }), { tone_until: null })
  t.same(told, ['sent a tone', 'ended the tone'])
})

t.test('Prometheus gets packets and their timing, loudness and restarts, and no unknown values', async (t) => {
  const { encoder, known, seconds } = await routesHere()
  const metrics = createMetrics({ process: false })
  measureEncoder(metrics, encoder)
  known.sent = null
  t.notMatch(await metrics.text(), /encoder_late_us\{/)
  t.match(await metrics.text(), /encoder_packets_total 0/)
  await encoder.tone(true)
  known.events?.level([-9.5, Number.NEGATIVE_INFINITY], [-20, -350])
  await seconds(2)
  const text = await metrics.text()
  t.match(text, /encoder_packets_total 2000/)
  t.match(text, /encoder_spacing_us\{quantile="0.99"\} 1020/)
  t.match(text, /encoder_peak_db\{channel="1"\} -9.5/)
  t.notMatch(text, /encoder_peak_db\{channel="2"\}/)
  t.match(text, /encoder_sending 1/)
  t.match(text, /encoder_input_restarts_total 0/)
})
