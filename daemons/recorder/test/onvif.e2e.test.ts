/** Cameras that are found on the network and added over ONVIF, by the built recorder. */
import t from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { clientOf } from './client.ts'
import { startClockServicePeer } from './peer/clock-service.ts'
import { cameraTurn, startOnvifPeer } from './peer/onvif-camera.ts'

const login = { username: 'onvif', password: 'pass&word' }

const work = stateFolderOf(t)
const film = await startCamera(t, await makeFootage(work, 10), login)
const rtspPort = Number(new URL(film.url).port)
const YEAR_MS = 365 * 86_400_000

await cameraTurn(t)
const yard = await startOnvifPeer(t, { host: '127.0.6.1', rtspPort, saysHost: '192.0.2.9', signIn: 'wsse' })
const gate = await startOnvifPeer(t, {
  host: '127.0.6.2',
  rtspPort,
  name: 'Gate',
  signIn: 'digest',
  aheadMs: -30 * YEAR_MS,
})
const vault = await startOnvifPeer(t, {
  host: '127.0.6.3',
  rtspPort,
  name: 'Vault',
  user: { ...login, password: 'other' },
})
const old = await startOnvifPeer(t, { host: '127.0.6.4', rtspPort, name: 'Old', media: [1], knowsServices: false })
const jpeg = [{ token: 'a', encoding: 'JPEG', width: 640, height: 480, fps: 5 }]
const photo = await startOnvifPeer(t, { host: '127.0.6.5', rtspPort, name: 'Photo', profiles: jpeg })
const peers = [yard, gate, vault, old, photo]

const timePort = await freePort()
const serves = [`time_server.port=${timePort}`]
const sets = [...serves, 'discovery.interface=lo', 'discovery.wait_ms=1000', 'cameras.max=4', 'storage.free_bytes=0']
// The clock of the machine that tests is nobody's to set.
const service = startClockServicePeer(t)
const within = ['env', `PATH=${service.folder}:${process.env.PATH}`]
const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets, within })
const boss = clientOf(recorder.url)
await boss.setUp()

interface Found {
  id: string
  name: string
  address: string
  camera: { id: string; name: string } | null
}

const found = new Map<string, Found>()

t.test('only an administrator looks for cameras and adds them', async (t) => {
  const guardLogin = { username: 'guard', password: 'seven long words' }
  await boss.call('POST', '/api/accounts', { ...guardLogin, role: 'operator', cameras: 'all' })
  const guard = clientOf(recorder.url)
  await guard.signIn(guardLogin)
  for (const [method, path, body] of [
    ['GET', '/api/discovery', undefined],
    ['POST', '/api/discovery/scan', undefined],
    ['POST', '/api/discovery/x/adopt', login],
    ['POST', '/api/discovery/adopt-all', login],
  ] as const) {
    t.equal((await guard.call(method, path, body)).status, 403, path)
    t.equal((await clientOf(recorder.url).call(method, path, body)).status, 401, path)
  }
})

t.test('a scan finds every camera, at the address from which it answers', async (t) => {
  t.same((await boss.call('GET', '/api/discovery')).body, {
    ...{ isScanning: false, scannedAt: null, interfaces: 0, found: [] },
  })
  // A machine that is busy misses answers: people press the button again.
  const scan = async () => {
    const { body } = await boss.call('POST', '/api/discovery/scan')
    for (const one of body.found) found.set(one.address, one)
    return peers.every(({ traits }) => found.has(traits.host))
  }
  await until('all are found', scan, LONG_MS)
  t.match(found.get('127.0.6.1'), { name: 'Yard camera', model: 'PC-1', manufacturer: null, camera: null })
  t.match((await boss.call('GET', '/api/discovery')).body, { isScanning: false, interfaces: 1, scannedAt: Number })
})

t.test('a camera is added with its best stream, and is recorded', async (t) => {
  const { body, status } = await boss.call('POST', `/api/discovery/${found.get('127.0.6.1')?.id}/adopt`, {
    ...{ ...login, name: 'Yard' },
  })
  t.match([status, body], [201, { name: 'Yard', enabled: true, onvif: true, mode: 'record' }])
  t.match(body.sub_url, /^rtsp:\/\/127\.0\.6\.1:\d+\/cam$/, 'not the address that it says')
  const camera = async () => (await boss.call('GET', '/api/cameras')).body[0]
  await until('it is recorded', async () => (await camera()).health.state === 'recording', LONG_MS)
  t.match((await camera()).recordProfile, { width: 320, height: 240, codec: /^avc1/ })
  t.match(await boss.call('POST', `/api/discovery/${found.get('127.0.6.1')?.id}/adopt`, login), {
    ...{ status: 409, body: { error: 'camera_known' } },
  })
  t.match(await boss.call('POST', '/api/discovery/none/adopt', login), {
    status: 404,
    body: { error: 'unknown_device' },
  })
})

t.test('A.errors adopt-all adds what it can, and says of each other one why not', async (t) => {
  const { body } = await boss.call('POST', '/api/discovery/adopt-all', login)
  t.same(body.adopted.map(({ name }: Found) => name).sort(), ['Gate', 'Old'])
  const why = Object.fromEntries(body.failed.map(({ error, name }: { error: string; name: string }) => [name, error]))
  t.match(why, { Vault: /does not take this user name and password/, Photo: /JPEG alone/ })
  t.equal(vault.refused.length, 2, 'the password was tried once each way')
  const { found: now } = (await boss.call('GET', '/api/discovery')).body as { found: Found[] }
  t.same(
    now
      .filter(({ camera }) => camera === null)
      .map(({ name }) => name)
      .sort(),
    ['Photo', 'Vault'],
  )
})

t.test('where the recorder has as many cameras as it takes, none is asked', async (t) => {
  await boss.call('POST', '/api/discovery/rtsp', { name: 'More', url: 'rtsp://127.0.0.1:1/x' })
  const before = vault.asked.length
  t.match(await boss.call('POST', `/api/discovery/${found.get('127.0.6.3')?.id}/adopt`, login), {
    ...{ status: 409, body: { error: 'too_many_cameras' } },
  })
  t.equal(vault.asked.length, before)
})

t.test('nothing in any camera was changed, and what is kept of them shows no password', async (t) => {
  for (const { asked } of peers)
    t.same(
      asked.filter((name) => !name.startsWith('Get')),
      [],
    )
  const { body } = await boss.call('GET', '/api/journal')
  t.notMatch(JSON.stringify(body), /pass&word/)
  t.match(JSON.stringify(body), /127\.0\.6\.2/)
  t.notMatch(JSON.stringify((await boss.call('GET', '/api/cameras')).body), /pass&word/)
})

t.test(
  'A.time cameras can take their time from the recorder while the clock of its machine is synchronized',
  async () => {
    const serves = async () => (await boss.call('GET', '/api/recorder/time')).body.timeServer
    await until('it gives the time', serves, LONG_MS)
  },
)

t.test('A.clock the clock of a camera is read, set and read again, and the write is listed', async (t) => {
  const cameras = (await boss.call('GET', '/api/cameras')).body as { id: string; name: string }[]
  const idOf = (name: string) => cameras.find((one) => one.name === name)?.id
  const path = `/api/cameras/${idOf('Gate')}/clock`
  const before = (await boss.call('GET', path)).body
  t.ok(before.driftSeconds < -900_000_000, 'thirty years')
  const set = await boss.call('POST', path, { switchToManual: false })
  t.match([set.status, set.body.timeZoneBefore], [200, 'UTC0'])
  t.ok(Math.abs(set.body.driftAfterSeconds) < 60)
  t.match(set.body, { ntpServerSet: '127.0.0.1', ntpError: null, dateTimeTypeSet: 'NTP', ntpKept: false })
  t.match(gate.traits, { dateTimeType: 'NTP', ntp: { isFromDhcp: false, servers: ['127.0.0.1'] } })
  t.match((await boss.call('GET', `/api/cameras/${idOf('Gate')}/writes?limit=5`)).body, [
    { operation: 'clock', performed_by: 'admin', detail: { driftAfterSeconds: Number } },
  ])
  t.match(await boss.call('GET', `/api/cameras/${idOf('More')}/clock`), { status: 400, body: { error: 'no_onvif' } })
  t.match(await boss.call('POST', '/api/cameras/none/clock', { switchToManual: false }), { status: 404 })
  const guard = clientOf(recorder.url)
  await guard.signIn({ username: 'guard', password: 'seven long words' })
  for (const what of ['clock', 'writes'])
    t.equal((await guard.call('GET', `/api/cameras/${idOf('Gate')}/${what}`)).status, 403)
})

t.test('A.clock a camera that was given the recorder as its server fetches the time from it', async (t) => {
  const cameras = (await boss.call('GET', '/api/cameras')).body as { id: string; name: string }[]
  const path = `/api/cameras/${cameras.find((one) => one.name === 'Gate')?.id}/clock`
  Object.assign(gate.traits, { aheadMs: -YEAR_MS, ntpPort: timePort })
  const { body } = await boss.call('POST', path, { switchToManual: false })
  t.match(body, { ntpServerSet: '127.0.0.1', ntpKept: true, dateTimeTypeBefore: 'NTP' })
  t.ok(Math.abs(gate.traits.aheadMs) < LONG_MS, 'by its own question')
  const manual = (await boss.call('POST', path, { switchToManual: true })).body
  t.match(manual, { dateTimeTypeSet: 'Manual', ntpServerSet: null, ntpError: null, ntpKept: false })
  t.match(String((await boss.call('GET', '/metrics')).body), /time_questions_total\{result="answered"\} [1-9]/)
})

t.test('A.time the clock of the machine is told and set by administrators, and every change is told', async (t) => {
  const path = '/api/recorder/time'
  const before = (await boss.call('GET', path)).body
  t.match(before, {
    available: true,
    zone: 'Etc/UTC',
    ntp: true,
    canNtp: true,
    synchronized: true,
    timeServer: true,
    timeServerError: null,
  })
  t.match(before, { zones: ['Europe/Berlin', 'Etc/UTC'], pinnedZone: null, now: Number })
  const set = await boss.call('PUT', path, { zone: 'Europe/Berlin', ntp: false, time: '2031-07-09 14:00' })
  t.match(set, { status: 200, body: { zone: 'Europe/Berlin', ntp: false } })
  t.equal('zones' in set.body, false)
  const instant = Date.UTC(2031, 6, 9, 12)
  t.same(service.asked(), ['SetTimezone Europe/Berlin', 'SetNTP false', `SetTime ${instant * 1000}`])
  const journal = JSON.stringify((await boss.call('GET', '/api/journal')).body)
  const ledger = JSON.stringify((await boss.call('GET', '/api/ledger?what=clock_changed')).body)
  for (const what of [/zone was set to Europe/, /Network time was switched off/, /time was set to 2031-07-09 14:00/]) {
    t.match(journal, what)
    t.match(ledger, what)
  }
})

t.test('A.time what is refused is 400, what the clock service refuses 502, and nobody else may', async (t) => {
  const path = '/api/recorder/time'
  const put = async (body: unknown, client = boss) => {
    const { body: said, status } = await client.call('PUT', path, body)
    return [status, said.error]
  }
  const asked = service.asked()
  for (const body of [{}, { zone: '' }, { time: '14:00' }, { ntp: 'yes' }, { ntp: true, hour: 1 }])
    t.equal((await put(body))[0], 400, JSON.stringify(body))
  t.same(await put({ zone: 'Mars/Base' }), [400, 'bad_zone'])
  t.same(await put({ ntp: true, time: '2031-07-09 14:00' }), [400, 'time_from_network'])
  t.same(await put({ time: '2031-02-31 14:00' }), [400, 'bad_time'])
  const guard = clientOf(recorder.url)
  await guard.signIn({ username: 'guard', password: 'seven long words' })
  t.equal((await put({ ntp: true }, guard))[0], 403)
  t.equal((await guard.call('GET', path)).status, 403)
  t.equal((await put({ ntp: true }, clientOf(recorder.url)))[0], 401)
  const { csrf: _, ...cookie } = boss.credentials
  t.same(await put({ ntp: true }, clientOf(recorder.url, cookie)), [403, 'csrf_missing'])
  const { token } = (await boss.call('POST', '/tokens', { name: 'reads', readOnly: true })).body
  t.same(await put({ ntp: true }, clientOf(recorder.url, { token })), [403, 'read_only_token'])
  service.put('refusal', 'Call failed: Access denied')
  t.same(service.asked(), asked, 'nothing of it reached the clock service')
  t.same(await put({ ntp: true }), [502, 'clock_refused'])
  service.put('complaint', 'Failed to connect to bus: No such file or directory')
  t.same(await put({ ntp: true }), [502, 'clock_service_missing'])
  const { body } = await boss.call('GET', path)
  t.match(body, { available: false, error: /cannot be reached/, ntp: null, canNtp: false, zones: [], pinnedZone: null })
})

t.test('A.clock-sync clocks of cameras are corrected by themselves, unless that is switched off', async (t) => {
  const path = '/api/clock-sync'
  t.match(await boss.call('GET', path), { status: 200, body: { enabled: true } })
  t.match(await boss.call('PUT', path, { enabled: false }), { status: 200, body: { enabled: false } })
  const cameras = (await boss.call('GET', '/api/cameras')).body as { id: string; name: string }[]
  const writesOf = async (name: string) =>
    (await boss.call('GET', `/api/cameras/${cameras.find((one) => one.name === name)?.id}/writes`)).body
  Object.assign(old.traits, { aheadMs: 5 * YEAR_MS, ntpPort: timePort })
  await boss.call('PUT', path, { enabled: true })
  const isCorrected = async () => (await writesOf('Old'))[0]?.detail.driftBeforeSeconds > 100_000_000
  await until('it is corrected', isCorrected, LONG_MS)
  t.match((await writesOf('Old'))[0], { operation: 'clock', performed_by: null })
  t.ok(Math.abs(old.traits.aheadMs) < LONG_MS)
  t.match(JSON.stringify((await boss.call('GET', '/api/journal')).body), /clocks of cameras switched off/)
  for (const body of [{}, { enabled: 'yes' }, { enabled: true, more: 1 }])
    t.equal((await boss.call('PUT', path, body)).status, 400)
  const guard = clientOf(recorder.url)
  await guard.signIn({ username: 'guard', password: 'seven long words' })
  t.equal((await guard.call('PUT', path, { enabled: false })).status, 403)
  t.equal((await guard.call('GET', path)).status, 403)
})
