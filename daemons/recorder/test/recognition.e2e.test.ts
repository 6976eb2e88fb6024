/** Plates from the picture to the page: a played detector reads them, and people give them names. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { admin, clientOf } from './client.ts'
import { makeWalk } from './walk.ts'

const work = stateFolderOf(t)
const peer = join(import.meta.dirname, 'played-detector-child.ts')
const sets = [
  ...['storage.free_bytes=0', 'storage.file_s=5', 'detector.lost_ms=2000'],
  `detector.command=${JSON.stringify([process.execPath, peer, 'reads'])}`,
  ...[`pictures.start_ms=${LONG_MS}`, `pictures.answer_ms=${LONG_MS}`],
]
const state = join(work, 'state')
const recorder = await startDaemon(t, 'recorder', { stateFolder: state, sets })
const boss = clientOf(recorder.url)
await boss.setUp()
await boss.call('PATCH', '/api/onboarding', { step: 'complete' })
const camera = await startCamera(t, await makeWalk(work, 240))
const add = async (name: string) => (await boss.call('POST', '/api/discovery/rtsp', { name, url: camera.url })).body.id
const [gate, yard] = [await add('Gate'), await add('Yard')] as [string, string]
const guard = clientOf(recorder.url)
const guardLogin = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...guardLogin, role: 'viewer', cameras: [yard] })
await guard.signIn(guardLogin)

interface Seen {
  id: string
  camera_id: string
  ended_at: number | null
  plate_text?: string | null
}
const events = async (query: string, client = boss) =>
  (await client.call('GET', `/api/events?${query}`)).body.events as Seen[]

t.test('3A.event nothing is recognised before it is switched on, which a sentence says', async (t) => {
  t.match((await boss.call('GET', '/api/recognition')).body, { enabled: false, available: false, why: /Install/ })
  t.equal((await guard.call('GET', '/api/recognition')).status, 403)
  t.equal((await guard.call('GET', '/api/identities')).status, 403)
  await boss.call('PUT', '/api/detector', { kind: 'external', fps: 4 })
  const isReady = async () => (await boss.call('GET', '/api/recognition')).body.available === true
  await until('the detector is ready', isReady, LONG_MS)
  const asked = await boss.call('GET', '/api/events?plate=xy')
  t.match(asked, { status: 409, body: { error: 'recognition_unavailable', message: /switched off.*People/ } })
  const cars = async () => (await events('label=vehicle')).length > 0
  await until('a car was seen', cars, LONG_MS)
  t.notOk('plate_text' in ((await events('limit=1'))[0] ?? {}))
  t.match((await boss.call('PUT', '/api/recognition', { enabled: true })).body, { enabled: true, kinds: ['plate'] })
})

t.test('3A.event plates are read in the recorded picture, and found by all or part of them', async (t) => {
  const isRead = async () => {
    const found = await events('plate=b%20xy-12')
    return [gate, yard].every((id) => found.some((one) => one.camera_id === id))
  }
  await until('a plate of each camera was read', isRead, LONG_MS)
  const read = { plate_text: 'B-XY 1234', plate_state: 'unknown', plate_confidence: 0.93, face_state: null }
  t.match((await events('plate=8xyI234'))[0], { ...read, identity_method: null }, 'lookalikes')
  t.same(await events('plate=ZZ'), [], 'what was no plate is in no answer')
  t.ok((await events('who=unrecognized')).length > 0)
  t.same(await events('who=known'), [])
  t.match(await boss.call('GET', '/api/events?plate=--'), { status: 400, body: { error: 'bad_plate' } })
  t.match(await boss.call('GET', '/api/events?who=nobody'), { status: 404, body: { error: 'unknown_identity' } })
  t.ok(
    (await events('plate=xy', guard)).every((one) => one.camera_id === yard),
    'of cameras that they see',
  )
  t.equal((await guard.call('GET', `/api/events?plate=xy&cameraId=${gate}`)).status, 404)
})

t.test('names count for what was recorded, are merged and forgotten', async (t) => {
  const { plates } = (await boss.call('GET', '/api/identities/unnamed')).body
  t.match(plates, [{ plate: 'B-XY 1234' }])
  t.equal(plates.length, 1)
  const made = (await boss.call('POST', '/api/identities', { name: 'Baker', plates: ['b xy 1234'] })).body
  const named = { identity_id: made.id, identity_name: 'Baker', identity_method: 'plate', plate_state: 'known' }
  t.match((await events(`who=${made.id}`))[0], named)
  t.match((await events('who=known', guard))[0], { ...named, camera_id: yard })
  t.same((await boss.call('GET', '/api/identities/unnamed')).body.plates, [])
  const other = (await boss.call('POST', '/api/identities', { name: 'Blue van', plates: [] })).body
  const path = `/api/identities/${made.id}`
  for (const [method, at, body] of [
    ['PATCH', path, { name: 'Mine' }],
    ['POST', `${path}/merge`, { into: other.id }],
    ['DELETE', path, undefined],
    ['POST', '/api/identities', { name: 'Mine', plates: [] }],
    ['PUT', '/api/recognition', { enabled: false }],
    ['GET', '/api/identities/unnamed', undefined],
  ] as const)
    t.equal((await guard.call(method, at, body)).status, 403, `${method} ${at}`)
  t.match(await boss.call('POST', '/api/identities', { name: 'Twin', plates: ['8-XY 1234'] }), { status: 409 })
  t.equal((await boss.call('POST', '/api/identities', { name: 'a\u0007', plates: [] })).status, 400)
  t.match((await boss.call('POST', `${path}/merge`, { into: other.id })).body, {
    name: 'Blue van',
    plates: ['BXY1234'],
  })
  t.equal((await boss.call('GET', `/api/events?who=${made.id}`)).status, 404)
  t.match((await events(`who=${other.id}`))[0], { identity_name: 'Blue van' })
  t.equal((await boss.call('DELETE', `/api/identities/${other.id}`)).status, 204)
  t.match((await events('plate=xy'))[0], { identity_id: null, identity_name: null, plate_state: 'unknown' })
  const file = join(state, 'recognition.json')
  t.ok(existsSync(file))
  t.equal(statSync(file).mode & 0o777, 0o600, 'nobody else on the machine reads it')
})

t.test('the page People names, merges and forgets', { skip: noBrowser }, async (t) => {
  // A picture of what has just begun may not be there yet.
  const { audit, page, visit } = await openRig(t, recorder.url, { pictures: 'recorder', wanted: /status of 404/ })
  await page.getByLabel('User name').fill(admin.username)
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await visit('people')
  await page.getByText('Plates of vehicles are read').waitFor()
  await audit(t, 'people')
  await page.locator('.plates a').first().click()
  await page.getByLabel('Name', { exact: true }).fill('Baker')
  await audit(t, 'people-name')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('It is Baker.').waitFor()
  await page.getByText('No plate is waiting for a name').waitFor()
  await visit('people', 'new')
  await page.getByLabel('Name', { exact: true }).fill('Blue van')
  await page.getByLabel('Plates').fill('M-AB 77\nM-AB 78')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Blue van' }).waitFor()
  await page.getByRole('link', { name: 'Baker' }).click()
  await page.getByText('Seen last').waitFor()
  await page.getByLabel('Is the same as').selectOption({ label: 'Blue van' })
  await audit(t, 'people-who')
  await page.getByRole('button', { name: 'Merge Baker into Blue van' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Merge Baker into Blue van' }).click()
  await page.getByText('MAB77, MAB78, BXY1234').waitFor()
  await page.getByRole('link', { name: 'Blue van' }).click()
  await page.getByRole('button', { name: 'Forget Blue van' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget Blue van' }).click()
  await page.getByText('No vehicle has a name yet').waitFor()
  await page.locator('.plates a').first().waitFor()
  await page.getByRole('button', { name: 'Stop reading plates' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop reading plates' }).click()
  await page.getByText('Plates are not read', { exact: true }).first().waitFor()
  await audit(t, 'people-off')
})

t.test(
  'a name that was saved before a kill, and not given to what was recorded, is given at the next start',
  async (t) => {
    await recorder.stop('SIGKILL')
    const file = join(state, 'recognition.json')
    const saved = JSON.parse(readFileSync(file, 'utf8'))
    const van = { id: 'cut', name: 'Blue van', plates: ['BXY1234'], createdAt: 1 }
    writeFileSync(file, JSON.stringify({ ...saved, enabled: true, identities: [van] }))
    const again = clientOf((await startDaemon(t, 'recorder', { stateFolder: state, sets })).url)
    await again.signIn(admin)
    const isNamed = async () => (await events('who=cut&limit=500', again)).length > 0
    await until('it has the name', isNamed, LONG_MS)
    t.match((await events('who=known', again))[0], { identity_name: 'Blue van', plate_state: 'known' })
  },
)
