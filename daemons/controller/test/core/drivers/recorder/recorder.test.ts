/** The driver of recorders behind the host, against a recorder that a test plays over HTTP and WebSocket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'
import { until } from '#kit/test/until.ts'
import { createRecorderDriver } from '../../../../core/drivers/recorder/recorder.ts'
import type { Json } from '../../../../core/json.ts'
import { toyStage } from '../toy-stage.ts'

const TOKEN = 'prc_played'

const cameraOf = (id: string, health: object = { state: 'recording', fault: null }) => ({
  ...{ id, name: 'Gate', enabled: true, onvif: true, health },
})

interface Played {
  zone?: string
  device?: Record<string, Json>
  /** What the camera's route of outputs answers; without it, 404. */
  outputs?: object
  moved?: boolean
  /** What its cameras show; without it, 404. */
  still?: Uint8Array
  /** A recorder that knows no `hello=ids`. */
  old?: boolean
  /** So many cameras more. */
  more?: number
}

async function stageOf(
  t: Test,
  { device = {}, more = 0, moved = false, old = false, outputs, still, zone = 'cam1' }: Played = {},
) {
  const posts: { path: string; body: unknown }[] = []
  const sockets = new Set<WebSocket>()
  const unsigned: (string | undefined)[] = []
  const stills: (string | undefined)[] = []
  let cameras = [
    ...Array.from({ length: more }, (_, at) => cameraOf(`b${at}`)),
    ...[cameraOf('cam1'), cameraOf('cam2')],
  ]
  let answer: [status: number, body: unknown] = [204, undefined]
  const isKnown = ({ headers }: IncomingMessage) => headers.authorization === `Bearer ${TOKEN}`
  const server = createServer(async (request, response) => {
    const end = (status: number, body?: unknown) =>
      response.writeHead(status).end(body === undefined ? undefined : JSON.stringify(body))
    let text = ''
    for await (const chunk of request) text += chunk
    if (!isKnown(request)) unsigned.push(request.url)
    if (request.url === '/api/identity') return moved ? end(308) : end(200, { product: 'recorder' })
    if (!isKnown(request)) return end(401, { error: 'unauthorized', message: 'sign in' })
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://recorder')
    if (pathname === '/api/cameras') {
      const byId = cameras.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      const page = byId.filter(({ id }) => id > (searchParams.get('after') ?? ''))
      return end(200, old ? cameras : page.slice(0, Number(searchParams.get('limit'))))
    }
    if (pathname.endsWith('/still.jpg')) {
      stills.push(request.url)
      return still ? response.end(still) : end(404, { error: 'no_picture' })
    }
    if (request.method === 'GET') return outputs ? end(200, outputs) : end(404, { error: 'not_found' })
    posts.push({ path: request.url ?? '', body: JSON.parse(text) })
    end(...answer)
  })
  const feed = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (!isKnown(request) || !/^\/ws\?hello=ids$/.test(request.url ?? ''))
      return socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    feed.handleUpgrade(request, socket, head, (ws) => {
      sockets.add(ws.on('error', () => {}))
      ws.on('close', () => sockets.delete(ws))
      if (old) ws.send(JSON.stringify({ type: 'hello', at: 1, cameras }))
      else {
        ws.send(JSON.stringify({ type: 'hello', at: 1, cameraIds: cameras.map(({ id }) => id) }))
        for (const camera of cameras) ws.send(JSON.stringify({ type: 'camera-state', cameraId: camera.id, camera }))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const ws of sockets) ws.terminate()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const stage = toyStage(t, {
    driver: createRecorderDriver(),
    transport: { kind: 'recorder', host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    device: { api_key: TOKEN, ...device },
    zone: { type: 'camera', address: zone },
    fields: 64,
  })
  return {
    ...{ ...stage, posts, sockets, stills, unsigned },
    still: (id = 1) => {
      const row = { id, device_id: id, type: 'camera', address: zone, created_at: 0, updated_at: 0 }
      return stage.host.still(row, AbortSignal.timeout(5000))
    },
    has: (...next: ReturnType<typeof cameraOf>[]) => {
      cameras = next
    },
    answers: (...next: typeof answer) => {
      answer = next
    },
    say(message: object) {
      for (const ws of sockets) ws.send(JSON.stringify(message))
    },
    heard: () => until('its feed is heard', () => sockets.size === 1),
  }
}

const eventOf = (phase: string, id: string, group: string, more: object = {}) => ({
  type: 'event',
  phase,
  event: { id, camera_id: 'cam1', label: group, group, started_at: 1_700_000_000_000, ended_at: null, ...more },
})

t.test('3A.camera a zone shows how its camera is, and what it sees while it sees it', async (t) => {
  const { heard, reading, say } = await stageOf(t)
  await heard()
  await until('it records', () => reading().state === 'recording')
  t.match(reading(), { camera: 'Gate', error: null, person: false, camera_motion: false })
  const lost = { state: 'lost', fault: { code: 'x', message: 'It is unplugged.' } }
  say({ type: 'camera-state', cameraId: 'cam1', camera: cameraOf('cam1', lost) })
  say({ type: 'camera-state', cameraId: 'cam2', camera: cameraOf('cam2', { state: 'off' }) })
  await until('it is lost', () => reading().state === 'lost')
  t.match(reading(), { error: 'It is unplugged.' })

  say(eventOf('begin', 'e1', 'person', { identity: { name: 'Ada' }, plate_text: null }))
  say(eventOf('begin', 'e2', 'person'))
  await until('somebody is there', () => reading().person === true)
  t.match(reading(), { event: 'person', event_at: 1_700_000_000_000, person_at: 1_700_000_000_000, vehicle: false })
  say(eventOf('end', 'e1', 'person', { ended_at: 5 }))
  say(eventOf('update', 'e2', 'person', { started_at: 7 }))
  say(eventOf('begin', 'e3', 'vehicle', { label: 'truck', plate_text: 'M-AB 12' }))
  await until('a truck comes', () => reading().vehicle === true)
  t.match(reading(), { person: true, event: 'truck', plate: 'M-AB 12', person_at: 1_700_000_000_000 })
  say(eventOf('end', 'e2', 'person'))
  await until('nobody is there', () => reading().person === false)
  t.match(reading(), { vehicle: true })

  say({ ...eventOf('begin', 'e9', 'animal'), event: { id: 'e9', camera_id: 'cam2', label: 'dog', started_at: 3 } })
  say({ type: 'event', cameraId: 'cam1', id: 'e10', label: 'animal', at: 9 })
  await until('an event without a phase is one moment', () => reading().animal_at === 9)
  t.equal(reading().animal, false)
})

t.test('3A.events what the camera claims, and what rules did, are values that triggers watch', async (t) => {
  const { heard, live, reading, say } = await stageOf(t)
  await heard()
  const claim = (kind: string, phase: string, at: number) =>
    say({
      ...{ type: 'camera-event', cameraId: 'cam1' },
      event: { camera_id: 'cam1', kind, phase, topic: 'tns1:x', at, summary: 'It moves.\u0007' },
    })
  claim('motion', 'begin', 11)
  await until('it moves', () => reading().camera_motion === true)
  t.match(reading(), {
    camera_event: 'motion',
    camera_event_at: 11,
    camera_motion_at: 11,
    camera_event_text: 'It moves.',
  })
  claim('motion', 'end', 12)
  await until('it is still', () => reading().camera_motion === false)
  t.equal(reading().camera_motion_at, 11)
  claim('line', 'pulse', 13)
  await until('a line is crossed', () => reading().camera_line_at === 13)
  t.match(reading(), { camera_line: false, camera_event: 'line' })
  say({ type: 'alert', cameraId: 'cam1', at: 14, rule: 'Night' })
  await until('a rule did something', () => reading().alert_at === 14)
  say({ type: 'alert', alert: { at: 15, rule: 'Disk' } })
  await until('the device has the alert', () => live.value('device', 1, 'alert_at') === 15)
  t.match(reading(), { alert: 'Night', alert_at: 14 }, 'an alert at no camera leaves zones alone')
})

const commands: [zone: string | null, verb: string, args: Record<string, Json>, path: string, body: object][] = [
  ['cam1', 'preset', { preset: '3' }, '/api/cameras/cam1/ptz/preset', { token: '3' }],
  ['cam1', 'Preset', { value: 3, camera: 'cam2' }, '/api/cameras/cam1/ptz/preset', { token: '3' }],
  ['cam1/a/b', 'on', {}, '/api/cameras/cam1/outputs/a%2Fb', { state: 'on' }],
  ['cam1/a/b', 'on', { on: false }, '/api/cameras/cam1/outputs/a%2Fb', { state: 'off' }],
  ['cam1/a/b', 'off', { output: 'c' }, '/api/cameras/cam1/outputs/a%2Fb', { state: 'off' }],
  ['cam1/a/b', 'pulse', {}, '/api/cameras/cam1/outputs/a%2Fb', { state: 'pulse' }],
  ['cam1/a/b', 'pulse', { seconds: 300 }, '/api/cameras/cam1/outputs/a%2Fb', { state: 'pulse', seconds: 300 }],
  [null, 'preset', { camera: 'cam2', token: 'home' }, '/api/cameras/cam2/ptz/preset', { token: 'home' }],
  [null, 'on', { camera: 'cam2', output: 'r', seconds: 5 }, '/api/cameras/cam2/outputs/r', { state: 'on' }],
  [null, 'press', { rule: 'r 1' }, '/api/action-rules/r%201/press', {}],
]
const refused: [zone: string | null, verb: string, args: Record<string, Json>, why: RegExp][] = [
  ['cam1', 'preset', {}, /preset is missing: the token of one/],
  ['cam1', 'on', { output: 'r' }, /this zone is a camera: an output is a zone of its own/],
  ['cam1', 'press', { rule: 'r1' }, /pressed at the recorder as a whole/],
  ['cam1', 'zoom', {}, /a recorder takes preset, on, .*, and not "zoom"/],
  ['cam1/a/b', 'preset', { preset: '3' }, /this zone is an output, which does not turn/],
  [null, 'preset', { token: 'home' }, /camera is missing/],
  [null, 'pulse', { camera: 'cam1' }, /output is missing/],
  [null, 'press', {}, /rule is missing/],
]
t.test(
  '3A.ptz, 3A.outputs, 3A.rules presets, outputs and buttons are commands, and a zone reaches itself alone',
  async (t) => {
    for (const zone of ['cam1', 'cam1/a/b', null]) {
      const { command, host, posts } = await stageOf(t, { zone: zone ?? 'cam1' })
      const tell = (verb: string, args: Record<string, Json>) =>
        zone === null ? host.execute(1, { verb, args }) : command(verb, args)
      const own = commands.filter(([of]) => of === zone)
      for (const [, verb, args] of own) t.strictSame(await tell(verb, args), {})
      for (const [, verb, args, message] of refused.filter(([of]) => of === zone))
        await t.rejects(tell(verb, args), { message })
      t.strictSame(
        posts,
        own.map(([, , , path, body]) => ({ path, body })),
      )
    }
    const { answers, command } = await stageOf(t)
    answers(403, { error: 'forbidden', message: 'Turning cameras is for operators.' })
    await t.rejects(command('preset', { preset: '1' }), {
      message: /the recorder says: Turning cameras is for operators\./,
    })
    answers(409, 'no')
    await t.rejects(command('preset', { preset: '1' }), { message: /the recorder answers 409/ })
  },
)

t.test('3A.outputs a zone of an output shows what was set, by whomever, and that a pulse is over', async (t) => {
  const outputs = {
    outputs: [
      { id: 'r', kind: 'relay', on: true, until: null },
      { id: 'other', on: false },
    ],
  }
  const { answers, command, heard, reading, say } = await stageOf(t, { zone: 'cam1/r', outputs })
  await heard()
  await until('it is read', () => reading().on === true)
  say({ type: 'camera-output', cameraId: 'cam1', id: 'r', on: false, until: null })
  await until('a rule switched it', () => reading().on === false)
  t.equal(reading().state, 'off')
  answers(200, { id: 'r', kind: 'relay', on: true, until: Date.now() + 50 })
  await command('pulse', { seconds: 1 })
  await until('it is over', () => reading().until === null && reading().on === false)
  say({ type: 'camera-output', cameraId: 'cam1', id: 'r', on: true, until: 1e18 })
  say({ type: 'camera-output', cameraId: 'cam1', id: 'other', on: true, until: 5 })
  await until('what lasts as good as for ever is on', () => reading().until === 1e18)
  t.equal(reading().on, true)
})

t.test(
  '3A.auth a refused token and a recorder that moved to HTTPS are shown at the device, and HTTP gets no token',
  async (t) => {
    const refused = await stageOf(t, { device: { api_key: 'prc_other' } })
    await until('it is refused', () => refused.live.device(1).state === 'offline')
    t.match(refused.live.device(1).error, /takes no token from here: make one there/)
    const moved = await stageOf(t, { moved: true })
    await until('it is refused', () => moved.live.device(1).state === 'offline')
    t.match(moved.live.device(1).error, /speaks HTTPS, and its root CA was not adopted yet/)
    t.same(new Set(moved.unsigned), new Set(['/api/identity']))
  },
)

t.test('a camera that the token does not show is unknown, with the reason, until it is there', async (t) => {
  const { has, heard, reading, say } = await stageOf(t)
  await heard()
  await until('it records', () => reading().state === 'recording')
  say({ type: 'camera-removed', cameraId: 'cam1' })
  await until('it is gone', () => reading().state === 'unknown')
  t.match(reading().error, /shows no camera cam1 to this token/)
  has(cameraOf('cam1'))
  say({ type: 'camera-state', cameraId: 'cam1', camera: cameraOf('cam1') })
  await until('it is back', () => reading().state === 'recording')
  t.equal(reading().error, null)
})

t.test('a message that no recorder sends is reported, and changes nothing', async (t) => {
  const { heard, reading, said, say, sockets } = await stageOf(t)
  await heard()
  await until('it records', () => reading().state === 'recording')
  for (const ws of sockets) ws.send('{"type"')
  for (const message of [
    { type: 'event', event: { id: 5, camera_id: 'cam1' } },
    { type: 'camera-event', cameraId: 'cam1', event: { kind: 'dance' } },
    { type: 'camera-output', cameraId: 'cam1', id: 'r', on: 'yes' },
    { type: 'camera-state', camera: { id: '' } },
    { type: 'alert', cameraId: 'cam1' },
    { type: 'hello', cameras: 'all' },
  ])
    say(message)
  say({ type: 'license-changed', state: 'trial' })
  for (let at = 0; at < 40; at++) say(eventOf('begin', `many${at}`, 'person'))
  for (let at = 8; at < 40; at++) say(eventOf('end', `many${at}`, 'person'))
  say(eventOf('begin', 'last', 'vehicle'))
  await until('the last is heard', () => reading().vehicle === true)
  t.equal(reading().person, false, 'the oldest of too many were taken for over')
  t.equal(reading().state, 'recording')
  t.ok(
    said.some((sentence) => /unknown|not known|does not/.test(sentence)),
    said.join('\n'),
  )
})

t.test('3A.events 128 cameras are greeted with no message or answer that is too long', async (t) => {
  const { heard, reading, say } = await stageOf(t, { more: 126 })
  await heard()
  await until('it records', () => reading().state === 'recording')
  say({ type: 'camera-state', cameraId: 'cam1', camera: cameraOf('cam1', { state: 'off' }) })
  await until('it is off', () => reading().state === 'off')
})

t.test('3A.events a recorder that greets with the cameras themselves is heard too', async (t) => {
  const { heard, reading } = await stageOf(t, { old: true })
  await heard()
  await until('it records', () => reading().state === 'recording')
})

t.test(
  '3A.still.jpg a zone shows what its camera sees, asked for with the token while the recorder is there',
  async (t) => {
    const picture = Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)
    const isHeld = ({ host }: Pick<typeof good, 'host'>) => until('it is held', () => host.view(1)?.state === 'ready')
    const good = await stageOf(t, { still: picture })
    await isHeld(good)
    t.same(await good.still(), Buffer.from(picture))
    t.same(good.stills, ['/api/cameras/cam1/still.jpg?width=640'])
    t.same(new Set(good.unsigned), new Set(['/api/identity']))
    await t.rejects(good.still(9), { code: 'no_still' }, 'a zone without a device')
    for (const [played, message] of [
      [{}, /it has sent none yet, or its recorder does not show it/],
      [{ still: Buffer.from('<svg onload="alert(1)">') }, /its recorder sends none that can be shown/],
      [{ still: Buffer.concat([picture, Buffer.alloc(2_000_000)]) }, /./],
    ] as const) {
      const bad = await stageOf(t, played)
      await isHeld(bad)
      await t.rejects(bad.still(), { message })
    }
    const output = await stageOf(t, { still: picture, zone: 'cam1/relay1' })
    await isHeld(output)
    await t.rejects(output.still(), { code: 'no_still' }, 'an output has no picture')
    const moved = await stageOf(t, { still: picture, moved: true })
    await until('it is refused', () => moved.live.device(1).state === 'offline')
    await t.rejects(moved.still(), { code: 'still_failed', message: 'its recorder is not connected' })
    t.same([output.stills, moved.stills], [[], []], 'no token goes to one that has not shown who it is')
  },
)
