import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { password, type RunningGateway, startGateway } from './running-gateway.ts'
import { sharedGateway } from './shared-gateway.ts'

const other = 'another battery staple'

/** A gateway for tests that leave its people and keys as they found them; its journal is read first, its end is last. */
const sets = ['log.level="debug"', 'journal.entries=100']
const shared = await sharedGateway(sets)

async function socketOf(t: Test, gateway: RunningGateway, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`, { headers })
  t.teardown(() => socket.terminate())
  const got: { type: string; port?: string; error?: string }[] = []
  socket.on('message', (data) => got.push(JSON.parse(String(data))))
  const closed = new Promise((resolve) => socket.once('close', (code, why) => resolve(`${code} ${why}`)))
  await once(socket, 'open')
  return { closed, got, say: (message: object) => socket.send(JSON.stringify(message)) }
}

async function signIn(gateway: RunningGateway, username: string, secret = password) {
  const answer = await gateway.call('POST', '/api/login', { username, password: secret }, null)
  return { ...answer, token: answer.body.token as string }
}

t.test('the journal says who did what and who was turned away, page by page and as a file', async (t) => {
  const gateway = shared
  const { body } = await gateway.call('POST', '/api/keys', { name: 'pump', role: 'viewer' })
  await gateway.call('POST', '/api/users', { username: 'bob', password, role: 'viewer' })
  await gateway.call('PATCH', '/api/users/bob', { role: 'admin', password: other })
  await gateway.call('DELETE', '/api/users/bob')
  await gateway.call('GET', '/api/users', undefined, body.key)
  await gateway.call('DELETE', `/api/keys/${body.id}`)
  for (let times = 0; times < 4; times++)
    await gateway.call('POST', '/api/login', { username: 'my secret pass', password: 'guess' }, null)

  const entries = (await gateway.call('GET', '/api/journal')).body
  t.match(entries.toReversed(), [
    { seq: 1, who: 'admin', what: 'administrator made', from: '127.0.0.1' },
    { who: 'admin', what: 'key made', target: 'pump', detail: { id: body.id, role: 'viewer' } },
    { who: 'admin', what: 'user made', target: 'bob', detail: { role: 'viewer' } },
    { who: 'admin', what: 'user changed', target: 'bob', detail: { role: 'admin', password: 'changed' } },
    { who: 'admin', what: 'user removed', target: 'bob' },
    { who: 'key:pump', what: 'key refused', detail: { error: 'forbidden', times: 1 }, kind: 'refusal' },
    { who: 'admin', what: 'key removed', target: 'pump' },
    { who: 'nobody', what: 'sign-in refused', detail: { error: 'wrong_login', times: 1 }, kind: 'refusal' },
  ])
  t.equal(entries.length, 8, 'four guesses are one entry until their time is over')
  t.notMatch(JSON.stringify(entries), /secret|guess|battery|plk_/)

  const page = async (query: string) => (await gateway.call('GET', `/api/journal?${query}`)).body
  const first = await page('limit=3')
  const second = await page(`limit=100&before=${first.at(-1).seq}`)
  t.same([...first, ...second], entries)
  t.equal((await page('who=PUMP')).length, 1)
  t.equal((await page('what=user')).length, 3)
  t.equal((await gateway.call('GET', '/api/journal?before=x')).status, 400)

  const { ticket } = (await gateway.call('POST', '/api/ticket')).body
  const file = await gateway.call('GET', `/api/journal/export?ticket=${ticket}`, undefined, null)
  t.match(file.headers.get('content-disposition'), /attachment; filename="journal-\d{4}-\d\d-\d\d\.ndjson"/)
  t.equal(file.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  const lines = (file.body as string).trimEnd().split('\n')
  t.same(
    lines.map((line) => JSON.parse(line)),
    entries.toReversed(),
  )
})

t.test('A.login two users: each signs in by name, and a body with only the password gets a clear answer', async (t) => {
  const gateway = shared
  t.equal((await gateway.call('POST', '/api/login', { password }, null)).status, 200, 'one user')
  const made = await gateway.call('POST', '/api/users', { username: 'Bob', password: other, role: 'viewer' })
  t.teardown(() => gateway.call('DELETE', '/api/users/bob'))
  t.match(made, { status: 201, body: { username: 'Bob', role: 'viewer', isLastAdmin: false, isYou: false } })
  const nameless = await gateway.call('POST', '/api/login', { password }, null)
  t.match(nameless, { status: 400, body: { error: 'username_needed' } })
  t.equal((await signIn(gateway, 'bob', other)).status, 200, 'case does not matter')
  t.match(await gateway.call('POST', '/api/users', { username: 'BOB', password: other, role: 'admin' }), {
    status: 409,
    body: { error: 'user_exists' },
  })
  for (const username of ['__proto__', 'key:pump', '\u0430dmin', ' bob', 'x'.repeat(65)])
    t.equal((await gateway.call('POST', '/api/users', { username, password: other, role: 'admin' })).status, 400)
  t.notMatch(JSON.stringify((await gateway.call('GET', '/api/users')).body), /argon2|hash/i)
})

t.test('a new role, a new password and a removal end sign-ins, tickets and sockets at once', async (t) => {
  const gateway = shared
  const admin = gateway.token()
  await gateway.call('POST', '/api/users', { username: 'bob', password, role: 'viewer' })
  const adminSocket = await socketOf(t, gateway, admin)
  const changes: [string, string, unknown][] = [
    ['PATCH', '/api/users/bob', { role: 'admin' }],
    ['PATCH', '/api/users/bob', { password: other }],
    ['DELETE', '/api/users/bob', undefined],
  ]
  for (const [index, [method, path, body]] of changes.entries()) {
    const { token } = await signIn(gateway, 'bob', index < 2 ? password : other)
    const { ticket } = (await gateway.call('POST', '/api/ticket', undefined, token)).body
    const { closed } = await socketOf(t, gateway, token)
    t.equal((await gateway.call(method, path, body)).status, method === 'DELETE' ? 204 : 200)
    t.equal(await closed, '1008 signed out', `${method} ${JSON.stringify(body)}`)
    t.equal((await gateway.call('GET', '/api/me', undefined, token)).status, 401)
    const late = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws?ticket=${ticket}`)
    late.on('error', () => {})
    t.equal((await once(late, 'unexpected-response'))[1].statusCode, 401)
    late.terminate()
  }
  adminSocket.say({ type: 'dance' })
  await until('the administrator is still heard', () => adminSocket.got.some(({ error }) => error === 'bad_message'))
})

t.test('users change their own password with the present one, and continue with a new token', async (t) => {
  const gateway = shared
  await gateway.call('POST', '/api/users', { username: 'ann', password, role: 'admin' })
  t.teardown(() => gateway.call('DELETE', '/api/users/ann'))
  const token = (await signIn(gateway, 'ann')).token
  const elsewhere = (await signIn(gateway, 'ann')).token
  const change = (current: string) => gateway.call('POST', '/api/me/password', { current, password: other }, token)
  t.match(await change('wrong'), { status: 403, body: { error: 'wrong_password' } })
  t.match(await gateway.call('PATCH', '/api/users/ann', { password: other }, token), {
    body: { error: 'own_password' },
  })
  const { status, body } = await change(password)
  t.equal(status, 200)
  for (const dead of [token, elsewhere]) t.equal((await gateway.call('GET', '/api/me', undefined, dead)).status, 401)
  t.equal((await gateway.call('GET', '/api/me', undefined, body.token)).status, 200)
  t.equal((await signIn(gateway, 'ann')).status, 401)
  t.equal((await signIn(gateway, 'ann', other)).status, 200)
  const guess = async () => {
    const beganMs = performance.now()
    const wish = { current: 'guess', password: other }
    const { status } = await gateway.call('POST', '/api/me/password', wish, body.token)
    return { status, tookMs: performance.now() - beganMs }
  }
  for (let times = 0; times < 5; times++) t.equal((await guess()).status, 403)
  const sixth = await guess()
  t.equal(sixth.status, 403)
  t.ok(sixth.tookMs >= 500, 'guesses of the present password are slowed down like a sign-in')
})

t.test('administrators who remove each other at the same time leave one', async (t) => {
  const gateway = await startGateway(t)
  await gateway.setUp()
  const names = ['bob', 'eve', 'max']
  for (const username of names) await gateway.call('POST', '/api/users', { username, password, role: 'admin' })
  const tokens = await Promise.all(names.map(async (name) => (await signIn(gateway, name)).token))
  const everybody = ['admin', ...names]
  const attacks = tokens.flatMap((token) =>
    everybody.flatMap((name) => [
      gateway.call('DELETE', `/api/users/${name}`, undefined, token),
      gateway.call('PATCH', `/api/users/${name}`, { role: 'viewer' }, token),
    ]),
  )
  const statuses = new Set((await Promise.all(attacks)).map(({ status }) => status))
  for (const status of statuses) t.ok([200, 204, 401, 403, 404, 409].includes(status), String(status))
  const { users } = JSON.parse(readFileSync(join(gateway.stateFolder, 'users.json'), 'utf8'))
  t.equal(users.filter(({ role }: { role: string }) => role === 'admin').length, 1)
})

t.test('a key for one port sees and reaches only that port, by its exact name', async (t) => {
  const gateway = shared
  const [mine, theirs] = [openPty(), openPty()]
  t.teardown(() => Promise.all([mine.close(), theirs.close()]))
  for (const { path } of [mine, theirs]) await gateway.openPort(t, path, { protocol: 'raw' })
  const made = await gateway.call('POST', '/api/keys', { name: 'pump', role: 'admin', ports: [mine.path] })
  t.match(made, { status: 201, body: { name: 'pump', key: /^plk_[0-9a-f]{16}_[\w-]{43}$/, state: 'live' } })
  const { id, key } = made.body
  t.teardown(() => gateway.call('DELETE', `/api/keys/${id}`))
  const as = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, key)
  t.match(await as('GET', '/api/me'), { body: { username: 'key:pump', isKey: true, ports: [mine.path] } })

  t.same(
    (await as('GET', '/api/ports')).body.map(({ path }: { path: string }) => path),
    [mine.path],
  )
  t.equal((await as('POST', gateway.portPath(mine.path, '/rest/tx'), { hex: '01' })).status, 200)
  const name = theirs.path.split('/').at(-1)
  const spellings = [
    theirs.path,
    `${mine.path}/../${name}`,
    `/dev//pts/${name}`,
    `/dev/./pts/${name}`,
    `${theirs.path}/`,
  ]
  const encoded = spellings.map((path) => encodeURIComponent(path))
  for (const path of [
    ...encoded,
    encodeURIComponent(encodeURIComponent(mine.path)),
    encodeURIComponent(`${mine.path}\0`),
  ])
    t.match(await as('GET', `/api/ports/${path}`), { status: 403, body: { error: 'not_your_port' } }, path)
  t.equal((await as('GET', `/api/ports/${theirs.path}`)).status, 404, 'slashes that are not encoded')

  const metrics = (await as('GET', '/metrics')).body as string
  t.match(metrics, `port="${mine.path}"`)
  t.notMatch(metrics, `port="${theirs.path}"`)
  t.notMatch(metrics, /http_request|process_/)

  const { got, say } = await socketOf(t, gateway, key)
  say({ type: 'subscribe', port: theirs.path, replay: 10 })
  await until('it is refused', () => got.some(({ error }) => error === 'not_your_port'))
  say({ type: 'subscribe' })
  for (const { path } of [theirs, mine]) await gateway.call('POST', gateway.portPath(path, '/rest/tx'), { hex: '02' })
  await until('its own port is heard', () => got.some(({ port }) => port === mine.path))
  t.notOk(got.some(({ port }) => port === theirs.path))
})

t.test('a removed key and its sockets end at once', async (t) => {
  const gateway = shared
  const { body } = await gateway.call('POST', '/api/keys', { name: 'pump', role: 'viewer' })
  const { closed } = await socketOf(t, gateway, body.key)
  t.equal((await gateway.call('DELETE', `/api/keys/${body.id}`)).status, 204)
  t.equal(await closed, '1008 signed out')
  t.match(await gateway.call('GET', '/api/me', undefined, body.key), { status: 401, body: { error: 'unauthorized' } })
})

t.test('bad requests for keys are answered with all faults at once', async (t) => {
  const gateway = shared
  const wish = { name: 'x', role: 'viewer' }
  const { status, body } = await gateway.call('POST', '/api/keys', {
    ...wish,
    ports: ['/dev/pts/1', '/dev/sda', '/dev/pts/../sda'],
    expiresAt: 1000,
  })
  t.equal(status, 400)
  t.same(
    body.fields.map(({ field }: { field: string }) => field),
    ['ports[1]', 'ports[2]', 'expiresAt'],
  )
  const bad = [{ ports: [] }, { ports: 'all' }, { ports: new Array(65).fill('/dev/pts/1') }, { expiresAt: 1e300 }]
  for (const facts of [...bad, { role: 'root' }, { name: '' }, { ports: ['/dev/pts/1', '/dev/pts/1'] }])
    t.equal((await gateway.call('POST', '/api/keys', { ...wish, ...facts })).status, 400, JSON.stringify(facts))
})

t.test(
  'A.authentication.2 a restart ends tokens and keeps keys and users; no key is stored in plain text',
  async (t) => {
    const first = shared
    const { stateFolder } = first
    const token = first.token()
    await first.call('POST', '/api/users', { username: 'bob', password, role: 'admin' })
    const { body } = await first.call(
      'POST',
      '/api/keys',
      { name: 'pump', role: 'admin' },
      (await signIn(first, 'bob')).token,
    )
    await first.call('DELETE', '/api/users/bob')
    await first.call('GET', '/api/me', undefined, body.key)
    await first.call('GET', '/api/users', undefined, body.key)
    await first.call('GET', `/api/me?ticket=${body.key}`, undefined, null)
    await first.stop()
    const second = await startGateway(t, { stateFolder, sets })
    t.equal((await second.call('GET', '/api/me', undefined, token)).status, 401)
    t.match(await second.call('GET', '/api/me', undefined, body.key), { body: { username: 'key:pump', role: 'admin' } })
    const admin = (await signIn(second, 'admin')).token
    const [kept] = (await second.call('GET', '/api/keys', undefined, admin)).body
    t.match(kept, { name: 'pump', createdBy: 'bob', state: 'live' })
    t.ok(kept.lastUsedAt >= kept.createdAt, 'the last use survives the restart')
    await second.stop()

    const secret = body.key.slice(21)
    const files = readdirSync(stateFolder).filter((name) => statSync(join(stateFolder, name)).isFile())
    t.ok(files.includes('keys.json') && files.includes('journal.jsonl'))
    for (const name of files) t.notOk(readFileSync(join(stateFolder, name), 'utf8').includes(secret), name)
    t.notOk((first.output() + second.output()).includes(secret), 'the log')
    t.equal(statSync(join(stateFolder, 'keys.json')).mode & 0o777, 0o600)
  },
)
