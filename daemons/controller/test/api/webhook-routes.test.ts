/** The way in of webhooks, over a real server. */
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { type HttpConfig, httpTable } from '#kit/config/tables.ts'
import { withDefaults } from '#kit/http/check.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import { createHttpServer } from '#kit/http/server.ts'
import { silentLog } from '#kit/log.ts'
import { webhookSignature } from '#kit/net/signature.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Refusal } from '#kit/records/records.ts'
import { UI_FAULT_STATUS } from '../../api/ui-gate.ts'
import { deviceWebhookRoute } from '../../api/webhook-routes.ts'

const SECRET = 'shared by both'

async function here(t: Test, tell: (body: Uint8Array) => boolean = () => true) {
  const told: string[] = []
  const refused: Refusal[] = []
  const route = deviceWebhookRoute({
    webhookOf: (id) =>
      id === 7
        ? { secret: SECRET, tell: (body) => told.push(Buffer.from(body).toString()) > 0 && tell(body) }
        : undefined,
    refusals: { add: (refusal) => void refused.push(refusal), close() {} },
    bodyBytes: 1024,
    bodyMs: 2000,
  })
  const config = withDefaults(JSON.parse(JSON.stringify(httpTable(3130, {}))), {}) as HttpConfig
  const server = createHttpServer({
    ...{ log: silentLog, clock: systemClock, config: { ...config, listen: '127.0.0.1:0' }, routes: [route] },
    ...{ identify: () => undefined, faultStatus: UI_FAULT_STATUS, title: 'Controller', version: '1.2.3' },
    metrics: createMetrics({ process: false }),
  })
  const { url } = await server.listen()
  t.teardown(() => server.close())
  const send = async (device: string, body: string, headers: Record<string, string | string[]>) => {
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const asked = request(`${url}/webhooks/device/${device}`, { method: 'POST', headers, agent: false })
      asked.on('error', reject)
      asked.on('response', async (incoming) => {
        let text = ''
        for await (const chunk of incoming) text += chunk
        resolve({ status: incoming.statusCode ?? 0, text })
      })
      asked.end(body)
    })
    return { status: answer.status, error: answer.text === '' ? undefined : JSON.parse(answer.text).error }
  }
  return { send, told, refused }
}

const signed = (body: string, secret = SECRET) => ({
  'content-type': 'application/json',
  'x-svc-signature': webhookSignature(Buffer.from(body), secret),
})

t.test('A.webhooks.3 the exact bytes that were signed are handed on', async (t) => {
  const { send, told, refused } = await here(t)
  const body = '{ "port":"/dev/ttyUSB0",\r\n "event" : "value", "text":"é" }'
  t.strictSame(await send('7', body, signed(body)), { status: 204, error: undefined })
  t.strictSame(told, [body])
  t.strictSame(refused, [])
})

const BODY = '{"event":"value"}'
const wrong: [what: string, device: string, headers: Record<string, string | string[]>][] = [
  ['without a signature', '7', {}],
  ['signed with another secret', '7', signed(BODY, 'another')],
  ['signed for other bytes', '7', signed(`${BODY} `)],
  ['with a signature cut short', '7', { 'x-svc-signature': signed(BODY)['x-svc-signature'].slice(0, -1) }],
  ['with two signatures', '7', { 'x-svc-signature': [signed(BODY)['x-svc-signature'], 'sha256=0'] }],
  ['for a device that takes none', '8', signed(BODY)],
  ['for what is no device', 'x', signed(BODY)],
]
for (const [what, device, headers] of wrong)
  t.test(`A.webhooks.3 a webhook ${what} is refused like any other, and told in the journal`, async (t) => {
    const { send, told, refused } = await here(t)
    t.strictSame(await send(device, BODY, headers), { status: 401, error: 'webhook_refused' })
    t.strictSame(told, [])
    t.match(refused, [{ what: 'webhook refused', target: `device ${device}`, from: '127.0.0.1', detail: {} }])
  })

t.test('a body over the bound is refused before its signature is looked at', async (t) => {
  const { send, told } = await here(t)
  const body = 'x'.repeat(2000)
  t.strictSame(await send('7', body, signed(body)), { status: 413, error: 'body_too_large' })
  t.strictSame(told, [])
})

t.test('a device that is lost, or sends too many, is asked to come again', async (t) => {
  const lost = await here(t, () => false)
  t.strictSame(await lost.send('7', BODY, signed(BODY)), { status: 503, error: 'webhook_early' })
  const flood = await here(t, () => {
    throw new Fault('webhook_flood', 'too many')
  })
  t.strictSame(await flood.send('7', BODY, signed(BODY)), { status: 429, error: 'webhook_flood' })
})
