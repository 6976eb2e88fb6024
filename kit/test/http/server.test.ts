/** Tests of http/server.ts: what every route gets on its own. */
import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'
import t from 'tap'
import { Type } from 'typebox'
import { createLog, silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Reply, type Route, route } from '../../http/route.ts'
import { echo, open, serve } from './server-here.ts'

const port = encodeURIComponent('/dev/ttyUSB0')

function get(path: string, handle: Route['handle'], who: Route['who'] = 'anyone'): Route {
  return { method: 'GET', path, who, summary: 'Test', handle }
}

t.test('answers a good request with JSON, decoded parameters and defaults', async (t) => {
  const { ask } = await serve(t)
  const reply = await ask(`/api/ports/${port}/echo?limit=5`, { method: 'POST', as: 'admin', json: { unitId: 1 } })
  t.equal(reply.status, 200)
  t.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(reply.headers.get('cache-control'), 'no-store')
  t.equal(reply.headers.get('x-content-type-options'), 'nosniff')
  t.equal(reply.headers.get('access-control-allow-origin'), null)
  t.same(await reply.json(), {
    body: { unitId: 1, on: true },
    params: { path: '/dev/ttyUSB0' },
    query: { limit: 5 },
    caller: { name: 'admin-name', role: 'admin' },
  })
})

t.test('sends a header as often as a reply has it, as needed for two cookies', async (t) => {
  const cookies = ['a=1; Path=/', 'b=2; Path=/; HttpOnly']
  const { ask } = await serve(t, { routes: [get('/api/two', () => new Reply(200, {}, { 'set-cookie': cookies }))] })
  t.same((await ask('/api/two')).headers.getSetCookie(), cookies)
})

t.test('accepts path parameters of 4096 characters, and refuses longer ones with a sentence', async (t) => {
  const { ask } = await serve(t)
  const long = `/dev/${'x'.repeat(4091)}`
  const init = { method: 'POST', as: 'admin', json: { unitId: 1 } }
  const reply = await ask(`/api/ports/${encodeURIComponent(long)}/echo`, init)
  t.same([reply.status, (await reply.json()).params.path], [200, long])
  const slashes = '/'.repeat(4096)
  t.equal((await ask(`/api/ports/${encodeURIComponent(slashes)}/echo`, init)).status, 200)
  const refused = await ask(`/api/ports/${'x'.repeat(4097)}/echo`, init)
  t.same([refused.status, (await refused.json()).error], [414, 'url_too_long'])
})

t.test('refuses a broken percent-encoding in the path with 400', async (t) => {
  const { ask } = await serve(t)
  for (const bad of ['%', '%zz', '%E0%A4', '%ff'])
    await ask(`/api/ports/${bad}/echo`, { method: 'POST', as: 'admin', json: {} }).then(async (reply) =>
      t.same([reply.status, (await reply.json()).error], [400, 'bad_url'], bad),
    )
})

t.test('a POST whose fields are all optional needs no body, a change does', async (t) => {
  const free = Type.Object(
    { limit: Type.Integer({ default: 7 }), note: Type.Optional(Type.String()) },
    { additionalProperties: false },
  )
  const back: Route['handle'] = ({ body }) => body
  const routes: Route[] = (['POST', 'PATCH'] as const).map((method) => {
    return { method, path: '/api/free', who: 'anyone', summary: 'Test', body: free, handle: back }
  })
  const { ask } = await serve(t, { routes: [...routes, echo] })
  t.same(await (await ask('/api/free', { method: 'POST' })).json(), { limit: 7 })
  for (const init of [{ method: 'POST', json: null }, { method: 'POST', json: [] }, { method: 'PATCH' }])
    t.equal((await ask('/api/free', init)).status, 400)
  const reply = await ask(`/api/ports/${port}/echo`, { method: 'POST', as: 'admin' })
  t.match((await reply.json()).fields, [{ message: 'is missing, expected an object' }], 'one field of it is required')
  const { paths } = await (await ask('/api/openapi.json', { as: 'admin' })).json()
  const isNeeded = (method: string) => paths['/api/free'][method].requestBody.required
  t.same([isNeeded('post'), isNeeded('patch')], [false, true])
})

t.test('names every fault of parameters, query and body at once', async (t) => {
  const { ask } = await serve(t)
  const reply = await ask(`/api/ports/${port}/echo?limit=0&limt=1`, {
    method: 'POST',
    as: 'admin',
    json: { unitid: '1' },
  })
  const { error, fields } = await reply.json()
  t.equal(reply.status, 400)
  t.equal(error, 'bad_fields')
  t.same(
    fields.map(({ field }: { field: string }) => field),
    ['?limt', '?limit', 'unitId', 'unitid'],
  )
  t.match(fields[3].message, /nearest known name is `unitId`/)
})

t.test(
  'a read without query parameters ignores a query; a change, or a read with some, refuses unknown ones',
  async (t) => {
    const back: Route['handle'] = ({ query }) => ({ query })
    const ofItsOwn = Type.Object({ limit: Type.Optional(Type.Integer()) }, { additionalProperties: false })
    const routes: Route[] = [
      { method: 'GET', path: '/api/plain', who: 'anyone', summary: 'Test', handle: back },
      { method: 'GET', path: '/api/list', who: 'anyone', summary: 'Test', query: ofItsOwn, handle: back },
      { method: 'DELETE', path: '/api/plain', who: 'anyone', summary: 'Test', handle: back },
    ]
    const { ask } = await serve(t, { routes })
    for (const query of ['?_=1700000000000', '?x', '?a=1&a=2', '?__proto__=1', '?%ff'])
      for (const method of ['GET', 'HEAD']) t.equal((await ask(`/api/plain${query}`, { method })).status, 200, query)
    const refused = [
      ['GET', '/api/list?limt=5', '?limt'],
      ['DELETE', '/api/plain?dry_run=1', '?dry_run'],
    ] as const
    for (const [method, path, field] of refused) {
      const reply = await ask(path, { method })
      t.equal(reply.status, 400, path)
      t.same(
        (await reply.json()).fields.map((fault: { field: string }) => fault.field),
        [field],
      )
    }
  },
)

t.test('does not turn text into numbers in a JSON body', async (t) => {
  const { ask } = await serve(t)
  const reply = await ask(`/api/ports/${port}/echo`, { method: 'POST', as: 'admin', json: { unitId: '1' } })
  t.equal(reply.status, 400)
  t.match(await reply.json(), {
    fields: [{ field: 'unitId', message: 'is text "1", expected a whole number from 0 to 247' }],
  })
})

t.test('answers 401 without or with bad credentials, before the body is read', async (t) => {
  const { ask } = await serve(t)
  for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic YTpi' }] as HeadersInit[]) {
    const reply = await ask(`/api/ports/${port}/echo`, { method: 'POST', headers, body: 'not json' })
    t.same([reply.status, reply.headers.get('www-authenticate')], [401, 'Bearer'])
    t.equal((await reply.json()).error, 'unauthorized')
  }
})

t.test('answers 403 to a viewer if an administrator is required', async (t) => {
  const { ask } = await serve(t)
  const reply = await ask(`/api/ports/${port}/echo`, { method: 'POST', as: 'viewer', json: { unitId: 1 } })
  t.same([reply.status, (await reply.json()).error], [403, 'forbidden'])
})

t.test('answers 405 with Allow for a method that a known path does not have', async (t) => {
  const { ask } = await serve(t, { routes: [echo, get('/api/thing', () => ({}))] })
  const reply = await ask('/api/thing', { method: 'DELETE', body: 'x' })
  t.same([reply.status, reply.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
  t.equal((await reply.json()).error, 'method_not_allowed')
  t.equal((await ask(`/api/ports/${port}/echo`)).headers.get('allow'), 'POST, OPTIONS')
})

t.test('answers OPTIONS with Allow, and HEAD like GET without a body', async (t) => {
  const { ask } = await serve(t, { routes: [get('/api/thing', () => ({ a: 1 }))] })
  const options = await ask('/api/thing', { method: 'OPTIONS' })
  t.same([options.status, options.headers.get('allow')], [204, 'GET, HEAD, OPTIONS'])
  t.equal(options.headers.get('access-control-allow-methods'), null)
  const head = await ask('/api/thing', { method: 'HEAD' })
  t.same([head.status, head.headers.get('content-length'), await head.text()], [200, '7', ''])
})

t.test('answers 404 for unknown paths whatever the body, and 501 for unknown methods', async (t) => {
  const { ask } = await serve(t)
  const reply = await ask('/api/nothing', { method: 'POST', body: 'not json' })
  t.same([reply.status, (await reply.json()).error], [404, 'not_found'])
  t.equal((await ask('/api/ports/x/echo', { method: 'PROPFIND' })).status, 501)
})

t.test('answers bodies that are not JSON of the expected kind with a sentence', async (t) => {
  const { ask } = await serve(t, { routes: [open(Type.Object({ a: Type.Integer() }))] })
  const send = async (type: string | undefined, body: string | Uint8Array<ArrayBuffer>) => {
    const headers: HeadersInit = type === undefined ? {} : { 'content-type': type }
    const reply = await ask('/api/open', { method: 'POST', headers, body: new Blob([body]) })
    return [reply.status, (await reply.json()).error]
  }
  t.same(await send('application/json', '{"a":1'), [400, 'bad_json'])
  t.same(await send('application/json', '{"a":1,"a":2}'), [400, 'bad_json'])
  t.same(await send('application/json', '{"__proto__":{"x":1}}'), [400, 'bad_json'])
  t.same(await send('application/json', new Uint8Array([0x22, 0xff, 0x22])), [400, 'bad_json'])
  t.same(await send('application/json', `${'['.repeat(30_000)}${']'.repeat(30_000)}`), [400, 'bad_json'])
  t.same(await send('application/json', ''), [400, 'bad_fields'])
  t.same(await send('text/plain', '{"a":1}'), [415, 'unsupported_media_type'])
  t.same(await send(undefined, '{"a":1}'), [415, 'unsupported_media_type'])
  t.same(await send('application/json', `"${'x'.repeat(70_000)}"`), [413, 'body_too_large'])
})

t.test('a route without a body schema accepts no body or an empty one, and refuses fields by name', async (t) => {
  const plain: Route = { method: 'POST', path: '/api/open', who: 'anyone', summary: 'Test', handle: () => undefined }
  const { ask } = await serve(t, { routes: [plain] })
  t.equal((await ask('/api/open', { method: 'POST' })).status, 204)
  t.equal((await ask('/api/open', { method: 'POST', headers: { 'content-type': 'application/json' } })).status, 204)
  t.equal((await ask('/api/open', { method: 'POST', json: {} })).status, 204)
  t.match(await (await ask('/api/open', { method: 'POST', json: { a: 1 } })).json(), { fields: [{ field: 'a' }] })
})

t.test('answers a Fault by the table of the daemon, with its details and Retry-After', async (t) => {
  const handle = () => {
    throw new Fault('queue_full', 'the queue holds 64 requests', { details: { retryAfterMs: 1200, error: 'never' } })
  }
  const { ask } = await serve(t, { routes: [get('/api/thing', handle)], faultStatus: { queue_full: 429 } })
  const reply = await ask('/api/thing')
  t.same([reply.status, reply.headers.get('retry-after')], [429, '2'])
  t.same(await reply.json(), { error: 'queue_full', message: 'the queue holds 64 requests', retryAfterMs: 1200 })
})

t.test('reveals nothing of an unexpected error but the number of its line in the log', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = { ...silentLog, error: (event: string, facts?: object) => void lines.push({ event, ...facts }) }
  const faults: unknown[] = [new Error('secret inside'), new Fault('no_such_code', 'secret inside'), 'text']
  const handle = () => {
    throw faults.shift()
  }
  const { ask } = await serve(t, { log, routes: [get('/api/thing', handle)] })
  for (let i = 0; i < 3; i++) {
    const reply = await ask('/api/thing?')
    const body = await reply.json()
    t.same([reply.status, body.error], [500, 'internal'])
    t.notMatch(JSON.stringify(body), /secret/)
    t.match(lines[i], { event: 'internal_error', id: body.id, path: '/api/thing' })
    t.ok(lines[i]?.error instanceof Error)
  }
})

t.test('answers a result that is not JSON as an internal error', async (t) => {
  const { ask } = await serve(t, { routes: [get('/api/thing', () => ({ n: 1n }))] })
  t.equal((await ask('/api/thing')).status, 500)
})

t.test('sends nothing, bytes and streams as the handler says', async (t) => {
  const routes = [
    get('/a', () => undefined),
    get('/b', () => new Reply(200, Buffer.from('abc'), { 'content-type': 'text/plain' })),
    get('/c', () => new Reply(200, Readable.from(['d', 'e']), { 'content-type': 'text/plain' })),
  ]
  const { ask } = await serve(t, { routes })
  t.equal((await ask('/a')).status, 204)
  t.equal(await (await ask('/b')).text(), 'abc')
  t.equal(await (await ask('/c')).text(), 'de')
})

t.test('aborts the signal of a handler whose client has left', async (t) => {
  const seen = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const handle: Route['handle'] = ({ signal }) => {
    signal.addEventListener('abort', () => gone.resolve())
    seen.resolve()
    return gone.promise
  }
  const { ask } = await serve(t, { routes: [get('/api/thing', handle)] })
  const leaving = new AbortController()
  const left = t.rejects(ask('/api/thing', { signal: leaving.signal }))
  await seen.promise
  leaving.abort()
  await gone.promise
  await left
})

t.test('makes a signal only for a handler that asks for it', async (t) => {
  let has: TypedPropertyDescriptor<unknown> | undefined
  const handle: Route['handle'] = (ask) => {
    has = Object.getOwnPropertyDescriptor(ask, 'signal')
    return {}
  }
  const { ask } = await serve(t, { routes: [get('/api/thing', handle)] })
  await ask('/api/thing')
  t.type(has?.get, 'function')
})

t.test('accepts only the hosts allowed, addresses and localhost', async (t) => {
  const { ask } = await serve(t, { routes: [get('/a', () => ({}))], http: { hosts: ['plant.example'] } })
  t.equal((await ask('/a')).status, 200)
  const { request } = await import('node:http')
  const { port } = new URL((await ask('/a')).url)
  const statusFor = (host: string) =>
    new Promise((resolve) => {
      request({ port, path: '/a', headers: { host } }, (reply) => resolve(reply.resume().statusCode)).end()
    })
  t.equal(await statusFor('plant.example:3132'), 200)
  t.equal(await statusFor('evil.example'), 403)
})

t.test('protects its description and its measurements like any read', async (t) => {
  const { ask } = await serve(t)
  t.equal((await ask('/api/openapi.json')).status, 401)
  t.equal((await ask('/metrics')).status, 401)
  const metrics = await ask('/metrics', { as: 'viewer' })
  t.match(metrics.headers.get('content-type'), 'text/plain')
  t.match(
    await metrics.text(),
    /plantroom_http_request_duration_seconds_count\{.*route="\/metrics".*status="4xx".*\} 1/,
  )
  const description = await (await ask('/api/openapi.json', { as: 'viewer' })).json()
  t.equal(description.openapi, '3.1.1')
  t.ok(description.paths['/api/ports/{path}/echo'].post.requestBody)
})

t.test('logs where others can reach it if it listens on every address, IPv6 too', async (t) => {
  const outer = Object.values(networkInterfaces()).flatMap((infos = []) => infos.filter(({ internal }) => !internal))
  for (const [listen, families] of [
    ['0.0.0.0:0', ['IPv4']],
    ['[::]:0', ['IPv4', 'IPv6']],
    ['127.0.0.1:0', []],
  ] as const) {
    const lines: string[] = []
    const log = createLog({ level: 'notice', journal: true, stream: { write: (line) => lines.push(line) } })
    const { port } = await serve(t, { log, http: { listen } })
    const wanted = outer
      .filter(({ family, address }) => (families as readonly string[]).includes(family) && !address.startsWith('fe80:'))
      .map(({ family, address }) => `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`)
    const said = / at=(\S+)/.exec(lines.join(''))?.[1]
    t.equal(said?.replaceAll('"', ''), wanted.length > 0 ? wanted.join(',') : undefined, listen)
  }
})

t.test('says where it listens, and that a taken address cannot be used', async (t) => {
  const { server, port } = await serve(t)
  t.same(server.address(), { host: '127.0.0.1', port, url: `http://127.0.0.1:${port}` })
  await t.rejects(serve(t, { http: { listen: `127.0.0.1:${port}` } }), { code: 'listen_failed', message: /EADDRINUSE/ })
  const message =
    /cannot listen on 192\.0\.2\.1:\d+: this machine has no such address; set http\.listen .*EADDRNOTAVAIL/
  await t.rejects(serve(t, { http: { listen: `192.0.2.1:${port}` } }), { code: 'listen_failed', message })
})

t.test('reports the addresses and the caller of each answer, also of refused requests', async (t) => {
  const contacts: unknown[] = []
  const { ask } = await serve(t, { onAnswered: (contact) => contacts.push(contact) })
  await ask('/api/ports/x/echo', { method: 'POST', as: 'admin', json: { unitId: 1 } })
  await ask('/api/ports/x/echo', { method: 'POST' })
  t.same(contacts, Array(2).fill({ from: '127.0.0.1', at: '127.0.0.1', agent: 'node' }))
})

t.test('a token in the address is looked at on the routes that take it, and on no other', async (t) => {
  const routes = ['/api/film', '/api/list'].map((path) =>
    route({
      method: 'GET',
      path,
      who: 'user',
      summary: 'Test',
      token: path === '/api/film',
      handle: (ask) => ask.query,
    }),
  )
  const asked: (string | undefined)[] = []
  const { ask } = await serve(t, {
    routes,
    identify({ method, queryToken }) {
      asked.push(method)
      return queryToken === 'right' ? { name: 'anna', role: 'viewer' } : undefined
    },
  })
  const film = await ask('/api/film?token=right&at=1')
  t.same([film.status, await film.json()], [200, { at: '1' }], 'the handler does not get to see it')
  t.equal((await ask('/api/film?token=wrong')).status, 401)
  t.equal((await ask('/api/film?token=right&token=right')).status, 401)
  t.equal((await ask('/api/film?Token=right')).status, 401)
  t.equal((await ask('/api/list?token=right')).status, 401)
  t.same([...new Set(asked)], ['GET'])
})
