/** Tests of described.ts, with the built gateway. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { misfitOf } from './described.ts'

const json = 'application/json; charset=utf-8'
const status = { product: 'P', name: 'n', version: '1', uptimeMs: 5, adminConfigured: true }
const asked = { method: 'GET', path: '/api/status', status: 200, type: json, body: status as unknown }

t.test('an answer that fits is not reported, nor is a page or a refusal in the common form', async (t) => {
  t.equal(misfitOf('gateway', asked), undefined)
  t.equal(misfitOf('gateway', { ...asked, path: '/', type: 'text/html', body: '<html>' }), undefined)
  const refused = { error: 'unauthorized', message: 'no' }
  t.equal(misfitOf('gateway', { ...asked, path: '/api/ports/%2Fdev%2FttyS0', status: 401, body: refused }), undefined)
  t.equal(misfitOf('gateway', { ...asked, path: '/api/nothing', status: 404, body: refused }), undefined)
})

t.test('an extra or missing field, another type or status are reported', async (t) => {
  t.match(misfitOf('gateway', { ...asked, body: { ...status, more: 1 } }), /additional properties/)
  t.match(misfitOf('gateway', { ...asked, body: { ...status, uptimeMs: 'x' } }), /uptimeMs must be number/)
  t.match(misfitOf('gateway', { ...asked, body: {} }), /required property 'product'/)
  t.match(misfitOf('gateway', { ...asked, status: 201 }), /GET \/api\/status 201: this status is not described/)
  t.match(misfitOf('gateway', { ...asked, type: 'text/plain' }), /type text\/plain is not described/)
  t.match(misfitOf('gateway', { ...asked, status: 500, body: { oops: 1 } }), /required property 'error'/)
  t.match(misfitOf('gateway', { ...asked, path: '/api/secret' }), /no operation is described for GET \/api\/secret/)
})

t.test('a body that was accepted must match its description; a refused one need not', async (t) => {
  const login = { method: 'POST', path: '/api/login', status: 200, type: json }
  const body = { token: 't', username: 'ada', role: 'admin', expiresInMs: 1 }
  t.equal(misfitOf('gateway', { ...login, body, sent: { password: 'p' } }), undefined)
  t.match(
    misfitOf('gateway', { ...login, body, sent: { password: 5 } }),
    /^the body of POST \/api\/login: .*password must be string/,
  )
  t.match(misfitOf('gateway', { ...login, body, sent: { password: 'p', pin: 1 } }), /additional properties/)
  const refused = { status: 400, body: { error: 'bad_fields', message: 'no' } }
  t.equal(misfitOf('gateway', { ...login, ...refused, sent: { password: 5 } }), undefined)
  const logout = { method: 'POST', path: '/api/logout', status: 200, type: json, body: {} }
  t.equal(misfitOf('gateway', { ...logout, sent: {} }), undefined)
  t.match(misfitOf('gateway', { ...logout, sent: { all: true } }), /it was granted, and none is described/)
})

t.test('the pages of the controller: their bodies and queries are described by the code that reads them', async (t) => {
  const { operations } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../build/answers/controller.json'), 'utf8'),
  )
  const bodies = operations
    .filter(({ path, requestBody }: { path: string; requestBody?: object }) => path.startsWith('/ui/') && requestBody)
    .map(
      (one: {
        method: string
        path: string
        requestBody: { content: Record<string, { schema: { properties: object } }> }
      }) => [
        `${one.method} ${one.path}`,
        Object.keys(one.requestBody.content['application/json']?.schema.properties ?? {}),
      ],
    )
  const control = ['zone_id', 'zone', 'device_id', 'device', 'command', 'args', 'macro_id', 'macro']
  t.same(Object.fromEntries(bodies), {
    'POST /ui/sign-in': ['username', 'password', 'pin', 'two_factor_token'],
    'POST /ui/setup': ['username', 'password', 'site', 'time_zone'],
    'POST /ui/command': control,
    'POST /ui/macro': control,
    'POST /ui/macro/cancel': ['run_id'],
    'POST /ui/password': ['current', 'password'],
    'PUT /ui/rest': ['enabled'],
    'POST /ui/pending/apply': ['revision'],
    'POST /ui/pending/discard': ['revision'],
    'POST /ui/pending/undo': [],
    'POST /ui/ledger/acknowledge': ['id'],
    'POST /ui/update/look': [],
    'POST /ui/update/apply': [],
    'POST /ui/restart': [],
    'POST /ui/found/root': ['id'],
    'POST /ui/found/adopt': ['id', 'name', 'secret', 'fingerprint'],
    'POST /ui/rows': ['table', 'id', 'values', 'seen'],
    'POST /ui/rows/remove': ['table', 'id'],
    'PUT /ui/favourite': ['zone_id', 'macro_id', 'favourite'],
    'POST /ui/plan/picture': [],
    'PUT /ui/plans': ['id', 'name', 'ui_id', 'picture', 'zones', 'seen'],
    'POST /ui/plans/remove': ['id'],
    'POST /ui/macros/save': ['id', 'values', 'steps', 'seen'],
    'POST /ui/macros/try': ['id', 'values', 'steps', 'seen', 'args', 'waits'],
    'POST /ui/definitions/check': ['text'],
    'POST /ui/definitions/save': ['text', 'revision'],
    'POST /ui/definitions/remove': ['name'],
    'POST /ui/backup': [],
    'POST /ui/backup/file': [],
    'POST /ui/backup/discard': [],
    'POST /ui/backup/restore': ['name'],
    'POST /ui/backup/undo': ['name'],
  })
})
