/** Tests of io/rtsp.ts, its client against its server and against bare sockets. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { createShareOf } from '#kit/net/address.ts'
import { KERNEL_BYTES } from '#kit/pure/memory-plan.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../core/memory.ts'
import { describeOverRtsp, RtspServer } from '../../io/rtsp.ts'

const session = {
  names: ['Big hall'],
  ids: ['7'],
  sdp: 'v=0\r\ns=Big hall\r\n',
  group: '239.69.1.7',
  port: 5004,
  ttl: 32,
}
const LIMITS = { clients: 4, clientsPerHost: 4, requestMs: 300, idleMs: 600 }

async function serverOf(t: Test, limits: Partial<typeof LIMITS> = {}, port = 0): Promise<RtspServer> {
  const common = { clock: systemClock, log: silentLog, shareOf: createShareOf([]), session: () => session }
  const options = { ...common, port, limits: { ...LIMITS, ...limits } }
  const server = new RtspServer(options)
  await server.start()
  t.teardown(() => server.stop())
  return server
}

const ask = (port: number, path = '/by-name/Big%20hall', timeoutMs = 2000) =>
  describeOverRtsp({ clock: systemClock, address: '127.0.0.1', port, path, timeoutMs })

async function opened(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A client that has had an answer. */
async function asking(t: Test, port: number, localAddress?: string): Promise<Socket> {
  const socket = await opened(t, port, localAddress)
  socket.write('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n')
  await once(socket, 'data')
  return socket
}

/** Everything that arrives until the other end closes. */
async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (more: string) => (text += more))
  await once(socket, 'close')
  return text
}

t.test('a description is asked for by name and by number', async (t) => {
  const server = await serverOf(t)
  t.equal(await ask(server.port), session.sdp)
  t.equal(await ask(server.port, '/by-id/7'), session.sdp)
  await t.rejects(ask(server.port, '/by-name/Other'), { code: 'rtsp_refused' })
  t.match(server.counts(), { described: 2, turnedAway: 0 })
})

t.test('if a port is taken another one is used', async (t) => {
  const first = await serverOf(t)
  const second = await serverOf(t, {}, first.port)
  t.not(second.port, first.port)
  t.equal(await ask(second.port), session.sdp)
})

t.test('pipelined requests are answered in order', async (t) => {
  const socket = await opened(t, (await serverOf(t)).port)
  const text = readAll(socket)
  socket.write('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\nDESCRIBE / RTSP/1.0\r\nCSeq: 2\r\n\r\nTEAR')
  socket.write('DOWN / RTSP/1.0\r\nCSeq: 3\r\n\r\n')
  t.same((await text).match(/CSeq: \d/g), ['CSeq: 1', 'CSeq: 2', 'CSeq: 3'])
})

t.test('a request that comes byte by byte has no more time than any other', async (t) => {
  const socket = await opened(t, (await serverOf(t)).port)
  const dripping = setInterval(() => socket.write('O'), 50)
  t.teardown(() => clearInterval(dripping))
  // Anything it still writes after the other end has closed can be answered with a reset.
  socket.on('error', () => {})
  // It never would be, if each byte renewed its time.
  await new Promise((resolve) => socket.once('close', resolve))
  t.ok(socket.destroyed)
})

t.test('a client that sends nothing is closed, before a request and after it', async (t) => {
  const { port } = await serverOf(t)
  const [silent, idle] = [await opened(t, port), await opened(t, port)]
  idle.resume().write('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n')
  await Promise.all([once(silent, 'close'), once(idle, 'close')])
  t.ok(silent.destroyed && idle.destroyed)
})

t.test('a message that is not RTSP, or too long, is refused and the connection closed', async (t) => {
  const { port } = await serverOf(t, { clients: 10, clientsPerHost: 10 })
  for (const [text, status] of [
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['x'.repeat(6000), 413],
    ['\0\r\n\r\n', 400],
  ] as const) {
    const socket = await opened(t, port)
    const answer = readAll(socket)
    socket.write(text)
    t.match(await answer, new RegExp(`^RTSP/1.0 ${status} `))
  }
})

t.test('clients over the limit, in all and per address, are closed', async (t) => {
  const server = await serverOf(t, { clientsPerHost: 2, idleMs: 60_000 })
  const first = await asking(t, server.port)
  await asking(t, server.port)
  const third = await opened(t, server.port)
  await once(third, 'close')
  t.match(server.counts(), { clients: 2, turnedAway: 1 })
  first.destroy()
  await once(first, 'close')
})

t.test('an address that holds every place makes room for another: a client that never asked goes first', async (t) => {
  const server = await serverOf(t, { clients: 3, clientsPerHost: 3, idleMs: 60_000, requestMs: 60_000 })
  const player = await asking(t, server.port)
  const silent = [await opened(t, server.port), await opened(t, server.port)]
  const gone = silent.map((socket) => once(socket, 'close'))
  const other = await asking(t, server.port, '127.0.0.2')
  await Promise.race(gone)
  t.match(server.counts(), { clients: 3, turnedAway: 1 })
  for (const socket of [player, other]) {
    socket.write('OPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n')
    t.match(String((await once(socket, 'data'))[0]), /CSeq: 2/)
  }
})

t.test('a client that sends hundreds of requests at once is closed after twenty', async (t) => {
  const server = await serverOf(t, { idleMs: 60_000 })
  const socket = await opened(t, server.port)
  const text = readAll(socket)
  socket.write('DESCRIBE / RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(1000))
  const answers = (await text).match(/RTSP\/1\.0 200/g)?.length ?? 0
  t.ok(answers <= 40, `${answers} answers`)
  // The count starts over if a second ends between two of its pieces.
  t.ok(server.counts().described <= 40, `${server.counts().described} descriptions`)
  t.match(server.counts(), { turnedAway: 1 })
  t.equal(await ask(server.port), session.sdp, 'the next one is answered')
})

/** A device that answers as a test wants. */
async function device(t: Test, answer: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    answer(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as { port: number }).port
}

t.test('a device that answers badly, late, too much or not at all is abandoned', async (t) => {
  const rows: [string, (socket: Socket) => void, string][] = [
    ['nothing', () => {}, 'rtsp_unanswered'],
    ['end', (socket) => socket.end(), 'rtsp_unanswered'],
    ['half', (socket) => socket.end('RTSP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nv=0'), 'rtsp_unanswered'],
    ['http', (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'), 'rtsp_malformed'],
    ['long', (socket) => socket.write('x'.repeat(9000)), 'rtsp_too_long'],
    ['huge', (socket) => socket.write('RTSP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n'), 'rtsp_too_long'],
    ['html', (socket) => socket.write('RTSP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n'), 'rtsp_refused'],
    ['moved', (socket) => socket.write('RTSP/1.0 302 Moved\r\nLocation: rtsp://10.0.0.1/\r\n\r\n'), 'rtsp_refused'],
  ]
  for (const [name, answer, code] of rows) {
    const port = await device(t, answer)
    await t.rejects(ask(port, '/', 300), { code }, name)
  }
  await t.rejects(ask(1, '/', 300), { code: 'rtsp_unanswered' }, 'nobody listens there')
})

/** The memory of one of that many, with its other end, which is in this process too. */
async function heldByEach(many: number, come: (at: number) => Promise<unknown>): Promise<number> {
  await come(0)
  const before = await heldBytes()
  for (let at = 0; at < many; at++) await come(at)
  await new Promise((resolve) => setTimeout(resolve, 100))
  return ((await heldBytes()) - before) / many
}

t.test('clients with the longest requests, the last one half sent, take no more than their row says', async (t) => {
  const many = 32
  const row = rowOf(memoryPlan().rows, 'clients of RTSP', { 'streams.rtsp_clients': many })
  const server = await serverOf(t, { clients: many + 1, clientsPerHost: many + 1, requestMs: 60_000, idleMs: 60_000 })
  const long = `DESCRIBE / RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4096\r\nX: ${'x'.repeat(3900)}\r\n\r\n${'y'.repeat(4096)}`
  const bytes = await heldByEach(many, async () => {
    const socket = await opened(t, server.port)
    socket.pause()
    await new Promise((resolve) => socket.write(long.repeat(7) + long.slice(0, -1), resolve))
  })
  t.ok(server.counts().described >= 7 * many, `${server.counts().described} answers`)
  t.ok(bytes < (row.eachBytes ?? 0) - KERNEL_BYTES, `${bytes} bytes, and those of the kernel, of ${row.eachBytes}`)
  t.ok(bytes < 40_000, 'answered requests are released')
})

t.test(
  'devices being asked, with the longest answers still incomplete, take no more than their row says',
  async (t) => {
    const row = rowOf(memoryPlan().rows, 'devices that are asked for descriptions')
    const answer = `RTSP/1.0 200 OK\r\nX: ${'x'.repeat(4000)}\r\nContent-Length: 32768\r\n\r\n${'y'.repeat(32_767)}`
    const port = await device(t, (socket) => void socket.write(answer))
    const bytes = await heldByEach(8, async () => void ask(port, '/', 5000).catch(() => {}))
    t.ok(bytes < (row.eachBytes ?? 0) - KERNEL_BYTES, `${bytes} bytes, and those of the kernel, of ${row.eachBytes}`)
    const tooLong = `RTSP/1.0 200 OK\r\nContent-Length: 9000\r\n\r\n${'y'.repeat(9000)}`
    const other = await device(t, (socket) => void socket.write(tooLong))
    await t.rejects(ask(other, '/', 5000), { code: 'rtsp_too_long' }, 'nobody could read it')
  },
)
