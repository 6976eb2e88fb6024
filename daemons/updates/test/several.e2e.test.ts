/** Two update servers on one database of PostgreSQL and one folder of files, as behind a balancer without sticky sessions. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask, type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noPostgres, type Postgres, startPostgres } from './peer/postgres.ts'
import { ACCOUNT, startS3 } from './peer/s3-server.ts'
import { archiveOf, newId, openStage, type Stage, UPDATE_KEY } from './stage.ts'

const skip = noPostgres
/** Megabytes through two daemons and a bucket, on a busy machine. */
const LONG_MS = 90_000
const archive = archiveOf(300_000)

interface Pair {
  database: Postgres
  one: Stage
  other: Stage
  /** The folder of files. */
  files: string
  /** Starts it again. */
  again(which: Stage): Promise<RunningDaemon>
}

/** @param more settings of both @param folder of the test */
async function pairOf(t: Test, more: string[] = [], folder = stateFolderOf(t)): Promise<Pair> {
  const database = await startPostgres(t)
  const [first, second, files] = ['one', 'other', 'files'].map((name) => join(folder, name)) as [string, string, string]
  const sets = [
    `store.url=${database.newUrl()}`,
    `store.password_file=${database.passwordFile}`,
    `storage.folder=${files}`,
    ...['store.retry_first_ms=20', 'store.retry_max_ms=100', 'registration.write_ms=200', ...more],
  ]
  const one = await openStage(t, { stateFolder: first, sets })
  // All of them need one key.
  mkdirSync(second, { mode: 0o700 })
  copyFileSync(join(first, 'sealing.key'), join(second, 'sealing.key'))
  const password = /^admin password: (\S+)$/m.exec(one.output())?.[1] ?? ''
  const other = await openStage(t, { stateFolder: second, sets, password })
  const all = [`update_key=${UPDATE_KEY}`, 'mdns.enabled=false', 'storage.free_bytes=0', ...sets]
  const again = ({ stateFolder }: Stage) => startDaemon(t, 'updates', { stateFolder, sets: all })
  return { database, one, other, files, again }
}

const stored = (files: string) =>
  readdirSync(join(files, 'releases'), { recursive: true, encoding: 'utf8' }).filter((name) => name !== 'incoming')

/** An upload of which a part is sent; resolves when the server has taken it in. @returns what cuts it off */
async function halfUpload({ url }: Pick<Stage, 'url'>, files: string, version: string): Promise<() => void> {
  const { bytes, key } = archive
  const upload = request(`${url}/push_update`, {
    method: 'POST',
    headers: {
      ...{ 'x-svc-update-key': UPDATE_KEY, 'x-svc-version': version, 'x-svc-encryption-key': key },
      ...{ 'content-type': 'application/octet-stream', 'content-length': bytes.length },
    },
  })
  upload.on('error', () => {})
  const before = stored(files).length
  upload.write(bytes.subarray(0, bytes.length / 2))
  await until('the upload has begun', () => stored(files).length > before)
  return () => upload.destroy()
}

t.test('what is done at one server counts at the other at once', { skip }, async (t) => {
  const { one, other } = await pairOf(t)
  const cookie = await one.cookie()
  t.equal((await ask(`${other.url}/admin/api/session`, { headers: cookie })).status, 200, 'one session for both')
  const id = newId()
  t.equal((await one.post('/check_update', { installation_id: id, version: '1.0.0' })).status, 401)
  await until('the other one knows it', async () => {
    const { body } = await ask(`${other.url}/admin/api/installations`, { headers: cookie })
    return body.total === 1
  })
  await other.admin('PATCH', `/admin/api/installations/${id}`, { enabled: true })
  t.equal((await one.publish('1.1.0', archive)).status, 200)
  const { body: seen } = await ask(`${other.url}/admin/api/updates`, { headers: cookie })
  t.match(seen, { updates: [{ version: '1.1.0' }] }, 'the panel asks first what is new')
  for (const server of [one, other]) {
    await until('it is offered', async () => {
      const { body } = await server.post('/check_update', { installation_id: id, version: '1.0.0' })
      return body.version === '1.1.0'
    })
    const pulled = await fetch(`${server.url}/pull_update`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ installation_id: id, version: '1.1.0' }),
    })
    t.equal(Buffer.compare(Buffer.from(await pulled.arrayBuffer()), archive.bytes), 0)
  }
  const delta = archiveOf(100, archive)
  t.equal((await one.publishDelta('1.1.0', '1.0.0', delta)).status, 200)
  const asked = { installation_id: id, version: '1.0.0', deltas: true }
  await until('its delta is offered', async () => (await other.post('/check_update', asked)).body.delta !== undefined)
  t.equal((await other.post('/pull_update', { installation_id: id, version: '1.1.0', from: '1.0.0' })).status, 200)
  const both = await Promise.all([one.publish('1.2.0', archive), other.publish('1.2.0', archiveOf(1000))])
  t.same(both.map(({ status }) => status).sort(), [200, 409], 'one version is published once')
  await other.admin('PATCH', '/admin/api/updates/1.1.0', { withdrawn: true })
  await until('it is withdrawn', async () => {
    const answer = await one.post('/pull_update', { installation_id: id, version: '1.1.0' })
    return answer.status === 410
  })
  await ask(`${other.url}/admin/api/logout`, { method: 'POST', headers: cookie })
  t.equal((await ask(`${one.url}/admin/api/session`, { headers: cookie })).status, 401, 'signed out at both')
})

t.test('either is killed during an upload: the other one takes it, and nothing of it is left', { skip }, async (t) => {
  const { again, files, one, other } = await pairOf(t)
  const cut = await halfUpload(one, files, '1.0.0')
  await one.stop('SIGKILL')
  cut()
  t.equal((await other.publish('1.0.0', archive)).status, 200, 'at once')
  t.equal(stored(files).length, 2, 'what the killed one had begun is there')
  const cutOther = await halfUpload(other, files, '1.1.0')
  await again(one)
  await until('it has removed its own, and nothing of the other one', () => stored(files).length === 2)
  t.match((await other.admin('GET', '/admin/api/uploads')).body, { uploads: [{ version: '1.1.0' }] })
  await other.stop('SIGKILL')
  cutOther()
  await again(other)
  await until('the other way round, too', () => stored(files).length === 1)
})

t.test(
  'a database that is gone: known installations check, downloads go on, changes are 503, and all comes back',
  { skip },
  async (t) => {
    const { database, one, other } = await pairOf(t)
    const id = await one.enabled('1.0.0')
    await one.publish('1.1.0', archive)
    await other.cookie()
    await database.kill()
    const check = (server: Stage, facts?: object) =>
      server.post('/check_update', { installation_id: id, version: '1.0.0', ...(facts && { facts }) })
    await until('it is seen', async () => (await one.publish('1.2.0', archive)).status === 503)
    t.match(await check(one), { status: 200, body: { version: '1.1.0' } })
    t.equal((await one.post('/pull_update', { installation_id: id })).status, 200)
    for (const answer of [
      await one.publish('1.3.0', archive),
      await one.admin('PATCH', '/admin/api/updates/1.1.0', { withdrawn: true }),
      await check(one, { failed: '1.1.0', failed_step: 'download', reason: 'no room' }),
      await one.post('/admin/api/login', { password: /^admin password: (\S+)$/m.exec(one.output())?.[1] }),
    ]) {
      t.match(answer, { status: 503, body: { error: 'store_unreachable', message: /does not answer now/ } })
      t.match(answer.headers.get('retry-after'), /^\d+$/)
    }
    t.match(await one.admin('GET', '/admin/api/updates'), { status: 200, body: { updates: [{ version: '1.1.0' }] } })
    t.match(JSON.stringify((await one.admin('GET', '/api/ledger')).body), /store_away/)
    await database.start()
    await until('it publishes again', async () => (await one.publish('1.4.0', archive)).status === 200)
    await until('the other one follows', async () => (await check(other)).body.version === '1.4.0')
    t.notMatch(one.output() + other.output(), readFileSync(database.passwordFile, 'utf8').split('\n')[0])
  },
)

t.test(
  "with a bucket, files are nobody's own: published at one, fetched at the other, and what a killed one began is gone",
  { skip },
  async (t) => {
    const server = await startS3(t, 'updates')
    const folder = stateFolderOf(t)
    writeFileSync(join(folder, 'secret'), `${ACCOUNT.secret}\n`)
    const { again, one, other } = await pairOf(
      t,
      [
        ...['blobs.url=s3://updates/plantroom', `blobs.endpoint=${server.endpoint}`, `blobs.region=${ACCOUNT.region}`],
        ...[`blobs.access_key=${ACCOUNT.accessKey}`, `blobs.secret_file=${join(folder, 'secret')}`],
        ...['blobs.retry_first_ms=10', 'blobs.retry_max_ms=10'],
      ],
      folder,
    )
    const large = archiveOf(12_000_000)
    const id = await one.enabled('1.0.0')
    t.equal((await one.publish('1.1.0', large)).status, 200)
    const pull = (headers: Record<string, string> = {}) =>
      fetch(`${other.url}/pull_update`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        body: JSON.stringify({ installation_id: id, version: '1.1.0' }),
      })
    await until('the other one has it', async () => {
      const answer = await pull({ range: 'bytes=0-0' })
      await answer.arrayBuffer()
      return answer.status === 206
    })
    t.equal(Buffer.compare(Buffer.from(await (await pull()).arrayBuffer()), large.bytes), 0)
    const part = await pull({ range: 'bytes=6000000-' })
    t.equal(Buffer.compare(Buffer.from(await part.arrayBuffer()), large.bytes.subarray(6_000_000)), 0)

    const upload = request(`${one.url}/push_update`, {
      method: 'POST',
      headers: {
        ...{ 'x-svc-update-key': UPDATE_KEY, 'x-svc-version': '1.2.0', 'x-svc-encryption-key': large.key },
        ...{ 'content-type': 'application/octet-stream', 'content-length': large.bytes.length },
      },
    })
    upload.on('error', () => {})
    upload.write(large.bytes.subarray(0, 8_000_000))
    const isThere = () => [...server.uploads.values()].some(({ parts }) => parts.size > 0)
    await until('a part of it is there', isThere, LONG_MS)
    await one.stop('SIGKILL')
    upload.destroy()
    t.equal((await other.publish('1.2.0', large)).status, 200, 'at once')
    await again(one)
    await until('what it had begun is gone', () => server.uploads.size === 0)
    t.equal(server.objects.size, 2)

    server.faults.before = () => 503
    t.match(await other.publish('1.3.0', archive), { status: 503, body: { error: 'files_unreachable' } })
    t.match(await other.post('/pull_update', { installation_id: id }), {
      status: 503,
      body: { error: 'files_unreachable' },
    })
    t.match(await other.post('/check_update', { installation_id: id, version: '1.0.0' }), {
      body: { version: '1.2.0' },
    })
    server.faults = {}
    await other.admin('DELETE', '/admin/api/updates/1.1.0')
    await until('its file is gone', () => server.objects.size === 1)
    t.notMatch(one.output() + other.output(), ACCOUNT.secret)
  },
)
