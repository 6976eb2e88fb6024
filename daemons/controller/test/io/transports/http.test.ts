import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import type { DeviceRequest } from '../../../core/drivers/driver.ts'
import { KeptBytes } from '../../../io/transports/bounds.ts'
import { placeOfLine, requestOnce } from '../../../io/transports/http.ts'

const never = new AbortController().signal

async function server(t: Test, listener: RequestListener): Promise<number> {
  const made = createServer(listener).listen(0, '127.0.0.1')
  await once(made, 'listening')
  t.teardown(() => {
    made.closeAllConnections()
    made.close()
  })
  return (made.address() as AddressInfo).port
}

function asking(port: number, signal = never) {
  const kept = new KeptBytes(1_000_000)
  const parts = { clock: systemClock, kept, limits: { connectMs: 2000, httpBytes: 1000 } }
  return { kept, answer: requestOnce({ host: '127.0.0.1', port, method: 'GET', path: '/' }, parts, signal) }
}

t.test('an answer is complete, whatever its status', async (t) => {
  const port = await server(t, (_request, response) => void response.writeHead(302, { location: '/b' }).end('there'))
  const { answer, kept } = asking(port)
  const { status, body } = await answer
  t.equal(status, 302, 'no redirect is followed')
  t.equal(Buffer.from(body).toString(), 'there')
  t.equal(kept.total, 0)
})

t.test('an answer that is too long is cut off', async (t) => {
  const port = await server(t, (_request, response) => void response.end('x'.repeat(1001)))
  const { answer, kept } = asking(port)
  await t.rejects(answer, { code: 'answer_too_long', message: /more than drivers\.http_bytes \(1000\)/ })
  t.equal(kept.total, 0)
})

t.test('an answer that never ends is abandoned with its command, and its bytes are dropped', async (t) => {
  let isBegun = false
  const port = await server(t, (_request, response) => {
    response.write('x'.repeat(100))
    isBegun = true
  })
  const stopper = new AbortController()
  const { answer, kept } = asking(port, stopper.signal)
  await until('it is kept', () => isBegun && kept.total >= 100)
  stopper.abort(new Error('too late'))
  await t.rejects(answer, { message: 'too late' })
  t.equal(kept.total, 0)
})

/** A server that says this again and again, once it was asked. */
async function sayingAgain(t: Test, words: string): Promise<number> {
  const made = createTcpServer((socket) => {
    const say = () => void (socket.destroyed || socket.write(words, say))
    socket.on('error', () => {})
    socket.once('data', say)
    t.teardown(() => socket.destroy())
  })
  made.listen(0, '127.0.0.1')
  await once(made, 'listening')
  t.teardown(() => void made.close())
  return (made.address() as AddressInfo).port
}

t.test('a device that changes to another protocol has broken off, and its command does not wait', async (t) => {
  const port = await sayingAgain(t, 'HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
  const { answer, kept } = asking(port, AbortSignal.timeout(20_000))
  await t.rejects(answer, { code: 'device_cut_off' })
  t.equal(kept.total, 0)
})

t.test('a device that only ever says that it will answer is left', async (t) => {
  const port = await sayingAgain(t, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100))
  const { answer } = asking(port, AbortSignal.timeout(20_000))
  await t.rejects(answer, { code: 'answer_too_long', message: /interim answers/ })
})

t.test('a device that is missing, or breaks off, is named', async (t) => {
  const free = await freePort()
  await t.rejects(asking(free).answer, {
    code: 'device_unreachable',
    message: `127.0.0.1:${free} refuses connections (ECONNREFUSED)`,
  })
  const port = await server(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('x')
    setImmediate(() => response.destroy())
  })
  await t.rejects(asking(port).answer, { code: 'device_cut_off' })
})

const place = {
  kind: 'gateway',
  host: '10.0.0.1',
  port: 3132,
  line: '/dev/ttyUSB0',
  key: 'k',
  framing: { mode: 'length', length: 1 },
} as const

t.test('a gateway line is reached at the TCP port that the gateway gives it', async (t) => {
  const asked: DeviceRequest[] = []
  const answers = (body: unknown, status = 200) =>
    placeOfLine(place, async (request) => {
      asked.push(request)
      return { status, body: Buffer.from(JSON.stringify(body)) }
    })
  t.strictSame(await answers({ protocol: 'raw', settings: { tcp_port: 4001 } }), { host: '10.0.0.1', port: 4001 })
  t.strictSame(
    asked.map(({ path, headers }) => [path, headers]),
    [
      ['/api/status', undefined],
      ['/api/ports/%2Fdev%2FttyUSB0', { authorization: 'Bearer k' }],
    ],
    'without the key first: it may speak HTTPS by now',
  )
  const asks = asked.length
  await t.rejects(answers({}, 308), { code: 'gateway_https' })
  t.equal(asked.length, asks + 1)
  const refused = { code: 'gateway_line', message: /^line \/dev\/ttyUSB0 of the gateway 10\.0\.0\.1:3132/ }
  for (const [body, status] of [
    [{}, 401],
    [{ protocol: 'modbus-rtu', settings: { tcp_port: 502 } }, 200],
    [{ protocol: 'raw', settings: { tcp_port: 0 } }, 200],
    [{ protocol: 'raw', settings: null }, 200],
    [[], 200],
    [null, 200],
    [7, 200],
  ] as const)
    await t.rejects(answers(body, status), refused)
})
