/** Access to the real board by programs: the password, the forms, the names it accepts, the journal. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { guessAt } from '#kit/test/guessing.ts'
import { until } from '#kit/test/until.ts'
import { faultsOf, type RunningBoard, startBoard } from './running-board.ts'

const PASSWORD = 'correct horse: battery \u00fc'

const sets = ['mdns.enabled=false', 'machine.restart_after_ms=20']
const start = (t: Test, more: string[] = []) => startBoard(t, { sets: [...sets, ...more] })

/** A board for tests that remove the password they set; wrong passwords of one test do not slow the next. */
const board = await startBoard(t, {
  sets: [...sets, 'http.login_free_tries=1000', 'http.hosts=["lobby.plant.example"]'],
})
const openAgain = (t: Test, password: string) => {
  t.teardown(() => board.post('/api/password', { password: '' }, password))
}

/** A request of which every header is given, as raw bytes; its status and body. */
async function say(board: RunningBoard, head: string, body = ''): Promise<{ status: number; body: string }> {
  const bare = connect({ port: Number(new URL(board.url).port), host: '127.0.0.1', allowHalfOpen: true })
  bare.write(`${head}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const reply = await text(bare).finally(() => bare.destroy())
  return { status: Number(reply.split(' ')[1]), body: reply.split('\r\n\r\n').slice(1).join('') }
}

/** How a WebSocket ends that is opened with these: its close code, or the status that refuses it. */
function socketOf(board: RunningBoard, path: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(board.url.replace('http', 'ws') + path, { headers })
  const opened = Promise.withResolvers<number>()
  const closed = Promise.withResolvers<number>()
  socket.on('error', () => {})
  socket.on('open', () => opened.resolve(101)).on('close', (code) => closed.resolve(code))
  socket.on('unexpected-response', (asked, reply) => {
    asked.destroy()
    opened.resolve(reply.statusCode ?? 0)
  })
  return { opened: opened.promise, closed: closed.promise, end: () => socket.terminate() }
}

t.test('B.auth.1 before a password is set, none is required; then everything needs it', async (t) => {
  for (const path of ['/', '/api/status', '/api/config', '/metrics', '/api/journal', '/api/openapi.json'])
    t.equal((await board.get(path)).status, 200, path)
  const instance = (await fetch(`${board.url}/api/status`)).headers.get('plantroom-instance')
  t.match(instance, /^board-[0-9a-f]{10}\._plantroom\._tcp\.local$/, 'its name, even if it is not announced here')
  t.match((await board.get('/api/auth')).body, { username: 'admin', password: null, authorization: null })
  openAgain(t, PASSWORD)
  const set = await board.post('/api/password', { password: PASSWORD })
  t.strictSame([set.status, set.body], [200, { password_set: true }])

  const paths = [
    '/',
    '/matrix',
    '/none',
    '/api/status',
    '/api/config',
    '/metrics',
    '/api/journal',
    '/api/auth',
    '/api/none',
  ]
  for (const path of paths) {
    const { status, headers, body } = await board.get(path)
    t.equal(status, 401, path)
    t.match(headers.get('www-authenticate'), /^Basic realm="[^"]+", charset="UTF-8"$/, path)
    t.equal(body.error, 'unauthorized', path)
    t.equal((await board.get(path, 'wrong')).status, 401, `${path}, wrong`)
  }
  for (const path of ['/api/config', '/api/reboot', '/api/password', '/api/ota', '/api/identify'])
    t.equal((await board.post(path)).status, 401, path)
  for (const path of ['/', '/api/status', '/api/config', '/metrics'])
    t.equal((await board.get(path, PASSWORD)).status, 200)
  t.equal((await board.get('/api/status', PASSWORD)).body.password_set, true)
})

t.test('B.endpoints the stream and both scripts need no password', async (t) => {
  openAgain(t, PASSWORD)
  await board.post('/api/password', { password: PASSWORD })
  for (const path of ['/usbip.sh', '/usbip.ps1']) {
    const { status, body } = await board.get(path)
    t.same([status, body.error], [409, 'other_role'], path)
  }
})

t.test('B.auth.1 malformed credentials are 401 like wrong ones', async (t) => {
  openAgain(t, 'x')
  await board.post('/api/password', { password: 'x' })
  const coded = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64')
  const wrong = [
    'Basic',
    'Basic !',
    'Basic eA',
    `Basic ${coded('admin')}`,
    `Basic ${coded('admin:\xff')}`,
    'Bearer x',
    'x',
  ]
  for (const authorization of [...wrong, `Basic ${coded('Admin:x')}`, `Basic ${coded(':x')}`])
    t.equal((await fetch(`${board.url}/api/status`, { headers: { authorization } })).status, 401, authorization)
})

t.test('B.endpoints the password survives a restart, can be changed, and is removed by an empty one', async (t) => {
  await board.post('/api/password', { password: 'one' })
  t.equal((await board.post('/api/reboot', {}, 'one')).status, 202)
  await until('it listens again', () => (board.output().match(/ listening url=/g) ?? []).length === 2)
  t.equal((await board.get('/api/status')).status, 401)
  t.equal((await board.post('/api/password', { password: 'two' }, 'one')).status, 200)
  t.equal((await board.get('/api/status', 'one')).status, 401)
  t.equal((await board.post('/api/password', { password: '' }, 'two')).body.password_set, false)
  t.equal((await board.get('/api/status')).status, 200)
  const file = readFileSync(join(board.stateFolder, 'users.json'), 'utf8')
  t.same(JSON.parse(file).users, [])
})

t.test('a password that no header can hold is refused, and a missing one is not an empty one', async (t) => {
  const forms: Record<string, string>[] = [
    { password: 'a\nb' },
    { password: 'x'.repeat(257) },
    {},
    { password: 'x', pasword: 'y' },
  ]
  for (const form of forms) {
    const { status, body } = await board.post('/api/password', form)
    t.equal(status, 400)
    t.equal(body.error, 'bad_fields')
    t.notMatch(JSON.stringify(body), /a\\nb|xxx/)
  }
  t.equal((await board.get('/api/status')).body.password_set, false)
})

t.test('a new password ends sockets and tickets of the old one at once', async (t) => {
  const before = socketOf(board, '/ws')
  t.equal(await before.opened, 101)
  const { body: early } = await board.post('/api/ticket')
  await board.post('/api/password', { password: PASSWORD })
  t.equal(await before.closed, 1008)
  t.equal(await socketOf(board, `/ws?ticket=${early.ticket}`).opened, 401, 'a ticket from before')
  t.equal(await socketOf(board, '/ws').opened, 401)
  const { body } = await board.post('/api/ticket', {}, PASSWORD)
  t.match(body, { ticket: /^[\w-]{43}$/, life_ms: Number })
  const after = socketOf(board, `/ws?ticket=${body.ticket}`)
  t.equal(await after.opened, 101)
  t.equal(await socketOf(board, `/ws?ticket=${body.ticket}`).opened, 401, 'a ticket is good once')
  await board.post('/api/password', { password: '' }, PASSWORD)
  t.equal(await after.closed, 1008)
})

t.test('from the tenth wrong password the answer takes longer, and the right one none', async (t) => {
  const guarded = ['http.max_connections=400', 'http.login_wait_max_ms=2000']
  const board = await start(t, guarded)
  await board.post('/api/password', { password: 'right' })
  const took = async (password: string) => {
    const beganMs = performance.now()
    const { status } = await board.get('/api/status', password)
    return { status, ms: performance.now() - beganMs }
  }
  for (let wrong = 0; wrong < 9; wrong++) await took(`wrong ${wrong}`)
  const tenth = await took('wrong')
  t.equal(tenth.status, 401)
  t.ok(tenth.ms >= 250, `${tenth.ms} ms`)
  for (let wrong = 0; wrong < 4; wrong++) t.equal((await took(`more ${wrong}`)).status, 401)
  t.equal((await took('right')).status, 200)

  const shown = (password: string) => ({
    method: 'GET',
    path: '/api/identify',
    headers: { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` },
  })
  // 405: it is a POST, and a caller without access is not told.
  const way = { url: board.url, password: 'right', shown, isIn: (status: number) => status === 405 }
  await guessAt(t, way, async () => {
    await board.stop()
    const { stateFolder } = board
    return (await startBoard(t, { stateFolder, sets: [...sets, ...guarded] })).url
  })
})

t.test('GET /api/auth returns the credentials of this request, and is never cached', async (t) => {
  openAgain(t, PASSWORD)
  await board.post('/api/password', { password: PASSWORD })
  const { headers, body } = await board.get('/api/auth', PASSWORD)
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  t.strictSame(body, { username: 'admin', password: PASSWORD, authorization })
  t.match(headers.get('cache-control'), /no-store/)
  t.match(headers.get('vary'), /origin/)
  const signed = { authorization }
  for (const foreign of [{ origin: 'http://evil.example' }, { origin: 'null' }, { referer: 'http://evil.example/' }])
    t.equal((await fetch(`${board.url}/api/auth`, { headers: { ...signed, ...foreign } as never })).status, 403)
})

t.test('B.endpoints all faults of a form are reported at once, another type is 415, too much is 413', async (t) => {
  const { status, body } = await board.post('/api/identify', { on: 'perhaps', off: '1' })
  t.equal(status, 400)
  t.same(Object.keys(faultsOf(body)).sort(), ['off', 'on'])
  const send = (type: string, sent: string) =>
    fetch(`${board.url}/api/identify`, { method: 'POST', headers: { 'content-type': type }, body: sent })
  t.equal((await send('application/json', '{"on": true}')).status, 415)
  t.equal((await send('text/plain', 'on=1')).status, 415)
  t.equal((await send('application/x-www-form-urlencoded', `on=${'1'.repeat(65_536)}`)).status, 413)
  t.equal((await send('application/x-www-form-urlencoded', 'on=1&on=1')).status, 400)
})

t.test('a request names its host once, and no foreign name is answered', async (t) => {
  const { port } = new URL(board.url)
  const status = async (...head: string[]) => (await say(board, head.join('\r\n'))).status
  for (const host of [
    '127.0.0.1',
    `127.0.0.1:${port}`,
    '[::1]',
    'localhost',
    'LOBBY.plant.example:8080',
    'lobby.plant.example.',
  ])
    t.equal(await status('GET /api/status HTTP/1.1', `Host: ${host}`), 200, host)
  for (const host of ['evil.example', '127.0.0.1.evil.example', 'evil.example@127.0.0.1', 'localhost.evil.example', ''])
    t.equal(await status('GET /api/status HTTP/1.1', `Host: ${host}`), 403, host)
  t.equal(await status('GET /api/status HTTP/1.1', 'Host: localhost', 'Host: evil.example'), 400)
  t.equal(await status('GET http://evil.example/api/status HTTP/1.1', 'Host: localhost'), 403)
  t.equal(await status('GET /api/status HTTP/1.1'), 400, 'no Host at all')
  t.equal(await status('GET /api/status HTTP/1.0'), 403, 'nor in HTTP/1.0')
  const forwarded = ['X-Forwarded-Host: localhost', 'Forwarded: host=localhost']
  t.equal(await status('GET /api/status HTTP/1.1', 'Host: evil.example', ...forwarded), 403)
  for (const sign of ['Via: 1.1 x', 'X-Real-IP: 10.0.0.7', 'cf-connecting-ip: 203.0.113.9'])
    t.equal(await status('GET /api/status HTTP/1.1', 'Host: localhost', sign), 401, `no password yet, and ${sign}`)
})

t.test('B.auth.2 curl works from anywhere', { skip: !existsSync('/usr/bin/curl') && 'curl is missing' }, async (t) => {
  const curl = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('/usr/bin/curl', [
      '-sS',
      '-w',
      ' %{http_code}',
      '--max-time',
      '10',
      ...args,
    ])
    return stdout
  }
  t.equal(await curl('-d', 'password=pass word', `${board.url}/api/password`), '{"password_set":true} 200')
  t.match(await curl('-d', 'on=1', `${board.url}/api/identify`), / 401$/)
  t.match(await curl('-u', 'admin:pass word', '-d', 'on=1', `${board.url}/api/identify`), /"identify_until":\d+} 200$/)
  t.match(await curl('-u', 'admin:pass word', '-X', 'POST', `${board.url}/api/identify`), / 200$/)
  t.match(
    await curl('-u', 'admin:pass word', '--data-urlencode', 'password=', `${board.url}/api/password`),
    /false} 200$/,
  )
})

t.test('the journal says who set the password, who signed in, and who was turned away', async (t) => {
  const board = await start(t)
  await board.post('/api/password', { password: PASSWORD })
  for (let wrong = 0; wrong < 3; wrong++) await board.get('/api/status', 'wrong')
  await board.post('/api/password', { password: '' }, PASSWORD)
  const { body } = await board.get('/api/journal')
  const whats = body.map(({ who, what, kind }: { who: string; what: string; kind?: string }) => [who, what, kind])
  t.same(whats.reverse(), [
    ['anyone', 'password set', undefined],
    ['nobody', 'sign-in refused', 'refusal'],
    ['admin', 'signed in', 'sign-in'],
    ['admin', 'password removed', undefined],
  ])
  t.notMatch(JSON.stringify(body), /correct horse/)
  t.notMatch(board.output(), /correct horse|wrong/)
})
