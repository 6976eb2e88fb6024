/** Cameras that turn, by the built recorder: who may, and that whatever moves is stopped. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS } from './camera.ts'
import { clientOf, headersOf } from './client.ts'
import { startOnvifPeer } from './peer/onvif-camera.ts'
import { PtzSimulator } from './peer/ptz-simulator.ts'

const work = stateFolderOf(t)
// Told how long to move, it does not stop by itself: what stops it is the recorder.
const dome = new PtzSimulator({
  keepsTimeout: false,
  degPerS: 1,
  presets: new Map([['1', { name: 'Gate', pan: 5, tilt: 0, zoom: 0 }]]),
})
const peer = await startOnvifPeer(t, {
  host: '127.0.9.1',
  isFound: false,
  user: { username: '', password: '' },
  ptz: dome,
})
const plain = await startOnvifPeer(t, { host: '127.0.9.2', isFound: false, user: { username: '', password: '' } })
const [yard, door, bare] = ['0000000a', '0000000b', '0000000c']
const cameraOf = (id: string, name: string, service: string | null) => ({
  ...{ id, name, enabled: false, url: 'rtsp://127.0.9.1:1/none', username: null, sealedPassword: null },
  onvif: service && { service, recordToken: 'main', watchToken: null, fps: null },
})
const stateFolder = join(work, 'recorder')
mkdirSync(stateFolder)
const cameras = [
  cameraOf(yard, 'Yard', peer.service),
  cameraOf(door, 'Door', plain.service),
  cameraOf(bare, 'Bare', null),
]
writeFileSync(join(stateFolder, 'cameras.json'), JSON.stringify({ version: 1, cameras }))
const sets = ['storage.free_bytes=0']
let recorder = await startDaemon(t, 'recorder', { stateFolder, sets })
let boss = clientOf(recorder.url)
await boss.setUp()

const login = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...login, role: 'operator', cameras: [yard, door, bare] })
await boss.call('POST', '/api/accounts', { ...login, username: 'other', role: 'operator', cameras: [door] })
await boss.call('POST', '/api/accounts', { ...login, username: 'viewer', role: 'viewer', cameras: 'all' })
const [guard, other, viewer] = await Promise.all(
  ['guard', 'other', 'viewer'].map(async (username) => {
    const client = clientOf(recorder.url)
    await client.signIn({ ...login, username })
    return client
  }),
)

const path = `/api/cameras/${yard}/ptz`
const right = { pan: 1, tilt: 0, zoom: 0 }
const writes = async () => (await boss.call('GET', `/api/cameras/${yard}/writes`)).body

t.test('A.ptz operators turn the cameras that they see, viewers none, and what does not turn says so', async (t) => {
  t.match(await guard?.call('GET', path), {
    status: 200,
    body: { supported: true, absolute: 'spherical', fov: false, continuous: true, zoom: true, mostPresets: 8 },
  })
  t.match((await guard?.call('GET', path))?.body, {
    pan: null,
    tilt: [-90, 30],
    position: { pan: 20, tilt: -10, zoom: 0 },
  })
  const who = new Set(['DELETE /patrol', 'DELETE /follow', 'POST /presets', 'POST /train', 'PUT /geometry'])
  for (const [method, of, body] of [
    ['GET', '', undefined],
    ['GET', '/presets', undefined],
    ['POST', '/move', right],
    ['POST', '/stop', undefined],
    ['POST', '/preset', { token: '1' }],
    ['POST', '/aim', { x: 0, y: 0, zoom: 0 }],
    ['POST', '/presets', { name: 'x' }],
    ['POST', '/train', undefined],
    ['GET', '/patrol', undefined],
    ['POST', '/patrol/pause', undefined],
    ['GET', '/follow', undefined],
    ['POST', '/follow/stop', undefined],
    ['DELETE', '/patrol', undefined],
    ['DELETE', '/follow', undefined],
    ['PUT', '/geometry', { widths: [] }],
  ] as const) {
    t.equal((await clientOf(recorder.url).call(method, path + of, body)).status, 401, of)
    t.equal((await viewer?.call(method, path + of, body))?.status, 403, of)
    t.equal((await other?.call(method, path + of, body))?.status, who.has(`${method} ${of}`) ? 403 : 404, of)
  }
  t.same(
    dome.told.filter(({ name }) => !name.startsWith('Get')),
    [],
    'none of it reached the camera',
  )
  t.equal((await guard?.call('POST', `${path}/presets`, { name: 'x' }))?.status, 403)
  t.match((await guard?.call('GET', `/api/cameras/${bare}/ptz`))?.body, { supported: false, reason: /over ONVIF/ })
  t.match((await guard?.call('GET', `/api/cameras/${door}/ptz`))?.body, { supported: false, reason: /does not turn/ })
  t.match(await guard?.call('POST', `/api/cameras/${bare}/ptz/stop`), { status: 400, body: { error: 'no_onvif' } })
  t.match(await guard?.call('POST', `/api/cameras/${door}/ptz/move`, right), { status: 409, body: { error: 'no_ptz' } })
  for (const bad of [{ ...right, pan: 1.1 }, { pan: 1 }, { ...right, durationMs: 0 }])
    t.equal((await guard?.call('POST', `${path}/move`, bad))?.status, 400)
})

t.test('A.ptz.move a camera is turned and stopped, and both are written down with who did it', async (t) => {
  t.match(await guard?.call('POST', `${path}/move`, { ...right, durationMs: 60_000 }), {
    status: 200,
    body: { durationMs: 800 },
  })
  t.match((await guard?.call('GET', path))?.body, { moving: true })
  t.equal((await guard?.call('POST', `${path}/stop`))?.status, 204)
  t.equal(dome.isMoving(), false)
  t.match((await writes())[0], { operation: 'ptz_move', performed_by: 'guard', detail: { pan: 1, times: 1 } })
  t.same((await guard?.call('GET', `${path}/presets`))?.body, [{ token: '1', name: 'Gate' }])
  t.equal((await guard?.call('POST', `${path}/preset`, { token: '1' }))?.status, 204)
  t.match(await guard?.call('POST', `${path}/preset`, { token: '9' }), {
    status: 404,
    body: { error: 'unknown_preset' },
  })
  t.match(await boss.call('POST', `${path}/presets`, { name: 'Here' }), {
    status: 201,
    body: { token: 'p2', name: 'Here' },
  })
  t.match(await writes(), [
    { operation: 'ptz_preset_saved', performed_by: 'admin', detail: { presetName: 'Here' } },
    { operation: 'ptz_preset', performed_by: 'guard', detail: { presetName: 'Gate' } },
    { operation: 'ptz_move' },
  ])
})

t.test('A.ptz.aim a camera whose width was said is aimed, also while it shows nothing', async (t) => {
  const widths = [{ zoom: 0, hfovDeg: 10 }]
  t.match(await boss.call('PUT', `${path}/geometry`, { widths }), {
    ...{ status: 200, body: { geometry: { kind: 'calibrated', widths } } },
  })
  await guard?.call('POST', `${path}/stop`)
  const before = dome.pose()
  t.match((await guard?.call('POST', `${path}/aim`, { x: 0.2, y: 0, zoom: 0 }))?.body, {
    ...{ method: 'absolute', predictedError: 0, achievedError: null, corrections: 0, clamped: false },
  })
  t.ok(Math.abs(dome.pose().pan - before.pan - 1) < 0.1)
  t.match((await writes())[0], { operation: 'ptz_aim', performed_by: 'guard', detail: { x: 0.2, method: 'absolute' } })
  t.match(await boss.call('POST', `${path}/train`), { status: 422, body: { error: 'training_failed' } })
})

t.test('A.patrol and A.follow are set, told on the feed, and refused where the camera cannot', async (t) => {
  const told: { type: string; cameraId: string; status?: { state: string } }[] = []
  const socket = new WebSocket(
    `${recorder.url.replace('http', 'ws')}/ws?token=${(await boss.call('POST', '/tokens', { name: 'x' })).body.token}`,
  )
  socket.onmessage = ({ data }) => void told.push(JSON.parse(String(data)))
  await until('it is greeted', () => told.length > 0, LONG_MS)
  const steps = [{ preset: '1', dwellSeconds: 10 }]
  const wish = { steps, enabled: true, schedule: null, resumeAfterSeconds: 30 }
  t.match(await boss.call('PUT', `${path}/patrol`, { ...wish, steps: [{ preset: '9', dwellSeconds: 10 }] }), {
    status: 404,
  })
  for (const bad of [{ dwellSeconds: 9 }, { dwellSeconds: 3601 }])
    t.equal((await boss.call('PUT', `${path}/patrol`, { ...wish, steps: [{ ...steps[0], ...bad }] })).status, 400)
  const never = { ...wish, schedule: { days: [], from: '08:00', to: '18:00' } }
  t.match(await boss.call('PUT', `${path}/patrol`, never), {
    status: 400,
    body: { fields: [{ field: 'schedule.days', message: /expected a list of 1 to 7 entries/ }] },
  })
  t.match(await boss.call('PUT', `${path}/patrol`, wish), {
    ...{
      status: 200,
      body: { patrol: { steps: [{ preset: '1', presetName: 'Gate' }] }, status: { state: 'waiting' } },
    },
  })
  t.match((await guard?.call('GET', `${path}/patrol`))?.body.status, { state: 'waiting', reason: /switched off/ })
  t.match((await guard?.call('POST', `${path}/patrol/pause`))?.body.status, { state: 'held' })
  t.match((await guard?.call('GET', `${path}/follow`))?.body, {
    follow: null,
    unavailable: null,
    status: { state: 'off' },
  })
  const follow = {
    enabled: true,
    groups: ['person'],
    maxFollowSeconds: 60,
    returnPreset: null,
    returnAfterSeconds: 0,
    resumeAfterSeconds: 10,
  }
  t.match(await boss.call('PUT', `${path}/follow`, { ...follow, returnPreset: '9' }), { status: 404 })
  t.match(await boss.call('PUT', `${path}/follow`, follow), { status: 200, body: { status: { state: 'watching' } } })
  await boss.call('PUT', `${path}/geometry`, { widths: [] })
  t.match(await boss.call('PUT', `${path}/follow`, follow), { status: 409, body: { error: 'tracking_unavailable' } })
  t.match((await guard?.call('POST', `${path}/follow/stop`))?.body.status, { state: 'paused' })
  await until(
    'both are told',
    () => ['ptz-patrol', 'ptz-follow'].every((type) => told.some((one) => one.type === type)),
    LONG_MS,
  )
  t.match(
    told.findLast(({ type }) => type === 'ptz-patrol'),
    { cameraId: yard, status: { state: 'held' } },
  )
  t.match(
    told.findLast(({ type }) => type === 'ptz-follow'),
    { cameraId: yard, follow: { groups: ['person'] }, unavailable: /Train it/, status: { state: 'paused' } },
    'as GET tells it',
  )
  for (const id of [bare, door])
    t.match(await boss.call('PUT', `/api/cameras/${id}/ptz/follow`, follow), {
      status: 409,
      body: { error: 'tracking_unavailable' },
    })
  socket.close()
  t.equal((await boss.call('DELETE', `${path}/follow`)).status, 204)
  t.equal((await boss.call('DELETE', `${path}/patrol`)).status, 204)
  t.match(await boss.call('POST', `${path}/patrol/pause`), { status: 409, body: { error: 'patrol_off' } })
})

t.test('A.ptz a rule does not take a camera from a person who steers it, and says so', async (t) => {
  await boss.call('PATCH', `/api/cameras/${yard}`, { enabled: true, cameraEvents: true })
  await until('its events are heard', () => peer.events.points() === 1, LONG_MS)
  const action = { type: 'ptz_preset', cameraId: yard, preset: '1' }
  const made = await boss.call('POST', '/api/action-rules', {
    ...{ name: 'Look', trigger: { type: 'camera_event', kinds: ['line'] }, action, cooldownSeconds: 0 },
  })
  t.equal(made.status, 201)
  const results = async () =>
    (await boss.call('GET', '/api/alerts')).body.map((one: { results: unknown[] }) => one.results[0])
  const recalled = () => dome.told.filter(({ name }) => name === 'GotoPreset').length
  const before = recalled()
  t.equal((await guard?.call('POST', `${path}/stop`))?.status, 204)
  peer.events.say({ topic: 'tns1:RuleEngine/tns1:LineDetector/tns1:Crossed', data: { ObjectId: '1' } })
  await until(
    'the rule is over',
    async () => (await results()).some(({ state }: { state: string }) => state === 'failed'),
    LONG_MS,
  )
  t.match(await results(), [{ sentence: 'guard steers the camera, and has it until 30 s after the last command.' }])
  t.match((await writes()).slice(0, 2), [
    { operation: 'ptz_preset', performed_by: null, detail: { rule: 'Look', preset: '1', error: /^guard steers/ } },
    { operation: 'ptz_stop', performed_by: 'guard' },
  ])
  t.equal(recalled(), before)
  await boss.call('PATCH', `/api/action-rules/${made.body.id}`, { trigger: { type: 'button' } })
  t.equal((await boss.call('POST', `/api/action-rules/${made.body.id}/press`)).status, 200)
  await until('a person is obeyed', () => recalled() === before + 1, LONG_MS)
  await boss.call('DELETE', `/api/action-rules/${made.body.id}`)
  await boss.call('PATCH', `/api/cameras/${yard}`, { enabled: false, cameraEvents: false })
})

t.test('A.ptz.move a client that holds a move and is killed leaves nothing turning', async (t) => {
  const script = `setInterval(() => fetch(process.argv[1], { method: 'POST', headers: JSON.parse(process.argv[2]), body: process.argv[3] }).then(async (it) => console.log(await it.text())), 200)`
  const headers = { ...headersOf(boss.credentials), 'content-type': 'application/json' }
  const child = spawn(process.execPath, [
    '-e',
    script,
    `${recorder.url}${path}/move`,
    JSON.stringify(headers),
    JSON.stringify(right),
  ])
  t.teardown(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await until('it is said again', () => dome.told.filter(({ name }) => name === 'ContinuousMove').length > 3, LONG_MS)
  child.kill('SIGKILL')
  const killedMs = performance.now()
  await until('the camera is still', () => !dome.isMoving(), LONG_MS)
  t.comment(`stopped ${Math.round((dome.told.at(-1)?.atMs ?? 0) - killedMs)} ms after the client was killed`)
  await until('it is written down', async () => (await writes())[0]?.detail.ended === 'time')
})

t.test('what a recorder that was killed left turning is stopped when it starts again', async (t) => {
  await boss.call('POST', `${path}/move`, right)
  await recorder.stop('SIGKILL')
  t.ok(dome.isMoving())
  recorder = await startDaemon(t, 'recorder', { stateFolder, sets })
  const beganMs = performance.now()
  await until('the camera is still', () => !dome.isMoving(), LONG_MS)
  t.comment(`stopped ${Math.round((dome.told.at(-1)?.atMs ?? 0) - beganMs)} ms after the recorder was ready`)
  boss = clientOf(recorder.url)
  await boss.signIn()
  await until('it is written down', async () => (await writes())[0]?.detail.ended === 'restart')
  await boss.call('POST', `${path}/move`, right)
  await recorder.stop()
  t.equal(dome.isMoving(), false, 'at its end too')
})
