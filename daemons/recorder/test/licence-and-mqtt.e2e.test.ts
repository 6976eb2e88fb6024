/** A recorder with a licence, its vendor's licence server, what the licence refuses; and a real broker, mosquitto. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { clientOf } from './client.ts'
import { type AskedLicence, startLicenceServer, vendorIn } from './vendor.ts'

const work = stateFolderOf(t)
const vendor = vendorIn(work)
const noBroker = existsSync('/usr/sbin/mosquitto') ? false : 'needs mosquitto'
/** What the licence server answers; each test says it. */
let answer: (asked: AskedLicence) => { status: number; body: unknown } = () => ({ status: 503, body: {} })
const asked: AskedLicence[] = []
const serverUrl = await startLicenceServer(t, (one) => {
  asked.push(one)
  return answer(one)
})
const camera = await startCamera(t, await makeFootage(work, 10))

const quick = ['mqtt.retry_first_ms=50', 'mqtt.retry_max_ms=200', 'mqtt.answer_ms=60000']
const sets = [
  ...quick,
  'storage.free_bytes=0',
  `license.server_url=${serverUrl}`,
  `license.vendor_key_file=${vendor.keyFile}`,
  'detector.command=["/bin/false"]',
]
const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets })
const boss = clientOf(recorder.url)
await boss.setUp()
const guardLogin = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...guardLogin, role: 'operator', cameras: 'all' })
const guard = clientOf(recorder.url)
await guard.signIn(guardLogin)

const now = () => Date.now()
const readLicence = async () => (await boss.call('GET', '/api/license')).body
const add = (name: string, url = 'rtsp://127.0.0.1:1/none') =>
  boss.call('POST', '/api/discovery/rtsp', { name, url, transport: 'tcp' })

t.test('3A.license everybody is told the state, administrators what there is to know', async (t) => {
  const told = await readLicence()
  t.match(told, { managed: true, state: 'pending', entitlements: { limits: { cameras: null } }, cameras: 0 })
  t.match(told, { installationId: /^[0-9a-f]{32}$/, keyId: /^[0-9a-f]{32}$/, leaseExpiresAt: null })
  t.ok(told.pendingUntil > now() + 13 * 86_400_000)
  const { body } = await guard.call('GET', '/api/license')
  t.same(Object.keys(body).sort(), ['entitlements', 'features', 'managed', 'state'])
  t.equal((await clientOf(recorder.url).call('GET', '/api/license')).status, 401)
  for (const [method, word] of [
    ['POST', 'activate'],
    ['POST', 'refresh'],
    ['POST', 'deactivate'],
    ['POST', 'import'],
    ['GET', 'request'],
  ] as const) {
    const body = { activate: { licenseKey: 'K' }, import: { lease: '{}' } }[word as 'import']
    t.equal((await guard.call(method, `/api/license/${word}`, body)).status, 403, word)
  }
})

t.test('3A.license.activate a key in use elsewhere says where, and is moved on demand', async (t) => {
  answer = ({ move }) =>
    move === true
      ? {
          status: 200,
          body: {
            lease: vendor.lease(asked.at(-1) as AskedLicence, now(), { limits: { cameras: 1 }, customer: 'Shop' }),
          },
        }
      : {
          status: 409,
          body: { code: 'no-free-seat', error: 'One seat.', holders: [{ id: 'x', name: 'Old\u0007', since: 5 }] },
        }
  const refused = await boss.call('POST', '/api/license/activate', { licenseKey: ' KEY-1 ' })
  t.match(refused, {
    status: 409,
    body: { error: 'license_no_free_seat', code: 'no-free-seat', holders: [{ id: 'x', name: 'Old', since: 5 }] },
  })
  t.match(asked.at(-1), { act: 'activate', licenseKey: 'KEY-1', move: false })
  const { body, status } = await boss.call('POST', '/api/license/activate', { licenseKey: 'KEY-1', move: true })
  t.equal(status, 200)
  t.match(body, { state: 'licensed', customer: 'Shop', entitlements: { features: ['mqtt'], limits: { cameras: 1 } } })
  answer = () => ({ status: 404, body: { code: 'unknown-key', error: 'Typed wrong?' } })
  const unknown = await boss.call('POST', '/api/license/activate', { licenseKey: 'KEY-2' })
  t.match(unknown, { status: 400, body: { error: 'license_key_refused', message: /Typed wrong/ } })
  answer = () => ({ status: 200, body: 'nonsense' })
  t.match(await boss.call('POST', '/api/license/refresh'), { status: 502, body: { error: 'license_server_failed' } })
  t.equal((await readLicence()).state, 'licensed', 'what nobody signed changes nothing')
})

t.test(
  '3A.license.growth the external detector is not switched on without ai; what is off is saved as before',
  async (t) => {
    const refused = { status: 403, body: { error: 'license_feature', code: 'license_feature', feature: 'ai' } }
    t.match(await boss.call('PUT', '/api/ai', { enabled: true }), refused)
    t.match(await boss.call('PUT', '/api/detector', { kind: 'external' }), refused)
    t.match(await boss.call('PUT', '/api/detector', { fps: 1 }), { status: 200, body: { kind: 'off', fps: 1 } })
    t.match(await boss.call('PUT', '/api/ai', { enabled: false }), { status: 200, body: { enabled: false } })
  },
)

t.test('3A.license.growth one camera more is refused, those that are there go on', async (t) => {
  t.equal((await add('Door', camera.url)).status, 201)
  const refused = { status: 403, body: { error: 'license_camera_limit', code: 'license_camera_limit' } }
  t.match(await add('Yard'), refused)
  await until(
    'it records',
    async () => (await boss.call('GET', '/api/cameras')).body[0].health.state === 'recording',
    LONG_MS,
  )
  const feed = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws`, {
    headers: { cookie: boss.credentials.cookie },
  } as never)
  const told: string[] = []
  feed.addEventListener('message', ({ data }) => told.push(String(data)))
  await until('it greets', () => told.length > 0)
  answer = (one) => ({ status: 200, body: { notice: vendor.notice(one, now(), { state: 'suspended' }) } })
  t.match((await boss.call('POST', '/api/license/refresh')).body, {
    state: 'suspended',
    reason: 'The invoice is open.',
  })
  await until('the feed tells it', () => told.includes('{"type":"license-changed","state":"suspended"}'))
  feed.close()
  t.match(await add('Yard'), refused)
  const [{ health, id }] = (await boss.call('GET', '/api/cameras')).body
  t.equal(health.state, 'recording')
  t.equal((await boss.call('PATCH', `/api/cameras/${id}`, { name: 'Front door' })).status, 200)
  await until('more is recorded', async () => {
    const { body } = await boss.call('GET', '/api/cameras')
    return body[0].health.lastPictureAt > health.lastPictureAt
  })
  t.match((await boss.call('GET', '/api/ledger')).body.entries, [{ what: 'license_lacking', until: null }])
})

t.test('3A.license.import a lease file, made for a request, needs no server', async (t) => {
  const { body: request } = await boss.call('GET', '/api/license/request')
  t.match(request.signed, { action: 'offline', cameras: 1, serial: 2 })
  const lease = vendor.lease(request.signed, now(), { limits: { cameras: 2 } })
  const { body } = await boss.call('POST', '/api/license/import', { lease: `${JSON.stringify(lease, null, 2)}\r\n` })
  t.match(body, { state: 'licensed', offline: true, leaseExpiresAt: lease.signed.expiresAt })
  t.equal((await boss.call('POST', '/api/license/import', { lease })).status, 200, 'as JSON, and again')
  t.match(await boss.call('POST', '/api/license/import', { lease: '-' }), {
    status: 400,
    body: { error: 'license_bad_lease' },
  })
  t.equal((await add('Yard')).status, 201)
  answer = () => ({ status: 200, body: {} })
  const given = await boss.call('POST', '/api/license/deactivate')
  t.match(given.body, { state: 'unlicensed', cameras: 2, entitlements: { limits: { cameras: 0 } } })
  t.notOk('offline' in given.body)
  const search = (mode: string) => boss.call('GET', `/api/investigation/search?mode=${mode}`)
  t.match(await search('semantic'), {
    status: 403,
    body: { error: 'license_feature', code: 'license_feature', feature: 'investigation' },
  })
  t.match(await search('auto'), { status: 200, body: { mode: 'basic' } }, '3A.investigation falls back')
  t.match(
    await boss.call('POST', '/api/license/import', { lease: vendor.lease(request.signed, now(), { serial: 3 }) }),
    {
      status: 400,
    },
  )
  const what = (await boss.call('GET', '/api/journal')).body.map((entry: { what: string }) => entry.what)
  for (const one of ['license activated', 'license refreshed', 'license imported', 'license deactivated'])
    t.ok(what.includes(one), one)
  const saved = readFileSync(`${work}/recorder/license.json`, 'utf8') + recorder.output()
  t.notMatch(saved, /PRIVATE|KEY-1/, 'neither the key of this installation nor the licence key is kept in clear')
})

t.test('3A.mqtt cameras, alarms and the recorder itself are at the broker', { skip: noBroker }, async (t) => {
  const broker = await startBroker(t)
  const { peer } = await broker.devices()
  const heard = new Map<string, { text: string; isRetained: boolean }>()
  peer.on('message', (topic, payload, { retain }) => heard.set(topic, { text: String(payload), isRetained: retain }))
  await peer.subscribeAsync('#', { qos: 1 })
  const json = (topic: string) => JSON.parse(heard.get(topic)?.text || 'null')
  const url = `mqtt://127.0.0.1:${broker.port}`
  const wish = { enabled: true, url, topicPrefix: 'shop/cctv' }
  t.match(await boss.call('PUT', '/api/mqtt', wish), {
    status: 403,
    body: { error: 'license_feature', feature: 'mqtt' },
  })
  t.equal((await boss.call('PUT', '/api/mqtt', { ...wish, enabled: false })).status, 200, 'what stays off is saved')
  answer = (one) => ({ status: 200, body: { lease: vendor.lease(one, now(), { limits: { cameras: null } }) } })
  t.equal((await boss.call('POST', '/api/license/activate', { licenseKey: 'KEY-3' })).body.state, 'licensed')
  t.match(await boss.call('PUT', '/api/mqtt', { enabled: true, username: 'shop', password: 'sesame street' }), {
    status: 200,
    body: { enabled: true, url, hasPassword: true, prefix: 'shop/cctv' },
  })
  t.notMatch(readFileSync(`${work}/recorder/mqtt-settings.json`, 'utf8'), /sesame/)
  for (const [method, path] of [
    ['GET', '/api/mqtt'],
    ['PUT', '/api/mqtt'],
    ['POST', '/api/mqtt/test'],
  ] as const) {
    const body = method === 'PUT' ? { enabled: false } : undefined
    t.equal((await guard.call(method, path, body)).status, 403, method)
    t.equal((await clientOf(recorder.url).call(method, path, body)).status, 401, method)
  }
  await until('the recorder is there', () => heard.get('shop/cctv/state')?.text === 'online')
  const [{ id }] = (await boss.call('GET', '/api/cameras')).body
  const stateTopic = `shop/cctv/cameras/${id}/state`
  await until('the camera is there', () => json(stateTopic)?.state === 'recording')
  const described = [...heard.keys()].filter((topic) =>
    /^homeassistant\/binary_sensor\/.*_recording\/config$/.test(topic),
  )
  t.equal(described.length, 2)
  t.equal(json(described[0] ?? '').availability[0].topic, 'shop/cctv/state')
  await boss.call('PATCH', `/api/cameras/${id}`, { enabled: false })
  await until('it is switched off', () => json(stateTopic)?.state === 'off')
  await boss.call('PATCH', `/api/cameras/${id}`, { enabled: true })
  const gate = (await add('Gate')).body.id
  await until('the alarm is told', () => json('shop/cctv/alarms')?.what === 'camera_lost')
  t.match(json('shop/cctv/alarms'), { event: 'opened', where: 'Gate', until: null })
  await until('it is kept', () => json(`shop/cctv/cameras/${gate}/state`) !== null)
  await boss.call('DELETE', `/api/cameras/${gate}`)
  await until('it is forgotten', () => heard.get(`shop/cctv/cameras/${gate}/state`)?.text === '')
  t.match((await boss.call('POST', '/api/mqtt/test')).body, { topic: 'shop/cctv/test', tookMs: Number })

  answer = (one) => ({ status: 200, body: { notice: vendor.notice(one, now(), { state: 'revoked' }) } })
  t.equal((await boss.call('POST', '/api/license/refresh')).body.state, 'revoked')
  t.equal((await boss.call('PUT', '/api/mqtt', { topicPrefix: 'shop/video' })).status, 200, 'what is on may be changed')
  await until('it tells the new topics', () => json(`shop/video/cameras/${id}/state`) !== null)
  await until('the old ones are gone', () => heard.get(stateTopic)?.text === '')

  await broker.stop()
  await until('it is away', async () => (await boss.call('GET', '/api/mqtt')).body.state !== 'connected')
  t.match(await boss.call('POST', '/api/mqtt/test'), { status: 503, body: { error: /^broker_/ } })
  await until('the camera is recorded all the while', async () => {
    const { body } = await boss.call('GET', '/api/cameras')
    return body[0].health.state === 'recording'
  })
  broker.start()
  await until('it is back', async () => (await boss.call('GET', '/api/mqtt')).body.state === 'connected')
  const late = await broker.devices()
  const kept = new Map<string, string>()
  late.peer.on('message', (topic, payload, { retain }) => retain && kept.set(topic, String(payload)))
  await late.peer.subscribeAsync('shop/video/#', { qos: 1 })
  await until('who comes later is told', () => kept.size === 3)
  t.same(
    [...kept.keys()].filter((topic) => /alarms|events/.test(topic)),
    [],
    'what happened is not kept',
  )

  t.equal((await boss.call('PUT', '/api/mqtt', { enabled: false })).body.state, 'off')
  const last = await broker.devices()
  const left: string[] = []
  last.peer.on('message', (topic, payload) => left.push(`${topic} ${payload}`))
  await last.peer.subscribeAsync('#', { qos: 1 })
  await until('the end is there', () => left.length > 0)
  t.same(left, ['shop/video/state offline'], 'a broker that is left keeps nothing but that')
})

t.test('3A.license a recorder without a vendor is not licensed', async (t) => {
  const free = await startDaemon(t, 'recorder', { sets: ['storage.free_bytes=0'] })
  const owner = clientOf(free.url)
  await owner.setUp()
  t.same((await owner.call('GET', '/api/license')).body, { managed: false })
  const refused = { status: 409, body: { error: 'license_unmanaged' } }
  t.match(await owner.call('POST', '/api/license/activate', { licenseKey: 'K' }), refused)
  for (const word of ['refresh', 'deactivate']) t.match(await owner.call('POST', `/api/license/${word}`), refused, word)
  t.match(await owner.call('POST', '/api/license/import', { lease: {} }), refused)
  t.match(await owner.call('GET', '/api/license/request'), refused)
})
