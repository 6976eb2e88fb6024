/** TCP clients on real lines over ptys; the promises to a client hold at any size and in any order of events. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { FILL_BYTES, heardBy, openOn, pattern, sizes, until } from './raw-rig.ts'

const written = (socket: Socket, bytes: Uint8Array) =>
  new Promise<void>((resolve) => socket.write(bytes, () => resolve()))

t.test('bytes of a client go to the line, bytes of the line go to every client', async (t) => {
  const { client, pty, sent } = await openOn(t)
  const clients = [await client(), await client()]
  const atLine = heardBy(pty)
  clients[0]?.write('ab')
  await until(() => atLine.length === 2 && sent.length > 0)
  t.equal(String(atLine.bytes()), 'ab')
  t.equal(Buffer.concat(sent).toString(), 'ab')
  const heard = clients.map((socket) => heardBy(socket))
  await pty.write(Buffer.from('hello'))
  await until(() => heard.every((one) => one.length === 5))
  for (const one of heard) t.equal(String(one.bytes()), 'hello')
})

t.test('connections that cannot be accepted do not end the server', async (t) => {
  const servers: Server[] = []
  const note = (message: unknown) => void servers.push((message as { server: Server }).server)
  subscribe('tracing:net.server.listen:asyncStart', note)
  const { client, port, pty } = await openOn(t)
  unsubscribe('tracing:net.server.listen:asyncStart', note)
  const own = servers.find((one) => (one.address() as AddressInfo | null)?.port === port)
  for (let times = 0; times < 3; times++) own?.emit('error', new Error('accept ENOBUFS'))
  t.ok(own)
  const atLine = heardBy(pty)
  ;(await client()).write('a')
  await until(() => atLine.length > 0)
  t.equal(String(atLine.bytes()), 'a')
})

/** A line that takes nothing: its kernel and its queue are full of bytes from a client of another address. */
async function stuckLine(t: Test, options: Parameters<typeof openOn>[1] = {}) {
  const rig = await openOn(t, { maxClients: 3, ...options })
  const holds = connect({ host: '127.0.0.1', port: rig.port, localAddress: '127.0.0.2' }).on('error', () => {})
  t.teardown(() => holds.destroy())
  holds.write(pattern(400_000))
  await until(() => rig.clients() === 1)
  await sleep(50)
  return { ...rig, holds }
}

t.test(
  'a client that leaves while it is not read is noticed, by an end or a reset, and leaves a limited number of bytes',
  async (t) => {
    const { client, clients, holds, opened, pty, server } = await stuckLine(t, { queue: { leftBytes: 3000 } })
    for (let times = 0; times < 20; times++) {
      const socket = await client()
      socket.resume()
      socket.write(pattern(20_000))
      await sleep(10)
      if (times % 2 === 0) socket.end()
      else socket.resetAndDestroy()
      await until(() => clients() === 1)
    }
    const operator = opened.write(Buffer.from('!'.repeat(8)))
    const { tcpDroppedBytes = 0 } = server.counters()
    t.ok(tcpDroppedBytes >= 10 * 20_000 - 3000 - 4096, `${tcpDroppedBytes} bytes of clients that ended`)
    holds.resetAndDestroy()
    const atLine = heardBy(pty)
    await operator
    await until(() => atLine.bytes().includes('!'.repeat(8)) && clients() === 0)
    t.equal(clients(), 0)
  },
)

t.test('a client that was not read for long makes room: it can have left behind bytes that nobody reads', async (t) => {
  const { client, clients, clock, holds, port, server } = await stuckLine(t, { maxClients: 2 })
  const stuck = await client()
  stuck.write(pattern(400_000))
  await sleep(50)
  const early = connect(port, '127.0.0.1').on('error', () => {})
  await until(() => early.closed)
  clock.advance(2001)
  holds.resume()
  const late = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => late.destroy())
  await until(() => server.counters().tcpEvicted === 1)
  t.match(server.counters(), { tcpRefused: 1, tcpEvicted: 1 })
  await until(() => holds.closed && clients() === 2)
  t.equal(clients(), 2)
})

t.test('a client that has ended and reads nothing more loses its place', async (t) => {
  const { client, clients, clock, pty, flow } = await openOn(t, { backlogBytes: 100_000_000 })
  const socket = await client()
  socket.pause()
  void fill(pty, () => clients() === 0 || flow.length > 0)
  await sleep(100)
  socket.end()
  await sleep(50)
  clock.advance(2000)
  await until(() => clients() === 0)
  t.equal(clients(), 0)
})

t.test('if every place is taken the address with most loses its idlest client to another', async (t) => {
  const { client, clients, clock, port, server } = await openOn(t, { maxClients: 3 })
  const own = []
  for (let times = 0; times < 3; times++) {
    own.push(await client())
    clock.advance(10)
  }
  own[0]?.write('active')
  own[0]?.resume()
  await until(() => (server.counters().tcpClients ?? 0) === 3)
  await sleep(50)
  const gone = once(own[1] as Socket, 'close')
  own[1]?.resume()
  const other = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' })
  t.teardown(() => other.destroy())
  await gone
  await until(() => clients() === 3)
  t.match(server.counters(), { tcpClients: 3, tcpEvicted: 1, tcpRefused: 0 })
  t.equal(own[0]?.destroyed, false)
})

t.test('one client over the limit is refused and counted', async (t) => {
  const { client, port, server } = await openOn(t, { maxClients: 1 })
  await client()
  const second = connect(port, '127.0.0.1')
  second.on('error', () => {})
  await once(second, 'close')
  t.match(server.counters(), { tcpClients: 1, tcpRefused: 1 })
})

t.test('a client whose line is gone is refused and counted', async (t) => {
  const { opened, port, server } = await openOn(t)
  await opened.close()
  const late = connect(port, '127.0.0.1')
  late.on('error', () => {})
  await once(late, 'close')
  t.match(server.counters(), { tcpClients: 0, tcpRefused: 1 })
})

t.test('a client that reads nothing holds up the line for its time, then is cut off', async (t) => {
  const { client, clients, clock, flow, pty, server } = await openOn(t)
  const slow = await client()
  slow.pause()
  void fill(pty, () => flow.length > 0)
  await until(() => flow.length > 0)
  t.same(flow, ['pause'])
  clock.advance(2000)
  await until(() => clients() === 0)
  t.same(flow, ['pause', 'resume'])
  t.match(server.counters(), { tcpCutOff: 1 })
})

/** Sends until that is so; the last write can wait for a line that is held up. */
async function fill(pty: { write(bytes: Uint8Array): Promise<void> }, isEnough: () => boolean): Promise<number> {
  const bytes = pattern(FILL_BYTES)
  let sentBytes = 0
  for (; sentBytes < bytes.length && !isEnough(); sentBytes += 16_384)
    await pty.write(bytes.subarray(sentBytes, sentBytes + 16_384)).catch(() => undefined)
  return sentBytes
}

t.test('if a client catches up in time the line continues, and the client misses nothing', async (t) => {
  const { client, clock, flow, pty, server } = await openOn(t, { backlogBytes: 20_000 })
  const socket = await client()
  socket.pause()
  const filled = fill(pty, () => flow.length > 0)
  await until(() => flow.length > 0)
  const atClient = heardBy(socket)
  socket.resume()
  await until(() => flow.length === 2)
  clock.advance(5000)
  const sentBytes = await filled
  await until(() => atClient.length === sentBytes)
  t.same(flow, ['pause', 'resume'])
  t.ok(atClient.bytes().equals(pattern(sentBytes)))
  t.match(server.counters(), { tcpClients: 1, tcpCutOff: 0 })
  await pty.write(Buffer.from('and on'))
  await until(() => atClient.length === sentBytes + 6)
  t.equal(String(atClient.bytes().subarray(-6)), 'and on')
})

t.test('a port that is taken is reported with its number', async (t) => {
  const { line, open, port } = await openOn(t)
  await t.rejects(open({ port, maxClients: 1 }, line), {
    code: 'tcp_port_taken',
    message: new RegExp(`${port}.*EADDRINUSE.*another line of this daemon has it`),
  })
})

t.test('a client whose bytes the line refuses is disconnected', async (t) => {
  const { client, clients, line } = await openOn(t)
  line.onBytes = async () => Promise.reject(new Error('the line is closed'))
  const socket = await client()
  socket.resume()
  // More than a pty holds while nobody reads it.
  socket.write(Buffer.alloc(300_000))
  await until(() => socket.closed && clients() === 0)
  t.ok(socket.closed)
  t.equal(clients(), 0)
})

t.test('a client that ends is closed, with what it sent before on the line', async (t) => {
  const { client, clients, pty } = await openOn(t)
  const atLine = heardBy(pty)
  const socket = await client()
  const closed = once(socket, 'close')
  socket.resume()
  socket.end('last')
  await closed
  await until(() => clients() === 0 && atLine.length >= 4)
  t.equal(String(atLine.bytes()), 'last')
  t.equal(clients(), 0)
})

for (const seed of [1, 2, 3])
  t.test(
    `random pieces both ways at once, many clients of any speed: nothing lost, nothing doubled (${seed})`,
    async (t) => {
      const total = 600_000
      const { client, heard, pty, sent } = await openOn(t, { backlogBytes: 40_000 })
      const readers = [await client(), await client(), await client(), await client()]
      const atReaders = readers.map((socket) => heardBy(socket))
      const stutter = readers
        .slice(1)
        .map((socket, at) => setInterval(() => (socket.isPaused() ? socket.resume() : socket.pause()), 3 + 4 * at))
      const sender = await client()
      const atSender = heardBy(sender)
      const atDevice = heardBy(pty)
      const [toLine, fromLine] = [pattern(total, seed), pattern(total, seed + 100)]
      const device = async () => {
        let at = 0
        for (const size of sizes(seed, total)) {
          await pty.write(fromLine.subarray(at, at + size))
          at += size
        }
      }
      const host = async () => {
        let at = 0
        for (const size of sizes(seed + 9, total)) {
          await written(sender, toLine.subarray(at, at + size))
          at += size
          if (size % 11 === 0) await new Promise((resolve) => setImmediate(resolve))
        }
      }
      await Promise.all([device(), host()])
      await until(() => atDevice.length >= total && [atSender, ...atReaders].every((one) => one.length >= total))
      for (const timer of stutter) clearInterval(timer)
      t.ok(atDevice.bytes().equals(toLine), 'the device has all that was sent')
      for (const one of [atSender, ...atReaders])
        t.ok(one.bytes().equals(fromLine), 'every client has all that the line sent')
      const told = (some: readonly Uint8Array[]) => some.reduce((sum, { length }) => sum + length, 0)
      await until(() => told(heard) >= total && told(sent) >= total)
      await sleep(20)
      t.ok(Buffer.concat(heard).equals(fromLine), 'and each byte was published once')
      t.ok(Buffer.concat(sent).equals(toLine))
    },
  )

t.test('writes of the gateway and of clients stay whole and in order, also while the line takes little', async (t) => {
  // The waiting bytes are within the limit: a client that is read no further can be cut where the kernel's buffer was full.
  const { client, opened, pty } = await openOn(t, { queue: { queueBytes: 1_000_000, queueMs: 600_000 } })
  const socket = await client()
  const count = 400
  const own: Promise<void>[] = []
  // Each message holds its sender and number, repeated to its length: one that another interrupted does not match.
  const message = (from: string, number: number) => `${from}${number}:${`${from}${number}.`.repeat(60)}\n`
  for (let number = 0; number < count; number++) {
    own.push(opened.write(Buffer.from(message('g', number))))
    socket.write(message('c', number))
    if (number % 7 === 0) await sleep(1)
  }
  const atDevice = heardBy(pty)
  await Promise.all(own)
  const all = (from: string) => Array.from({ length: count }, (_, number) => message(from, number))
  const total = 2 * all('g').join('').length
  await until(() => atDevice.length === total)
  const lines = atDevice.bytes().toString().split('\n').slice(0, -1)
  const of = (from: string) => lines.filter((line) => line.startsWith(from)).map((line) => `${line}\n`)
  t.same(of('g'), all('g'), 'each of the gateway is whole and in its order')
  t.equal(of('c').join(''), all('c').join(''), 'and each of the client')
})

t.test('a client that vanishes in the middle does not cost the others a byte', async (t) => {
  const { client, clients, pty } = await openOn(t, { backlogBytes: 40_000 })
  const stays = await client()
  const atStays = heardBy(stays)
  pty.onBytes(() => undefined)
  const bytes = pattern(500_000)
  for (let at = 0; at < bytes.length; at += 25_000) {
    const vanishes = await client()
    vanishes.write(pattern(3000))
    const sending = pty.write(bytes.subarray(at, at + 25_000))
    if (at % 50_000 === 0) vanishes.resetAndDestroy()
    else vanishes.destroy()
    await sending
    await until(() => clients() === 1)
  }
  await until(() => atStays.length === bytes.length && clients() === 1)
  t.ok(atStays.bytes().equals(bytes))
  t.equal(clients(), 1)
})

t.test('a line that is pulled in the middle has published everything that its clients got', async (t) => {
  const { client, heard, opened, pty, server } = await openOn(t)
  const socket = await client()
  const atClient = heardBy(socket)
  const gone = new Promise((resolve) => opened.onGone(resolve))
  await pty.write(pattern(30_000))
  const flood = setInterval(() => socket.write(pattern(2000)), 1)
  await until(() => atClient.length > 0)
  const beforeBytes = atClient.length
  await pty.close()
  await gone
  clearInterval(flood)
  await server.close()
  await until(() => socket.closed)
  t.ok(Buffer.concat(heard).equals(atClient.bytes()))
  // When a terminal is hung up the kernel can drop some of the bytes it holds and deliver later ones (Linux 6.18, any reader).
  t.ok(atClient.bytes().subarray(0, beforeBytes).equals(pattern(30_000).subarray(0, beforeBytes)))
})
