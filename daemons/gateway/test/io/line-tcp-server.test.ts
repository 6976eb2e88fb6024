import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { createShareOf } from '#kit/net/address.ts'
import { KERNEL_BYTES } from '#kit/pure/memory-plan.ts'
import { freePort } from '#kit/test/free-port.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'
import type { Sent } from '../../core/bus/protocol.ts'
import type { LetGo, LineTcpLimits, TcpPeer } from '../../core/lines/tcp.ts'
import { memoryPlan } from '../../core/memory.ts'
import { ModbusTcpSession, modbusTcpCounts } from '../../core/modbus/tcp.ts'
import { createLineTcpOpener } from '../../io/line-tcp-server.ts'
import { mbapFrame } from '../../wire/mbap.ts'
import { type ModbusRequest, sealed } from '../../wire/modbus-request.ts'

interface Seen {
  peer: TcpPeer
  got: Buffer
  waiting: number
  closed: number
}

async function serverOn(t: Test, options: Partial<LineTcpLimits> & { maxClients?: number } = {}) {
  const clock = fakeClock()
  const seen: Seen[] = []
  const letGo: LetGo[] = []
  const { maxClients = 4, ...limits } = options
  const open = createLineTcpOpener({
    name: 'modbus tcp',
    clock,
    log: createLog({ level: 'error' }),
    shareOf: createShareOf([]),
    limits: {
      ...{
        host: '127.0.0.1',
        clients_per_address: 64,
        clients: 64,
        backlog_bytes: 16_384,
        slow_client_ms: 2000,
        idle_ms: 60_000,
      },
      ...limits,
    },
  })
  const port = await freePort()
  const house = {
    onLetGo: (why: LetGo) => void letGo.push(why),
    onClient(peer: TcpPeer) {
      const one: Seen = { peer, got: Buffer.alloc(0), waiting: 0, closed: 0 }
      seen.push(one)
      return {
        get waiting() {
          return one.waiting
        },
        onBytes(bytes: Uint8Array) {
          one.got = Buffer.concat([one.got, bytes])
        },
        onClosed: () => void one.closed++,
      }
    },
  }
  const server = await open({ port, maxClients }, house)
  t.teardown(() => server.close())
  return { clock, house, letGo, open, port, seen, server }
}

async function client(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Time enough for something that must not happen. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 20_000; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Replies until the client is behind by more than its backlog. */
function fill(one: Seen | undefined): void {
  for (let sent = 0; sent < 40_000_000; sent += 65_536) one?.peer.send(Buffer.alloc(65_536))
}

t.test('carries bytes both ways, each client its own', async (t) => {
  const { port, seen } = await serverOn(t)
  const sockets = [await client(t, port), await client(t, port)]
  await until('both are there', () => seen.length === 2)
  sockets[0]?.write('ab')
  sockets[1]?.write('cd')
  await until('both are heard', () => seen.every(({ got }) => got.length === 2))
  t.strictSame(seen.map(({ got }) => String(got)).sort(), ['ab', 'cd'])
  const told = once(sockets[0] as Socket, 'data')
  seen.find(({ got }) => String(got) === 'ab')?.peer.send(Buffer.from('xyz'))
  t.equal(String((await told)[0]), 'xyz')
})

t.test('one client over the limit is turned away and counted', async (t) => {
  const { letGo, port, seen } = await serverOn(t, { maxClients: 1 })
  await client(t, port)
  await until('the client is there', () => seen.length === 1)
  const second = await client(t, port)
  await once(second, 'close')
  t.strictSame(letGo, ['full'])
  t.equal(seen.length, 1)
})

t.test('a client is not read while its session wants nothing more', async (t) => {
  const { port, seen } = await serverOn(t)
  const socket = await client(t, port)
  await until('the client is there', () => seen.length === 1)
  seen[0]?.peer.pause()
  socket.write('later')
  await manyTurns()
  t.equal(seen[0]?.got.length, 0)
  seen[0]?.peer.resume()
  await until('it is heard', () => seen[0]?.got.length === 5)
  t.equal(String(seen[0]?.got), 'later')
})

t.test('a client that takes no replies is read no further, then cut off', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t)
  const slow = await client(t, port)
  slow.pause()
  await until('the client is there', () => seen.length === 1)
  fill(seen[0])
  slow.write('more')
  await manyTurns()
  t.equal(seen[0]?.got.length, 0)
  t.strictSame(letGo, [])
  clock.advance(2000)
  await until('it is closed', () => seen[0]?.closed === 1)
  t.strictSame(letGo, ['slow'])
  t.equal(seen[0]?.closed, 1)
})

t.test('a client that catches up in time is read again', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t)
  const socket = await client(t, port)
  socket.pause()
  await until('the client is there', () => seen.length === 1)
  fill(seen[0])
  socket.write('more')
  socket.resume()
  await until('it is heard', () => seen[0]?.got.length === 4)
  clock.advance(5000)
  t.strictSame(letGo, [])
  t.equal(String(seen[0]?.got), 'more')
})

t.test('an idle client is disconnected after its time, one that waits for an answer is not', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t)
  await client(t, port)
  await client(t, port)
  await until('both are there', () => seen.length === 2)
  const [idle, waiting] = seen as [Seen, Seen]
  waiting.waiting = 1
  clock.advance(59_000)
  t.strictSame(letGo, [])
  clock.advance(10_000)
  await until('the idle one is closed', () => idle.closed === 1)
  t.strictSame(letGo, ['idle'])
  t.equal(waiting.closed, 0)
  waiting.waiting = 0
  clock.advance(60_000)
  await until('the other one is closed', () => waiting.closed === 1)
  t.strictSame(letGo, ['idle', 'idle'])
})

t.test('a client that now and then sends bytes that never make a request is still idle', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t)
  const socket = await client(t, port)
  await until('the client is there', () => seen.length === 1)
  for (let length = 1; length <= 2; length++) {
    socket.write(Uint8Array.of(0))
    await until('it is heard', () => seen[0]?.got.length === length)
    clock.advance(30_000)
  }
  await until('it is closed', () => seen[0]?.closed === 1)
  t.strictSame(letGo, ['idle'])
  t.equal(seen[0]?.got.length, 2, 'its bytes were read within its minute')
})

t.test('with idle_ms 0 no client is disconnected', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t, { idle_ms: 0 })
  await client(t, port)
  await until('the client is there', () => seen.length === 1)
  clock.advance(1_000_000_000)
  t.strictSame(letGo, [])
})

t.test('a client that is disconnected first gets what was sent to it', async (t) => {
  const { letGo, port, seen } = await serverOn(t)
  const socket = await client(t, port)
  await until('the client is there', () => seen.length === 1)
  let got = ''
  socket.on('data', (bytes) => (got += bytes))
  seen[0]?.peer.send(Buffer.from('the last reply'))
  seen[0]?.peer.end('malformed', 'the protocol id is 5')
  seen[0]?.peer.end('malformed', 'the protocol id is 5')
  await once(socket, 'close')
  t.equal(got, 'the last reply')
  t.strictSame(letGo, ['malformed'])
  seen[0]?.peer.send(Buffer.from('nobody hears this'))
})

t.test('a disconnected client that reads nothing keeps its place no longer than a slow client', async (t) => {
  const { clock, letGo, port, seen } = await serverOn(t, { backlog_bytes: 100_000_000 })
  const socket = await client(t, port)
  socket.pause()
  await until('the client is there', () => seen.length === 1)
  fill(seen[0])
  seen[0]?.peer.end('malformed', 'the protocol id is 5')
  clock.advance(1999)
  await manyTurns()
  t.equal(seen[0]?.closed, 0)
  clock.advance(1)
  await until('it is closed', () => seen[0]?.closed === 1)
  t.equal(seen[0]?.closed, 1)
  t.strictSame(letGo, ['malformed'])
})

t.test('a client that closes its side, or resets, is gone', async (t) => {
  const { port, seen } = await serverOn(t)
  const [one, other] = [await client(t, port), await client(t, port)]
  await until('both are there', () => seen.length === 2)
  one.end()
  other.resetAndDestroy()
  await until('both are closed', () => seen.every(({ closed }) => closed === 1))
  t.strictSame(
    seen.map(({ closed }) => closed),
    [1, 1],
  )
})

t.test('a port that is taken is reported; closing frees it and disconnects every client', async (t) => {
  const { house, open, port, seen, server } = await serverOn(t)
  await t.rejects(open({ port, maxClients: 1 }, house), {
    code: 'tcp_port_taken',
    message: new RegExp(`${port}.*EADDRINUSE`),
  })
  const socket = await client(t, port)
  await until('the client is there', () => seen.length === 1)
  const gone = once(socket, 'close')
  await server.close()
  await gone
  t.equal(seen[0]?.closed, 1)
  const again = await open({ port, maxClients: 1 }, house)
  await again.close()
})

t.test(
  'one address that holds every place makes room: first its clients that never asked, last those that wait',
  async (t) => {
    const { clock, letGo, port, seen } = await serverOn(t, { maxClients: 4 })
    const own: Socket[] = []
    for (let at = 0; at < 4; at++) {
      own.push(await client(t, port))
      await until('it is in', () => seen.length === at + 1)
      clock.advance(10)
    }
    const [waiting, polled, asked, silent] = own
    // One waits for its answer, two have had one, the newest never asked.
    for (const socket of [waiting, polled, asked]) {
      const one = seen[own.indexOf(socket as Socket)] as Seen
      one.waiting = 1
      socket?.write('?')
      await until('it has asked', () => one.got.length === 1)
      if (socket !== waiting) {
        one.peer.send(Buffer.from('!'))
        one.waiting = 0
      }
      clock.advance(10)
    }
    const gone = own.map((socket) => once(socket.resume(), 'close').then(() => own.indexOf(socket)))
    const second = await client(t, port, '127.0.0.2')
    t.equal(await Promise.race(gone), own.indexOf(silent as Socket))
    const third = await client(t, port, '127.0.0.3')
    t.equal(await Promise.race(gone.filter((_, at) => own[at] !== silent)), own.indexOf(polled as Socket))
    t.same(letGo, ['evicted', 'evicted'])
    t.same(
      [waiting, asked, second, third].map((socket) => socket?.destroyed),
      [false, false, false, false],
    )
  },
)

t.test('an address at its share is turned away, and no client of its own is evicted for it', async (t) => {
  const { letGo, port, seen } = await serverOn(t, { maxClients: 4, clients_per_address: 2 })
  const own = [await client(t, port), await client(t, port)]
  await until('both are in', () => seen.length === 2)
  await once((await client(t, port)).resume(), 'close')
  t.same(letGo, ['full'])
  const other = await client(t, port, '127.0.0.2')
  await until('another address is in', () => seen.length === 3)
  t.same(
    [...own, other].map(({ destroyed }) => destroyed),
    [false, false, false],
  )
})

/**
 * Requests that are refused at once, then the longest requests, as many as a client may have unanswered: the first gets no
 * reply, those after it have theirs. Then more than is read.
 */
function askedAtOnce(): Buffer {
  const refused = new Array(7000).fill(mbapFrame({ transactionId: 1, body: Uint8Array.of(1, 0) }))
  const longest = [16, 0, 0, 0, 123, 246, ...new Array(246).fill(7)]
  const asked = (at: number) => mbapFrame({ transactionId: at, body: Uint8Array.of(1 + at, ...longest) })
  return Buffer.concat([...refused, ...Array.from({ length: 64 }, (_, at) => asked(at)), ...refused])
}

t.test('clients with all their requests, replies and a full backlog take the memory their row says', async (t) => {
  const many = 16
  const accepted: Socket[] = []
  const accept = (message: unknown) => void accepted.push((message as { socket: Socket }).socket)
  subscribe('net.server.socket', accept)
  t.teardown(() => unsubscribe('net.server.socket', accept))
  const limits = { backlog_bytes: 65_536, clients: many, maxClients: many }
  const { open } = await serverOn(t, limits)
  const peers: TcpPeer[] = []
  const counts = modbusTcpCounts()
  const answer = new Uint8Array(254).fill(3)
  const asker = {
    exchange: (sent: Sent<ModbusRequest>) => {
      const { unitId } = sent.request
      if (unitId === 1) return new Promise<never>(() => {})
      const frame = sealed(Uint8Array.of(unitId, ...answer.slice(1)))
      return Promise.resolve({ frame, sent, isRefusal: false, refusal: null, exception: null })
    },
    withdraw() {},
  }
  const port = await freePort()
  const server = await open(
    { port, maxClients: many },
    {
      onLetGo() {},
      onClient(peer) {
        peers.push(peer)
        return new ModbusTcpSession({ asker, peer, counts, pipeline: 64, places: 64, publish() {} })
      },
    },
  )
  t.teardown(() => server.close())
  const before = await heldBytes()
  const sockets: Socket[] = []
  for (let at = 0; at < many; at++) {
    const socket = connect({ port, host: '127.0.0.1' }).pause()
    t.teardown(() => socket.destroy())
    sockets.push(socket)
  }
  await until('all are there', () => peers.length === many)
  // The kernel takes no more of any.
  for (let turns = 0; turns < 3; turns++) {
    for (const [at, socket] of accepted.entries())
      while (socket.writableLength === 0) peers[at]?.send(new Uint8Array(1024))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  for (const socket of sockets) socket.write(askedAtOnce())
  await until('all wait', () => accepted.every(({ writableLength }) => writableLength > 57_000))
  const bytes = (await heldBytes()) - before
  t.ok(counts.tcpRequests >= many * 7064, `${counts.tcpRequests} requests`)
  const settings = { 'modbus_tcp.backlog_bytes': 65_536, 'modbus_tcp.clients': many }
  const { eachBytes = 0 } = rowOf(memoryPlan().rows, 'clients of Modbus TCP ports', settings)
  const own = eachBytes - KERNEL_BYTES
  t.ok(bytes < many * own, `${bytes / many} bytes a client with its other end, of ${own}`)
})
