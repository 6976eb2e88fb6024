import t from 'tap'
import type { Caller } from '#kit/http/route.ts'
import type { JournalNote } from '#kit/records/journal.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { webhookRoutes } from '../../api/webhook-routes.ts'
import { bookWith } from '../core/webhooks/webhook-fixtures.ts'

const here = '/api/ports/%2Fdev%2FttyUSB0/webhooks'
const faultStatus = { unknown_port: 404, unknown_webhook: 404, too_many_webhooks: 409, webhook_test_busy: 409 }

/** The routes behind the real server; targets are not real. */
async function serveWebhooks(t: Parameters<typeof serve>[0], changes: Parameters<typeof bookWith>[0] = {}) {
  const journal: JournalNote[] = []
  const { book, sender } = bookWith(changes)
  const routes = webhookRoutes({ book, journal: { record: (note) => void journal.push(note) } })
  const { ask } = await serve(t, { routes, faultStatus })
  const asAdmin = async (method: string, path: string, json?: unknown) => {
    const reply = await ask(path, { method, as: 'admin', json })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { ask, asAdmin, sender, journal }
}

const untouched = {
  counters: { delivered: 0, failed: 0, dropped: 0, retried: 0, queued: 0 },
  lastError: null,
  lastDeliveredAt: null,
  pausedUntil: null,
}

t.test('A.webhooks.endpoints a webhook is created, listed, changed, tested and deleted', async (t) => {
  const { asAdmin, sender } = await serveWebhooks(t)
  t.same(await asAdmin('GET', here), { status: 200, body: [] })
  const created = { id: 'id1', url: 'http://h/', events: [], headers: {}, enabled: true, hasSecret: true, ...untouched }
  t.same(await asAdmin('POST', here, { url: 'http://h/', secret: 's' }), { status: 201, body: created })
  const change = { enabled: false, events: ['frame'], headers: { Authorization: 'Basic eA==' } }
  const changed = { ...created, ...change }
  t.same(await asAdmin('PUT', `${here}/id1`, change), { status: 200, body: changed })
  t.same(await asAdmin('GET', here), { status: 200, body: [changed] })
  t.match(await asAdmin('POST', `${here}/id1/test`), {
    status: 200,
    body: { delivered: true, status: 200, message: 'answered 200', tookMs: 0 },
  })
  t.match(sender.requests, [{ url: 'http://h/', port: '/dev/ttyUSB0', event: 'test' }])
  t.same(await asAdmin('DELETE', `${here}/id1`), { status: 204, body: undefined })
  t.same(await asAdmin('GET', here), { status: 200, body: [] })
})

t.test('A.authentication.3 every webhook route, listing too, is for administrators', async (t) => {
  const { ask } = await serveWebhooks(t)
  const json = { url: 'http://h/' }
  const calls = [
    ['GET', here],
    ['POST', here, json],
    ['PUT', `${here}/id1`, json],
    ['DELETE', `${here}/id1`],
    ['POST', `${here}/id1/test`],
  ] as const
  for (const [method, path, body] of calls) {
    t.equal((await ask(path, { method, json: body })).status, 401, `${method} ${path}`)
    t.equal((await ask(path, { method, json: body, as: 'viewer' })).status, 403, `${method} ${path}`)
  }
})

t.test('says which port or webhook is unknown, and when there are too many webhooks', async (t) => {
  const { asAdmin } = await serveWebhooks(t, { per_port: 1 })
  const body = { url: 'http://h/' }
  const none = '/api/ports/%2Fdev%2Fnone/webhooks'
  t.match(await asAdmin('GET', none), { status: 404, body: { error: 'unknown_port' } })
  t.match(await asAdmin('POST', none, body), { status: 404, body: { error: 'unknown_port' } })
  for (const [method, path] of [
    ['PUT', `${here}/none`],
    ['DELETE', `${here}/none`],
    ['POST', `${here}/none/test`],
  ] as const)
    t.match(await asAdmin(method, path, method === 'PUT' ? {} : undefined), {
      status: 404,
      body: { error: 'unknown_webhook' },
    })
  await asAdmin('POST', here, body)
  t.match(await asAdmin('POST', here, body), { status: 409, body: { error: 'too_many_webhooks' } })
})

t.test('bodies are strict: unknown fields, wrong types and a missing url are named', async (t) => {
  const { asAdmin } = await serveWebhooks(t)
  await asAdmin('POST', here, { url: 'http://h/' })
  const fieldsOf = async (method: string, path: string, json: unknown) => {
    const { status, body } = await asAdmin(method, path, json)
    t.match({ status, body }, { status: 400, body: { error: 'bad_fields' } })
    return body.fields.map(({ field }: { field: string }) => field)
  }
  t.same(await fieldsOf('POST', here, {}), ['url'])
  t.same(await fieldsOf('POST', here, { url: 'http://h/', id: 'x', hasSecret: true }), ['id', 'hasSecret'])
  const wrong = { url: 1, events: 'frame', secret: 5, headers: [], enabled: 'yes' }
  t.same(await fieldsOf('PUT', `${here}/id1`, wrong), ['url', 'events', 'secret', 'headers', 'enabled'])
  t.same(await fieldsOf('PUT', `${here}/id1`, { headers: { A: 1 } }), ['headers.A'])
  t.same(await fieldsOf('PUT', `${here}/id1`, { headers: { 'B\n': 'x' } }), ['headers["B\\n"]'])
  t.same(await fieldsOf('PUT', `${here}/id1`, { headers: { 'B C': 'x' } }), ['headers["B C"]'])
  const meant = { url: 'http://169.254.169.254/', secret: '', headers: { Host: 'x' } }
  t.same(await fieldsOf('PUT', `${here}/id1`, meant), ['url', 'secret', 'headers.Host'])
})

t.test('no answer holds a secret or, in a fault, a header', async (t) => {
  const { asAdmin } = await serveWebhooks(t)
  const replies = [
    await asAdmin('POST', here, { url: 'http://h/', secret: 'hidden1' }),
    await asAdmin('PUT', `${here}/id1`, { secret: 'hidden2' }),
    await asAdmin('GET', here),
    await asAdmin('PUT', `${here}/id1`, { secret: ['hidden3'], headers: { Authorization: ['hidden4'] } }),
    await asAdmin('PUT', `${here}/id1`, { headers: { Authorization: 'hidden5\n' } }),
  ]
  t.notMatch(JSON.stringify(replies), /hidden|"secret":/)
})

t.test('the journal says who did what, and holds no address, header or secret', async (t) => {
  const { asAdmin, journal } = await serveWebhooks(t)
  const body = { url: 'http://hidden/', secret: 'hidden', headers: { Authorization: 'hidden' } }
  await asAdmin('GET', here)
  await asAdmin('POST', here, body)
  await asAdmin('PUT', `${here}/id1`, body)
  await asAdmin('POST', `${here}/id1/test`)
  await asAdmin('DELETE', `${here}/id1`)
  await asAdmin('DELETE', `${here}/id1`)
  const by = { who: 'admin-name', from: '127.0.0.1', target: '/dev/ttyUSB0' }
  t.same(journal, [
    { ...by, what: 'webhook created', detail: { id: 'id1' } },
    { ...by, what: 'webhook changed', detail: { id: 'id1', fields: ['url', 'secret', 'headers'] } },
    { ...by, what: 'webhook tested', detail: { id: 'id1', delivered: true } },
    { ...by, what: 'webhook deleted', detail: { id: 'id1' } },
  ])
})

t.test('a key for single ports cannot see a header that others have set, nor send it elsewhere', async (t) => {
  const { book, sender } = bookWith()
  const routes = webhookRoutes({ book, journal: { record() {} } })
  const key: Caller = { name: 'key:pump', role: 'admin', isKey: true, only: ['/dev/ttyUSB0'] }
  const person: Caller = { name: 'ann', role: 'admin' }
  const call = async (method: string, caller: Caller, body?: unknown, path = '') => {
    const route = routes.find((one) => one.method === method && one.path.endsWith(path))
    return route?.handle({
      body,
      caller,
      params: { path: '/dev/ttyUSB0', id: 'id1' },
      query: {},
      remoteAddress: '',
    } as never)
  }
  const headers = { Authorization: 'Basic eA==' }
  await call('POST', person, { url: 'http://h/', headers, secret: 's' }, 'webhooks')
  t.match(await call('GET', person), [{ headers }])
  t.match(await call('GET', key), [{ headers: { Authorization: '***' } }])
  t.match(await call('PUT', key, { events: ['frame'] }), { events: ['frame'], headers: { Authorization: '***' } })
  for (const more of [{}, { headers: {} }, { secret: null }])
    await t.rejects(call('PUT', key, { url: 'http://elsewhere/', ...more }), { code: 'not_for_keys' })
  t.match(await call('GET', person), [{ url: 'http://h/', headers }], 'nothing was changed')
  t.match(await call('PUT', key, { url: 'http://own/', headers: {}, secret: null }), {
    url: 'http://own/',
    hasSecret: false,
  })
  t.same(sender.requests, [])
})
