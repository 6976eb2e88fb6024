/** Downloads whose bytes nginx sends, as docs/updates.md sets it up. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasNginx, startNginx } from '#kit/test/net/nginx.ts'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { archiveOf, newId, openStage } from './stage.ts'

const skip = hasNginx ? false : 'needs nginx'
const archive = archiveOf(900_000)
const CHAPTER = join(import.meta.dirname, '../../../docs/updates.md')

/** The locations that the chapter gives, for this server and its files. */
function locationsFor(url: string, folder: string): string {
  const [, block = ''] = /\n((?: {4}location [\s\S]*?)+)\n\n(?! {4})/.exec(readFileSync(CHAPTER, 'utf8')) ?? []
  return block.replace('http://127.0.0.1:3131', url).replace('/srv/plantroom-updates', folder)
}

/** A server, and nginx in front of it. */
async function openFront(t: Test) {
  const stage = await openStage(t, {
    sets: ['downloads.offload=x-accel-redirect', 'connections.trusted=["127.0.0.1"]'],
  })
  const folder = `${stage.stateFolder}-files`
  const nginx = await startNginx(locationsFor(stage.url, folder))
  t.teardown(() => nginx.stop())
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(nginx.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  return { stage, nginx, post, folder }
}

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

t.test('nginx sends the bytes, with the headers and ranges of the server itself', { skip }, async (t) => {
  const { post, stage } = await openFront(t)
  await stage.publish('1.2.0', archive)
  const id = await stage.enabled('1.0.0')
  const wish = { installation_id: id, version: '1.2.0' }
  const own = await stage.post('/pull_update', wish)
  const whole = await post('/pull_update', wish)
  t.equal(whole.status, 200)
  t.ok((await bytesOf(whole)).equals(archive.bytes))
  for (const name of [
    'etag',
    'content-length',
    'content-type',
    'content-disposition',
    'accept-ranges',
    'cache-control',
  ])
    t.equal(whole.headers.get(name), own.headers.get(name), name)
  t.equal(whole.headers.get('x-accel-redirect'), null)
  const etag = String(own.headers.get('etag'))
  const part = await post('/pull_update', wish, { range: 'bytes=1000-', 'if-range': etag })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), `bytes 1000-${archive.bytes.length - 1}/${archive.bytes.length}`)
  t.ok((await bytesOf(part)).equals(archive.bytes.subarray(1000)))
  const other = await post('/pull_update', wish, { range: 'bytes=1000-', 'if-range': '"other"' })
  t.equal(other.status, 200, 'of another file: from its start')
  t.equal((await bytesOf(other)).length, archive.bytes.length)
  const several = await post('/pull_update', wish, { range: 'bytes=0-1,5-6' })
  t.equal(several.status, 200)
  await several.body?.cancel()
  t.match(await (await post('/pull_update', wish, { range: 'bytes=900000000-' })).json(), { error: 'bad_range' })
  const delta = archiveOf(5000, archive)
  await stage.publishDelta('1.2.0', '1.0.0', delta)
  const changed = await post('/pull_update', { ...wish, from: '1.0.0' }, { range: 'bytes=10-' })
  t.same([changed.status, await bytesOf(changed)], [206, delta.bytes.subarray(10)])
  const { body } = await stage.admin('GET', `/admin/api/installations?q=${id}`)
  t.match(body.installations[0].updates, [{ version: '1.2.0', fetched_at: Number }])
})

t.test('nobody gets a file who would not get it from the server itself', { skip }, async (t) => {
  const { nginx, post, stage } = await openFront(t)
  await stage.publish('1.2.0', archive)
  const [file] = stage.stored()
  for (const path of [
    `/plantroom-releases/${file}`,
    `//plantroom-releases/${file}`,
    `/plantroom-releases/../plantroom-releases/${file}`,
  ])
    t.equal((await fetch(nginx.url + path)).status, 404, path)
  t.equal((await post('/pull_update', { installation_id: newId(), version: '1.2.0' })).status, 401)
  const id = await stage.enabled('1.0.0')
  await stage.admin('PATCH', '/admin/api/updates/1.2.0', { withdrawn: true })
  t.match(await (await post('/pull_update', { installation_id: id, version: '1.2.0' })).json(), {
    error: 'release_gone',
  })
})

t.test(
  'who asks the server itself gets the bytes from it; the group may read them, and nobody else',
  { skip },
  async (t) => {
    const { folder, stage } = await openFront(t)
    await stage.publish('1.2.0', archive)
    await stage.publishInstaller('1.2.0', new Uint8Array([1, 2, 3]))
    const id = await stage.enabled('1.0.0')
    const answer = await stage.post('/pull_update', { installation_id: id, version: '1.2.0' })
    t.equal(answer.headers.get('x-accel-redirect'), null)
    t.equal(answer.headers.get('content-length'), String(archive.bytes.length))
    const installer = await ask(`${stage.url}/installers/1.2.0`, { headers: { 'x-sendfile-type': 'X-Accel-Redirect' } })
    const path = String(installer.headers.get('x-accel-redirect'))
    t.match(path, /^\/plantroom-releases\/[0-9a-f-]{36}$/)
    const modeOf = (...names: string[]) => statSync(join(folder, ...names)).mode & 0o777
    t.equal(modeOf('releases', path.split('/').at(-1) ?? ''), 0o640)
    t.same([modeOf('releases'), modeOf('releases', 'incoming')], [0o750, 0o700])
  },
)

t.test('who is not trusted is sent the bytes by the server itself, whatever it says of nginx', async (t) => {
  const stage = await openStage(t, { sets: ['downloads.offload=x-accel-redirect'] })
  await stage.publish('1.2.0', archive)
  const id = await stage.enabled('1.0.0')
  const answer = await fetch(`${stage.url}/pull_update`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sendfile-type': 'X-Accel-Redirect' },
    body: JSON.stringify({ installation_id: id, version: '1.2.0' }),
  })
  t.equal(answer.headers.get('x-accel-redirect'), null)
  t.ok((await bytesOf(answer)).equals(archive.bytes))
})

t.test('files in a bucket are none that nginx could send: the start ends with what to do', async (t) => {
  const sets = ['downloads.offload=x-accel-redirect', 'blobs.url=s3://updates']
  await t.rejects(startDaemon(t, 'updates', { sets }), /downloads\.offload needs the files in a folder/)
})
