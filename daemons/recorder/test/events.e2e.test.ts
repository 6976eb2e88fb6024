import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'
import { makeWalk } from './walk.ts'

const work = stateFolderOf(t)
const peer = join(import.meta.dirname, 'played-detector-child.ts')
const sets = [
  ...['storage.free_bytes=0', 'storage.file_s=5', 'detector.lost_ms=2000'],
  `detector.command=${JSON.stringify([process.execPath, peer])}`,
  ...[`pictures.start_ms=${LONG_MS}`, `pictures.answer_ms=${LONG_MS}`],
]
const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets })
const boss = clientOf(recorder.url)
await boss.setUp()
const camera = await startCamera(t, await makeWalk(work, 240))
const add = async (name: string) => (await boss.call('POST', '/api/discovery/rtsp', { name, url: camera.url })).body.id
const [door, yard] = [await add('Door'), await add('Back yard')] as [string, string]

async function accountOf(username: string, cameras: string[]): Promise<Client> {
  const login = { username, password: 'seven long words' }
  await boss.call('POST', '/api/accounts', { ...login, role: 'viewer', cameras })
  const client = clientOf(recorder.url)
  await client.signIn(login)
  return client
}
const guard = await accountOf('guard', [yard])

interface Told {
  type: string
  cameraId?: string
  [field: string]: unknown
}

/** What the status feed of a client says of events. */
function feedOf({ credentials }: Client): Told[] {
  const told: Told[] = []
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws`, { headers: headersOf(credentials) })
  socket.on('message', (data) => told.push(JSON.parse(String(data))))
  t.teardown(() => socket.terminate())
  return told
}

const eventsOf = async (client: Client, query = '') => (await client.call('GET', `/api/events?${query}`)).body.events

t.test('nothing is looked at before a detector was chosen', async (t) => {
  t.match((await boss.call('GET', '/api/detector')).body, {
    kind: 'off',
    health: { state: 'idle', looked: 0 },
    kinds: [
      { kind: 'off' },
      { kind: 'motion', available: true },
      { kind: 'camera', available: true },
      { kind: 'external', available: true },
    ],
  })
  t.same(await eventsOf(boss), [])
  t.equal((await guard.call('GET', '/api/detector')).status, 403)
})

t.test('A.ai the switch alone takes the best detector that is here, for administrators', async (t) => {
  const put = (body: object) => boss.call('PUT', '/api/ai', body)
  const named = { 0: { id: door, name: 'Door', enabled: true } }
  t.match((await boss.call('GET', '/api/ai')).body, { enabled: false, kind: 'off', best: 'external', cameras: named })
  t.equal((await guard.call('GET', '/api/ai')).status, 403)
  t.equal((await guard.call('PUT', '/api/ai', { enabled: true })).status, 403)
  t.equal((await put({ enabled: 'yes' })).status, 400)
  t.equal((await put({ on: true })).status, 400)
  t.match(await put({ cameras: { ffffffff: true } }), { status: 404, body: { error: 'unknown_camera' } })
  t.match(await put({ cameras: { [door]: false } }), { status: 200, body: { enabled: false } }, 'it stays off')
  const on = await put({ enabled: true, cameras: { [door]: true } })
  t.match(on, { status: 200, body: { enabled: true, kind: 'external', cameras: named } })
  await boss.call('PUT', '/api/detector', { kind: 'motion' })
  t.match((await put({ enabled: true })).body, { kind: 'motion' }, 'one that looks already stays')
  t.match((await put({ enabled: false })).body, { enabled: false, kind: 'off' })
})

t.test(
  'A.events motion is an event with a beginning, an end and a picture, told to those who see its camera',
  async (t) => {
    const [told, guarded] = [feedOf(boss), feedOf(guard)]
    t.match(await boss.call('PUT', '/api/detector', { kind: 'motion', fps: 4 }), {
      status: 200,
      body: { kind: 'motion' },
    })
    const isOver = async () =>
      (await eventsOf(boss, `cameraId=${door}`)).some(({ ended_at: end }: Told) => end !== null)
    await until('one is over', isOver, LONG_MS)
    const event = (await eventsOf(boss, `cameraId=${door}`)).find(({ ended_at: end }: Told) => end !== null)
    t.match(event, { camera_id: door, camera_name: 'Door', label: 'motion', group: 'other', source: 'motion' })
    const lastedMs = event.ended_at - event.started_at
    // He walks for eight seconds of sixteen. Where few pictures could be looked at it ends later, but with its walk.
    t.ok(lastedMs > 1000 && lastedMs < 32_000, `it lasted ${lastedMs} ms`)
    const picture = await fetch(`${recorder.url}/api/events/${event.id}/thumbnail.jpg`, {
      headers: headersOf(boss.credentials),
    })
    t.equal(picture.headers.get('content-type'), 'image/jpeg')
    const kinds = (messages: Told[]) => [...new Set(messages.map(({ type }) => type))]
    for (const type of ['event', 'detections', 'camera-activity']) t.ok(kinds(told).includes(type), type)
    const isOfSight = ({ type }: Told) => ['event', 'detections', 'camera-activity'].includes(type)
    t.same([...new Set(guarded.filter(isOfSight).map(({ cameraId }) => cameraId))], [yard], 'of that camera alone')
    t.equal((await guard.call('GET', `/api/events/${event.id}/thumbnail.jpg`)).status, 404)
    t.same((await guard.call('GET', `/api/events/nonsense/thumbnail.jpg`)).status, 404)
    t.ok((await eventsOf(guard)).every(({ camera_id: id }: Told) => id === yard))
    t.equal((await guard.call('GET', `/api/events?cameraId=${door}`)).status, 404)
  },
)

t.test('A.tracks boxes lie where the thing was, of footage that is kept, for at most ten minutes', async (t) => {
  const over = async () => (await eventsOf(boss, `cameraId=${door}`)).filter(({ ended_at: end }: Told) => end !== null)
  // The first walk may have begun before anybody looked: what it had covered then counts as moving too.
  await until('two are over', async () => (await over()).length >= 2, LONG_MS)
  const [event] = await over()
  const window = (from: number, to: number) => `/api/cameras/${door}/tracks?from=${from}&to=${to}`
  const { body } = await boss.call('GET', window(event.started_at - 1000, event.ended_at + 1000))
  t.match(body, { cameraId: door, offsetMode: 'auto' })
  // One stream is recorded and looked at: measured or not, nothing is far off.
  t.ok(Math.abs(body.offsetMs) <= 400, `${body.offsetMs} ms, measured at ${body.offsetMeasuredAt}`)
  const [track] = body.tracks
  t.ok(track.boxes.length >= 3, `${track.boxes.length} boxes`)
  const rights = track.boxes.map(({ box }: { box: number[] }) => box[2])
  t.ok(rights.at(-1) > rights[0], 'from left to right')
  t.equal((await boss.call('GET', window(0, 600_001))).status, 400)
  t.equal((await guard.call('GET', window(0, 1))).status, 404)
  await boss.call('PUT', '/api/detector', { cameras: { [door]: { trackOffsetMs: 250 } } })
  const moved = (await boss.call('GET', window(event.started_at - 1000, event.ended_at + 1000))).body
  t.match(moved, { offsetMs: 250, offsetMode: 'manual' })
  const instants = moved.tracks.flatMap(({ boxes }: { boxes: { at: number }[] }) => boxes.map(({ at }) => at))
  const isMoved = ({ at }: { at: number }) => instants.includes(at - body.offsetMs + 250)
  // Those at the end may lie behind the window now.
  t.ok(track.boxes.filter(isMoved).length >= track.boxes.length - 2, `${instants}`)
})

t.test('A.density slices add up to the events, and a window is at most 31 days', async (t) => {
  const now = Date.now()
  const { body } = await boss.call('GET', `/api/events/density?from=${now - 600_000}&to=${now}&buckets=7`)
  t.equal(body.bucketMs, Math.ceil(600_000 / 7))
  for (const [id, slices] of Object.entries<Record<string, number>[]>(body.cameras)) {
    const all = slices.reduce((sum, { total = 0 }) => sum + total, 0)
    t.equal(all, (await eventsOf(boss, `cameraId=${id}&until=${now}`)).length)
    for (const { animal = 0, other = 0, person = 0, total, vehicle = 0 } of slices)
      t.equal(person + vehicle + animal + other, total)
  }
  t.equal((await boss.call('GET', `/api/events/density?from=0&to=${32 * 86_400_000}`)).status, 400)
  t.equal((await boss.call('GET', `/api/events/density?from=0&to=9&buckets=501`)).status, 400)
  const guarded = (await guard.call('GET', `/api/events/density?from=${now - 600_000}&to=${now}`)).body
  t.same(Object.keys(guarded.cameras), [yard])
})

t.test('A.events what nothing here recognizes is said to be unavailable', async (t) => {
  for (const query of ['who=known', 'plate=B-XY'])
    t.match(await boss.call('GET', `/api/events?${query}`), { status: 409, body: { error: 'recognition_unavailable' } })
  const search = (query: string) => boss.call('GET', `/api/investigation/search?${query}`)
  t.match(await search('mode=semantic&q=white+van'), { status: 409, body: { error: 'semantic_unavailable' } })
  const found = (await search('mode=auto&q=motion+back+yard+today+purple')).body
  t.match(found, { mode: 'basic', labels: ['motion'], cameraIds: [yard], ignored: ['purple'] })
  t.ok(found.events.length > 0 && found.events.every(({ camera_id: id }: Told) => id === yard))
  t.same((await guard.call('GET', `/api/investigation/search?q=door`)).body.ignored, ['door'], 'a name tells nothing')
})

t.test('A.cameras one of intelligence_only is looked at, and no footage of it is kept', async (t) => {
  const add = { name: 'Lab', url: camera.url, mode: 'intelligence_only' }
  const lab = (await boss.call('POST', '/api/discovery/rtsp', add)).body.id
  t.equal((await boss.call('PATCH', `/api/cameras/${lab}`, { mode: 'all' })).status, 400)
  await until('something was seen', async () => (await eventsOf(boss, `cameraId=${lab}`)).length > 0, LONG_MS)
  const cameras = (await boss.call('GET', '/api/cameras')).body
  const { health, mode, recordProfile } = cameras.find(({ id }: { id: string }) => id === lab)
  t.match(
    { mode, health, recordProfile },
    { mode: 'intelligence_only', health: { state: 'recording' }, recordProfile: { codec: String } },
  )
  const now = Date.now()
  const footage = `/api/cameras/${lab}/availability?from=${now - 600_000}&to=${now}`
  t.same((await boss.call('GET', footage)).body.ranges, [])
  await boss.call('PATCH', `/api/cameras/${lab}`, { mode: 'record' })
  await until(
    'it is kept',
    async () => (await boss.call('GET', footage.replace(`${now}`, `${now + 600_000}`))).body.ranges.length > 0,
    LONG_MS,
  )
  await boss.call('DELETE', `/api/cameras/${lab}`)
})

t.test('an external detector names what moves, and the recorder goes on while it is killed', async (t) => {
  await boss.call('PUT', '/api/detector', { kind: 'external', cameras: { [yard]: { enabled: false } } })
  await until('a person was seen', async () => (await eventsOf(boss, 'label=person')).length > 0, LONG_MS)
  const [event] = await eventsOf(boss, 'label=person')
  t.match(event, { camera_id: door, group: 'person', source: 'external' })
  const { health } = (await boss.call('GET', '/api/detector')).body
  t.match(health, { state: 'ready', name: 'played', crashes: 0, fault: null })
  t.match((await boss.call('GET', '/api/health')).body.detector, { state: 'ready' })
})
