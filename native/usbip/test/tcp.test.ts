/** Connections whose descriptor is ours. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { askWithFd, setPatience, type TcpConnection, TcpListener } from '../index.ts'
import { startProgram } from './asked-program.ts'

/** A listener on loopback and one peer that is connected to it. */
async function pair(t: Test, address = '127.0.0.1'): Promise<{ connection: TcpConnection; peer: Socket }> {
  const arrived = Promise.withResolvers<TcpConnection>()
  const listener = new TcpListener(
    address,
    { port: 0, backlog: 8 },
    { onConnection: arrived.resolve, onFailed: arrived.reject },
  )
  const peer = connect({ port: listener.port, host: '127.0.0.1' })
  peer.on('error', () => {})
  const connection = await arrived.promise
  t.teardown(() => {
    connection.close()
    listener.close()
    peer.destroy()
  })
  return { connection, peer }
}

function readable(connection: TcpConnection): Promise<void> {
  return new Promise((resolve) => connection.onceReadable(resolve))
}

function ended(connection: TcpConnection): Promise<void> {
  return new Promise((resolve) => connection.onceEnded(resolve))
}

t.test('accepts a connection and knows whose it is', async (t) => {
  const { connection, peer } = await pair(t)
  t.equal(connection.address, '127.0.0.1')
  t.equal(connection.port, peer.localPort)
  t.ok(connection.fd > 2)
})

t.test('one listener takes both families', async (t) => {
  const { connection } = await pair(t, '::')
  t.match(connection.address, /^(::ffff:)?127\.0\.0\.1$/)
})

t.test('reads no more than asked for; the rest stays with the kernel', async (t) => {
  const { connection, peer } = await pair(t)
  const slab = new Uint8Array(4)
  t.equal(connection.read(slab), undefined, 'nothing is there yet')
  peer.write('abcdefgh')
  await readable(connection)
  t.equal(connection.read(slab), 4)
  t.equal(Buffer.from(slab).toString(), 'abcd')
  await readable(connection)
  t.equal(connection.read(slab), 4)
  t.equal(Buffer.from(slab).toString(), 'efgh')
})

t.test('tells the end of a peer, and reads it as 0', async (t) => {
  const { connection, peer } = await pair(t)
  peer.end('x')
  await ended(connection)
  t.equal(connection.read(new Uint8Array(9)), 1)
  t.equal(connection.read(new Uint8Array(9)), 0)
})

t.test('tells the end of a peer that resets', async (t) => {
  const { connection, peer } = await pair(t)
  await once(peer, 'connect').catch(() => {})
  peer.resetAndDestroy()
  await ended(connection)
  t.throws(() => connection.read(new Uint8Array(9)), { code: 'ECONNRESET', syscall: 'recv' })
})

t.test('tells once, however long nobody reads', async (t) => {
  const { connection, peer } = await pair(t)
  let told = 0
  connection.onceReadable(() => told++)
  peer.write('unread')
  while (told === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(told, 1)
})

t.test('counts what was received and what the peer has', async (t) => {
  const { connection, peer } = await pair(t)
  peer.write('hello')
  await readable(connection)
  t.equal(connection.write(Buffer.from('world!')), 6)
  await once(peer, 'data')
  const counts = connection.counts()
  t.equal(counts.isEstablished, true)
  t.equal(counts.receivedBytes, 5)
  // The very acknowledgement may still be on its way; the first byte counted is the SYN.
  t.ok(counts.ackedBytes <= 7, String(counts.ackedBytes))
})

t.test('another process may use the connection, and a cut ends it for all', async (t) => {
  const path = await startProgram(t)
  const { connection, peer } = await pair(t)
  await askWithFd(path, 'say hello\n', connection.fd, { timeoutMs: 5000, mostBytes: 99 })
  const [data] = await once(peer, 'data')
  t.equal(String(data), 'say hello\n')
  connection.cut()
  await once(peer, 'end')
})

t.test('sets every option of keep-alive, and no delay', async (t) => {
  const path = await startProgram(t)
  const { connection } = await pair(t)
  setPatience(connection.fd, { idleS: 5, intervalS: 2, count: 3, userTimeoutMs: 11_000 })
  connection.setNoDelay()
  const options = await askWithFd(path, 'options\n', connection.fd, { timeoutMs: 5000, mostBytes: 999 })
  t.same(JSON.parse(options), {
    SO_KEEPALIVE: 1,
    TCP_KEEPIDLE: 5,
    TCP_KEEPINTVL: 2,
    TCP_KEEPCNT: 3,
    TCP_USER_TIMEOUT: 11_000,
    TCP_NODELAY: 1,
  })
  const wrong = { idleS: 0, intervalS: 2, count: 3, userTimeoutMs: 0 }
  t.throws(() => setPatience(connection.fd, wrong), { code: 'EINVAL', syscall: 'TCP_KEEPIDLE' })
  t.throws(() => setPatience(9999, wrong), { code: 'EBADF' })
})

t.test('nothing is told and nothing is done after close', async (t) => {
  const { connection, peer } = await pair(t)
  connection.onceReadable(() => t.fail('told after close'))
  connection.close()
  connection.close()
  connection.cut()
  peer.write('late')
  await once(peer, 'close')
  t.equal(connection.fd, -1)
  t.throws(() => connection.read(new Uint8Array(1)), { code: 'ECANCELED' })
  t.throws(() => connection.write(new Uint8Array(1)), { code: 'ECANCELED' })
  t.throws(() => connection.counts(), { code: 'ECANCELED' })
  t.throws(() => connection.onceReadable(() => {}), { code: 'ECANCELED' })
})

t.test('says which call refused where it cannot listen', (t) => {
  const handlers = { onConnection: () => {}, onFailed: () => {} }
  const first = new TcpListener('127.0.0.1', { port: 0, backlog: 8 }, handlers)
  t.throws(() => new TcpListener('127.0.0.1', { port: first.port, backlog: 8 }, handlers), {
    code: 'EADDRINUSE',
  })
  first.close()
  t.throws(() => new TcpListener('no address', { port: 0, backlog: 8 }, handlers), { code: 'EINVAL' })
  t.throws(() => new TcpListener('192.0.2.1', { port: 0, backlog: 8 }, handlers), { code: 'EADDRNOTAVAIL' })
  t.end()
})
