// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of rows are written like that
/** Devices that hang, flood, lie, hang up and talk rubbish, in every protocol: none harms another, a page or the daemon. */
import { createHmac } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { toyAmp } from './core/drivers/toy-stage.ts'
import { openRestSite } from './rest-site.ts'
import { restRows } from './rest-site-rows.ts'

const MARKUP = '<img src=x onerror=alert(1)>'
const RUBBISH = Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0a, 0x1b, 0x5b, 0x32, 0x4a, 0x80, 0xc2, 0x85, 0xe2, 0x80, 0xa8])

/** A server at a loopback port. @returns its port */
async function listening(t: Test, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Whoever connects gets these bytes again and again, far more than is read of one device. */
function flood(t: Test, bytes: Uint8Array | string): Promise<number> {
  const much = Buffer.alloc(65_536, bytes)
  return listening(
    t,
    createServer((socket) => {
      const timer = setInterval(() => socket.writableNeedDrain || socket.write(much), 20)
      socket.once('close', () => clearInterval(timer))
    }),
  )
}

const says = (t: Test, bytes: Uint8Array | string) =>
  listening(
    t,
    createServer((socket) => void socket.write(bytes)),
  )

/** A broker that accepts, and then sends what no broker may. */
function badBroker(t: Test, packet: Buffer): Promise<number> {
  return listening(
    t,
    createServer((socket) => {
      socket.once('data', () => void socket.write(Buffer.concat([Buffer.from([0x20, 2, 0, 0]), packet])))
    }),
  )
}

/** A KNX interface that answers everything with what it was asked, and with rubbish. */
async function badInterface(t: Test): Promise<number> {
  const socket = createSocket('udp4')
  socket.on('message', (bytes, { port, address }) => {
    for (const answer of [bytes, RUBBISH, Buffer.alloc(60_000, 6), Buffer.from('061002060000150008', 'hex')])
      socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket.address().port
}

/** A gateway whose answers are markup, deep JSON and values without sense, and whose feed does not end. */
async function badGateway(t: Test): Promise<number> {
  const { createServer: createHttp } = await import('node:http')
  const deep = '['.repeat(100_000)
  const points = [{ name: MARKUP, value: { toString: 1 }, quality: 'good', fault: { message: MARKUP } }, null, 7]
  const server = createHttp((request, response) => {
    request.resume()
    const text = request.url === '/api/me' ? '{}' : request.method === 'GET' ? JSON.stringify({ points }) : deep
    response.writeHead(200, { 'content-type': 'text/html' }).end(text)
  })
  const feed = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) =>
    feed.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', () => {})
      for (const said of [deep, RUBBISH, MARKUP, '{"type":"event"}', '{"type":"summary"}', 'null', '7'.repeat(1000)])
        for (let at = 0; at < 50; at++) ws.send(said)
    }),
  )
  return listening(t, server as unknown as Server)
}

const VOLUME = {
  framing: { end: '\r\n' },
  commands: { volume: { ascii: 'VOL=${args.volume}\r\n', ok: 'OK' } },
  feedback: [{ pattern: 'VOL {volume:number}' }, { pattern: 'SAYS {mode:text}' }],
}

async function hostileDevices(t: Test) {
  const tcp = (port: number) => ({ config: VOLUME, transport: { kind: 'tcp', host: '127.0.0.1', port } })
  const mqtt = (port: number) => ({
    transport: { kind: 'mqtt', host: '127.0.0.1', port },
    config: {
      commands: { on: { topic: 'a', text: 'ON' } },
      feedback: [{ topic: 'b', field: 'mode' }],
    },
  })
  const at = (kind: string, port: number, more: object = {}) => ({
    transport: { kind, host: '127.0.0.1', port },
    poll_ms: 1000,
    ...more,
  })
  const publish = (first: number, id: number) => Buffer.from([first, 6, 0, 1, 0x62, id >> 8, id & 0xff, 0x78])
  return {
    hangs: tcp(
      await listening(
        t,
        createServer(() => {}),
      ),
    ),
    floods: tcp(await flood(t, 'VOL 1\r\n')),
    'never ends a line': tcp(await flood(t, 'x')),
    'ends lines alone': tcp(await flood(t, '\r\n')),
    lies: tcp(await says(t, `SAYS ${MARKUP}\r\nVOL 1e999\r\nVOL 9${'9'.repeat(400)}\r\nOK\r\nOK\r\n`)),
    'talks rubbish': tcp(await says(t, RUBBISH)),
    'hangs up': tcp(
      await listening(
        t,
        createServer((socket) => void socket.destroy()),
      ),
    ),
    'is a broker that keeps': mqtt(await badBroker(t, Buffer.concat([1, 2, 3].map((id) => publish(0x34, id))))),
    'is a broker of rubbish': mqtt(await badBroker(t, RUBBISH)),
    'is a broker of huge packets': mqtt(await badBroker(t, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]))),
    'is an interface of rubbish': at('knx', await badInterface(t)),
    'is a unit of rubbish': at('modbus-tcp', await says(t, Buffer.alloc(4096, 7))),
    'is a server of rubbish': at('http', await says(t, `HTTP/1.1 200 OK\r\n${MARKUP}: 1\r\n\r\n`), {
      config: { commands: { on: { path: '/' } }, polls: [{ path: '/', feedback: [{ field: 'mode' }] }] },
    }),
    'is a gateway of rubbish': at('gateway', await badGateway(t), { driver: 'gateway', api_key: 'pr_key' }),
  }
}

const ADDRESSES: Readonly<Record<string, string>> = {
  knx: '1/1/1',
  'modbus-tcp': '1/coil/1',
  gateway: `/dev/ttyUSB0#${MARKUP}`,
}

t.test('whatever devices do, another is commanded, the daemon answers, and no page gets markup', async (t) => {
  const amp = await toyAmp(t)
  const bad = Object.entries(await hostileDevices(t))
  const own = restRows(9)
  const device = bad.map(([name, columns], at) => ({ id: 101 + at, name, ...columns }))
  const zone = device.map(({ id, name, transport }) => ({
    ...{ id, name: `Zone that ${name}`, type: 'audio', device_id: id },
    address: ADDRESSES[transport.kind] ?? null,
  }))
  const transport = { kind: 'tcp', host: '127.0.0.1', port: amp.port }
  const rows = {
    device: [...(own.device ?? []), { id: 100, name: 'Amp', config: VOLUME, transport }, ...device],
    zone: [...(own.zone ?? []), { id: 100, name: 'Bar', device_id: 100 }, ...zone],
  }
  const site = await openRestSite(t, { rows, sets: ['audit.record_ms=60000'] })
  const ada = await site.tokenOf('ada')
  const command = async (zone_id: number, verb: string, args: object = {}) =>
    (await site.post('/api/control/command', { zone_id, command: verb, args }, ada)).body
  await until('the good one is there', async () => (await command(100, 'volume', { volume: 1 })).success === true)
  const asked = zone.flatMap(({ id }) => ['volume', 'on', 'off'].map((verb) => command(id, verb, { volume: 5 })))
  for (let volume = 2; volume <= 12; volume++) {
    t.match(await command(100, 'volume', { volume }), { success: true })
    t.match((await site.get('/api/health')).body, { ok: true })
  }
  await Promise.all(asked)
  await until('each has been tried', async () => {
    const { body } = await site.get('/api/data/device?_gte[id]=101&_instance=true', ada)
    return body.every(({ state }: { state: string }) => state !== 'unknown')
  })
  t.strictSame(
    amp.lines,
    Array.from({ length: 12 }, (_, at) => `VOL=${at + 1}`),
  )
  const page = await site.pageOf('ada')
  const said = JSON.stringify([
    (await page('GET', '/ui/zones')).body,
    (await page('GET', '/ui/devices?limit=200')).body,
    (await site.get('/api/data/zone?_instance=true', ada)).body,
    (await page('GET', '/ui/ledger')).body,
  ])
  t.notMatch(said, /\\u001b|\\u0000|\\u0080|\\u0085|\u2028/, 'no control characters of devices')
  t.match((await page('GET', '/')).headers.get('content-security-policy'), /^default-src 'self'; /)
  const lines = site.output().split('\n').length
  t.ok(lines < 400, `${lines} lines of the log`)
  t.ok(residentMb(site.pid()) < 400, `${residentMb(site.pid())} MB`)
  t.match(await command(100, 'volume', { volume: 13 }), { success: true })
})

t.test('hostile webhooks of a gateway that knows the secret change nothing but its own zones', async (t) => {
  const secret = 'a secret of sixteen'
  const own = restRows(9)
  const gateway = {
    ...{ id: 100, name: 'Gateway', driver: 'gateway', api_key: 'pr_key' },
    transport: { kind: 'gateway', host: '127.0.0.1', port: await badGateway(t) },
    config: { feed: 'webhook', webhook_secret: secret },
  }
  const zone = { id: 100, name: 'Pump', type: 'relay', device_id: 100, address: '/dev/ttyUSB0#pump' }
  const site = await openRestSite(t, {
    rows: { device: [...(own.device ?? []), gateway], zone: [...(own.zone ?? []), zone] },
  })
  const ada = await site.tokenOf('ada')
  await until('it is opened', async () => {
    const { body } = await site.get('/api/data/device?id=100&_instance=true', ada)
    return body[0].state !== 'unknown'
  })
  const others = async () => (await site.get('/api/data/zone?_lt[id]=100&_instance=true', ada)).body
  const before = await others()
  const payload = { name: 'pump', value: true, quality: 'good' }
  const bodies = [
    '',
    'null',
    '['.repeat(50_000),
    JSON.stringify({ port: '__proto__', event: 'value', timestamp: 1e300, payload: { ...payload, name: '__proto__' } }),
    JSON.stringify({ port: '/dev/ttyUSB0', event: 'value', timestamp: 'now', payload }),
    JSON.stringify({ port: '/dev/ttyUSB0', event: 'value', timestamp: 1e300, payload: { ...payload, value: MARKUP } }),
    RUBBISH,
  ]
  for (const body of bodies) {
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    for (const path of [
      '/webhooks/device/100',
      '/webhooks/device/1',
      '/webhooks/device/999',
      '/webhooks/device/0100',
    ]) {
      const told = await fetch(`${site.url()}${path}`, {
        method: 'POST',
        body,
        headers: { 'x-svc-signature': signature },
      })
      t.ok([204, 401, 404, 429, 503].includes(told.status), `${path} ${told.status}`)
    }
  }
  t.match((await site.get('/api/health')).body, { ok: true })
  t.strictSame(await others(), before, 'other zones are as they were')
})
