/** What a driver can do with connections to its device: a toy amplifier over each of them. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { toyAmp, toyStage, toyUdpAmp } from './toy-stage.ts'

const at = (kind: string, port: number) => ({ transport: { kind, host: '127.0.0.1', port } })

t.test('an unsolicited message of a device becomes the value of its zone', async (t) => {
  const amp = await toyAmp(t)
  const { reading, live } = toyStage(t, at('tcp', amp.port))
  await until('it is connected', () => amp.sockets.size === 1)
  t.equal(reading().state, 'unknown', 'it has not sent anything yet')
  amp.say('VOL 40\r\n')
  await until('it is heard', () => reading().volume === 40)
  t.match(live.device(1), { state: 'online', error: null })
  amp.say('VOL 4')
  amp.say('1\r\nVOL 42\r\n')
  await until('the newest message in pieces is read', () => reading().volume === 42)
})

t.test('a command is a request, and announcements between it and its answer are handled too', async (t) => {
  const amp = await toyAmp(t, (socket, line) => void socket.write(`VOL ${line.slice(4)}\r\nOK\r\n`))
  const { turn, reading } = toyStage(t, at('tcp', amp.port))
  t.strictSame(await turn(55), {})
  t.equal(reading().volume, 55)
  t.strictSame(amp.lines, ['VOL=55'])
  t.equal(amp.sockets.size, 1, 'over the one connection')
})

t.test('a refusal by a device is a failure with its message', async (t) => {
  const amp = await toyAmp(t, (socket) => void socket.write('NO 7\r\n'))
  const { turn } = toyStage(t, at('tcp', amp.port))
  await t.rejects(turn(55), { code: 'driver_failed', message: /it says NO 7/ })
})

t.test(
  'a device that disappears is lost with the reason, its zones are unknown, and it works again when it is back',
  async (t) => {
    const amp = await toyAmp(t)
    const { live, reading } = toyStage(t, at('tcp', amp.port))
    await until('it is connected', () => amp.sockets.size === 1)
    amp.say('VOL 40\r\n')
    await until('it is heard', () => reading().volume === 40)
    amp.onMeet((socket) => void socket.write('VOL 41\r\n'))
    const states: (string | null)[] = []
    live.onChange((kind) => void (kind === 'device' && states.push(live.device(1).error)))
    for (const socket of amp.sockets) socket.end()
    await until('it is back', () => reading().volume === 41)
    t.strictSame(states, [`127.0.0.1:${amp.port} closed the connection`, null])
  },
)

t.test('over UDP a datagram is a message, and only those of the device are accepted', async (t) => {
  const [amp, stranger] = [await toyUdpAmp(t), await toyUdpAmp(t)]
  const { turn, reading } = toyStage(t, at('udp', amp.port))
  t.strictSame(await turn(30), {})
  amp.say('VOL 30\r\n')
  await until('it is heard', () => reading().volume === 30)
  t.equal(stranger.say('VOL 99\r\n'), false, 'nobody else was sent anything')
})

t.test('a missing device over UDP is lost when something is sent', async (t) => {
  const amp = await toyUdpAmp(t)
  const { live } = toyStage(t, { ...at('udp', 9), device: { poll_ms: 20 } })
  await until('it is lost', () => live.device(1).state === 'offline')
  t.match(live.device(1).error, /^127\.0\.0\.1:9 refuses connections/)
  t.strictSame(amp.lines, [])
})

t.test('over HTTP a device is polled, and its answer is read', async (t) => {
  let volume = '20'
  const server = createServer((request, response) => {
    if (request.method !== 'PUT') return void response.end(`VOL ${volume}\r\n`)
    request.setEncoding('utf8').on('data', (text) => {
      volume = text
      response.writeHead(volume === '101' ? 400 : 200).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { turn, reading } = toyStage(t, {
    ...at('http', (server.address() as AddressInfo).port),
    device: { poll_ms: 20 },
  })
  await until('it is read', () => reading().volume === 20)
  t.strictSame(await turn(21), {})
  await until('it is read again', () => reading().volume === 21)
  await t.rejects(turn(101), { message: /it answers 400/ })
})
