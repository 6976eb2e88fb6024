/** With real sockets on the loopback. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { DeviceConnection } from '../../../io/transports/tcp.ts'

const LIMITS = { connectMs: 2000, keepMs: 1000, unsent: 64, unsentBytes: 65_536 }
const never = new AbortController().signal

interface Peer {
  server: Server
  port: number
  sockets: Socket[]
  text(): string
}

/** A peer that collects what it receives. @param met handles a connection */
async function peer(t: Test, met: (socket: Socket) => void = () => {}, host = '127.0.0.1'): Promise<Peer> {
  const sockets: Socket[] = []
  let text = ''
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      text += bytes
    })
    met(socket)
  }).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port, sockets, text: () => text }
}

function connection(t: Test, limits = {}) {
  const made = new DeviceConnection(systemClock, { ...LIMITS, ...limits }, 'device 1')
  t.teardown(() => made.close())
  return made
}

const bytes = (text: string) => new TextEncoder().encode(text)

t.test('messages sent together go over one connection, in order', async (t) => {
  const { port, sockets, text } = await peer(t)
  const to = connection(t)
  const warned: string[] = []
  const warn = ({ message }: Error) => void warned.push(message)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i}\n`)
  await Promise.all(lines.map((line) => to.send({ host: '127.0.0.1', port }, bytes(line), never)))
  await until('all is there', () => text().length === lines.join('').length)
  t.equal(text(), lines.join(''))
  t.strictSame(warned, [], 'no listener is left behind')
  t.equal(sockets.length, 1)
})

t.test('an idle connection is closed', async (t) => {
  const { port, sockets, text } = await peer(t)
  const to = connection(t, { keepMs: 20 })
  await to.send({ host: '127.0.0.1', port }, bytes('a\n'), never)
  await until('it is ended', () => sockets[0]?.readableEnded === true)
  await to.send({ host: '127.0.0.1', port }, bytes('b\n'), never)
  await until('both are there', () => text() === 'a\nb\n')
  t.equal(sockets.length, 2)
})

t.test('a device that hangs up after each line gets each line', async (t) => {
  const { port, sockets, text } = await peer(t, (socket) => socket.on('data', () => socket.end()))
  const to = connection(t)
  for (const line of ['a\n', 'b\n', 'c\n']) {
    await to.send({ host: '127.0.0.1', port }, bytes(line), never)
    const count = sockets.length
    await until('it hung up', () => sockets[count - 1]?.writableFinished === true)
  }
  await until('all are there', () => text() === 'a\nb\nc\n')
  t.equal(sockets.length, 3)
})

t.test('a device that answers a lot is read, and its answers are discarded', async (t) => {
  let sent = false
  const { port } = await peer(t, (socket) => socket.write(Buffer.alloc(4_000_000), () => (sent = true)))
  const to = connection(t)
  await to.send({ host: '127.0.0.1', port }, bytes('a\n'), never)
  await until('all was taken', () => sent)
  t.equal(sent, true, 'the device is not left with an answer that nobody reads')
})

t.test('IPv6 addresses work with or without brackets', async (t) => {
  const { port, text } = await peer(t, undefined, '::1')
  const to = connection(t)
  await to.send({ host: '::1', port }, bytes('a\n'), never)
  await to.send({ host: '[::1]', port }, bytes('b\n'), never)
  await until('both are there', () => text().length === 4)
  t.equal(text(), 'a\nb\n')
})

t.test('names are resolved', async (t) => {
  const { port, text } = await peer(t)
  await connection(t).send({ host: 'localhost', port }, bytes('a\n'), never)
  await until('it is there', () => text().length === 2)
  t.equal(text(), 'a\n')
})

t.test('a missing device is named with the error of the system', async (t) => {
  const port = await freePort()
  await t.rejects(connection(t).send({ host: '127.0.0.1', port }, bytes('a\n'), never), {
    code: 'device_unreachable',
    message: `127.0.0.1:${port} refuses connections (ECONNREFUSED)`,
  })
})

t.test('an aborted send fails at once, and nothing follows on that connection', async (t) => {
  // The peer does not read, so the kernel's buffers fill up.
  const { port, sockets, text } = await peer(t, (socket) => socket.pause())
  const to = connection(t)
  const stopper = new AbortController()
  const sending = to.send({ host: '127.0.0.1', port }, Buffer.alloc(64_000_000), stopper.signal)
  await until('it is under way', () => sockets.length === 1)
  stopper.abort(new Error('too late'))
  await t.rejects(sending, { message: 'too late' })
  await to.send({ host: '127.0.0.1', port }, bytes('b\n'), never)
  t.equal(sockets.length, 2)
  t.notMatch(text(), /b/)
})

t.test('a message aborted before its turn is not sent', async (t) => {
  const { port, sockets } = await peer(t)
  const sending = connection(t).send({ host: '127.0.0.1', port }, bytes('a\n'), AbortSignal.abort(new Error('no')))
  await t.rejects(sending, { message: 'no' })
  t.equal(sockets.length, 0)
})

t.test('close ends the connection and refuses later messages', async (t) => {
  const { port, sockets, text } = await peer(t)
  const to = connection(t)
  await to.send({ host: '127.0.0.1', port }, bytes('a\n'), never)
  to.close()
  await until('it is closed', () => sockets[0]?.readableEnded === true)
  t.equal(text(), 'a\n')
  await t.rejects(to.send({ host: '127.0.0.1', port }, bytes('b\n'), never), { code: 'device_cut_off' })
})

t.test('a connection that cannot be made is abandoned', async (t) => {
  const to = connection(t, { connectMs: 30 })
  // TEST-NET-1 (RFC 5737): nobody answers there, or it is unreachable.
  await t.rejects(to.send({ host: '192.0.2.1', port: 9 }, bytes('a\n'), never), { code: 'device_unreachable' })
})
