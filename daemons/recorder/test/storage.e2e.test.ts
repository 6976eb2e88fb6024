/** Disks of a recorder that runs: named, changed, pulled and put back over its own routes; what is kept and preserved. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { admin, clientOf } from './client.ts'
import { openStage, record } from './footage-stage.ts'

const work = stateFolderOf(t)
const stateFolder = join(work, 'state')
const sets = ['storage.free_bytes=0', 'storage.look_ms=200', 'storage.trim_s=1', 'storage.preserved_of_account=1']
const DAY_MS = 86_400_000
const OLD = Date.now() - 3 * DAY_MS

const first = await startDaemon(t, 'recorder', { stateFolder, sets })
const maker = clientOf(first.url)
await maker.setUp()
const add = async (name: string) =>
  (await maker.call('POST', '/api/discovery/rtsp', { name, url: 'rtsp://127.0.0.1:1/none' })).body.id as string
const [door, yard] = [await add('Door'), await add('Yard')]
await first.stop()
// What was recorded three days ago, by minutes; found again, since nobody has an index of it.
const past = await openStage(t, { root: join(work, 'past'), folders: [`${stateFolder}-footage`] })
for (const camera of [door, yard])
  for (const minute of [0, 1, 2]) record(past, camera, OLD + minute * 60_000, 3).close()
await past.footage.close()
rmSync(`${stateFolder}-index`, { recursive: true })

const recorder = await startDaemon(t, 'recorder', { stateFolder, sets })
const boss = clientOf(recorder.url)
await boss.signIn()
const guard = clientOf(recorder.url)
const guardLogin = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...guardLogin, role: 'operator', cameras: [door] })
await guard.signIn(guardLogin)

async function footageOf(id: string) {
  const { body } = await boss.call('GET', `/api/cameras/${id}/availability?from=${OLD - 1000}&to=${OLD + 200_000}`)
  return body as { ranges: { start: number; end: number }[]; away: { start: number; end: number }[]; bounds: unknown }
}

await until('what was recorded is found', async () => (await footageOf(yard)).ranges.length === 3)

t.test(
  "A.setup where footage lies is an administrator's, told with its disk, and refused where it cannot be",
  async (t) => {
    const before = await boss.call('GET', '/api/storage/location')
    t.match(before, {
      status: 200,
      body: { fromSettings: true, disks: [{ folder: `${stateFolder}-footage`, state: 'here' }] },
    })
    t.equal((await guard.call('GET', '/api/storage/location')).status, 403)
    t.equal((await guard.call('PATCH', '/api/storage/location', { folders: null })).status, 403)
    const put = (folders: unknown) => boss.call('PATCH', '/api/storage/location', { folders })
    for (const folder of [stateFolder, `${stateFolder}/below`, work, `${work}/../x`, `${work}/`])
      t.match(await put([{ folder }]), { status: 400, body: { error: 'bad_folder' } }, folder)
    t.match(await put([{ folder: '/a/b' }, { folder: '/a/b' }]), { status: 400, body: { error: 'bad_folder' } })
    symlinkSync(stateFolder, join(work, 'to-state'))
    for (const folder of [join(work, 'to-state'), join(work, 'to-state/below')])
      t.match(await put([{ folder, isNew: true }]), { status: 400, body: { error: 'bad_folder' } }, folder)
    symlinkSync(`${stateFolder}-footage`, join(work, 'to-footage'))
    const twice = [{ folder: `${stateFolder}-footage` }, { folder: join(work, 'to-footage'), isNew: true }]
    t.match(await put(twice), { status: 400, body: { error: 'bad_folder' } }, 'one folder by two names')
    for (const wrong of [[], [{ folder: 'mnt' }], [{ folder: '/mnt/x', why: 1 }], ['/mnt/x']])
      t.equal((await put(wrong)).status, 400, JSON.stringify(wrong))
    mkdirSync(join(work, 'unmounted'))
    for (const folder of ['/dev/null/x', join(work, 'unmounted'), join(work, 'missing')])
      t.match(await put([{ folder }]), { status: 409, body: { error: 'no_disk_left' } }, folder)
    t.same((await boss.call('GET', '/api/storage/location')).body.fromSettings, true, 'all stays as it was')
  },
)

t.test('a disk that is pulled is told within seconds, its footage is away, and comes back with it', async (t) => {
  const second = join(work, 'second')
  const own = { folder: `${stateFolder}-footage` }
  const put = await boss.call('PATCH', '/api/storage/location', { folders: [own, { folder: second, isNew: true }] })
  t.match(put, {
    status: 200,
    body: { fromSettings: false, disks: [{ state: 'here' }, { folder: second, state: 'here' }] },
  })
  renameSync(own.folder, `${own.folder}-pulled`)
  const health = async () => (await boss.call('GET', '/api/health')).body
  await until('it is away', async () => (await health()).disks[0].state === 'away')
  t.match((await health()).disks, [{ fault: { code: 'disk_away' } }, { state: 'here' }])
  const { away, bounds, ranges } = await footageOf(door)
  t.match({ ranges, away: away.length, bounds }, { ranges: [], away: 3, bounds: { start: OLD } })
  const path = `/api/cameras/${door}/playback.mp4?start=${OLD}&duration=2`
  t.match(await boss.call('GET', path), { status: 503, body: { error: 'footage_away' } })
  const { body: open } = await boss.call('GET', '/api/ledger?open=true')
  t.match(JSON.stringify(open), /disk_lost/)
  renameSync(`${own.folder}-pulled`, own.folder)
  await until('it is back', async () => (await footageOf(door)).ranges.length === 3)
  t.equal((await fetch(recorder.url + path, { headers: { cookie: boss.credentials.cookie ?? '' } })).status, 200)
})

t.test('a stretch is preserved by who may take footage out, of a camera that they see', async (t) => {
  const path = `/api/cameras/${door}/preserve`
  const wish = { from: OLD + 60_000, to: OLD + 61_000, note: 'the white van' }
  t.match(await guard.call('POST', path, wish), { status: 403, body: { error: 'permission_needed' } })
  const { body: accounts } = await boss.call('GET', '/api/accounts')
  const { id } = accounts.find(({ username }: { username: string }) => username === 'guard')
  await boss.call('PATCH', `/api/accounts/${id}`, { permissions: ['export'] })
  t.match(await guard.call('POST', `/api/cameras/${yard}/preserve`, wish), { status: 404 })
  for (const [from, to] of [
    [5, 5],
    [5, 4],
    [OLD, OLD + DAY_MS + 1],
  ])
    t.match(await guard.call('POST', path, { from, to }), { status: 400, body: { error: 'bad_span' } })
  t.match(await guard.call('POST', path, { from: 5, to: 6 }), { status: 404, body: { error: 'no_footage' } })
  t.equal((await guard.call('POST', path, { ...wish, by: 'me' })).status, 400)
  const made = await guard.call('POST', path, wish)
  t.match(made, { status: 201, body: { ...wish, camera: door, by: 'guard' } })
  t.match(await guard.call('GET', path), { status: 200, body: [{ id: made.body.id }] })
  t.match(await guard.call('POST', path, wish), { status: 409, body: { error: 'too_many_preserved' } })
  const more = [await boss.call('POST', path, wish), await boss.call('POST', path, wish)]
  for (const { body, status } of more) {
    t.equal(status, 201, 'an administrator has as many as there may be')
    t.equal((await boss.call('DELETE', `${path}/${body.id}`)).status, 204)
  }
  t.equal((await guard.call('GET', '/api/storage/preserved')).status, 403)
  t.equal((await guard.call('DELETE', `/api/cameras/${yard}/preserve/${made.body.id}`)).status, 404)
  t.equal((await boss.call('DELETE', `/api/cameras/${yard}/preserve/${made.body.id}`)).status, 404)
})

t.test('what is kept is changed at once; a camera has its own days, and what is preserved stays', async (t) => {
  const patch = (body: object) => boss.call('PATCH', '/api/storage/settings', body)
  t.equal((await guard.call('PATCH', '/api/storage/settings', { keepDays: 1 })).status, 403)
  for (const wrong of [{ keepDays: 0 }, { keepDays: '2' }, { days: 2 }, { cameras: { [door]: 0 } }])
    t.equal((await patch(wrong)).status, 400, JSON.stringify(wrong))
  t.equal((await patch({ cameras: { ffffffff: 3 } })).status, 404)
  t.match(await patch({ cameras: { [yard]: 10 } }), { status: 200, body: { keepDays: 30, cameras: { [yard]: 10 } } })
  t.match(await patch({ keepDays: 1 }), { status: 200, body: { keepDays: 1, cameras: { [yard]: 10 } } })
  await until('the minutes that nobody preserved are gone', async () => (await footageOf(door)).ranges.length === 1)
  t.match((await footageOf(door)).ranges, [{ start: OLD + 60_000 }])
  t.equal((await footageOf(yard)).ranges.length, 3, 'its own days count')
  await boss.call('DELETE', `/api/cameras/${yard}`)
  const [{ id }] = (await boss.call('GET', '/api/storage/preserved')).body
  t.equal((await boss.call('DELETE', `/api/storage/preserved/${id}`)).status, 204)
  await until('released, it goes too', async () => (await footageOf(door)).ranges.length === 0)
  t.match(await patch({ keepDays: null, cameras: { [yard]: null } }), {
    status: 200,
    body: { keepDays: 30, cameras: {} },
  })
  const { body: journal } = await boss.call('GET', '/api/journal?limit=50')
  const told = JSON.stringify(journal)
  for (const what of ['folders of footage changed', 'footage preserved', 'footage released', 'storage changed'])
    t.match(told, what)
})

t.test('what was said of storage is there after a start', async (t) => {
  await recorder.stop()
  const again = await startDaemon(t, 'recorder', { stateFolder, sets })
  const client = clientOf(again.url)
  await client.signIn(admin)
  t.match((await client.call('GET', '/api/storage/location')).body, {
    fromSettings: false,
    disks: [{}, { state: 'here' }],
  })
})
