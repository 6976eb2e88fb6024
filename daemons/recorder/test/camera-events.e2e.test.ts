/** What a camera tells of itself over ONVIF, and what it switches, by the built recorder. */
import t from 'tap'
import { WebSocket } from 'ws'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { clientOf, headersOf } from './client.ts'
import { startClockServicePeer } from './peer/clock-service.ts'
import { cameraTurn, startOnvifPeer } from './peer/onvif-camera.ts'

const login = { username: 'onvif', password: 'pass&word' }
const YEAR_MS = 365 * 86_400_000

const work = stateFolderOf(t)
const film = await startCamera(t, await makeFootage(work, 10), login)
const rtspPort = Number(new URL(film.url).port)
await cameraTurn(t)
const peer = await startOnvifPeer(t, {
  ...{ host: '127.0.7.1', rtspPort, signIn: 'wsse', saysHost: '192.0.2.9', aheadMs: -20 * YEAR_MS },
  relays: [{ token: 'Siren_0', isOn: false }],
})
const sets = ['discovery.interface=lo', 'discovery.wait_ms=1000', 'storage.free_bytes=0', 'cameras.retry_first_ms=50']
const service = startClockServicePeer(t)
const within = ['env', `PATH=${service.folder}:${process.env.PATH}`]
const options = {
  ...{ stateFolder: `${work}/recorder`, within },
  sets: [...sets, 'time_server.enabled=false', 'camera_events.least_ms=50'],
}
const recorder = await startDaemon(t, 'recorder', options)
const boss = clientOf(recorder.url)
await boss.setUp()
await until('it is found', async () => (await boss.call('POST', '/api/discovery/scan')).body.found.length > 0, LONG_MS)
const [found] = (await boss.call('GET', '/api/discovery')).body.found
const yard = (await boss.call('POST', `/api/discovery/${found.id}/adopt`, { ...login, name: 'Yard' })).body.id as string
const door = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Door', url: 'rtsp://127.0.0.1:1/none' })).body
  .id as string

const guardLogin = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...guardLogin, role: 'viewer', cameras: [door] })
const guard = clientOf(recorder.url)
await guard.signIn(guardLogin)

const motion = (isMotion: boolean, operation = 'Changed') => ({
  topic: 'tns1:RuleEngine/tns1:CellMotionDetector/tns1:Motion',
  source: { VideoSourceConfigurationToken: 'v0', Rule: 'Gate' },
  data: { IsMotion: String(isMotion) },
  operation,
})
const statusOf = async () => {
  const { body } = await boss.call('GET', '/api/cameras')
  return body.find(({ id }: { id: string }) => id === yard).cameraEventsStatus
}
const eventsOf = async (query = '') => (await boss.call('GET', `/api/camera-events${query}`)).body.events

/** What the feed tells an account. */
function hear(client: typeof boss): { type: string; cameraId?: string }[] {
  const heard: { type: string }[] = []
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws`, { headers: headersOf(client.credentials) })
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  t.teardown(() => socket.terminate())
  return heard
}
const bossHears = hear(boss)
const guardHears = hear(guard)

t.test('3A.camera.cameraEvents a camera is listened to once that is set, and only over ONVIF', async (t) => {
  t.equal(await statusOf(), null)
  t.match(await boss.call('PATCH', `/api/cameras/${door}`, { cameraEvents: true }), {
    status: 400,
    body: { error: 'no_onvif' },
  })
  peer.events.standing.push(motion(false, 'Initialized'))
  t.match((await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: true })).body, { cameraEvents: true })
  await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
  t.same(await statusOf(), { state: 'ok', reason: null, lastEventAt: null, active: [] }, 'how it stands is no event')
})

t.test('3A.camera-events begin, end and what happened once are told by the clock of the recorder', async (t) => {
  const beganAt = Date.now()
  peer.events.say(motion(true))
  await until('motion lasts', async () => (await statusOf()).active.includes('motion'), LONG_MS)
  peer.events.say(motion(true))
  peer.events.say({ topic: 'tns1:RuleEngine/tns1:LineDetector/tns1:Crossed', data: { ObjectId: '1' } })
  peer.events.say({ topic: 'tns1:Monitoring/tns1:ProcessorUsage', data: { Value: '7' }, operation: 'Changed' })
  peer.events.say(motion(false))
  await until('it is over', async () => (await eventsOf()).length === 3, LONG_MS)
  const events = await eventsOf(`?cameraId=${yard}`)
  t.match(events, [
    { camera_id: yard, camera_name: 'Yard', kind: 'motion', phase: 'end' },
    { kind: 'line', phase: 'pulse', topic: 'RuleEngine/LineDetector/Crossed', summary: 'A line was crossed.' },
    { kind: 'motion', phase: 'begin', summary: 'Motion began: v0, Gate.' },
  ])
  for (const { at } of events) t.ok(at >= beganAt && at <= Date.now(), 'not that of the camera')
  t.equal((await eventsOf('?limit=1')).length, 1)
  t.equal((await eventsOf(`?before=${beganAt}`)).length, 0)
  t.match(
    bossHears.filter(({ type }) => type === 'camera-event'),
    [{ cameraId: yard, event: { phase: 'begin' } }, { event: { kind: 'line' } }, { event: { phase: 'end' } }],
  )
})

t.test('3A.authentication.7 nobody hears of a camera that they may not see', async (t) => {
  t.same((await guard.call('GET', '/api/camera-events')).body, { events: [] })
  t.equal((await guard.call('GET', `/api/camera-events?cameraId=${yard}`)).status, 404)
  t.equal((await clientOf(recorder.url).call('GET', '/api/camera-events')).status, 401)
  t.equal(guardHears.filter(({ cameraId }) => cameraId === yard).length, 0)
})

t.test('a lost pull point is made anew, and what was over meanwhile ends', async (t) => {
  peer.events.say(motion(true))
  await until('motion lasts', async () => (await statusOf()).active.includes('motion'), LONG_MS)
  peer.traits.aheadMs = 40 * YEAR_MS
  peer.events.lose()
  await until('it is over', async () => (await eventsOf())[0].phase === 'end', LONG_MS)
  await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
  t.equal(peer.events.points(), 1)
  t.equal((await statusOf()).reason, null)
})

t.test(
  'A.seeing what a camera claims is an event of the recorder where its claims are chosen as the detector',
  async (t) => {
    const seen = async () => (await boss.call('GET', `/api/events?cameraId=${yard}`)).body.events
    t.same(await seen(), [], 'what it claimed so far was no detection')
    t.match(await boss.call('PUT', '/api/detector', { kind: 'camera' }), { body: { health: { name: 'camera' } } })
    peer.events.say(motion(true))
    await until('it is seen', async () => (await seen()).length === 1, LONG_MS)
    t.match(await seen(), [{ label: 'motion', group: 'other', source: 'camera', box: null, ended_at: null }])
    peer.events.say(motion(false))
    await until('it is over', async () => (await seen())[0].ended_at !== null, LONG_MS)
    peer.events.say(motion(true))
    await until('it is seen again', async () => (await seen()).length === 2, LONG_MS)
    await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: false })
    await until('nobody would hear its end', async () => (await seen())[0].ended_at !== null, LONG_MS)
    await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: true })
    await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
    await boss.call('PUT', '/api/detector', { kind: 'off' })
  },
)

t.test('A.camera.cameraEventsStatus a camera without Renew is heard on, and tells nothing twice', async (t) => {
  Object.assign(peer.events.traits, { renew: 'plain fault', lifeMs: 3000 })
  await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: false })
  await until('nobody listens', () => peer.events.points() === 0, LONG_MS)
  await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: true })
  await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
  const before = (await eventsOf()).length
  const timesAsked = (name: string) => peer.asked.filter((one) => one === name).length
  const made = timesAsked('CreatePullPointSubscription')
  let said = 0
  await until(
    'the third pull point is made',
    async () => {
      t.match(await statusOf(), { state: 'ok', reason: null })
      peer.events.say({ topic: 'tns1:RuleEngine/tns1:LineDetector/tns1:Crossed', data: { ObjectId: String(++said) } })
      return timesAsked('CreatePullPointSubscription') >= made + 3
    },
    LONG_MS,
  )
  await until('all is told', async () => (await eventsOf('?limit=500')).length >= before + said, LONG_MS)
  t.equal((await eventsOf('?limit=500')).length, before + said)
  t.equal(timesAsked('Renew') <= 1, true)
  t.ok(peer.events.points() <= 2, 'those before are given back')
  Object.assign(peer.events.traits, { renew: 'known', lifeMs: 60_000 })
})

t.test('why a camera is not heard is said, and a camera that is no longer listened to is told so', async (t) => {
  peer.traits.instead = { PullMessages: '<a><b></a>' }
  await until('it fails', async () => (await statusOf()).state === 'failing', LONG_MS)
  t.match(await statusOf(), { reason: /what is no XML/ })
  peer.traits.instead = {}
  await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
  await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: false })
  await until('it was told', async () => peer.asked.includes('Unsubscribe'), LONG_MS)
  t.equal(await statusOf(), null)
  t.ok(
    peer.asked.every((name) => /^(?:Get|CreatePull|PullMessages|Renew|Unsubscribe)/.test(name)),
    'nothing was set',
  )
  t.equal((await eventsOf()).length > 0, true, 'what was told is kept')
})

t.test('3A.outputs a camera is looked at by an administrator, and switched by who may', async (t) => {
  const path = `/api/cameras/${yard}/outputs`
  t.same((await boss.call('GET', path)).body, { outputs: [], probedAt: null, notes: null })
  t.match(await boss.call('POST', `${path}/Siren_0`, { state: 'on' }), {
    status: 404,
    body: { error: 'unknown_output' },
  })
  t.match((await boss.call('POST', path)).body, {
    outputs: [{ id: 'Siren_0', kind: 'siren', name: 'Siren_0', driver: 'onvif', on: false, until: null }],
    probedAt: Number,
  })
  t.match(await boss.call('POST', `/api/cameras/${door}/outputs`), { status: 400, body: { error: 'no_onvif' } })
  const sameOf = (permissions: string[], role: string) => ({
    ...{ username: `${role}${permissions.length}`, password: 'seven long words', cameras: [yard], permissions, role },
  })
  for (const [wish, status] of [
    [sameOf(['outputs'], 'viewer'), 403],
    [sameOf([], 'operator'), 403],
    [sameOf(['outputs'], 'operator'), 200],
  ] as const) {
    t.equal((await boss.call('POST', '/api/accounts', wish)).status, 201)
    const client = clientOf(recorder.url)
    const { password, username } = wish
    t.match(await client.signIn({ username, password }), { status: 200 })
    t.equal((await client.call('GET', path)).status, 200)
    t.equal((await client.call('POST', `${path}/Siren_0`, { state: 'pulse', seconds: 300 })).status, status)
  }
  t.equal(peer.traits.relays[0]?.isOn, true)
  for (const wish of [
    { state: 'pulse', seconds: 0 },
    { state: 'pulse', seconds: 301 },
    { state: 'on', seconds: 5 },
    {},
  ])
    t.equal((await boss.call('POST', `${path}/Siren_0`, wish)).status, 400, JSON.stringify(wish))
  t.equal((await guard.call('GET', path)).status, 404)
  peer.traits.refusesRelays = true
  t.match(await boss.call('POST', `${path}/Siren_0`, { state: 'off' }), {
    status: 502,
    body: { error: 'onvif_failed', message: /bound to a rule/ },
  })
  peer.traits.refusesRelays = false
  const [refused, taken] = (await boss.call('GET', `/api/cameras/${yard}/writes`)).body
  t.match(refused, { operation: 'output', performed_by: 'admin', detail: { state: 'off', error: /bound to a rule/ } })
  t.match(taken, { performed_by: 'operator1', detail: { output: 'Siren_0', state: 'pulse', seconds: 300 } })
  t.match(
    bossHears.filter(({ type }) => type === 'camera-output'),
    [{ cameraId: yard, id: 'Siren_0', on: true, until: Number }],
  )
  t.equal(guardHears.filter(({ type }) => type === 'camera-output').length, 0)
})

t.test('3A.Events.1 what a camera claims switches its siren, by a rule', async (t) => {
  await boss.call('POST', `/api/cameras/${yard}/outputs/Siren_0`, { state: 'off' })
  await boss.call('PATCH', `/api/cameras/${yard}`, { cameraEvents: true })
  await until('it is heard', async () => (await statusOf())?.state === 'ok', LONG_MS)
  const action = { type: 'output', cameraId: yard, outputId: 'Siren_0', state: 'on' }
  const trigger = { type: 'camera_event', kinds: ['tamper'] }
  const made = await boss.call('POST', '/api/action-rules', { name: 'Alarm', trigger, action })
  t.match(made, { status: 201, body: { actions: [{ ...action, seconds: 10 }], action, activeNow: true } })
  peer.events.say({ topic: 'tns1:VideoSource/tns1:GlobalSceneChange/tns1:ImagingService', data: { State: 'true' } })
  await until('it is on', () => peer.traits.relays[0]?.isOn === true, LONG_MS)
  const alerts = async () => (await boss.call('GET', '/api/alerts')).body
  await until('it is over', async () => (await alerts())[0]?.results[0].state === 'done', LONG_MS)
  const [write] = (await boss.call('GET', `/api/cameras/${yard}/writes`)).body
  t.match(write, { operation: 'output', performed_by: null, detail: { output: 'Siren_0', state: 'on', rule: 'Alarm' } })
  t.match(await alerts(), [
    {
      rule: 'Alarm',
      triggerType: 'camera_event',
      cameraId: yard,
      cameraName: 'Yard',
      summary: 'Tampering was reported.',
    },
  ])
  t.same((await guard.call('GET', '/api/alerts')).body, [])
  await boss.call('DELETE', `/api/action-rules/${made.body.id}`)
})

t.test('3A.outputs a siren that was on when the recorder was killed is switched off by the next one', async (t) => {
  await boss.call('POST', `/api/cameras/${yard}/outputs/Siren_0`, { state: 'pulse', seconds: 1 })
  await recorder.stop('SIGKILL')
  t.equal(peer.traits.relays[0]?.isOn, true)
  await startDaemon(t, 'recorder', options)
  await until('it is off', () => peer.traits.relays[0]?.isOn === false, LONG_MS)
})
