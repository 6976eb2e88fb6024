/** WebSockets to devices that are hostile, silent or too quick. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import type { ConnectionPlace } from '../../../core/drivers/driver.ts'
import type { Row } from '../../../core/site/book.ts'
import { createDriverWorld } from '../../../io/driver-world.ts'
import { WORLD_LIMITS } from '../../core/drivers/host-stage.ts'

const never = new AbortController().signal
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** A device that only accepts, and a way to connect to it. */
async function stageOf(t: Test, { limits = {}, path = '/ws', autoPong = true } = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/ws', autoPong })
  await once(server, 'listening')
  const met: WebSocket[] = []
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    met.push(socket)
  })
  t.teardown(() => {
    for (const socket of met) socket.terminate()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const { place, heard, lost, said, ground } = worldOf(t, port, { limits, path })
  const connect = () =>
    ground.connect(place, {
      frame: (bytes) => heard.push(textOf(bytes)) > 0,
      lost: (reason) => void lost.push(reason),
    })
  return { met, heard, lost, said, connect, name: `127.0.0.1:${port}` }
}

function worldOf(t: Test, port: number, { limits = {}, path = '/ws' }) {
  const said: string[] = []
  const log = { info: (_event: string, { sentence }: { sentence: string }) => void said.push(sentence) } as never
  const bounds = { ...WORLD_LIMITS, logEveryMs: 1, ...limits }
  const world = createDriverWorld({ clock: systemClock, log, chance: () => 0, limits: bounds })
  const ground = world.open({ id: 1 } as Row)
  t.teardown(() => ground.close())
  const place: ConnectionPlace = { kind: 'websocket', host: '127.0.0.1', port, path, headers: { 'x-who': 'me' } }
  return { place, ground, said, heard: [] as string[], lost: [] as string[] }
}

t.test('what a device says at once is heard, and what is sent arrives', async (t) => {
  const { met, heard, connect } = await stageOf(t)
  const connecting = connect()
  await until('it is met', () => met.length === 1)
  met[0]?.send('hello')
  const connection = await connecting
  await until('it is heard', () => heard.length === 1)
  const arrived = once(met[0] as WebSocket, 'message')
  await connection.send(new TextEncoder().encode('{"type":"subscribe"}'), never)
  const [data, isBinary] = await arrived
  t.strictSame([String(data), isBinary, heard], ['{"type":"subscribe"}', false, ['hello']])
})

t.test('a flood is slowed down; each message stays one, and all come in order', async (t) => {
  const { met, heard, said, connect, name } = await stageOf(t, { limits: { heardBytes: 20_000 } })
  await connect()
  await until('it is met', () => met.length === 1)
  const all = Array.from({ length: 400 }, (_, at) => `${at}`)
  for (const text of all) met[0]?.send(text)
  await until('the last is heard', () => heard.length === all.length)
  t.strictSame(heard, all)
  t.strictSame(said, [
    `${name} sends more than drivers.heard_bytes, or more than its share of drivers.heard_in_all: it is slowed down`,
  ])
})

t.test('more small messages in one packet than are read end the connection', async (t) => {
  const { met, heard, lost, connect, name } = await stageOf(t, { limits: { heardBytes: 1024 } })
  await connect()
  await until('it is met', () => met.length === 1)
  const socket = (met[0] as unknown as { _socket: Socket })._socket
  const small = Buffer.from([0x81, 1, 0x78])
  socket.write(Buffer.concat(Array.from({ length: 5000 }, () => small)))
  await until('it is lost', () => lost.length === 1)
  t.strictSame(lost, [`${name} sends more messages at once than are read`])
  t.ok(heard.length < 600, `${heard.length}`)
})

t.test('a message beyond the bound, and one in many pieces, end the connection', async (t) => {
  const { met, lost, connect, name } = await stageOf(t)
  await connect()
  await until('it is met', () => met.length === 1)
  met[0]?.send('x'.repeat(5000))
  await until('it is lost', () => lost.length === 1)
  await connect()
  await until('it is met again', () => met.length === 2)
  for (let piece = 0; piece < 5; piece++) met[1]?.send('x', { fin: false })
  await until('it is lost again', () => lost.length === 2)
  t.strictSame(lost, [
    `${name} sent a message longer than drivers.message_bytes (4096)`,
    `the connection to ${name} broke (WS_ERR_TOO_MANY_BUFFERED_PARTS)`,
  ])
})

t.test('a device that gives no sign of life is lost', async (t) => {
  const { met, lost, connect, name } = await stageOf(t, { limits: { pingMs: 50 }, autoPong: false })
  await connect()
  await until('it is lost', () => lost.length === 1)
  t.strictSame(lost, [`${name} gave no sign of life for 50 ms`])
  await until('it is closed there', () => met[0]?.readyState === 3)
})

t.test('a device that answers signs of life is kept', async (t) => {
  const { met, lost, connect } = await stageOf(t, { limits: { pingMs: 20 } })
  await connect()
  await until('it is met', () => met.length === 1)
  let pings = 0
  met[0]?.on('ping', () => void pings++)
  await until('it was asked often', () => pings === 5)
  t.strictSame(lost, [])
})

t.test('a handshake that is refused says with what', async (t) => {
  const { connect, name } = await stageOf(t, { path: '/other' })
  await t.rejects(connect(), { code: 'device_unreachable', message: `${name} answers 400 to a WebSocket at /other` })
})

t.test('what answers no handshake, or none that is one, is not connected', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}).resume())
    if (sockets.length > 1) socket.end('220 mail.example ESMTP\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const { ground, place } = worldOf(t, port, { limits: { connectMs: 100 } })
  const connect = () => ground.connect(place, { frame: () => true, lost() {} })
  await t.rejects(connect(), { code: 'device_unreachable', message: /did not answer within 100 ms/ })
  await t.rejects(connect(), { code: 'device_unreachable', message: /cannot be reached/ })
  await until('nothing is left open', () =>
    sockets.every(({ destroyed, readyState }) => destroyed || readyState !== 'open'),
  )
})
