/** The driver of boards behind the host, against a board that a test plays over HTTP and WebSocket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'
import { until } from '#kit/test/until.ts'
import { createBoardDriver } from '../../../../core/drivers/board/board.ts'
import type { Json } from '../../../../core/json.ts'
import { toyStage } from '../toy-stage.ts'

const ROUTE = { mcast: '239.69.1.2', port: 5004, name: 'Lobby music', sender: '10.20.4.8', source: null }
const VOLUME = { volume: 40, volume_db: -30.8, mute: false }

/** Of a decoder that plays. */
const statusOf = (own: object = {}, verdict: object = { state: 'ok', text: 'Playing Lobby music.' }) => ({
  role: 'decoder',
  name: 'Bar',
  verdict,
  decoder: { route: ROUTE, volume: VOLUME, playing: true, checks: [], ...own },
})

async function stageOf(t: Test, status: unknown = statusOf(), device: Record<string, Json> = {}) {
  const posts: { path: string; form: Record<string, string> }[] = []
  const sockets = new Set<WebSocket>()
  let now = status
  let answer: [status: number, body: unknown] = [200, VOLUME]
  const isKnown = ({ headers }: IncomingMessage) =>
    headers.authorization === `Basic ${Buffer.from('admin:söund').toString('base64')}`
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (!isKnown(request)) return response.writeHead(401).end('{}')
    if (request.method === 'GET') return response.end(JSON.stringify(now))
    posts.push({ path: request.url ?? '', form: Object.fromEntries(new URLSearchParams(text)) })
    response.writeHead(answer[0]).end(JSON.stringify(answer[1]))
  })
  const feed = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (!isKnown(request)) return socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    feed.handleUpgrade(request, socket, head, (ws) => {
      sockets.add(ws.on('error', () => {}))
      ws.on('close', () => sockets.delete(ws))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    for (const ws of sockets) ws.terminate()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  const stage = toyStage(t, {
    driver: createBoardDriver(),
    transport: { kind: 'board', host: '127.0.0.1', port },
    device: { password: 'söund', ...device },
    zone: { type: 'audio' },
    limits: { messageBytes: 4096 },
  })
  const say = (text: string) => {
    for (const ws of sockets) ws.send(text)
  }
  return {
    ...{ ...stage, port, posts, sockets, stop, say },
    answers: (...next: typeof answer) => {
      answer = next
    },
    pushes(next: unknown) {
      now = next
      say(JSON.stringify({ type: 'status', status: next }))
    },
  }
}

t.test('what a decoder plays, its volume and whether there is sound are read, then pushed', async (t) => {
  const { reading, sockets, pushes, say } = await stageOf(t)
  await until('it is heard', () => sockets.size === 1)
  t.match(reading(), { state: 'playing', playing: true, sound: true, source: 'Lobby music', error: null, ...VOLUME })
  t.match(reading(), { mcast: '239.69.1.2', port: 5004, sender: '10.20.4.8', role: 'decoder' })
  say('{"type":"meters","meters":{"peak_db":[-3]}}')
  pushes(statusOf({ checks: [{ name: 'volume', state: 'warn', code: 'silence', text: 'nothing' }] }))
  await until('the stream carries nothing', () => reading().sound === false)
  t.equal(reading().state, 'playing')
  const fault = { state: 'fault', text: 'Lobby music is silent. No packets arrive.' }
  pushes(statusOf({ playing: false, volume: { ...VOLUME, mute: true } }, fault))
  await until('it is silent', () => reading().state === 'silent')
  t.match(reading(), { error: fault.text, mute: true, sound: false })
  pushes(statusOf({ route: { ...ROUTE, mcast: '', name: null }, playing: false }, { state: 'off', text: 'Stopped.' }))
  await until('it is stopped', () => reading().state === 'stopped')
  t.match(reading(), { source: null, error: null })
})

const commands: [verb: string, args: Record<string, Json>, path: string, form: Record<string, string>][] = [
  [
    'route',
    { mcast: '239.69.1.3', port: 5006, source: null, encoding: 'L16', link_ms: 5 },
    '/api/route',
    { mcast: '239.69.1.3', port: '5006', link_ms: '5', encoding: 'L16' },
  ],
  ['stop', {}, '/api/route', { mcast: '' }],
  ['volume', { volume: 55 }, '/api/volume', { volume: '55' }],
  ['volume', { volume: 55.9 }, '/api/volume', { volume: '55' }],
  ['volume_db', { volume_db: -12.5, mute: false }, '/api/volume_db', { volume_db: '-12.5', mute: '0' }],
  ['mute', {}, '/api/mute', { mute: '1' }],
  ['mute', { mute: false }, '/api/mute', { mute: '0' }],
  ['mute', { mute: 'toggle' }, '/api/mute', { mute: 'toggle' }],
  ['Unmute', {}, '/api/mute', { mute: '0' }],
  ['detach', {}, '/api/usbip', { detach: '1' }],
]
for (const [verb, args, path, form] of commands)
  t.test(`${verb} ${JSON.stringify(args)} is posted to ${path}`, async (t) => {
    const { command, posts } = await stageOf(t)
    t.strictSame(await command(verb, args), {})
    t.strictSame(posts, [{ path, form }])
  })

t.test('what a board answers to a command is what the zone does, at once', async (t) => {
  const { command, answers, reading } = await stageOf(t)
  answers(200, { volume: 55, volume_db: -15.8, mute: true })
  await command('volume', { volume: 55 })
  t.match(reading(), { volume: 55, volume_db: -15.8, mute: true })
  answers(200, { ...ROUTE, mcast: '239.69.1.3', name: null })
  await command('route', { mcast: '239.69.1.3', port: 5004 })
  t.match(reading(), { source: '239.69.1.3:5004', volume: 55 })
})

t.test('what a board refuses is told in its words, field by field', async (t) => {
  const { command, answers, live } = await stageOf(t)
  answers(422, { error: 'bad_fields', message: 'no', fields: [{ field: 'volume', message: '300 is over 100.' }] })
  await t.rejects(command('volume', { volume: 300 }), { message: /the board says: volume: 300 is over 100\./ })
  answers(500, 'broken')
  await t.rejects(command('stop'), { message: /the board answers 500/ })
  await t.rejects(command('dance'), { message: /a board takes route, stop, volume, .* and not "dance"/ })
  t.equal(live.device(1).state, 'online')
})

t.test('a lost board shows so, and is heard again when it is back', async (t) => {
  const { live, sockets, stop, port, reading } = await stageOf(t)
  await until('it is heard', () => sockets.size === 1)
  const errors: (string | null)[] = []
  live.onChange((kind) => void (kind === 'device' && errors.push(live.device(1).error)))
  for (const ws of sockets) ws.terminate()
  await until('it is back', () => errors.length > 1 && live.device(1).state === 'online')
  t.strictSame(errors, [`127.0.0.1:${port} closed the connection`, null])
  await stop()
  await until('it is gone', () => live.device(1).state === 'offline' && errors.length > 3)
  t.match(live.device(1).error, /refuses connections/)
  t.equal(reading().state, 'unknown')
})

t.test('a wrong password, and what is no board, are said', async (t) => {
  const wrong = await stageOf(t, statusOf(), { password: 'other' })
  await until('it is lost', () => wrong.live.device(1).state === 'offline')
  t.match(wrong.live.device(1).error, /takes no password from here/)
  const other = await stageOf(t, { hello: 'world' })
  await until('it is lost', () => other.live.device(1).state === 'offline')
  t.match(other.live.device(1).error, /answers what no board says/)
})

t.test('the other roles show what they do', async (t) => {
  const verdict = { state: 'ok', text: 'Well.' }
  const encoder = {
    state: 'sending',
    stream: { mcast: '239.1.1.1', port: 5004 },
    source: { name: 'Mixer' },
    silence_s: 0,
  }
  const device = { product: null, key: '0403:6001' }
  const usbip = { enabled: true, attached: { address: '10.1.2.3' }, device }
  const roles: [status: object, expected: object][] = [
    [
      { role: 'encoder', verdict, encoder },
      { state: 'sending', sound: true, source: 'Mixer', mcast: '239.1.1.1' },
    ],
    [
      { role: 'usbip', verdict, usbip },
      { state: 'attached', attached: '10.1.2.3', source: '0403:6001', on: true },
    ],
    [
      { role: 'serial', verdict, serial: { ports: [{ state: 'open' }, {}] } },
      { state: 'open', value: 1 },
    ],
    [
      { role: 'decoder', verdict: { state: 'busy', text: 'Starting.' }, decoder: null },
      { state: 'busy', error: 'Starting.' },
    ],
  ]
  for (const [status, expected] of roles) {
    const { reading } = await stageOf(t, status)
    await until('it is read', () => reading().role !== undefined)
    t.match(reading(), expected)
  }
})

t.test('a board that lies or talks at random says nothing that is no text, number or switch', async (t) => {
  const { reading, sockets, pushes, say, live } = await stageOf(t)
  await until('it is heard', () => sockets.size === 1)
  say('<html>'.repeat(100))
  say('[]')
  pushes({ role: '__proto__', verdict: { state: 'ok', text: 'x\u0000\u001b[2J' }, __proto__: {} })
  await until('it is heard', () => reading().role === '__proto__')
  t.match(reading(), { verdict: 'x [2J' })
  pushes(
    statusOf({ route: { mcast: ['a'], port: 'x', name: { a: 1 } }, volume: { volume: '<b>', mute: 'yes' }, checks: 7 }),
  )
  await until('it is heard', () => reading().role === 'decoder')
  t.match(reading(), { mcast: null, port: null, source: null, volume: null, mute: null })
  t.equal(live.device(1).state, 'online')
})
