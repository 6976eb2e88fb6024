/** Tests of http/kit-routes.ts. */
import t from 'tap'
import { Type } from 'typebox'
import { jsonDialect } from '../../http/dialect.ts'
import { openApiOf } from '../../http/kit-routes.ts'
import { echo } from './server-here.ts'

const routes = [
  echo,
  {
    method: 'GET' as const,
    path: '/api/file/:name',
    who: 'user' as const,
    summary: 'A file',
    ticket: true,
    replyType: 'application/pcap',
    handle: () => ({}),
  },
  {
    method: 'GET' as const,
    path: '/api/status',
    who: 'anyone' as const,
    summary: 'How it is',
    reply: Type.Object({ ok: Type.Boolean() }),
    handle: () => ({}),
  },
  {
    method: 'GET' as const,
    path: '/ui/me',
    who: 'anyone' as const,
    page: { cookie: 'svc', who: 'admin' as const, check() {} },
    summary: 'Who is signed in',
    refusal: Type.Object({ error: Type.String() }),
    handle: () => ({}),
  },
]
// biome-ignore lint/suspicious/noExplicitAny: a document that is read in many places
const description: any = JSON.parse(JSON.stringify(openApiOf({ title: 'T', version: '1', routes })))

t.test('describes parameters, body and replies from the schemas that check them', async (t) => {
  const operation = description.paths['/api/ports/{path}/echo'].post
  t.match(operation.parameters, [
    { name: 'path', in: 'path', required: true, schema: { type: 'string', maxLength: 4096 } },
    { name: 'limit', in: 'query', required: false, schema: { type: 'integer', default: 10 } },
  ])
  t.match(operation.requestBody.content['application/json'].schema.properties.unitId, { minimum: 0, maximum: 247 })
  const statuses = ['200', '400', '401', '403', '404', '408', '413', '415', '500', '503', '507', '4XX', '5XX']
  t.same(Object.keys(operation.responses), statuses)
  const status = description.paths['/api/status'].get
  t.ok(status.responses['200'].content['application/json'].schema.properties.ok)
})

t.test('a field of a body that has a default is optional, at every depth', async (t) => {
  const body = Type.Object({
    name: Type.String(),
    on: Type.Boolean({ default: true }),
    list: Type.Array(Type.Object({ a: Type.Integer({ default: 0 }), b: Type.Integer() })),
  })
  const { paths } = JSON.parse(JSON.stringify(openApiOf({ title: 'T', version: '1', routes: [{ ...echo, body }] })))
  const { schema } = paths['/api/ports/{path}/echo'].post.requestBody.content['application/json']
  t.same([schema.required, schema.properties.list.items.required], [['name', 'list'], ['b']])
  t.equal(schema.properties.on.default, true)
})

t.test('input that a handler reads itself is described instead of the checked schema', async (t) => {
  const reads = { body: Type.Object({ own: Type.String() }), query: Type.Object({ more: Type.String() }) }
  const { paths } = JSON.parse(JSON.stringify(openApiOf({ title: 'T', version: '1', routes: [{ ...echo, reads }] })))
  const operation = paths['/api/ports/{path}/echo'].post
  t.same(Object.keys(operation.requestBody.content['application/json'].schema.properties), ['own'])
  t.same(
    operation.parameters.map(({ name }: { name: string }) => name),
    ['path', 'more'],
  )
  const none = openApiOf({ title: 'T', version: '1', routes: [{ ...echo, reads: {} }] })
  t.notMatch(JSON.stringify(none), 'requestBody')
})

t.test('says which changes can name the revision they were made from', async (t) => {
  const guarded = JSON.parse(
    JSON.stringify(openApiOf({ title: 'T', version: '1', routes: [{ ...echo, takesIfMatch: true }] })),
  )
  const operation = guarded.paths['/api/ports/{path}/echo'].post
  t.match(operation.parameters.at(-1), { name: 'If-Match', in: 'header', required: false })
  t.match(operation.responses['412'].description, /changed by somebody else/)
})

t.test('says which roles are allowed', async (t) => {
  t.same(description.paths['/api/ports/{path}/echo'].post.security, [{ token: [] }])
  t.same(description.paths['/api/file/{name}'].get.security, [{ token: [] }, { ticket: [] }])
  t.equal(description.paths['/api/status'].get.security, undefined)
  const own = description.paths['/ui/me'].get
  t.match(own, { security: [{ page: [] }], description: 'For administrators.' })
  t.same(description.components.securitySchemes.page, { type: 'apiKey', in: 'cookie', name: 'svc' })
  t.same(Object.keys(own.responses['401'].content['application/json'].schema.properties), ['error'])
})

t.test('names a parameter without a schema, and a reply that is not JSON', async (t) => {
  const { parameters, responses } = description.paths['/api/file/{name}'].get
  t.same(parameters, [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }])
  t.ok(responses['200'].content['application/pcap'])
})

t.test('gives every operation its own id', async (t) => {
  const ids = Object.values<Record<string, { operationId: string }>>(description.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  )
  t.same(ids, ['post_api_ports_path_echo', 'get_api_file_name', 'get_api_status', 'get_ui_me'])
})

t.test('describes each way to send credentials, where it is taken', async (t) => {
  const cookie = { type: 'apiKey', in: 'cookie', name: 'svc' }
  const dialect = { ...jsonDialect, moreSchemes: { cookie } }
  const play = { ...echo, token: true }
  // biome-ignore lint/suspicious/noExplicitAny: a document that is read in many places
  const told: any = JSON.parse(JSON.stringify(openApiOf({ title: 'T', version: '1', routes: [play], dialect })))
  t.same(told.paths['/api/ports/{path}/echo'].post.security, [{ token: [] }, { cookie: [] }, { query: [] }])
  t.match(told.components.securitySchemes, { cookie, query: { type: 'apiKey', in: 'query', name: 'token' } })
  t.notOk('ticket' in told.components.securitySchemes, 'no route takes one')
})
