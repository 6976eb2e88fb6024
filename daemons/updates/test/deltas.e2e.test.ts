/** Deltas over the real interface: published, offered to who asks, fetched, and gone with their release. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { archiveOf, openStage, sha256, UPDATE_KEY } from './stage.ts'

const archive = archiveOf(200_000)
const delta = archiveOf(3000, archive)

async function published(t: Test, options: Parameters<typeof openStage>[1] = {}) {
  const stage = await openStage(t, options)
  await stage.publish('1.2.0', archive)
  const id = await stage.enabled('1.1.0')
  const check = async (more: object = { deltas: true }) =>
    (await stage.post('/check_update', { installation_id: id, version: '1.1.0', ...more })).body
  const pull = (more: object, headers: Record<string, string> = {}) =>
    fetch(`${stage.url}/pull_update`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      body: JSON.stringify({ installation_id: id, version: '1.2.0', ...more }),
    })
  return { ...stage, id, check, pull }
}

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

t.test('a delta is offered to who asks for deltas from its version, and to others nothing is different', async (t) => {
  const { check, pull, publishDelta } = await published(t)
  const before = await check()
  t.equal(before.delta, undefined)
  const answer = await publishDelta('1.2.0', '1.1.0', delta, { 'x-svc-checksum': sha256(delta.bytes) })
  const facts = { filename: 'plantroom-1.2.0-from-1.1.0.delta.enc', checksum: sha256(delta.bytes) }
  t.match([answer.status, answer.body], [200, { ...facts, version: '1.2.0', from: '1.1.0', size: delta.bytes.length }])
  const offered = await check()
  t.same(offered, { ...before, delta: { ...facts, from: '1.1.0', size: delta.bytes.length } })
  t.same(await check({}), before)
  t.same(await check({ deltas: false }), before)
  t.equal((await check({ deltas: true, version: '1.0.0' })).delta, undefined)

  const whole = await pull({ from: '1.1.0' })
  t.same([whole.status, whole.headers.get('etag')], [200, `"${sha256(delta.bytes)}"`])
  t.same(await bytesOf(whole), delta.bytes)
  const part = await pull({ from: '1.1.0' }, { range: 'bytes=1000-', 'if-range': `"${sha256(delta.bytes)}"` })
  t.same([part.status, await bytesOf(part)], [206, delta.bytes.subarray(1000)])
  t.same(await bytesOf(await pull({})), archive.bytes, 'without from it is the archive')
  t.match(await (await pull({ from: '1.0.0' })).json(), { error: 'unknown_release', message: /fetch the archive/ })
  t.equal((await pull({ from: 'x' })).status, 400)
})

t.test('a delta is there after a kill, waits while its release is withdrawn, and goes with it', async (t) => {
  const stateFolder = join(stateFolderOf(t), 'state')
  const stage = await published(t, { stateFolder })
  const { cookie, id } = stage
  await stage.publishDelta('1.2.0', '1.1.0', delta)
  await stage.publishDelta('1.2.0', '1.0.0', archiveOf(10, archive))
  const session = await cookie()
  await stage.stop('SIGKILL')
  const again = await openStage(t, { stateFolder })
  t.equal(again.stored().length, 3)
  const wish = { installation_id: id, version: '1.2.0', from: '1.1.0' }
  const change = (method: string, body?: object) =>
    ask(`${again.url}/admin/api/updates/1.2.0`, {
      ...{ method, headers: { ...session, 'content-type': 'application/json' } },
      ...(body && { body: JSON.stringify(body) }),
    })
  t.equal((await again.post('/pull_update', wish)).status, 200)
  await change('PATCH', { withdrawn: true })
  t.equal((await again.post('/pull_update', wish)).status, 410)
  t.equal((await again.publishDelta('1.2.0', '1.0.9', delta)).status, 410)
  await change('PATCH', { withdrawn: false })
  t.equal((await again.post('/pull_update', wish)).status, 200)
  await change('DELETE')
  t.equal((await again.post('/pull_update', wish)).status, 410)
  await until('all of its files are gone', () => again.stored().length === 0)
})

t.test('a delta that is wrong, has no update or no place is refused, and leaves nothing', async (t) => {
  const { publishDelta, stored, url } = await published(t, { sets: ['releases.deltas=1', 'uploads.max_bytes=250000'] })
  const wrong = archiveOf(3000)
  const cut = { ...delta, bytes: delta.bytes.subarray(0, -1) }
  const long = archiveOf(400_000, archive)
  const refusals: [status: number, error: string, answer: Promise<{ status: number; body: unknown }>][] = [
    [400, 'container_wrong_key', publishDelta('1.2.0', '1.1.0', wrong)],
    [400, 'container_damaged', publishDelta('1.2.0', '1.1.0', cut)],
    [400, 'checksum_mismatch', publishDelta('1.2.0', '1.1.0', delta, { 'x-svc-checksum': '0'.repeat(64) })],
    [400, 'bad_version', publishDelta('1.2.0', '1.1', delta)],
    [400, 'bad_version', publishDelta('1.2.0', '1.2.0', delta)],
    [404, 'unknown_release', publishDelta('1.3.0', '1.1.0', delta)],
    [413, 'body_too_large', publishDelta('1.2.0', '1.1.0', long)],
    [401, 'unauthorized', publishDelta('1.2.0', '1.1.0', delta, { 'x-svc-update-key': `not ${UPDATE_KEY}` })],
  ]
  for (const [status, error, answer] of refusals) t.match(await answer, { status, body: { error } }, error)
  await publishDelta('1.2.0', '1.1.0', delta)
  t.match(await publishDelta('1.2.0', '1.0.0', delta), { status: 409, body: { error: 'too_many_deltas' } })
  t.equal((await publishDelta('1.2.0', '1.1.0', delta)).status, 200, 'once more is no other')
  await until('nothing of them is left', () => stored().length === 2)
  t.equal((await fetch(`${url}/push_delta?update_key=${UPDATE_KEY}`, { method: 'POST' })).status, 401)
})
