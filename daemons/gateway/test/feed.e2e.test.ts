import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'
import { sharedGateway } from './shared-gateway.ts'

/** For all tests but the one of a ticket's age; a client that sends three bad messages is disconnected. */
const gateway = await sharedGateway(['feed.bad_messages=3'])

const socketUrl = (gateway: RunningGateway, query = '') => `${gateway.url.replace('http', 'ws')}/ws${query}`

function listen(socket: WebSocket) {
  const got: { type: string; event?: string; port?: string; payload?: { hex?: string }; message?: string }[] = []
  socket.on('message', (data) => got.push(JSON.parse(String(data))))
  return got
}

/** Status of an upgrade that was refused. */
async function refusal(url: string, options: WebSocket.ClientOptions = {}): Promise<number> {
  const socket = new WebSocket(url, options)
  const [, response] = await once(socket, 'unexpected-response')
  socket.on('error', () => {})
  socket.terminate()
  return response.statusCode
}

t.test('A.authentication.1 /ws accepts the header, sends events, and refuses a client without a token', async (t) => {
  const token = gateway.token()
  const device = openPty()
  t.teardown(() => device.close())
  const settings = { framing: 'delimiter', delimiter_hex: '0A' }
  await gateway.openPort(t, device.path, { protocol: 'raw', settings })
  t.equal(await refusal(socketUrl(gateway)), 401)
  t.equal(await refusal(socketUrl(gateway), { headers: { authorization: 'Bearer nonsense' } }), 401)

  const socket = new WebSocket(socketUrl(gateway), { headers: { authorization: `Bearer ${token}` } })
  t.teardown(() => socket.terminate())
  const got = listen(socket)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'subscribe', port: device.path, events: ['frame', 'port'], replay: 10 }))
  await until('the past events are here', () => got.some((message) => message.event === 'port'))
  await device.write(Buffer.from('hi\n'))
  await until('the frame is told', () => got.some((message) => message.payload?.hex === '68 69 0A'))
  socket.send('{"type":"dance"}')
  await until('the fault is here', () =>
    got.some((message) => message.type === 'error' && message.message?.includes('dance')),
  )
})

t.test('a ticket opens one socket, once, and a page of another origin opens none', async (t) => {
  const ticket = async () => (await gateway.call('POST', '/api/ticket')).body.ticket as string
  const first = await ticket()
  const socket = new WebSocket(socketUrl(gateway, `?ticket=${first}`), { origin: gateway.url })
  await once(socket, 'open')
  socket.terminate()
  t.equal(await refusal(socketUrl(gateway, `?ticket=${first}`)), 401)
  t.equal(await refusal(socketUrl(gateway, `?ticket=${await ticket()}`), { origin: 'http://evil.example' }), 403)
})

t.test('a ticket that is too old opens none', async (t) => {
  const gateway = await startGateway(t, { sets: ['http.ticket_life_ms=1000'] })
  await gateway.setUp()
  const { ticket } = (await gateway.call('POST', '/api/ticket')).body
  await new Promise((resolve) => setTimeout(resolve, 1100))
  t.equal(await refusal(socketUrl(gateway, `?ticket=${ticket}`)), 401)
})

t.test('a listener gets the port and the events it asked for, and no others', async (t) => {
  const token = gateway.token()
  const [device, other] = [openPty(), openPty()]
  t.teardown(() => Promise.all([device.close(), other.close()]))
  const settings = { framing: 'delimiter', delimiter_hex: '0A' }
  for (const { path } of [device, other]) await gateway.openPort(t, path, { protocol: 'raw', settings })
  const listener = async (wish: object) => {
    const socket = new WebSocket(socketUrl(gateway), { headers: { authorization: `Bearer ${token}` } })
    t.teardown(() => socket.terminate())
    const got = listen(socket)
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'subscribe', ...wish }))
    // Messages are handled in order: once the fault is here, the subscription holds.
    socket.send('{"type":"nonsense"}')
    await until('the wish is heard', () => got.some(({ type }) => type === 'error'))
    return { got, socket }
  }
  const own = await listener({ port: device.path, events: ['frame'] })
  const states = await listener({ events: ['port'] })
  const all = await listener({})
  await other.write(Buffer.from('b\n'))
  await until('the other frame is here', () => all.got.some(({ payload }) => payload?.hex === '62 0A'))
  await gateway.call('POST', gateway.portPath(other.path, '/close'))
  await device.write(Buffer.from('a\n'))
  await until('the frame is told', () => own.got.some(({ event }) => event === 'frame'))
  await until('all of it is here', () => all.got.some(({ payload }) => payload?.hex === '61 0A'))
  const heard = ({ got }: { got: ReturnType<typeof listen> }) =>
    got.filter(({ type }) => type === 'event').map(({ port, event }) => [port, event])
  t.strictSame(heard(own), [[device.path, 'frame']])
  t.strictSame(heard(states), [[other.path, 'port']])
  t.strictSame(heard(all), [
    [other.path, 'frame'],
    [other.path, 'port'],
    [device.path, 'frame'],
  ])
})

t.test('a client that keeps sending messages that are not understood is disconnected', async (t) => {
  const token = gateway.token()
  const socket = new WebSocket(socketUrl(gateway), { headers: { authorization: `Bearer ${token}` } })
  const got = listen(socket)
  await once(socket, 'open')
  for (let n = 0; n < 1000; n++) socket.send('{"type":"nonsense"}')
  const [code, reason] = await once(socket, 'close')
  t.equal(code, 1008)
  t.equal(String(reason), '3 messages were not understood')
  t.equal(got.length, 3, 'and is told why, as often')
})
