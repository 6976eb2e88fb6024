/** Tests of http/dialect.ts: a server that accepts forms and Basic credentials, and shows nothing to strangers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import { formDialect } from '../../http/dialect.ts'
import { route } from '../../http/route.ts'
import { serve } from './server-here.ts'

const settings = route({
  method: 'POST',
  path: '/api/settings',
  who: 'admin',
  summary: 'Test',
  body: Type.Object(
    { port: Type.Integer({ minimum: 1, maximum: 4 }), enabled: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  handle: ({ body }) => ({ body }),
})
const reboot = route({
  method: 'POST',
  path: '/api/reboot',
  who: 'admin',
  summary: 'Test',
  handle: () => ({ is: 'done' }),
})

async function board(t: Parameters<typeof serve>[0]) {
  const folder = mkdtempSync(join(tmpdir(), 'pages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'index.html'), '<title>Board</title>')
  const here = await serve(t, {
    routes: [settings, reboot],
    dialect: formDialect({ user: 'admin', realm: () => 'lobby "1"\u00fc', maxFields: 8 }),
    web: { folder, who: 'admin' },
  })
  const post = (body: string, headers: Record<string, string> = {}, path = '/api/settings') => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return here.ask(path, { method: 'POST', as: 'admin', body, headers: { ...type, ...headers } })
  }
  return { ...here, post }
}

t.test('a form is read by the types of its fields', async (t) => {
  const { post } = await board(t)
  const reply = await post('port=2&enabled=on')
  t.same(await reply.json(), { body: { port: 2, enabled: true } })
  t.equal((await post('port=2', { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' })).status, 200)
})

t.test('faults are listed by name, a sentence each', async (t) => {
  const { post } = await board(t)
  const reply = await post('port=9&port=1&enabled=x&__proto__=1')
  t.equal(reply.status, 400)
  const { error, fields } = await reply.json()
  t.equal(error, 'bad_fields')
  t.same(fields.map(({ field }: { field: string }) => field).sort(), ['__proto__', 'enabled', 'port'])
  for (const { message } of fields) t.match(message, /^\w.*\w/)
  const missing = { field: 'port', message: 'is missing, expected a whole number from 1 to 4' }
  t.same((await (await post('')).json()).fields, [missing])
})

t.test('an empty body is a form without fields', async (t) => {
  const { ask, post } = await board(t)
  t.match(await (await ask('/api/settings', { method: 'POST', as: 'admin' })).json(), {
    fields: [{ field: 'port', message: /missing/ }],
  })
  t.equal((await ask('/api/reboot', { method: 'POST', as: 'admin' })).status, 200)
  t.equal((await post('', {}, '/api/reboot')).status, 200)
  t.match(await (await post('really=1', {}, '/api/reboot')).json(), {
    fields: [{ field: 'really', message: /no field is expected/ }],
  })
})

t.test('a body of another type is refused with the expected one', async (t) => {
  const { post } = await board(t)
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'x']) {
    const reply = await post('port=2', { 'content-type': type })
    t.equal(reply.status, 415, type)
    t.match(await reply.json(), { message: /application\/x-www-form-urlencoded/ }, type)
  }
  const latin = await post('port=2', { 'content-type': 'application/x-www-form-urlencoded; charset=latin1' })
  t.equal(latin.status, 415)
})

t.test('a body that is too long, broken or has too many fields is refused', async (t) => {
  const { post } = await board(t)
  t.equal((await post(`port=2&label=${'x'.repeat(65_536)}`)).status, 413)
  t.match(await (await post('port=%')).json(), { error: 'bad_form', position: 6 })
  t.match(await (await post('a&b&c&d&e&f&g&h&i')).json(), { error: 'bad_form' })
})

t.test('B.auth.1 nothing is shown to a stranger: no page, no method, not even which paths exist', async (t) => {
  const { ask } = await board(t)
  for (const path of ['/', '/none', '/api/none', '/metrics', '/api/openapi.json', '/api/settings'])
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      const reply = await ask(path, { method })
      t.equal(reply.status, 401, `${method} ${path}`)
      t.equal(reply.headers.get('www-authenticate'), 'Basic realm="lobby ?1??", charset="UTF-8"')
    }
  t.match(await (await ask('/')).json(), { error: 'unauthorized', message: /Basic with the user admin/ })
  const page = await ask('/', { as: 'admin' })
  t.same([page.status, await page.text()], [200, '<title>Board</title>'])
  t.equal((await ask('/none', { as: 'admin' })).status, 404)
  t.equal((await ask('/api/settings', { as: 'admin' })).status, 405)
})

t.test('the description describes forms', async (t) => {
  const { ask } = await board(t)
  const { paths, components } = await (await ask('/api/openapi.json', { as: 'admin' })).json()
  t.same(Object.keys(paths['/api/settings'].post.requestBody.content), ['application/x-www-form-urlencoded'])
  t.match(components, {
    securitySchemes: { token: { scheme: 'basic' } },
    schemas: { Error: { properties: { fields: { type: 'array' } } } },
  })
})
