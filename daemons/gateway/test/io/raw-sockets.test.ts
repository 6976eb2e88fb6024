import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { createRawSocketOpener } from '../../io/raw-sockets.ts'
import { freePort } from '../free-port.ts'

async function openOn(limits: { backlogBytes?: number; maxClients?: number } = {}) {
  const clock = fakeClock()
  const got: Uint8Array[] = []
  const flow: string[] = []
  const open = createRawSocketOpener({
    clock,
    log: createLog({ level: 'error' }),
    limits: { host: '127.0.0.1', backlogBytes: limits.backlogBytes ?? 1000, slowClientMs: 2000 },
  })
  const port = await freePort()
  const line = {
    onBytes: async (bytes: Uint8Array) => void got.push(bytes),
    pause: () => void flow.push('pause'),
    resume: () => void flow.push('resume'),
  }
  const server = await open({ port, maxClients: limits.maxClients ?? 2 }, line)
  return { clock, flow, got, line, open, port, server }
}

async function client(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000 && !isTrue(); turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('what a client sends goes to the line, what the line sends goes to every client', async (t) => {
  const { got, port, server } = await openOn()
  const clients = [await client(port), await client(port)]
  await until(() => server.counters().tcpClients === 2)
  clients[0]?.write('ab')
  await until(() => got.length > 0)
  t.equal(Buffer.concat(got).toString(), 'ab')
  const heard = clients.map((socket) => once(socket, 'data'))
  server.broadcast(Buffer.from('hello'))
  t.same((await Promise.all(heard)).map(String), ['hello', 'hello'])
  await server.close()
})

t.test('connections that cannot be accepted do not end the server', async (t) => {
  const servers: Server[] = []
  const note = (message: unknown) => void servers.push((message as { server: Server }).server)
  subscribe('tracing:net.server.listen:asyncStart', note)
  const { got, port, server } = await openOn()
  unsubscribe('tracing:net.server.listen:asyncStart', note)
  const own = servers.find((one) => (one.address() as AddressInfo | null)?.port === port)
  for (let times = 0; times < 3; times++) own?.emit('error', new Error('accept ENOBUFS'))
  t.ok(own)
  const socket = await client(port)
  socket.write('a')
  await until(() => got.length > 0)
  t.equal(Buffer.concat(got).toString(), 'a')
  socket.destroy()
  await server.close()
})

t.test('one client more than the bound is refused and counted', async (t) => {
  const { port, server } = await openOn({ maxClients: 1 })
  await client(port)
  await until(() => server.counters().tcpClients === 1)
  const second = await client(port)
  second.on('error', () => {})
  await once(second, 'close')
  t.match(server.counters(), { tcpClients: 1, tcpRefused: 1 })
  await server.close()
})

t.test('a client that reads nothing holds the line up for its time, then is cut off', async (t) => {
  const { clock, flow, port, server } = await openOn()
  const slow = await client(port)
  slow.pause()
  slow.on('error', () => {})
  await until(() => server.counters().tcpClients === 1)
  for (let sent = 0; sent < 40_000_000 && flow.length === 0; sent += 65_536) server.broadcast(Buffer.alloc(65_536))
  t.same(flow, ['pause'])
  clock.advance(2000)
  await until(() => server.counters().tcpClients === 0)
  t.same(flow, ['pause', 'resume'])
  t.match(server.counters(), { tcpCutOff: 1 })
  await server.close()
})

t.test('a client that catches up in time lets the line go on', async (t) => {
  const { clock, flow, port, server } = await openOn()
  const socket = await client(port)
  socket.pause()
  await until(() => server.counters().tcpClients === 1)
  for (let sent = 0; sent < 40_000_000 && flow.length === 0; sent += 65_536) server.broadcast(Buffer.alloc(65_536))
  socket.resume()
  await until(() => flow.length === 2)
  clock.advance(5000)
  t.same(flow, ['pause', 'resume'])
  t.match(server.counters(), { tcpClients: 1, tcpCutOff: 0 })
  await server.close()
})

t.test('a port that is taken is said so, with its number', async (t) => {
  const { line, open, port, server } = await openOn()
  await t.rejects(open({ port, maxClients: 1 }, line), {
    code: 'tcp_port_taken',
    message: new RegExp(`${port}.*EADDRINUSE`),
  })
  await server.close()
})

t.test('a client whose bytes the line refuses is let go', async (t) => {
  const { line, port, server } = await openOn()
  line.onBytes = async () => Promise.reject(new Error('the line is closed'))
  const socket = await client(port)
  socket.on('error', () => {})
  socket.write('x')
  await once(socket, 'close')
  t.match(server.counters(), { tcpClients: 0 })
  await server.close()
})
