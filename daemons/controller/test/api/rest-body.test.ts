/** Tests of api/rest-surface.ts: which bodies are accepted, and that no body can do harm. */
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import { until } from '#kit/test/until.ts'
import { type Ask, serveRest, TOKEN } from './rest-here.ts'

const TOKEN_PATH = '/api/token'
const COMMAND = '/api/control/command'

/** JSON of exactly this many bytes. */
function jsonOf(bytes: number): string {
  return `{"zone":"${'x'.repeat(bytes - '{"zone":""}'.length)}"}`
}

t.test(
  '1 Limits: a body of 262,144 bytes is accepted, one of 262,145 is malformed, with and without a length',
  async (t) => {
    const { ask, asked } = await serveRest(t)
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      for (const path of [TOKEN_PATH, COMMAND]) {
        t.equal((await ask({ path, as: TOKEN, headers, body: jsonOf(262_144) })).status, 200)
        for (const size of [262_145, 262_144 * 4]) {
          const got = await ask({ path, as: TOKEN, headers, body: jsonOf(size) })
          t.match([got.status, got.body], [400, { error: 'malformed_body', message: 'malformed body' }])
        }
      }
    t.equal(asked.length, 4)
  },
)

t.test('1 Errors: a body that is not JSON is 400, on /api/token in the envelope', async (t) => {
  const { ask, asked, audit } = await serveRest(t)
  const bad: (string | Buffer)[] = [
    '{',
    '{"a":1',
    'x',
    "{'a':1}",
    '{"a":1}}',
    ' ',
    '{"a":NaN}',
    '{"a":01}',
    'username=ada&password=x',
    '{"a":"\u0000"}',
    '{"a":1,"a":2}',
    '{"__proto__":{"zone_id":1}}',
    Buffer.from([0x7b, 0xff, 0x7d]),
    Buffer.from('{"a":1}', 'utf16le'),
    gzipSync('{"a":1}'),
    '['.repeat(100_000),
    '{"a":'.repeat(40_000),
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  ]
  for (const path of [TOKEN_PATH, COMMAND])
    for (const body of bad) {
      const got = await ask({ path, as: TOKEN, body })
      t.match([got.status, got.body], [400, { error: 'malformed_body', message: 'malformed body' }])
      t.notMatch(got.text, /username=|"ada"/)
    }
  t.same(asked, [])
  t.equal(audit.records.length, 2 * bad.length)
  t.ok(audit.records.every(({ reason, granted }) => reason === 'malformed_body' && !granted))
})

t.test('an empty body counts as one without fields', async (t) => {
  const { ask, asked } = await serveRest(t)
  const json = { 'content-type': 'application/json' }
  for (const more of [
    {},
    { headers: json },
    { headers: { ...json, 'transfer-encoding': 'chunked' } },
  ] as Partial<Ask>[])
    t.equal((await ask({ path: TOKEN_PATH, method: 'POST', body: '', ...more })).status, 200)
  t.same(
    asked.map(([, form]) => form),
    [{}, {}, {}],
  )
})

t.test('the type and charset of a body are ignored, a byte order mark is skipped', async (t) => {
  const { ask, asked } = await serveRest(t)
  const types = [
    'application/json',
    'application/json; charset=latin1',
    'APPLICATION/JSON;charset="utf-16"',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    ';',
    '',
  ]
  for (const type of types)
    t.equal((await ask({ path: TOKEN_PATH, headers: { 'content-type': type }, body: '{"username":"ä"}' })).status, 200)
  t.equal((await ask({ path: TOKEN_PATH, body: '\ufeff{"username":"ä"}' })).status, 200)
  t.same(
    asked,
    Array.from({ length: types.length + 1 }, () => ['signIn', { username: 'ä' }, false]),
  )
})

t.test('a body declared as compressed is malformed, whatever it holds', async (t) => {
  const { ask, asked } = await serveRest(t)
  for (const coding of ['gzip', 'deflate', 'br', 'GZIP', 'gzip, identity', 'x']) {
    const headers = { 'content-encoding': coding }
    t.equal((await ask({ path: TOKEN_PATH, headers, body: gzipSync('{}') })).status, 400, coding)
    t.equal((await ask({ path: TOKEN_PATH, headers, body: '{}' })).status, 400, coding)
  }
  t.same(asked, [])
  t.equal((await ask({ path: TOKEN_PATH, headers: { 'content-encoding': 'Identity' }, body: '{}' })).status, 200)
})

t.test('any JSON value reaches the rules unchanged, also names of prototypes and lone surrogates', async (t) => {
  const { ask, asked } = await serveRest(t)
  const bodies = [
    'null',
    '[]',
    '1',
    '"x"',
    '{"constructor":1,"hasOwnProperty":2,"toString":3}',
    '"\\ud800"',
    '"\\u0000"',
  ]
  for (const body of bodies) t.equal((await ask({ path: COMMAND, as: TOKEN, body })).status, 200, body)
  t.same(
    asked.map(([, body]) => body),
    bodies.map((body) => JSON.parse(body)),
  )
})

t.test('holds for any bytes: 200 or 400, and the next call is answered', async (t) => {
  const { ask } = await serveRest(t)
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
  )
  await holdsLater(
    t,
    fc.asyncProperty(bytes, async (body) => {
      const got = await ask({ path: TOKEN_PATH, body: Buffer.from(body) })
      return got.status === 200 || got.status === 400
    }),
    { numRuns: 60 },
  )
})

/** Sends these bytes; returns what is received until the connection ends or `last` appears. */
function say(port: number, bytes: string, last: string): Promise<string> {
  return new Promise((resolve) => {
    const bare = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let heard = ''
    bare.on('error', () => {})
    bare.setEncoding('latin1').on('data', (data) => {
      heard += data
      if (heard.includes(last)) bare.destroy()
    })
    bare.on('end', () => bare.end())
    bare.on('close', () => resolve(heard))
    bare.write(bytes, 'latin1')
  })
}

t.test('broken HTTP is 400, and nothing of it reaches a rule', async (t) => {
  const { port, asked } = await serveRest(t)
  const head = `POST /api/control/command HTTP/1.1\r\nHost: x\r\nsvc-api-token: ${TOKEN}\r\n`
  const broken = [
    `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\n{}`,
    `${head}Content-Length: 2x\r\n\r\n{}`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
    `${head}Transfer-Encoding: gzip\r\n\r\n{}`,
    `${head}X\x00Y: 1\r\n\r\n`,
    `${head} folded: 1\r\n\r\n`,
    `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    `get /api/me HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /api/me HTTP/1.1\nHost: x\n\n GET`,
    `FOO /api/me HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /api/me HTTP/1.1\r\n\r\n`,
  ]
  for (const bytes of broken) t.match(await say(port, bytes, '}'), /^HTTP\/1\.1 400 /, JSON.stringify(bytes))
  t.same(asked, [])
})

t.test('a body that is shorter than its length, or breaks off, reaches no rule', async (t) => {
  const { port, asked, audit } = await serveRest(t)
  const head = `POST /api/control/command HTTP/1.1\r\nHost: x\r\nsvc-api-token: ${TOKEN}\r\n`
  for (const rest of ['Content-Length: 20\r\n\r\n{}', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n']) {
    const bare = connect({ port, host: '127.0.0.1' })
    await new Promise<void>((resolve) => bare.write(head + rest, () => setTimeout(resolve, 20)))
    await new Promise<void>((resolve) => bare.once('close', () => resolve()).destroy())
  }
  await until('both are recorded', () => audit.records.length >= 2)
  t.same(asked, [])
  t.same(
    audit.records.map(({ status, reason }) => [status, reason]),
    Array(2).fill([400, 'malformed_body']),
  )
})

t.test('two calls sent together on one connection are two calls, answered in order', async (t) => {
  const { port, asked } = await serveRest(t)
  const one = `POST /api/control/command HTTP/1.1\r\nHost: x\r\nsvc-api-token: ${TOKEN}\r\nContent-Length: 7\r\n\r\n`
  const heard = await say(port, `${one}{"a":1}${one.replace('command', 'macro')}{"a":2}`, 'runMacro')
  t.ok(heard.indexOf('"did":"command"') > 0 && heard.indexOf('"did":"command"') < heard.indexOf('"did":"runMacro"'))
  t.same(asked, [
    ['command', { a: 1 }],
    ['runMacro', { a: 2 }],
  ])
})
