import { createServer, type Server, type Socket } from 'node:net'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { until } from '#kit/test/until.ts'
import { createWebhookPoster } from '../../io/rule-webhooks.ts'

/** A target that answers with bytes as they stand here. @returns its address, and who came */
async function target(t: Tap, answer: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/hook`, sockets }
}
type Tap = Pick<typeof t, 'teardown'>

const NO_BODY = 'Content-Length: 0\r\nConnection: close\r\n\r\n'

t.test('3A.Events.1 a target that answers a byte at a time has the time of a try, and no more', async (t) => {
  const clock = fakeClock()
  const { post } = createWebhookPoster({ clock, limits: { timeoutMs: 5000 } })
  const slow = await target(t, (socket) => void socket.write('H'))
  const posted = t.rejects(post(slow.url, '{}', null), {
    code: 'webhook_failed',
    message: 'The target does not answer within 5 s.',
  })
  for (let tries = 1; tries <= 2; tries++) {
    await until(`try ${tries}`, () => slow.sockets.length === tries && (slow.sockets.at(-1)?.bytesWritten ?? 0) > 0)
    for (const byte of 'TTP/') {
      clock.advance(1000)
      slow.sockets.at(-1)?.write(byte)
    }
    t.equal(slow.sockets.length, tries, 'each byte gives it no more time')
    clock.advance(1000)
  }
  await posted
  await until('both are given up', () => slow.sockets.every(({ destroyed }) => destroyed))
})

t.test('3A.Events.1 who has answered yes is not listened to any longer, however slowly they go on', async (t) => {
  const { post } = createWebhookPoster({ clock: fakeClock(), limits: { timeoutMs: 5000 } })
  const { sockets, url } = await target(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nx'))
  await post(url, '{}', null)
  await until('it is let go', () => sockets.every(({ destroyed }) => destroyed))
  t.equal(sockets.length, 1)
})

t.test('3A.Events.1 nobody is sent on to another host, nor to this machine', async (t) => {
  const { post } = createWebhookPoster({ clock: fakeClock(), limits: { timeoutMs: 5000 } })
  const inner = await target(t, (socket) => void socket.end(`HTTP/1.1 204 No Content\r\n${NO_BODY}`))
  const leads = await target(
    t,
    (socket) => void socket.end(`HTTP/1.1 307 Temporary Redirect\r\nLocation: ${inner.url}\r\n${NO_BODY}`),
  )
  await t.rejects(post(leads.url, '{}', 'secret'), { message: 'The target answered 307, expected 200 to 299.' })
  t.same([leads.sockets.length, inner.sockets.length], [2, 0])
})
