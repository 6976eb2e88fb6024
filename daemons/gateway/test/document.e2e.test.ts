/** Part A of interface document 2, line by line: each route and each body that it names, asked of the built gateway. */
import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { systemClock } from '#kit/clock.ts'
import type { Answer } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { readPresentValue, SimulatedRing } from '../../../scripts/sim/mstp-ring.ts'
import { password, type RunningGateway, startGateway } from './running-gateway.ts'
import { ptyOfFile } from './shared-gateway.ts'
import { type Delivery, targetOf } from './webhook-target.ts'

interface Stage {
  gateway: RunningGateway
  /** Tokens by what the document calls their owner; null: none. */
  tokens: Record<Who, string | null>
  raw: { path: string; heard: Buffer[] }
  modbus: string
  mstp: string
  target: { url: string; got: Delivery[] }
}

const callers = ['nobody', 'viewer', 'admin'] as const
type Who = (typeof callers)[number]

/** What the column `Auth` says of each caller; `in`: the request itself decides. */
const AUTH: Readonly<Record<'none' | 'token' | 'admin', Readonly<Record<Who, number | 'in'>>>> = {
  none: { nobody: 'in', viewer: 'in', admin: 'in' },
  token: { nobody: 401, viewer: 'in', admin: 'in' },
  admin: { nobody: 401, viewer: 403, admin: 'in' },
}

interface Row {
  /** As it stands in the document. */
  line: string
  auth: keyof typeof AUTH
  method: string
  path(stage: Stage): string
  body?: (stage: Stage) => unknown
  status: number
  answers(answer: Answer['body'], stage: Stage): unknown
}

const WAIT_ENDS = { timeout: 400_000 }
const SECRET = 'known to both'
const at = (path: string, rest: string) => `/api/ports/${encodeURIComponent(path)}${rest}`
const hooks = ({ raw }: Stage) => at(raw.path, '/webhooks')

/** The webhook that a row before has made. */
let hookId: string | number = ''

const register = { unitId: 1, fc: 4, address: 0, quantity: 2 }
const asking = { frameType: 'BACNET_DATA_EXPECTING_REPLY', destination: 4, source: 1 }

const rows: readonly Row[] = [
  {
    line: 'Login: username (string), password (string)',
    ...{ auth: 'none', method: 'POST', path: () => '/api/login', status: 200 },
    body: () => ({ username: 'admin', password }),
    answers: () => ({ token: String }),
  },
  {
    line: 'Endpoints: POST /api/login, none, Obtain a token',
    ...{ auth: 'none', method: 'POST', path: () => '/api/login', status: 200 },
    body: () => ({ username: 'viewer', password }),
    answers: () => ({ token: String }),
  },
  {
    line: 'Endpoints: GET /api/status, none, Liveness and whether an admin is configured',
    ...{ auth: 'none', method: 'GET', path: () => '/api/status', status: 200 },
    answers: () => ({ adminConfigured: true, uptimeMs: Number }),
  },
  {
    line: 'Endpoints: GET /api/me, token, Current user',
    ...{ auth: 'token', method: 'GET', path: () => '/api/me', status: 200 },
    answers: () => ({ username: String, role: /^(admin|viewer)$/ }),
  },
  {
    line: 'Endpoints: GET /api/system, token, System info and product strings',
    ...{ auth: 'token', method: 'GET', path: () => '/api/system', status: 200 },
    answers: () => ({ product: /^Plantroom/, version: /^\d/, uptimeMs: Number, epochMs: Number, licences: Array }),
  },
  {
    line: 'Endpoints: GET /api/system/ca-cert, none, Download the internal root CA (a public credential)',
    ...{ auth: 'none', method: 'GET', path: () => '/api/system/ca-cert', status: 200 },
    answers: () => /^-----BEGIN CERTIFICATE-----/,
  },
  {
    line: 'Endpoints: GET /api/templates/modbus, token, Starter templates for Modbus',
    ...{ auth: 'token', method: 'GET', path: () => '/api/templates/modbus', status: 200 },
    answers: (answer) => answer.map(() => ({ id: String, maker: String, points: Array })),
  },
  {
    line: 'Endpoints: POST /api/ports/:path/rest/tx, admin, Raw transmit; raw {data: string base64}',
    ...{ auth: 'admin', method: 'POST', path: ({ raw }) => at(raw.path, '/rest/tx'), status: 200 },
    body: () => ({ data: Buffer.from('by data\n').toString('base64') }),
    answers: () => ({ sent: 8 }),
  },
  {
    line: 'Protocol bodies: raw {hex: string of space-separated hex bytes}',
    ...{ auth: 'admin', method: 'POST', path: ({ raw }) => at(raw.path, '/rest/tx'), status: 200 },
    body: () => ({ hex: '62 79 20 68 65 78 0A' }),
    answers: () => ({ sent: 7 }),
  },
  {
    line: 'Endpoints: POST /api/ports/:path/rest/request, admin, Modbus RTU request; returns the parsed response',
    ...{ auth: 'admin', method: 'POST', path: ({ modbus }) => at(modbus, '/rest/request'), status: 200 },
    body: () => register,
    answers: () => ({ ...register, values: [Number, Number] }),
  },
  {
    line: 'Protocol bodies: modbus-rtu, 504 on bus timeout',
    ...{ auth: 'admin', method: 'POST', path: ({ modbus }) => at(modbus, '/rest/request'), status: 504 },
    body: () => ({ ...register, unitId: 99 }),
    answers: () => ({ error: 'modbus_timeout', message: /Unit 99 .* within 2 s/ }),
  },
  {
    line: 'Endpoints: POST /api/ports/:path/rest/send, admin, BACnet MS/TP frame send; {frameType, destination, source, dataHex}',
    ...{ auth: 'admin', method: 'POST', path: ({ mstp }) => at(mstp, '/rest/send'), status: 200 },
    body: () => ({ ...asking, dataHex: readPresentValue(3) }),
    answers: () => ({ ...asking, reply: { source: 4, destination: 1, dataHex: /3E 44 41 AC 00 00 3F$/ } }),
  },
  {
    line: 'Protocol bodies: bacnet-mstp {frameHex: string}',
    ...{ auth: 'admin', method: 'POST', path: ({ mstp }) => at(mstp, '/rest/send'), status: 200 },
    // A TEST_REQUEST from 1 to 4 without data, with the checksum of its header.
    body: () => ({ frameHex: '55 FF 03 04 01 00 00 C9' }),
    answers: () => ({ frameType: 'TEST_REQUEST', destination: 4, source: 1 }),
  },
  {
    line: 'Endpoints: POST /api/ports/:path/webhooks, admin, Create a webhook; Webhook config: url, events, secret, headers, enabled',
    ...{ auth: 'admin', method: 'POST', path: hooks, status: 201 },
    body: ({ target }) => ({
      ...{ url: target.url, events: [], secret: SECRET, headers: { authorization: 'Basic YTpi' }, enabled: true },
    }),
    answers(answer, { target }) {
      hookId = answer.id
      return { id: /./, url: target.url, events: [], headers: { authorization: 'Basic YTpi' }, enabled: true }
    },
  },
  {
    line: 'Endpoints: GET /api/ports/:path/webhooks, admin, List webhooks',
    ...{ auth: 'admin', method: 'GET', path: hooks, status: 200 },
    answers: (_, { target }) => [{ url: target.url, enabled: true }],
  },
  {
    line: 'Endpoints: PUT /api/ports/:path/webhooks/:id, admin, Partial update; Webhook config: toggle without deleting',
    ...{ auth: 'admin', method: 'PUT', path: (stage) => `${hooks(stage)}/${hookId}`, status: 200 },
    body: () => ({ enabled: false }),
    answers: (_, { target }) => ({ id: hookId, url: target.url, enabled: false, events: [] }),
  },
  {
    line: 'Endpoints: DELETE /api/ports/:path/webhooks/:id, admin, Delete',
    ...{ auth: 'admin', method: 'DELETE', path: (stage) => `${hooks(stage)}/${hookId}`, status: 204 },
    answers: () => undefined,
  },
]

/** One gateway with a line of each protocol of the document, each with its peer. */
async function stageFor(t: Test): Promise<Stage> {
  const gateway = await startGateway(t)
  await gateway.setUp()
  // While there is one user, the body may have the password alone.
  t.match(await gateway.call('POST', '/api/login', { password }, null), { status: 200, body: { token: String } })
  await gateway.call('POST', '/api/users', { username: 'viewer', password, role: 'viewer' })
  t.not((await gateway.call('POST', '/api/login', { password }, null)).status, 200, 'Login: with two users it may not')
  const viewer = (await gateway.call('POST', '/api/login', { username: 'viewer', password }, null)).body.token
  const [rawLine, busLine, ringLine] = [ptyOfFile(), ptyOfFile(), ptyOfFile()]
  const heard: Buffer[] = []
  rawLine.onBytes((bytes) => void heard.push(Buffer.from(bytes)))
  t.teardown(simulateModbusLine({ duplex: busLine, units: [energyMeter(1, systemClock)], clock: systemClock }))
  const ring = new SimulatedRing({ duplex: ringLine, nodes: [{ mac: 4, value: 21.5 }] })
  t.teardown(() => ring.stop())
  const settings = { framing: 'delimiter', delimiter_hex: '0A' }
  for (const [path, body] of [
    [rawLine.path, { protocol: 'raw', settings }],
    // Long, as the unit of the test is late on a busy machine.
    [busLine.path, { protocol: 'modbus-rtu', line: { baud: 115_200 }, settings: { response_timeout_ms: 2000 } }],
    [ringLine.path, { protocol: 'bacnet-mstp', line: { baud: 76_800 }, settings: { mac: 1, max_master: 8 } }],
  ] as const)
    t.equal((await gateway.openPort(t, path, body)).status, 200, path)
  const order = async () => (await gateway.call('GET', at(ringLine.path, '/ring'))).body?.order.join()
  await until('the ring is whole', async () => (await order()) === '1,4')
  return {
    ...{ gateway, tokens: { nobody: null, viewer, admin: gateway.token() } },
    ...{ raw: { path: rawLine.path, heard }, modbus: busLine.path, mstp: ringLine.path, target: await targetOf(t) },
  }
}

t.test('A.endpoints each line of the document: its method, path, rights, body and answer', WAIT_ENDS, async (t) => {
  const stage = await stageFor(t)
  for (const row of rows) await t.test(`A.${row.line}`, (t) => keeps(t, row, stage))
  await t.test('A.Endpoints: both forms of a raw transmit reach the line', async (t) => {
    await until('it heard both', () => Buffer.concat(stage.raw.heard).length >= 15)
    t.equal(Buffer.concat(stage.raw.heard).toString(), 'by data\nby hex\n')
  })
  await t.test('A.Webhook delivery body: port, event, timestamp, payload; headers and signature', (t) =>
    delivers(t, stage),
  )
  await t.test('A.Authentication: the /ws upgrade needs the header, like all routes', (t) => upgrades(t, stage))
})

async function keeps(t: Test, row: Row, stage: Stage): Promise<void> {
  const { answers, auth, body, method, path, status } = row
  const { gateway, tokens } = stage
  const send = (who: Who) => gateway.call(method, path(stage), body?.(stage), tokens[who])
  for (const who of callers) {
    const wanted = AUTH[auth][who]
    // Of a change that everybody may make none is made twice.
    if (who !== 'admin' && wanted === 'in' && method !== 'GET' && path(stage) !== '/api/login') continue
    let answer = await send(who)
    // On a busy machine the token of a ring or the answer of a unit is late now and then: asked again, it comes.
    for (let tries = 0; wanted === 'in' && answer.status !== status && answer.status >= 500 && tries < 20; tries++)
      answer = await send(who)
    t.equal(answer.status, wanted === 'in' ? status : wanted, `${who}: ${JSON.stringify(answer.body)?.slice(0, 200)}`)
    if (wanted !== 'in') t.match(answer.body, { error: String, message: String })
    else if (status !== 204) t.match(answer.body, answers(answer.body, stage) as object)
  }
}

async function delivers(t: Test, stage: Stage): Promise<void> {
  const { gateway, raw, target } = stage
  const headers = { authorization: 'Basic YTpi' }
  const bodies = [
    { url: target.url, secret: SECRET, headers, events: ['frame'] },
    { url: target.url, events: ['no such event'] },
    { url: target.url, enabled: false },
  ]
  for (const body of bodies) await gateway.call('POST', hooks(stage), body)
  const before = Date.now()
  await gateway.call('POST', at(raw.path, '/rest/tx'), { hex: '41 0A' })
  await until('the event is delivered', () => target.got.length > 0)
  const [{ body, headers: got }] = target.got as [Delivery]
  const digest = createHmac('sha256', SECRET).update(body).digest('hex')
  t.match(got, {
    'content-type': 'application/json',
    'x-svc-port': raw.path,
    'x-svc-event': 'frame',
    'x-svc-signature': `sha256=${digest}`,
    authorization: headers.authorization,
  })
  const told = JSON.parse(body.toString())
  t.same(Object.keys(told).sort(), ['event', 'payload', 'port', 'timestamp'])
  t.match(told, { port: raw.path, event: 'frame', payload: { direction: 'tx', hex: '41 0A' } })
  t.ok(Number.isInteger(told.timestamp) && told.timestamp >= before && told.timestamp <= Date.now())
  t.equal(target.got.length, 1, 'those of another event, and those that are off, are not told')
}

async function upgrades(t: Test, { gateway, tokens }: Stage): Promise<void> {
  const place = `${gateway.url.replace('http', 'ws')}/ws`
  const outcome = async (token: string | null) => {
    const socket = new WebSocket(place, { headers: token === null ? {} : { authorization: `Bearer ${token}` } })
    return new Promise<string>((resolve) => {
      socket.on('open', () => {
        socket.terminate()
        resolve('open')
      })
      socket.on('unexpected-response', (_, { statusCode }) => resolve(String(statusCode)))
      socket.on('error', () => {})
    })
  }
  t.equal(await outcome(null), '401')
  t.equal(await outcome(tokens.viewer), 'open')
  t.equal(await outcome(tokens.admin), 'open')
}
