/** Every method on every path of the built controller, other spellings of paths, and bodies of every kind. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type RawAnswer, type RawCall, rawCall, recordsOf } from './raw-call.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'] as const
type Method = (typeof METHODS)[number]

/** The answers of an endpoint without a token and a body; methods that are not listed are 405. */
type Row = [path: string, allow: string, answers: Partial<Record<Method, number>>]
const READ = 'GET, HEAD'
const WRITES = { POST: 501, PUT: 501, PATCH: 501, DELETE: 501 }

/** @source document 1, Endpoints; POST /api/control/:action; GET /api/data/:entity */
const endpoints: Row[] = [
  ['/api/token', 'POST', { POST: 200 }],
  ['/api/logout', 'POST', { POST: 200 }],
  ['/api/me', READ, { GET: 401, HEAD: 401 }],
  ['/api/session_handoff', 'POST', { POST: 401 }],
  ['/api/health', READ, { GET: 200, HEAD: 200 }],
  ['/api/version', READ, { GET: 200, HEAD: 200 }],
  ['/api/control/command', 'POST', { POST: 401 }],
  ['/api/control/macro', 'POST', { POST: 401 }],
  ['/api/control/dance', 'POST', { POST: 400 }],
  ['/api/data/zone', READ, { GET: 401, HEAD: 401, ...WRITES }],
  ['/api/data/no_such_table', READ, { GET: 401, HEAD: 401, ...WRITES }],
]

/** Other spellings of an existing path. */
const good = ['/api/health?', '/api/health?x=1', '/api/h%65alth', '/api/%68ealth']

/** Paths that do not exist. */
const bad = [
  ...['/api', '/api/', '/api?x=1', '/api//', '/api/nothing', '/api/__proto__', '/api/constructor', '/api/%'],
  ...['/api/Health', '/api/HEALTH', '/api/health/', '/api/health//', '/api//health', '/api/health/x', '/api/health.'],
  ...['/api/health%2F', '/api/health%00', '/api/health%20', '/api/./health', '/api/x/../health', '/api/health%ff'],
  ...['/api/token/', '/api/me/', '/api/logout/', '/api/session_handoff/', '/api/version/'],
  ...['/api/data', '/api/data/', '/api/data//', '/api/data//zone', '/api/data/zone/', '/api/data/zone/1'],
  ...['/api/control', '/api/control/', '/api/control//command', '/api/control/command/', '/api/control/command/x'],
  ...['/api/Sync', '/api/syncs', '/api/sync.'],
]

/** The channel between paired controllers, which does not exist yet. */
const sync = ['/api/sync', '/api/sync/', '/api/sync/x', '/api/sync?x=1']

/** Paths that are neither under /api nor a page. */
const beside = ['/API/health', '/Api/token', '//api/health', '/apihealth', '/api;health', '/%61pi/health', '/x/../api']

/** Not JSON, or not accepted as JSON. @source document 1, Errors; Audit denial reasons */
const malformed: [title: string, body: RawCall['body'], headers?: RawCall['headers']][] = [
  ['half of an object', '{"username": "olga"'],
  ['a form', 'username=olga&password=x'],
  ['blanks alone', ' \r\n'],
  ['a comma too many', '{"username": "olga",}'],
  ['two objects', '{}{}'],
  ['single quotes', "{'username': 'olga'}"],
  ['a comment', '{} // x'],
  ['NaN', '{"zone_id": NaN}'],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['NUL behind it', '{}\0'],
  ['a name twice', '{"zone_id": 1, "zone_id": 2}'],
  ['a name twice, one escaped', '{"zone_id": 1, "zone\\u005fid": 2}'],
  ['__proto__', '{"__proto__": {"isElevated": true}}'],
  ['100,000 lists in lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['100,000 objects in objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
  ['262,144 brackets', '['.repeat(262_144)],
  ['gzip', gzipSync('{}'), { 'content-encoding': 'gzip' }],
  ['plain text that says it is gzip', '{}', { 'content-encoding': 'gzip' }],
  ['262,145 bytes', `"${'x'.repeat(262_143)}"`],
  ['262,145 bytes in chunks', ['"', 'x'.repeat(131_072), 'x'.repeat(131_071), '"']],
]
const MALFORMED = { error: 'malformed_body', message: 'malformed body' }

/** For these a caller without a session gets 401: they are not read. @source docs/decisions/http-server.md */
const isLong = (body: RawCall['body']) => Array.isArray(body) || (body ?? '').length > 4096
const nobody = (path: string) => ({ error: path === '/api/session_handoff' ? 'unauthorized' : 'invalid_session' })
const POSTS = ['/api/token', '/api/session_handoff', '/api/control/command', '/api/control/macro']

/** Content types; all are read as JSON. */
const types = [undefined, 'application/json; charset=utf-16', 'text/plain', 'application/x-www-form-urlencoded', '//;;']

t.test('1 Endpoints', async (t) => {
  const site = await openRestSite(t, { sets: ['people.free_tries=1000'] })
  const [ada, olga, quinn] = [await site.tokenOf('ada'), await site.tokenOf('olga'), await site.tokenOf('quinn')]
  const told: [answer: RawAnswer, record: Record<string, unknown>][] = []
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  for (const [path, allow, answers] of endpoints)
    await t.test(`1 Endpoints: ${path} by every method`, async (t) => {
      for (const method of METHODS) {
        const status = answers[method] ?? 405
        const answer = await rawCall(site, method, path)
        t.equal(answer.status, status, `${method} ${path}`)
        t.equal(answer.headers.allow, status === 405 ? allow : undefined, `${method} ${path}`)
        if (method === 'HEAD') t.equal(answer.text, '')
        else if (status === 405) t.match(answer.body, { error: 'method not allowed' })
        if (status === 501) t.match(answer.body, { error: 'not implemented' })
        t.match(answer.headers, { 'content-type': /^application\/json/, 'cache-control': 'no-store' })
        told.push([answer, { method, path, status, ...(REASONS[status] && { reason: REASONS[status] }) }])
      }
    })

  await t.test('1 Endpoints: paths are compared literally, each part decoded on its own', async (t) => {
    for (const path of [...good, ...bad]) {
      const status = good.includes(path) ? 200 : 404
      const answer = await rawCall(site, 'GET', path)
      t.equal(answer.status, status, path)
      if (status === 404) t.match(answer.body, { error: 'not found' }, path)
      told.push([answer, { status, path: path.split('?')[0], granted: status === 200, reason: null }])
    }
    for (const path of beside) t.equal((await rawCall(site, 'GET', path)).status, 404, path)
    for (const path of sync)
      for (const method of ['GET', 'POST', 'DELETE']) t.equal((await rawCall(site, method, path)).status, 501, path)
    for (const path of ['/api/nothing', '/api/data'])
      for (const method of ['POST', 'DELETE', 'HEAD']) t.equal((await rawCall(site, method, path)).status, 404, path)
    const headers = bearer(olga)
    t.equal((await rawCall(site, 'GET', '/api/data/z%6Fne?_limit=1', { headers })).status, 200)
    t.equal((await rawCall(site, 'GET', '/api/data/zone%2F1', { headers })).status, 403)
    const body = '{"zone_id": 1, "command": "on"}'
    t.equal((await rawCall(site, 'POST', '/api/control/comm%61nd', { headers, body })).status, 200)
    for (const action of ['Command', 'MACRO', 'command%20', 'command%2F', '%00', '__proto__', 'command;', '%'])
      t.match(await rawCall(site, 'POST', `/api/control/${action}`, { headers, body }), {
        status: 400,
        body: { error: 'invalid action' },
      })
  })

  for (const path of POSTS)
    await t.test(
      `1 Errors: ${path} accepts no malformed body, and refuses a short one before the token is checked`,
      async (t) => {
        for (const [title, body, headers = {}] of malformed) {
          const unread = path !== '/api/token' && isLong(body)
          const stranger = await rawCall(site, 'POST', path, { body, headers })
          const status = unread ? 401 : 400
          t.match(stranger, { status, body: unread ? nobody(path) : MALFORMED }, `${title}, without a token`)
          const reason = unread ? nobody(path).error : 'malformed_body'
          told.push([stranger, { path, status, reason, granted: false, user_id: null }])
          const known = await rawCall(site, 'POST', path, { body, headers: { ...headers, ...bearer(olga) } })
          t.match(known, { status: 400, body: MALFORMED }, `${title}, with a token`)
          told.push([known, { path, status: 400, reason: 'malformed_body', granted: false, username: 'olga' }])
        }
      },
    )

  await t.test('1 Errors: the order of what is wrong: method, action, body, token, role', async (t) => {
    const body = '{'
    t.equal((await rawCall(site, 'PUT', '/api/control/dance', { body })).status, 405)
    t.equal((await rawCall(site, 'POST', '/api/control/dance', { body })).status, 400)
    t.match((await rawCall(site, 'POST', '/api/control/dance', { body })).body, { error: 'invalid action' })
    t.equal((await rawCall(site, 'PUT', '/api/data/zone', { body: 'x'.repeat(300_000) })).status, 501)
    const headers = bearer(quinn)
    t.equal((await rawCall(site, 'POST', '/api/control/command', { body, headers })).status, 400)
    for (const json of ['null', '[]', '5', '{}', '{"zone_id": 99}', '{"macro_id": 99}', '{"macro_id": 1, "args": 5}'])
      for (const action of ['command', 'macro'])
        t.match(
          await rawCall(site, 'POST', `/api/control/${action}`, { body: json, headers }),
          { status: 403, body: { error: 'unauthorized' } },
          `${action} ${json}`,
        )
  })

  await t.test('1 Errors: JSON that is not an object is read, and has no fields', async (t) => {
    for (const body of ['null', '5', '"x"', 'true', '[]', '[{"macro_id": 1}]']) {
      const signIn = await rawCall(site, 'POST', '/api/token', { body })
      t.match(signIn, { status: 200, body: { error: 'missing_credential', message: 'missing credential' } }, body)
      told.push([signIn, { reason: 'missing_credential', status: 200, granted: false }])
      const headers = bearer(ada)
      for (const action of ['command', 'macro']) {
        const answer = await rawCall(site, 'POST', `/api/control/${action}`, { body, headers })
        t.match(answer, { status: 400, body: { error: 'malformed body' } }, `${action} ${body}`)
        told.push([answer, { reason: 'bad_command', status: 400, username: 'ada' }])
      }
      t.match(await rawCall(site, 'POST', '/api/session_handoff', { body, headers }), {
        status: 200,
        body: { nonce: String, expires_in: 60 },
      })
    }
    const out = await rawCall(site, 'POST', '/api/logout', { body: '{', headers: bearer(await site.tokenOf('nora')) })
    t.match(out, { status: 200, body: { success: true } })
    told.push([out, { status: 200, granted: true, username: 'nora' }])
    const long = await rawCall(site, 'POST', '/api/logout', { body: 'x'.repeat(300_000) })
    t.strictSame([long.status, long.body], [200, { success: true }])
  })

  await t.test('1 Endpoints: bodies are JSON, whatever their content type, in one piece or in chunks', async (t) => {
    const body = JSON.stringify({ username: 'olga', password: PASSWORD })
    const good = { status: 200, body: { token: String } }
    for (const type of types) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      t.match(await rawCall(site, 'POST', '/api/token', { body, headers }), good, String(type))
    }
    t.match(await rawCall(site, 'POST', '/api/token', { body: [...body] }), good, 'in chunks of one byte')
    t.match(await rawCall(site, 'POST', '/api/token', { body: `\ufeff ${body}\n` }), good, 'with a byte order mark')
    t.match(await rawCall(site, 'POST', '/api/token', { body, headers: { 'content-encoding': 'identity' } }), good)
    const pad = `${body}${' '.repeat(262_144 - body.length)}`
    t.match(await rawCall(site, 'POST', '/api/token', { body: [pad.slice(0, 9), pad.slice(9)] }), good, '262,144 bytes')
    for (const none of [undefined, '', []])
      t.match((await rawCall(site, 'POST', '/api/token', { body: none })).body, { error: 'missing_credential' })
  })

  await t.test('1 Audit record: each of these has its record', async (t) => {
    const records = await recordsOf(
      site,
      told.map(([answer]) => answer),
      ada,
    )
    for (const [answer, expected] of told) {
      const record = records.get(answer.from)
      t.match(record, { request_type: 'rest_api', status: answer.status, ...expected }, JSON.stringify(expected))
      t.ok(Number.isInteger(record?.elapsed_ms) && Number(record?.elapsed_ms) >= 0)
    }
  })
})

/** Reasons that follow from the status alone. */
const REASONS: Record<number, string> = { 405: 'method_not_allowed', 501: 'not_implemented', 400: 'invalid_action' }
