/** The update server as built, over its interface: part B of interface document 3, line by line. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createContainerReader } from '#kit/release/container.ts'
import { ask, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { archiveOf, newId, openStage, sha256, UPDATE_KEY } from './stage.ts'

const run = promisify(execFile)
/** One for all tests that change nothing of one another; addresses bring as many ids as they like. */
const shared = openStage(t, { sets: ['registration.per_address_per_hour=10000'] })
const archive = archiveOf(300_000)

t.test('B.authentication.1 an unknown installation is registered as disabled and refused with 401', async (t) => {
  const { admin, post } = await shared
  const id = newId()
  for (let times = 0; times < 2; times++) {
    const answer = await post('/check_update', { installation_id: id, version: '1.0.0' })
    t.equal(answer.status, 401)
  }
  const { body } = await admin('GET', `/admin/api/installations?q=${id}`)
  t.match(body.installations, [{ id, state: 'pending', version: '1.0.0' }])
  t.equal(body.total, 1)
})

t.test(
  'B.errors unknown, disabled and missing installations get one and the same answer, on every route',
  async (t) => {
    const { admin, enabled, post } = await shared
    const disabled = await enabled()
    await admin('PATCH', `/admin/api/installations/${disabled}`, { enabled: false })
    const bodies = [{ installation_id: disabled }, { installation_id: newId() }, {}]
    const texts = new Set<string>()
    for (const path of [
      '/check_update',
      '/pull_update',
      '/command_set/list',
      '/command_set/search',
      '/command_set/download/a.json',
    ])
      for (const body of bodies) {
        const answer = await post(path, { version: '1.0.0', ...body })
        t.equal(answer.status, 401, `${path} ${JSON.stringify(body)}`)
        texts.add(JSON.stringify(answer.body))
      }
    t.equal(texts.size, 1, 'nobody learns which ids there are')
  },
)

t.test('B.limits an installation_id of another form is 400 and registers nothing', async (t) => {
  const { admin, post } = await shared
  const before = (await admin('GET', '/admin/api/installations')).body.total
  const bad = [
    '',
    'a'.repeat(31),
    'a'.repeat(33),
    'A'.repeat(32),
    'g'.repeat(32),
    `${'a'.repeat(31)}\n`,
    '../../../../../../../../etc/pass',
  ]
  for (const id of bad) {
    const answer = await post('/check_update', { installation_id: id, version: '1.0.0' })
    t.match(answer, { status: 400, body: { error: 'bad_installation_id' } }, JSON.stringify(id))
  }
  const header = { 'x-svc-installation-id': 'b'.repeat(31) }
  t.match(await post('/check_update', { version: '1.0.0' }, header), { status: 400 })
  const two = { 'x-svc-installation-id': newId() }
  t.match(await post('/check_update', { installation_id: newId(), version: '1.0.0' }, two), { status: 400 })
  t.match(await post('/check_update', { installation_id: 7, version: '1.0.0' }), { status: 400 })
  for (const version of ['', 'v1.0.0', '1.0', '1.0.0+5', '1'.repeat(64), '01.0.0'])
    t.match(await post('/check_update', { installation_id: newId(), version }), { status: 400 }, version)
  t.equal((await admin('GET', '/admin/api/installations')).body.total, before)
})

t.test('B.routes.push_update, check_update, pull_update: from the publisher to the installation', async (t) => {
  const stage = await shared
  const id = await stage.enabled('1.0.0')
  t.same((await stage.post('/check_update', { installation_id: id, version: '9.0.0' })).body, {
    ...{ update: false, version: '9.0.0' },
  })
  const bundle = 'ab'.repeat(32)
  const pushed = await stage.publish('1.1.0', archive, { 'x-svc-bundle-hash': bundle })
  const said = {
    ...{ filename: 'plantroom-1.1.0.tar.gz.enc', version: '1.1.0', checksum: sha256(archive.bytes) },
    ...{ size: archive.bytes.length, bundle_hash: bundle },
  }
  t.same([pushed.status, pushed.body], [200, said])
  t.match(stage.output(), /published kind=update version=1\.1\.0 .*bundleHash=recorded/)
  const check = await stage.post('/check_update', { version: '1.0.0' }, { 'x-svc-installation-id': id })
  t.same(check.body, { ...said, update: true, encryption_key: archive.key, release: null })
  const pulled = await fetch(`${stage.url}/pull_update`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ installation_id: id }),
  })
  t.equal(pulled.headers.get('content-type'), 'application/octet-stream')
  t.equal(pulled.headers.get('content-length'), String(archive.bytes.length))
  const bytes = Buffer.from(await pulled.arrayBuffer())
  t.ok(bytes.equals(archive.bytes))
  t.same((await stage.post('/check_update', { installation_id: id, version: '1.1.0' })).body, {
    ...{ update: false, version: '1.1.0' },
  })
  const { body } = await stage.admin('GET', '/admin/api/updates')
  t.match(
    body.updates.find((one: { version: string }) => one.version === '1.1.0'),
    { fetched: 1, applied: 0 },
  )
})

t.test('B.routes.pull_update answers Range and If-Range on the POST: 206, 416', async (t) => {
  const stage = await shared
  const id = await stage.enabled()
  await stage.publish('1.2.0', archive)
  const etag = `"${sha256(archive.bytes)}"`
  const size = archive.bytes.length
  const pull = async (headers: Record<string, string>) => {
    const all = { 'content-type': 'application/json', ...headers }
    const body = JSON.stringify({ installation_id: id, version: '1.2.0' })
    const answer = await fetch(`${stage.url}/pull_update`, { method: 'POST', headers: all, body })
    return {
      status: answer.status,
      bytes: Buffer.from(await answer.arrayBuffer()),
      of: answer.headers.get('content-range'),
    }
  }
  const part = (start: number, end: number) => archive.bytes.subarray(start, end + 1)
  const rows: [Record<string, string>, number, Buffer | undefined][] = [
    [{ range: 'bytes=0-0' }, 206, part(0, 0)],
    [{ range: 'bytes=100-' }, 206, part(100, size - 1)],
    [{ range: 'bytes=-10' }, 206, part(size - 10, size - 1)],
    [{ range: `bytes=5-${size + 5}`, 'if-range': etag }, 206, part(5, size - 1)],
    [{ range: 'bytes=5-', 'if-range': '"of another"' }, 200, archive.bytes],
    [{ range: 'bytes=5-', 'if-range': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 200, archive.bytes],
    [{ range: 'bytes=0-1,5-6' }, 200, archive.bytes],
    [{ range: 'lines=1-2' }, 200, archive.bytes],
    [{ range: 'bytes=9-3' }, 200, archive.bytes],
    [{ range: `bytes=${size}-` }, 416, undefined],
    [{ range: 'bytes=-0' }, 416, undefined],
  ]
  for (const [headers, status, bytes] of rows) {
    const answer = await pull(headers)
    t.equal(answer.status, status, JSON.stringify(headers))
    if (bytes) t.ok(answer.bytes.equals(bytes))
    else t.equal(answer.of, `bytes */${size}`)
  }
})

t.test(
  'an installation in Python registers, is enabled, resumes a cut download, and what it has decrypts',
  async (t) => {
    const stage = await shared
    const id = newId()
    const file = join(t.testdir(), 'archive')
    const program = join(import.meta.dirname, 'peer/installation.py')
    const play = async (what: string) => (await run('python3', [program, stage.url, id, what, file])).stdout.trim()
    await stage.publish('1.3.0', archive)
    t.equal(await play('register'), '401')
    await stage.admin('PATCH', '/admin/api/installations', { ids: [id], enabled: true })
    const answer = JSON.parse(await play('update'))
    t.match(answer, { version: '1.3.0', encryption_key: archive.key })
    const reader = createContainerReader(Buffer.from(answer.encryption_key, 'hex'))
    const plain = Buffer.concat([...reader.take(readFileSync(file)), ...reader.end()])
    t.ok(plain.equals(archive.plain))
  },
)

t.test('B.authentication.2 publishing needs the update key; a mismatch gives 401', async (t) => {
  const { cookie, publishInstaller, stored, url } = await shared
  const before = stored().length
  const bytes = new Uint8Array(100)
  const wrong: Record<string, string>[] = [
    { 'x-svc-update-key': 'another-key' },
    { 'x-svc-update-key': '' },
    { 'x-svc-update-key': UPDATE_KEY.slice(0, -1) },
    { 'x-svc-update-key': 'x', authorization: `Bearer ${UPDATE_KEY}` },
  ]
  for (const headers of wrong)
    t.equal((await publishInstaller('5.0.0', bytes, headers)).status, 401, JSON.stringify(headers))
  const push = (more: string, headers: Record<string, string>) =>
    ask(`${url}/push_installer${more}`, {
      method: 'POST',
      headers: { 'x-svc-version': '5.0.0', ...headers },
      body: bytes,
    })
  t.equal((await push('', {})).status, 401)
  t.equal((await push('', { authorization: 'Bearer nothing' })).status, 401)
  t.equal((await push(`?update_key=${UPDATE_KEY}`, {})).status, 401, 'never in a query')
  t.equal((await push(`?update_key=${UPDATE_KEY}`, { authorization: `Bearer ${UPDATE_KEY}` })).status, 400)
  t.equal((await push('', await cookie())).status, 403, 'nor the session of the panel')
  t.equal(stored().length, before, 'nothing is left')
  t.equal((await push('', { authorization: `Bearer ${UPDATE_KEY}` })).status, 200)
})

t.test('B.routes.push_update a wrong, cut or damaged archive is refused and leaves nothing', async (t) => {
  const stage = await shared
  const before = stage.stored().length
  const { bytes } = archive
  const damaged = Buffer.from(bytes)
  damaged[150_000] = (damaged[150_000] ?? 0) ^ 1
  const rows: [string, Buffer, Record<string, string>, number, string][] = [
    ['another key', bytes, { 'x-svc-encryption-key': 'cd'.repeat(32) }, 400, 'container_wrong_key'],
    ['no key', bytes, { 'x-svc-encryption-key': '' }, 400, 'bad_upload'],
    ['a key of another length', bytes, { 'x-svc-encryption-key': 'cd' }, 400, 'bad_upload'],
    ['cut at its end', bytes.subarray(0, -1), {}, 400, 'container_damaged'],
    ['cut between chunks', bytes.subarray(0, 112 + 65_552), {}, 400, 'container_cut'],
    ['cut in its header', bytes.subarray(0, 50), {}, 400, 'container_cut'],
    ['damaged', damaged, {}, 400, 'container_damaged'],
    ['with more after it', Buffer.concat([bytes, bytes]), {}, 400, 'container_damaged'],
    ['plain', archive.plain, {}, 400, 'container_unknown'],
    ['empty', Buffer.alloc(0), {}, 400, 'bad_upload'],
    ['with another checksum', bytes, { 'x-svc-checksum': 'cd'.repeat(32) }, 400, 'checksum_mismatch'],
    ['with a bundle hash that is none', bytes, { 'x-svc-bundle-hash': 'x' }, 400, 'bad_upload'],
    ['with a record that is none', bytes, { 'x-svc-release': 'e30=' }, 400, 'release_malformed'],
    ['of no version', bytes, { 'x-svc-version': '../../etc' }, 400, 'bad_version'],
    ['of no version', bytes, { 'x-svc-version': '1.0' }, 400, 'bad_version'],
  ]
  for (const [what, sent, headers, status, error] of rows) {
    const answer = await stage.publish('6.0.0', { ...archive, bytes: sent }, headers)
    t.match(answer, { status, body: { error } }, what)
  }
  t.equal(stage.stored().length, before)
  t.notMatch((await stage.admin('GET', '/admin/api/updates')).body.updates, [{ version: '6.0.0' }])
})

t.test(
  'B.routes.push_update the same version with the same bytes is 200, with others 409; two at once are one',
  async (t) => {
    const stage = await shared
    t.equal((await stage.publish('2.0.0', archive)).status, 200)
    const before = stage.stored().length
    t.equal((await stage.publish('2.0.0', archive)).status, 200)
    const other = archiveOf(1000)
    t.match(await stage.publish('2.0.0', other), { status: 409, body: { error: 'release_exists' } })
    await until('what was refused leaves nothing', () => stage.stored().length === before)
    const both = await Promise.all([stage.publish('2.1.0', archive), stage.publish('2.1.0', other)])
    t.same(both.map(({ status }) => status).sort(), [200, 409])
    const same = await Promise.all([stage.publish('2.2.0', archive), stage.publish('2.2.0', archive)])
    t.same(
      same.map(({ status }) => status),
      [200, 200],
    )
    await until('only what was taken is left', () => stage.stored().length === before + 2)
  },
)

t.test('B.routes.push_installer as bytes and as one file of a form; another form is refused', async (t) => {
  const stage = await shared
  const bytes = new Uint8Array(Buffer.from('#!/bin/sh\r\n--boundary\r\necho "$@"\n'))
  const send = (body: FormData, version: string) =>
    ask(`${stage.url}/push_installer`, {
      ...{ method: 'POST', body },
      headers: { authorization: `Bearer ${UPDATE_KEY}`, 'x-svc-version': version },
    })
  const form = new FormData()
  form.set('file', new Blob([bytes]), 'plantroom.run')
  const answer = await send(form, '3.0.0')
  t.match(answer, {
    status: 200,
    body: { filename: 'plantroom-3.0.0.run', checksum: sha256(bytes), size: bytes.length },
  })
  t.equal((await stage.publishInstaller('3.0.0', bytes)).status, 200, 'the same file without a form')
  form.set('other', new Blob([bytes]), 'plantroom.run')
  t.match(await send(form, '3.0.1'), { status: 400, body: { error: 'bad_upload' } })
  const field = new FormData()
  field.set('file', 'no file')
  t.match(await send(field, '3.0.1'), { status: 400, body: { error: 'bad_upload' } })
  const got = await fetch(`${stage.url}/installers/3.0.0`)
  t.ok(Buffer.from(await got.arrayBuffer()).equals(Buffer.from(bytes)))
  t.equal((await fetch(`${stage.url}/installers/3.0.9`)).status, 404)
  t.equal((await fetch(`${stage.url}/installers/..%2f..%2fetc`)).status, 400)
})

t.test('a release is withdrawn, held, given to a share, deleted; who fetches it meanwhile is told 410', async (t) => {
  const stage = await openStage(t)
  const id = await stage.enabled('1.0.0')
  const offered = async () =>
    (await stage.post('/check_update', { installation_id: id, version: '1.0.0' })).body.version
  const change = (version: string, body: object) => stage.admin('PATCH', `/admin/api/updates/${version}`, body)
  await stage.publish('1.1.0', archive)
  await stage.publish('1.2.0', archive)
  await stage.publish('1.3.0-beta.1', archive)
  t.equal(await offered(), '1.2.0')
  await change('1.1.0', { hold: true })
  t.equal(await offered(), '1.1.0')
  await change('1.1.0', { hold: false })
  await change('1.2.0', { percent: 0 })
  t.equal(await offered(), '1.1.0')
  await change('1.2.0', { percent: 100, withdrawn: true })
  t.equal(await offered(), '1.1.0')
  const pull = (version: string) => stage.post('/pull_update', { installation_id: id, version })
  t.match(await pull('1.2.0'), { status: 410, body: { error: 'release_gone' } })
  await change('1.2.0', { withdrawn: false })
  t.equal(await offered(), '1.2.0')
  await stage.admin('PATCH', `/admin/api/installations/${id}`, { channel: 'beta' })
  t.equal(await offered(), '1.3.0-beta.1')
  t.equal((await stage.admin('DELETE', '/admin/api/updates/1.3.0-beta.1')).status, 204)
  t.equal(await offered(), '1.2.0')
  t.match(await pull('1.3.0-beta.1'), { status: 410 })
  t.match(await pull('7.7.7'), { status: 404, body: { error: 'unknown_release' } })
  t.equal(stage.stored().length, 2)
})

t.test('an installation that rolled back is not offered that version again; enough failures halt it', async (t) => {
  const stage = await openStage(t, { sets: ['releases.halt_percent=50', 'releases.halt_reports=2'] })
  const [first, second, third] = [await stage.enabled(), await stage.enabled(), await stage.enabled()]
  await stage.publish('1.1.0', archive)
  const check = async (id: string, facts?: object) =>
    (await stage.post('/check_update', { installation_id: id, version: '1.0.0', ...(facts && { facts }) })).body
  const failed = { rolled_back: '1.1.0', failed_step: 'restart', reason: 'no answer within 60 s' }
  t.match(await check(first, failed), { update: false, version: '1.0.0' })
  t.match(await check(first), { update: false })
  t.match(await check(second), { update: true, version: '1.1.0' })
  t.match(await check(second, { failed: '1.1.0', failed_step: 'checksum' }), { update: false }, 'halted')
  t.match(await check(third), { update: false })
  const { body } = await stage.admin('GET', '/admin/api/updates')
  t.match(body.updates, [{ version: '1.1.0', state: 'halted', failed: 2 }])
  const ledger = await stage.admin('GET', '/api/ledger')
  t.match(JSON.stringify(ledger.body), /release_halted.*1\.1\.0/)
  await stage.admin('PATCH', '/admin/api/updates/1.1.0', { halted: false })
  t.match(await check(third), { update: true })
  await stage.admin('PATCH', `/admin/api/installations/${first}`, { retry: true })
  t.match(await check(first), { update: true })
})

t.test('what was published, who is enabled and what was reported is there after a kill', async (t) => {
  // What is published lies beside it, and goes with the folder of both.
  const stateFolder = join(stateFolderOf(t), 'state')
  const stage = await openStage(t, { stateFolder })
  const id = await stage.enabled()
  await stage.publish('1.1.0', archive)
  await stage.publish('1.2.0', archive)
  await stage.post('/check_update', { installation_id: id, version: '1.1.0', facts: { rolled_back: '1.2.0' } })
  await stage.stop('SIGKILL')
  const again = await openStage(t, { stateFolder })
  const check = await again.post('/check_update', { installation_id: id, version: '1.0.0' })
  t.match(check.body, { version: '1.1.0', encryption_key: archive.key })
  t.notMatch(readFileSync(join(stateFolder, 'updates.db'), 'latin1'), archive.key, 'keys are sealed')
  t.notMatch(again.output(), 'admin password', 'the password is shown once')
  t.equal(again.stored().length, 2)
})

t.test('B.routes.artifacts are uploaded, listed, searched and downloaded', async (t) => {
  const stage = await shared
  const id = await stage.enabled()
  const whole = await stage.cookie()
  const put = (query: string, body: string) =>
    ask(`${stage.url}/admin/api/artifacts?${query}`, { method: 'POST', headers: whole, body })
  t.same((await ask(`${stage.url}/artifacts/types`, {})).body, {
    types: ['command_set', 'web_service', 'database_artifact'],
  })
  const service = JSON.stringify({ name: 'weather', title: 'Weather of the town', url: 'https://example.org' })
  t.match(await put('type=web_service&filename=weather.json&tags=Climate,roof&description=Wind', service), {
    status: 201,
  })
  t.match(await put('type=web_service&filename=weather.json', service), {
    status: 409,
    body: { error: 'artifact_exists' },
  })
  t.match(
    await put('type=web_service&filename=weather.json&tags=Climate,roof&description=Wind&overwrite=true', service),
    { status: 201 },
  )
  for (const name of ['..', '.hidden', 'a%2Fb', 'a b', '%00', 'x'.repeat(129), ''])
    t.match(await put(`type=web_service&filename=${name}`, service), { status: 400 }, name)
  t.match(await put('type=other&filename=a', service), { status: 404, body: { error: 'unknown_type' } })
  for (const body of ['{', '[]', '{"name":"a","name":"b"}', '{"name":"no name"}', '"text"'])
    t.match(await put('type=web_service&filename=bad.json', body), { status: 400 }, body)
  t.match(await put('type=command_set&filename=bad.json', '{"name":"x"}'), { status: 422 })
  const post = (path: string, body: object = {}) => stage.post(path, { installation_id: id, ...body })
  t.match((await post('/web_service/list')).body, {
    artifacts: [
      { filename: 'weather.json', name: 'Weather of the town', size: service.length, tags: ['Climate', 'roof'] },
    ],
  })
  for (const [search, many] of [
    [{ tags: ['nothing', 'CLIMATE'] }, 1],
    [{ tags: ['nothing'] }, 0],
    [{ text: 'WEATHER.j' }, 1],
    [{ text: 'wind' }, 1],
    [{ text: 'town', tags: ['roof'] }, 1],
    [{ text: 'snow', tags: ['roof'] }, 0],
  ] as const)
    t.equal((await post('/web_service/search', search)).body.artifacts.length, many, JSON.stringify(search))
  t.equal((await post('/command_set/list')).body.artifacts.length, 0)
  t.match(await post('/other/list'), { status: 404 })
  const got = await post('/web_service/download/weather.json')
  t.equal(got.body, service)
  t.match(await post('/web_service/download/other.json'), { status: 404 })
  t.match(await post('/web_service/download/..%2F..%2Fupdates.db'), { status: 400 })
  t.equal((await stage.admin('DELETE', '/admin/api/artifacts/web_service/weather.json')).status, 204)
  t.match(await post('/web_service/download/weather.json'), { status: 404 })
})

t.test('check_update answers the same to plain requests, past Fastify, as to any other', async (t) => {
  const stage = await openStage(t, { sets: ['registration.per_address_per_hour=10000', 'releases.window=02:00-05:00'] })
  const { admin, enabled, publish, url } = stage
  const { host, port } = new URL(url)
  await publish('1.2.0', archive)
  await publish('1.3.0-beta.1', archiveOf(1000))
  await stage.publishDelta('1.2.0', '1.0.0', archiveOf(100, archive))
  const [id, disabled] = [await enabled('1.0.0'), await enabled()]
  await admin('PATCH', `/admin/api/installations/${disabled}`, { enabled: false })
  const pending = newId()
  const bodies: unknown[] = [
    ...['1.0.0', '1.2.0', '1.3.0', '1.2', '', 'v1.2.0', '1.0.0+7', 7, null].map((version) => ({ version })),
    ...['stable', 'beta', 'other'].map((channel) => ({ version: '1.0.0', channel })),
    { version: '1.0.0', arch: 'x64', build: 'ab', more: [1] },
    { version: '1.0.0', build: 'x'.repeat(65) },
    ...[true, false, 'yes', null].map((deltas) => ({ version: '1.0.0', deltas })),
    { version: '1.0.0', facts: {} },
    { version: '1.2.0', facts: { applied: '1.2.0' } },
    { version: '1.0.0', facts: { rolled_back: '1.2.0', failed_step: 'probe', reason: 'no answer' } },
    { version: '1.0.0' },
    ...[{}, [], 'text', null, { installation_id: 7, version: '1.0.0' }],
  ]
  const ids = [id, disabled, pending, 'A'.repeat(32), '', undefined]
  const texts = [
    ...bodies.map((body) => JSON.stringify(body)),
    '{"version":"1.0.0"',
    '{"version":"1.0.0","version":"1.1.0"}',
  ]
  for (const text of texts)
    for (const given of ids)
      for (const isHead of [true, false]) {
        const body =
          given === undefined || isHead || !text.endsWith('}')
            ? text
            : text.replace('{', `{"installation_id":"${given}",`)
        const fields = isHead && given !== undefined ? [`x-svc-installation-id: ${given}`] : []
        // A page of its own is let in like a program, and is not plain.
        const plain = await rawAnswer(Number(port), host, body, fields)
        const other = await rawAnswer(Number(port), host, body, [...fields, `origin: http://${host}`])
        t.equal(plain, other, `${fields} ${body}`)
      }
})

/** The whole answer, without its date. */
async function rawAnswer(port: number, host: string, body: string, fields: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const head = ['POST /check_update HTTP/1.1', `host: ${host}`, 'content-type: application/json', ...fields]
  socket.write(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  let heard = ''
  for await (const data of socket) {
    heard += data
    const [, length = '', rest = ''] = /content-length: (\d+)\r\n[\s\S]*?\r\n\r\n([\s\S]*)$/.exec(heard) ?? []
    if (length !== '' && Buffer.byteLength(rest) >= Number(length)) break
  }
  return heard.replace(/\r\nDate: [^\r]*/, '')
}
