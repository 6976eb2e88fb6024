/** Gateways over HTTPS: who is trusted, who is not, and that nothing is sent before that is known. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { createGatewayDriver } from '../../../../core/drivers/gateway/gateway.ts'
import { gatewayPlaceOf } from '../../../../core/drivers/gateway/gateway-place.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { fingerprintOf } from '../../../../io/transports/secure.ts'
import { toyStage } from '../toy-stage.ts'
import { authority } from './authority.ts'
import { fakeGateway, KEY, pointOf } from './fake-gateway.ts'

const LINE = '/dev/ttyUSB0'
const HOUR_MS = 3_600_000

interface Form {
  served?: ReturnType<typeof authority> | undefined
  device: Readonly<Record<string, Json>>
  host?: string
}

async function stageOf(t: Test, { served, device, host = '127.0.0.1' }: Form) {
  const gateway = await fakeGateway(t, { [LINE]: [pointOf('relay 1')] }, served)
  const stage = toyStage(t, {
    driver: createGatewayDriver(),
    transport: { kind: 'gateway', host, port: gateway.port },
    device: { api_key: KEY, ...device },
    zone: { address: `${LINE}#relay 1`, type: 'relay' },
    limits: { httpBytes: 65_536, messageBytes: 4096 },
  })
  await until('it is online or lost', () => stage.live.device(1).state !== 'unknown')
  return { gateway, ...stage }
}

t.test('points are read, written and heard over TLS with the adopted root CA', async (t) => {
  const served = authority()
  const { gateway, reading, command } = await stageOf(t, { served, device: { config: { root_ca: served.root } } })
  t.match(reading(), { state: 'off', on: false, quality: 'good' })
  gateway.event(LINE, { ...pointOf('relay 1'), value: true, previous: false })
  await until('it is told', () => reading().on === true)
  t.strictSame(await command('off'), {})
  t.match(gateway.posts, [{ path: `/api/ports/${LINE}/rest/request`, body: { fc: 5, values: [0] } }])
})

t.test('a host that is written with https:// is the same', async (t) => {
  const served = authority()
  const device = { config: { root_ca: served.root } }
  const { reading } = await stageOf(t, { served, device, host: 'https://127.0.0.1' })
  t.match(reading(), { state: 'off', on: false })
})

const refused: [title: string, served: () => ReturnType<typeof authority> | undefined, sentence: RegExp][] = [
  [
    'a certificate of another root',
    () => authority(),
    /not issued by the root CA with the fingerprint [0-9A-F:]{95}; if it was set up again, adopt it again/,
  ],
  ['no TLS at all', () => undefined, /it does not speak TLS .*: switch http\.tls on there again/],
]
for (const [what, served, sentence] of refused)
  t.test(`${what} loses the device with a sentence, and no key is sent`, async (t) => {
    const { root } = authority()
    const { gateway, live } = await stageOf(t, { served: served(), device: { config: { root_ca: root } } })
    t.match(live.device(1), { state: 'offline', error: sentence })
    t.equal(gateway.heads(), 0)
  })

t.test('the fingerprint in the sentence is that of the adopted root CA', async (t) => {
  const { root } = authority()
  const { live } = await stageOf(t, { served: authority(), device: { config: { root_ca: root } } })
  t.ok(String(live.device(1).error).includes(fingerprintOf(root)))
})

t.test('a certificate of the right root that has expired, or is for another host, is refused too', async (t) => {
  for (const [form, sentence] of [
    [{ untilMs: -HOUR_MS }, /its certificate has expired: check the clocks/],
    [{ addresses: ['10.20.4.8'] }, /its certificate is not for 127\.0\.0\.1: put one of the names/],
  ] as const) {
    const served = authority(form as Parameters<typeof authority>[0])
    const { gateway, live } = await stageOf(t, { served, device: { config: { root_ca: served.root } } })
    t.match(live.device(1), { state: 'offline', error: sentence })
    t.equal(gateway.heads(), 0)
  }
})

t.test('a gateway that was switched to HTTPS does not get the key over plain HTTP, and says what to do', async (t) => {
  const shown: (string | undefined)[] = []
  const server = createServer((request, response) => {
    shown.push(request.headers.authorization)
    response.writeHead(308, { location: `https://127.0.0.1${request.url}` }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const stage = toyStage(t, {
    driver: createGatewayDriver(),
    transport: { kind: 'gateway', host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    device: { api_key: KEY },
    zone: { address: `${LINE}#relay 1`, type: 'relay' },
    limits: { httpBytes: 65_536, messageBytes: 4096 },
  })
  await until('it is lost', () => stage.live.device(1).state === 'offline')
  t.match(stage.live.device(1).error, /speaks HTTPS, and its root CA was not adopted yet: on the page System/)
  t.ok(shown.length > 0 && shown.every((key) => key === undefined))
})

t.test('a row with https and no root is refused, and one with a root is never driven over plain HTTP', async (t) => {
  const row = (transport: object, config: object = {}) =>
    ({ id: 1, transport: { host: 'box', port: 3132, ...transport }, config }) as unknown as Row
  for (const transport of [{ tls: true }, { host: 'https://box' }])
    t.throws(() => gatewayPlaceOf(row(transport)), {
      message: /config\.root_ca .*Adopt the gateway on the page System/,
    })
  t.throws(() => gatewayPlaceOf(row({ tls: 'yes' })), { message: /transport\.tls of device 1 is not true or false/ })
  t.throws(() => gatewayPlaceOf(row({}, { root_ca: 'none' })), { code: 'transport_invalid' })
  const { root } = authority()
  t.strictSame(gatewayPlaceOf(row({ tls: false }, { root_ca: root })).tls, { root })
  t.strictSame(gatewayPlaceOf(row({ host: 'https://[::1]:443/' }, { root_ca: root })), {
    ...{ host: '[::1]', port: 443, tls: { root } },
  })
  t.equal(gatewayPlaceOf(row({})).tls, undefined)
})
