/** Tests of io/neighbourhood.ts. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { KERNEL_BYTES } from '#kit/pure/memory-plan.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'
import { memoryPlan } from '../../core/memory.ts'
import { createPeerAsker } from '../../io/neighbourhood.ts'

const ID = 'board-1._plantroom._tcp.local'
const asker = createPeerAsker({ answerMs: 10_000 })
const impatient = createPeerAsker({ answerMs: 300 })

async function http(t: Test, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  await once(server, 'listening')
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

async function tcp(t: Test, talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    talk(socket)
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

t.test('any answer of the right board counts', async (t) => {
  const seen: unknown[] = []
  for (const status of [200, 401, 404, 503]) {
    const place = await http(t, (request, reply) => {
      seen.push([request.method, request.url, request.headers.authorization, request.headers.host])
      reply.writeHead(status, { 'plantroom-instance': ID }).end('{}')
    })
    t.equal(await asker.ask(place, ID), true, String(status))
    t.same(seen.at(-1), ['GET', '/api/status', undefined, `127.0.0.1:${place.port}`])
  }
})

t.test('another server or another board does not count', async (t) => {
  const intranet = await http(t, (_request, reply) => reply.end('<h1>wiki</h1>'))
  const other = await http(t, (_request, reply) => reply.setHeader('plantroom-instance', 'board-2').end())
  t.equal(await asker.ask(intranet, ID), false)
  t.equal(await asker.ask(other, ID), false)
})

t.test('an endless answer is cut off', async (t) => {
  let sent = 0
  const place = await http(t, (_request, reply) => {
    reply.writeHead(200, { 'plantroom-instance': ID })
    const more = () => {
      while (!reply.destroyed && sent < 1e9) {
        sent += 65_536
        if (!reply.write(Buffer.alloc(65_536))) return void reply.once('drain', more)
      }
    }
    more()
  })
  t.equal(await asker.ask(place, ID), true)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.ok(sent < 16e6, `${sent} bytes`)
})

t.test('a server that is silent, hangs up, or sends rubbish or without end counts as absent', async (t) => {
  const endless = (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write(`x-${'y'.repeat(1000)}: z\r\n`), 1)
    socket.on('close', () => clearInterval(timer))
  }
  const talks: ((socket: Socket) => void)[] = [
    () => {},
    (socket) => socket.destroy(),
    (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
    endless,
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  ]
  for (const talk of talks) t.equal(await impatient.ask(await tcp(t, talk), ID), false)
})

t.test('an address where nobody listens, or that does not exist, counts as absent', async (t) => {
  const place = await http(t, (_request, reply) => reply.end())
  t.equal(await impatient.ask({ ...place, address: '127.0.0.77' }, ID), false)
  t.equal(await impatient.ask({ ...place, address: '255.255.255.255' }, ID), false)
})

t.test('boards being asked that send long answers take no more than their row says', async (t) => {
  const polls = 16
  const row = rowOf(memoryPlan().rows, 'boards that are being asked', { 'peers.polls': polls })
  for (const line of [`x-long: ${'y'.repeat(7900)}\r\n`, 'x:\r\n'.repeat(1900)]) {
    let answered = 0
    const place = await tcp(t, (socket) => {
      // The end of the head never comes.
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${line}`, () => answered++))
    })
    const stop = createPeerAsker({ answerMs: 600_000 })
    void stop.ask(place, ID)
    await until('the first is under way', () => answered === 1)
    const before = await heldBytes()
    for (let at = 0; at < 2 * polls; at++) void stop.ask(place, ID)
    await until('all are under way', () => answered === 1 + 2 * polls)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const bytes = ((await heldBytes()) - before) / (2 * polls)
    t.ok(bytes < (row.eachBytes ?? 0) - KERNEL_BYTES, `${bytes} bytes, and those of the kernel, of ${row.eachBytes}`)
  }
})

t.test('a kept board whose address nobody can have does not answer, and ends nothing', async (t) => {
  const asker = createPeerAsker({ answerMs: 2000 })
  for (const address of ['10.0.0.7\n', 'лобби', ''])
    t.equal(await asker.ask({ address, port: 1 }, 'board-1._plantroom._tcp.local'), false, JSON.stringify(address))
})
