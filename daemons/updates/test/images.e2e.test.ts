/** Firmware images on the update server as built: published, offered, fetched, and steered as updates are. */
import t from 'tap'
import { archiveOf, openStage, sha256, signing } from './stage.ts'

const shared = openStage(t, { sets: ['registration.per_address_per_hour=10000'] })
const archive = archiveOf(200_000)

const pushImage = async (version: string, compatible: string | undefined, more: Record<string, string> = {}) =>
  await (await shared).publishImage(version, compatible, archive, more)

const asBoard = (compatible: string) => ({ kind: 'image', compatible })

t.test('docs/updates.md: an image is offered to the boards that it is for, and to nobody else', async (t) => {
  const { admin, enabled, post } = await shared
  t.match(await pushImage('2.1.0', 'panel'), {
    status: 200,
    body: { filename: 'panel-2.1.0.img.enc', version: '2.1.0', checksum: sha256(archive.bytes) },
  })
  t.equal((await pushImage('2.1.0', 'panel')).status, 200, 'the same once more')
  t.equal((await pushImage('2.2.0', 'beamer')).status, 200)
  const id = await enabled()
  const check = async (more: object) =>
    (await post('/check_update', { installation_id: id, version: '1.0.0', ...more })).body
  t.same(await check({}), { update: false, version: '1.0.0' }, 'one that says nothing is offered no image')
  t.same(await check({ kind: 'update', compatible: 'panel' }), { update: false, version: '1.0.0' })
  t.match(await check(asBoard('panel')), {
    ...{ update: true, version: '2.1.0', kind: 'image', compatible: 'panel', size: archive.bytes.length },
    ...{ checksum: sha256(archive.bytes), encryption_key: archive.key },
  })
  t.match(await check(asBoard('beamer')), { update: true, version: '2.2.0' })
  t.same(await check(asBoard('other')), { update: false, version: '1.0.0' })
  t.match(await check({ kind: 'image' }), { error: 'bad_fields', message: /kind of board/ })
  t.match((await admin('GET', `/admin/api/installations?q=${id}`)).body.installations, [{ compatible: 'other' }])
})

t.test('docs/updates.md: who names its kind with a download gets the image, in pieces too', async (t) => {
  const { enabled, post } = await shared
  const id = await enabled()
  const pull = (body: object, headers: Record<string, string> = {}) =>
    post('/pull_update', { installation_id: id, ...body }, headers)
  const whole = await pull({ version: '2.1.0', ...asBoard('panel') })
  t.match(whole, { status: 200 })
  t.equal(whole.headers.get('etag'), `"${sha256(archive.bytes)}"`)
  const part = await pull(asBoard('panel'), { range: 'bytes=100-199' })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), `bytes 100-199/${archive.bytes.length}`)
  t.match(await pull({ version: '2.1.0' }), { status: 404 }, 'there is no update of this version')
  t.match(await pull({ version: '2.1.0', ...asBoard('beamer') }), { status: 404 })
})

t.test('docs/updates.md: channel, share, hold, withdrawal and reports are those of one kind of board', async (t) => {
  const { admin, enabled, post, publish } = await shared
  const [id, other] = [await enabled(), await enabled()]
  await publish('2.1.0', archive)
  const check = async (one: string, more: object) =>
    (await post('/check_update', { installation_id: one, version: '1.0.0', ...more })).body
  const change = async (body: object) => (await admin('PATCH', '/admin/api/updates/2.1.0@panel', body)).body
  t.match(await change({ percent: 0 }), { id: '2.1.0@panel', version: '2.1.0', compatible: 'panel', percent: 0 })
  t.match(await check(id, asBoard('panel')), { update: false })
  t.match(await check(other, {}), { update: true, version: '2.1.0' })
  await change({ percent: 100 })
  t.match(await check(id, asBoard('panel')), { update: true })
  const reason = 'the board came back with 1.0.0'
  t.match(await check(id, { ...asBoard('panel'), facts: { rolled_back: '2.1.0', reason } }), { update: false })
  const { body } = await admin('GET', '/admin/api/updates')
  t.match(
    body.updates.filter(({ version }: { version: string }) => version === '2.1.0'),
    [
      { id: '2.1.0@panel', compatible: 'panel', failed: 1 },
      { id: '2.1.0', compatible: null, failed: 0 },
    ],
  )
  const met = await admin('GET', `/admin/api/installations?release=${encodeURIComponent('2.1.0@panel')}`)
  t.match(
    met.body.installations.filter(({ updates: [one] }: { updates: { outcome: unknown }[] }) => one?.outcome !== null),
    [{ id, updates: [{ version: '2.1.0', compatible: 'panel', outcome: 'rolled_back', reason }] }],
    'others in the list have only fetched it',
  )
  await change({ withdrawn: true })
  t.match(await post('/pull_update', { installation_id: other, version: '2.1.0', ...asBoard('panel') }), {
    status: 410,
  })
  t.match(await check(other, {}), { update: true }, 'the update of this version is there')
  t.equal((await admin('DELETE', '/admin/api/updates/2.1.0@panel')).status, 204)
  t.match(await check(other, {}), { update: true })
})

t.test('docs/updates.md: an image names the kind of board that its signed record names', async (t) => {
  const { record, sign } = signing()
  const facts = { version: '3.0.0', size: archive.bytes.length, sha256: sha256(archive.bytes) }
  const of = (kind: 'image' | 'update', compatible?: string) => ({
    'x-svc-release': Buffer.from(
      sign(kind, { ...record, ...facts, ...(compatible !== undefined && { compatible }) }),
    ).toString('base64'),
  })
  t.match(await pushImage('3.0.0', undefined), { status: 400, body: { error: 'bad_upload' } })
  t.match(await pushImage('3.0.0', 'no board'), { status: 400, body: { error: 'bad_upload' } })
  t.match(await pushImage('3.0.0', 'panel', of('update', 'panel')), {
    status: 400,
    body: { error: 'release_untrusted' },
  })
  t.match(await pushImage('3.0.0', 'panel', of('image', 'beamer')), { body: { error: 'checksum_mismatch' } })
  t.match(await pushImage('3.0.0', 'panel', of('image')), { body: { error: 'checksum_mismatch' } })
  t.match(await pushImage('3.0.0', 'panel', of('image', 'panel')), { status: 200 })
  const { publish } = await shared
  t.match(await publish('3.0.0', archive, of('update', 'panel')), { body: { error: 'checksum_mismatch' } })
})
