/** Tests of http/sockets.ts. */
import { connect, Socket as Stream } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { Type } from 'typebox'
import { WebSocket } from 'ws'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Caller } from '../../http/route.ts'
import type { HttpServerOptions } from '../../http/server.ts'
import { createTickets, type Socket, type SocketRoute, socketRoute } from '../../http/sockets.ts'
import { serverRows } from '../../pure/memory-plan.ts'
import { heapBytesOf, heldBytes, rowOf } from '../heap.ts'
import { until } from '../until.ts'
import { httpConfig, serve } from './server-here.ts'

type Test = Parameters<typeof serve>[0]

/** A server with one socket path; `opened` gives the next socket that was opened on it. */
async function serveSockets(
  t: Test,
  options: Parameters<typeof serve>[1] & Pick<Partial<SocketRoute>, 'open' | 'who' | 'recognize'> = {},
) {
  const clock = fakeClock()
  const opened: ((at: { socket: Socket; caller: Caller | undefined }) => void)[] = []
  const open: SocketRoute['open'] = (socket, caller, query) => {
    options.open?.(socket, caller, query)
    opened.shift()?.({ socket, caller })
  }
  const { open: _open, who = 'user' as const, recognize, ...rest } = options
  const sockets = [{ path: '/ws', who, recognize, summary: 'Test', open }]
  const here = await serve(t, { clock, sockets, ...rest })
  const next = () => new Promise<{ socket: Socket; caller: Caller | undefined }>((resolve) => opened.push(resolve))
  const dial = (path = '/ws', headers: Record<string, string> = { authorization: 'Bearer viewer' }, settings = {}) => {
    const client = new WebSocket(`${here.url.replace('http', 'ws')}${path}`, { headers, ...settings })
    t.teardown(() => client.terminate())
    return client
  }
  return { ...here, clock, next, dial }
}

/** The result of an upgrade: `open`, or the status and code of the refusal. */
function outcome(client: WebSocket): Promise<unknown> {
  return new Promise((resolve) => {
    client.on('open', () => resolve('open'))
    client.on('unexpected-response', (_, reply) => {
      resolve(text(reply).then((body) => [reply.statusCode, JSON.parse(body).error]))
    })
    client.on('error', () => {})
  })
}

const closed = (client: WebSocket) =>
  new Promise<[number, string]>((resolve) => client.on('close', (code, reason) => resolve([code, String(reason)])))

t.test('A.authentication.1 opens a socket for a bearer token and hands over its caller', async (t) => {
  const { dial, next } = await serveSockets(t)
  const opened = next()
  t.equal(await outcome(dial()), 'open')
  t.same((await opened).caller, { name: 'viewer-name', role: 'viewer' })
})

t.test('refuses before the upgrade, as plain HTTP', async (t) => {
  const { dial, ask } = await serveSockets(t, { who: 'admin' })
  t.same(await outcome(dial('/ws', {})), [401, 'unauthorized'])
  t.same(await outcome(dial('/ws', { authorization: 'Bearer wrong' })), [401, 'unauthorized'])
  t.same(await outcome(dial()), [403, 'forbidden'])
  t.same(await outcome(dial('/ws?ticket=unknown', {})), [401, 'unauthorized'])
  t.same(await outcome(dial('/elsewhere')), [404, 'not_found'])
  const plain = await ask('/ws', { as: 'admin' })
  t.same([plain.status, (await plain.json()).error], [426, 'upgrade_required'])
  t.equal((await ask('/ws', { method: 'POST' })).status, 405)
})

t.test('refuses pages of other sites, and accepts its own', async (t) => {
  const { dial, port } = await serveSockets(t)
  const authorization = 'Bearer viewer'
  for (const origin of ['http://evil.example', `http://127.0.0.1:${port + 1}`, 'null'])
    t.same(await outcome(dial('/ws', { authorization, origin })), [403, 'foreign_origin'], origin)
  t.equal(await outcome(dial('/ws', { authorization, origin: `http://127.0.0.1:${port}` })), 'open')
})

t.test('accepts a ticket once, and not after it has expired', async (t) => {
  const clock = fakeClock()
  const tickets = createTickets({ clock, lifeMs: 30_000, max: 8 })
  const anna: Caller = { name: 'anna', role: 'viewer' }
  const { dial, next } = await serveSockets(t, { clock, takeTicket: tickets.take })
  const opened = next()
  const ticket = tickets.issue(anna)
  t.equal(await outcome(dial(`/ws?ticket=${ticket}`, {})), 'open')
  t.equal((await opened).caller, anna)
  t.same(await outcome(dial(`/ws?ticket=${ticket}`, {})), [401, 'unauthorized'])
  const late = tickets.issue(anna)
  clock.advance(30_000)
  t.same(await outcome(dial(`/ws?ticket=${late}`, {})), [401, 'unauthorized'])
})

t.test('a refused page does not use the ticket up', async (t) => {
  const tickets = createTickets({ clock: fakeClock(), lifeMs: 30_000, max: 8 })
  const { dial } = await serveSockets(t, { takeTicket: tickets.take })
  const ticket = tickets.issue({ name: 'anna', role: 'viewer' })
  const evil = { origin: 'http://evil.example' }
  t.same(await outcome(dial(`/ws?ticket=${ticket}`, evil)), [403, 'foreign_origin'])
  t.ok(tickets.take(ticket))
})

t.test('the holder of most tickets makes room for the others', async (t) => {
  const tickets = createTickets({ clock: fakeClock(), lifeMs: 30_000, max: 3 })
  const bert = tickets.issue({ name: 'bert', role: 'viewer' })
  const annas = Array.from({ length: 9 }, () => tickets.issue({ name: 'anna', role: 'admin' }))
  t.equal(tickets.take(bert)?.name, 'bert')
  t.same(
    annas.map((ticket) => tickets.take(ticket) !== undefined),
    [...new Array(7).fill(false), true, true],
  )
})

t.test('the oldest ticket makes room', async (t) => {
  const tickets = createTickets({ clock: fakeClock(), lifeMs: 30_000, max: 2 })
  const anna: Caller = { name: 'anna', role: 'viewer' }
  const [one, two, three] = [tickets.issue(anna), tickets.issue(anna), tickets.issue(anna)]
  t.same([tickets.take(one), tickets.take(two), tickets.take(three)], [undefined, anna, anna])
})

t.test('tickets take no more than their row says', async (t) => {
  const max = 5000
  const bytes = await heapBytesOf(() => {
    const tickets = createTickets({ clock: fakeClock(), lifeMs: 30_000, max })
    // A caller belongs to its session, which is counted there.
    const anna: Caller = { name: 'anna', role: 'viewer' }
    for (let at = 0; at < max + 10; at++) tickets.issue(anna)
    return tickets
  })
  const row = rowOf(serverRows(), 'one-time tickets', { 'http.max_tickets': max })
  t.ok(bytes < row.allBytes, `${bytes / max} bytes a ticket, of ${row.eachBytes}`)
})

t.test('carries text and bytes both ways', async (t) => {
  const heard: (string | Uint8Array)[] = []
  const open = (socket: Socket) =>
    socket.onMessage((message) => {
      heard.push(message)
      socket.send(message)
    })
  const { dial } = await serveSockets(t, { open })
  const client = dial()
  await outcome(client)
  const echoes: unknown[] = []
  const both = new Promise<void>((resolve) => {
    client.on('message', (data, isBinary) => {
      echoes.push(isBinary ? [...(data as Buffer)] : String(data))
      if (echoes.length === 2) resolve()
    })
  })
  client.send('hello')
  client.send(new Uint8Array([1, 2, 3]))
  await both
  t.same(echoes, ['hello', [1, 2, 3]])
  t.same(heard, ['hello', new Uint8Array([1, 2, 3])])
})

t.test('messages of one turn go to the kernel together, in order, and before a close', async (t) => {
  const { dial, next } = await serveSockets(t)
  const opened = next()
  const client = dial()
  await outcome(client)
  const { socket } = await opened
  const heard: string[] = []
  client.on('message', (data) => heard.push(String(data)))
  const stream = Stream.prototype as unknown as { _writev(...given: unknown[]): void }
  const writes = t.capture(stream, '_writev', stream._writev)
  const sent = Array.from({ length: 100 }, (_, at) => `message ${at}`)
  for (const message of sent) t.equal(socket.send(message), true)
  await until('all are heard', () => heard.length === sent.length)
  t.same(heard, sent)
  t.equal(writes().length, 1)
  const long = ['a', 'b', 'c'].map((letter) => letter.repeat(40_000))
  for (const message of long) socket.send(message)
  const ended = closed(client)
  socket.close(1000, 'done')
  t.same(await ended, [1000, 'done'])
  t.same(heard.slice(sent.length), long)
})

t.test('drops messages that a slow client does not read, and never buffers beyond the limit', async (t) => {
  const { dial, next, ask } = await serveSockets(t, { http: { socket_buffer_bytes: 100_000 } })
  const opened = next()
  const client = dial()
  const { socket } = await opened
  await outcome(client)
  client.pause()
  const chunk = 'x'.repeat(20_000)
  const taken: boolean[] = []
  for (let i = 0; i < 2000; i++) {
    taken.push(socket.send(chunk))
    if (socket.bufferedBytes > 110_000) return t.fail(`${socket.bufferedBytes} bytes wait`)
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(taken.includes(false))
  t.match(await (await ask('/metrics', { as: 'viewer' })).text(), /socket_messages_dropped_total [1-9]/)
  client.resume()
})

t.test('closes a peer that does not answer a ping, and keeps one that does', async (t) => {
  const heard = Promise.withResolvers<unknown>()
  const open = (socket: Socket) => socket.onMessage(heard.resolve)
  const { clock, dial } = await serveSockets(t, { open })
  const [alive, dead] = [dial(), dial('/ws', undefined, { autoPong: false })]
  await Promise.all([outcome(alive), outcome(dead)])
  const gone = closed(dead)
  const pinged = new Promise((resolve) => alive.once('ping', resolve))
  clock.advance(30_000)
  await pinged
  // A message sent after the pong arrives after it.
  alive.send('behind the pong')
  await heard.promise
  clock.advance(30_000)
  t.equal((await gone)[0], 1006)
  t.equal(alive.readyState, WebSocket.OPEN)
})

t.test('closes a socket whose caller is no longer signed in', async (t) => {
  let isSignedIn = true
  const isStillSignedIn: HttpServerOptions['isStillSignedIn'] = () => isSignedIn
  const { clock, dial } = await serveSockets(t, { isStillSignedIn })
  const client = dial()
  await outcome(client)
  const gone = closed(client)
  clock.advance(30_000)
  isSignedIn = false
  clock.advance(30_000)
  t.same(await gone, [1008, 'signed out'])
})

t.test('refuses more sockets than allowed, and opens again when one closed', async (t) => {
  const { dial, next } = await serveSockets(t, { http: { max_sockets: 1 } })
  const opened = next()
  const first = dial()
  t.equal(await outcome(first), 'open')
  t.same(await outcome(dial()), [503, 'too_many_sockets'])
  const { socket } = await opened
  const gone = new Promise((resolve) => socket.onClose(resolve))
  first.close()
  t.equal(await gone, 1005)
  t.equal(socket.send('late'), false)
  t.equal(await outcome(dial()), 'open')
})

t.test('closes a socket that sends more at once than allowed', async (t) => {
  const { dial } = await serveSockets(t, { http: { socket_message_bytes: 128 } })
  const client = dial()
  await outcome(client)
  const gone = closed(client)
  client.send('x'.repeat(129))
  t.equal((await gone)[0], 1009)
})

t.test('a fault in a handler closes only that socket, with a sentence that holds no secret', async (t) => {
  const lines: string[] = []
  const log = { ...silentLog, error: (event: string) => void lines.push(event) }
  const open = (socket: Socket) =>
    socket.onMessage((message) => {
      if (message === 'fault') throw new Fault('bad_message', `the message is not known ${'\u00e4'.repeat(100)}`)
      throw new Error('secret')
    })
  const { dial } = await serveSockets(t, { open, log })
  const [one, other, third] = [dial(), dial(), dial()]
  await Promise.all([outcome(one), outcome(other), outcome(third)])
  const [goneOne, goneOther] = [closed(one), closed(other)]
  one.send('fault')
  other.send('error')
  t.match(await goneOne, [1008, /^bad_message: the message is not known \u00e4+$/])
  t.same(await goneOther, [1011, 'a fault of the program; the log has it'])
  t.same(lines, ['socket_handler_failed'])
  t.equal(third.readyState, WebSocket.OPEN)
})

t.test('tells sockets that the server stops', async (t) => {
  const { dial, server } = await serveSockets(t)
  const client = dial()
  await outcome(client)
  const gone = closed(client)
  await server.close()
  t.same(await gone, [1001, 'the server stops'])
})

t.test('does not wait for a socket whose client does not answer the close', async (t) => {
  const { clock, dial, server } = await serveSockets(t)
  const client = dial()
  await outcome(client)
  client.pause()
  const closing = server.close()
  await clock.run(2000)
  await closing
  t.equal(client.readyState, WebSocket.OPEN)
})

t.test('answers a client that asks for another protocol as an ordinary request', async (t) => {
  const { port, url } = await serveSockets(t)
  for (const upgrade of ['h2c', 'websocket']) {
    const bare = connect(port, '127.0.0.1')
    const head = `Host: ${url.slice(7)}\r\nAuthorization: Bearer viewer\r\nUpgrade: ${upgrade}`
    bare.write(`GET /metrics HTTP/1.1\r\n${head}\r\nConnection: close, Upgrade\r\n\r\n`)
    t.match(await text(bare), /^HTTP\/1\.1 200 OK/, upgrade)
  }
})

t.test('survives a client that upgrades and vanishes, or sends nonsense', async (t) => {
  const { port, dial } = await serveSockets(t)
  const head =
    'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer viewer\r\n\r\n'
  for (const tail of ['', 'no frame at all', '\u00ff\u00ff\u00ff\u00ff']) {
    const bare = connect(port, '127.0.0.1')
    bare.write(`${head}${tail}`, 'latin1')
    await new Promise((resolve) => bare.once('data', resolve))
    bare.resetAndDestroy()
  }
  t.equal(await outcome(dial()), 'open')
})

t.test('an address has its share of the sockets, and the one with most loses its oldest to another', async (t) => {
  const { dial } = await serveSockets(t, { http: { max_sockets: 3, max_sockets_per_address: 3 } })
  const from = (localAddress: string) => dial('/ws', { authorization: 'Bearer viewer' }, { localAddress })
  const oldest = from('127.0.0.1')
  t.equal(await outcome(oldest), 'open')
  const gone = closed(oldest)
  t.equal(await outcome(from('127.0.0.1')), 'open')
  t.equal(await outcome(from('127.0.0.1')), 'open')
  t.same(await outcome(from('127.0.0.1')), [503, 'too_many_sockets'])
  t.equal(await outcome(from('127.0.0.2')), 'open')
  t.same(await gone, [1013, 'another address needs the place'])
  t.same(await outcome(from('127.0.0.2')), [503, 'too_many_sockets'], 'it would have as many as the other')
})

const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer viewer\r\n\r\n'

/** A bare client that reads nothing after its upgrade, and the socket of the server. */
async function comeBare({ next, port }: Awaited<ReturnType<typeof serveSockets>>, t: Test) {
  const opened = next()
  const bare = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => bare.destroy())
  bare.setNoDelay(true).write(UPGRADE)
  await new Promise((resolve) => bare.once('data', resolve))
  bare.pause()
  const send = (...frames: Uint8Array[]) =>
    new Promise<void>((resolve) => bare.write(Buffer.concat(frames), () => setImmediate(resolve)))
  return { bare, send, socket: (await opened).socket }
}

/** A frame as a client sends it, with a mask of zeros. */
function frame(head: number, body: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(head, 0x80 | body.length, 0, 0, 0, 0), body])
}

/** The same for a body of that many bytes, which are still to come. */
const longHead = (bytes: number) => Uint8Array.of(0x81, 0x80 | 126, bytes >> 8, bytes & 255, 0, 0, 0, 0)

t.test('messages that wait for a client take no more than their row says, however short they are', async (t) => {
  const { max_sockets: _, socket_buffer_bytes } = httpConfig()
  const settings = { 'http.max_sockets': 1, 'http.socket_buffer_bytes': socket_buffer_bytes }
  const row = rowOf(serverRows(), 'messages to WebSockets', settings)
  const here = await serveSockets(t)
  for (const length of [2, 100, 8000]) {
    const { socket } = await comeBare(here, t)
    // The kernel takes some megabytes first.
    for (let turns = 0; turns < 5; turns = socket.bufferedBytes > 0 ? turns + 1 : 0) {
      if (socket.bufferedBytes === 0) socket.send('x'.repeat(16_000))
      await new Promise(setImmediate)
    }
    const before = await heldBytes()
    let sent = 0
    while (socket.send(String(sent).padStart(length, 'x').slice(-length))) sent++
    const bytes = (await heldBytes()) - before
    t.ok(socket.bufferedBytes > sent * length, `${sent} messages of ${length}`)
    t.ok(bytes < row.allBytes, `${bytes} bytes of messages of ${length}, of ${row.eachBytes}`)
  }
})

t.test('an incomplete message takes no more than its row says: whole, in packets or in fragments', async (t) => {
  const messageBytes = 65_536
  const settings = { 'http.max_sockets': 1, 'http.socket_message_bytes': messageBytes }
  const row = rowOf(serverRows(), 'messages from WebSockets', settings)
  const here = await serveSockets(t, { http: { socket_message_bytes: messageBytes } })
  async function held(say: (client: Awaited<ReturnType<typeof comeBare>>) => Promise<void>) {
    const client = await comeBare(here, t)
    const before = await heldBytes()
    await say(client)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const bytes = (await heldBytes()) - before
    t.notOk(client.bare.readableEnded, 'it is there')
    return { ...client, bytes }
  }
  const whole = await held(({ send }) => send(longHead(65_000), Buffer.alloc(64_999, 'x')))
  // Collections also release compiled code that other files of this process no longer use.
  t.ok(whole.bytes > 30_000 && whole.bytes < row.allBytes, `${whole.bytes} bytes in one, of ${row.eachBytes}`)
  const inPackets = await held(async ({ send }) => {
    await send(longHead(65_000))
    for (let times = 0; times < 500; times++) await send(Buffer.from('x'))
  })
  t.ok(inPackets.bytes < row.allBytes, `${inPackets.bytes} bytes in packets, of ${row.eachBytes}`)
  // Each fragment comes with much that is discarded at once, and that must not be held with it.
  const idle = Buffer.concat(Array.from({ length: 499 }, () => frame(0x8a, Buffer.alloc(125))))
  const inFragments = await held(async ({ send }) => {
    for (let at = 0; at < 9; at++) await send(frame(at === 0 ? 0x01 : 0x00, Buffer.from('x')), idle)
  })
  t.ok(inFragments.bytes > 300_000 && inFragments.bytes < row.allBytes, `${inFragments.bytes} bytes in fragments`)
  const gone = until('a message in too many fragments ends its socket', () => !inFragments.socket.isOpen)
  await inFragments.send(frame(0x00, Buffer.from('x')), frame(0x80, Buffer.from('x')))
  await gone
})

t.test('a socket that recognizes its callers itself gets the head and the ticket, and may refuse them', async (t) => {
  const { dial, next } = await serveSockets(t, {
    who: 'anyone',
    recognize({ headers, ticket, authorization, remoteAddress }) {
      if (ticket === 'bad') throw new Fault('unauthorized', 'no such ticket')
      return { name: `${ticket} ${authorization} ${headers['x-from']} ${remoteAddress}`, role: 'viewer' }
    },
  })
  const opened = next()
  t.equal(await outcome(dial('/ws?ticket=t1', { authorization: 'Bearer x', 'x-from': 'there' })), 'open')
  t.same((await opened).caller, { name: 't1 Bearer x there 127.0.0.1', role: 'viewer' })
  const stranger = next()
  t.equal(await outcome(dial('/ws', {})), 'open')
  t.match((await stranger).caller, { name: 'undefined undefined undefined 127.0.0.1' })
  t.same(await outcome(dial('/ws?ticket=bad', {})), [401, 'unauthorized'])
})

t.test('a path may ask for a query, refuse before the upgrade, and say to a plain request what it would', async (t) => {
  const seen: unknown[] = []
  const sockets = [
    socketRoute({
      ...{ path: '/film', who: 'user' as const, summary: 'Test' },
      query: Type.Object({ camera: Type.String() }, { additionalProperties: false }),
      check(caller, { camera }) {
        if (camera === 'none') throw new Fault('forbidden', `${caller?.name} sees no such camera`)
      },
      open: (_socket, _caller, query) => void seen.push(query),
    }),
  ]
  const { ask, dial } = await serveSockets(t, { sockets })
  t.equal(await outcome(dial('/film?camera=door')), 'open')
  t.same(seen, [{ camera: 'door' }])
  t.same(await outcome(dial('/film')), [400, 'bad_fields'])
  t.same(await outcome(dial('/film?camera=none')), [403, 'forbidden'])
  const plain = async (path: string) => (await (await ask(path, { as: 'viewer' })).json()).error
  t.equal(await plain('/film?camera=none'), 'forbidden')
  t.equal(await plain('/film?camera=door'), 'upgrade_required')
})

t.test('a path may take a token in its address, which then may come from any page', async (t) => {
  const identify: HttpServerOptions['identify'] = ({ authorization, queryToken }) =>
    authorization === 'Bearer viewer' || queryToken === 'shown' ? { name: 'viewer-name', role: 'viewer' } : undefined
  const open = () => {}
  const sockets = [
    { path: '/takes', who: 'user' as const, summary: 'Test', token: true, open },
    { path: '/ws', who: 'user' as const, summary: 'Test', open },
  ]
  const { dial } = await serveSockets(t, { sockets, identify })
  const evil = { origin: 'http://evil.example' }
  t.equal(await outcome(dial('/takes?token=shown', {})), 'open')
  t.equal(await outcome(dial('/takes?token=shown', evil)), 'open')
  t.same(await outcome(dial('/takes?token=wrong', evil)), [401, 'unauthorized'])
  t.same(await outcome(dial('/takes?token=shown&token=shown', {})), [401, 'unauthorized'])
  t.same(await outcome(dial('/takes', { ...evil, authorization: 'Bearer viewer' })), [403, 'foreign_origin'])
  t.same(await outcome(dial('/ws?token=shown', {})), [401, 'unauthorized'])
})

t.test('a path may have a buffer of its own', async (t) => {
  const open = (socket: Socket) => {
    t.equal(socket.send('x'.repeat(50_000)), true)
    t.equal(socket.send('x'.repeat(200_000)), false)
  }
  const sockets = [{ path: '/ws', who: 'user' as const, summary: 'Test', bufferBytes: 100_000, open }]
  const { dial } = await serveSockets(t, { sockets })
  t.equal(await outcome(dial()), 'open')
})
