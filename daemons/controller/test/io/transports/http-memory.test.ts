/** Memory of io/transports/http.ts while an answer comes. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { heldBytes } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'
import { KeptBytes } from '../../../io/transports/bounds.ts'
import { requestOnce } from '../../../io/transports/http.ts'

const SIZE = 200_000

t.test('an answer in chunks of one byte takes only as much memory as it has bytes', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    socket.write('1\r\nx\r\n'.repeat(SIZE))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const stopper = new AbortController()
  const kept = new KeptBytes(10_000_000)
  const before = await heldBytes()
  const parts = { clock: systemClock, kept, limits: { connectMs: 2000, httpBytes: 2 * SIZE } }
  const answer = requestOnce({ host: '127.0.0.1', port, method: 'GET', path: '/' }, parts, stopper.signal)
  await until('all of it is here', () => kept.total >= SIZE)
  const bytes = (await heldBytes()) - before
  stopper.abort(new Error('enough'))
  await t.rejects(answer, { message: 'enough' })
  t.ok(bytes < 10 * SIZE, `${bytes} bytes are held for ${SIZE}`)
  t.equal(kept.total, 0)
})
