import t from 'tap'
import { parseTarget } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import {
  addWebhook,
  changeWebhook,
  type NewWebhook,
  removeWebhook,
  type WebhookChange,
  wantsEvent,
} from '../../../core/webhooks/records.ts'
import { hook, limitsWith } from './webhook-fixtures.ts'

const rules = {
  limits: limitsWith({ per_port: 2, url_length: 64, events: 2, headers: 2, header_bytes: 256, secret_length: 16 }),
  parseTarget,
}

function fieldsOf(act: () => unknown): string[] {
  try {
    act()
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'bad_fields') throw error
    const fields = error.details?.fields as { field: string }[] | undefined
    return fields?.map(({ field }) => field) ?? []
  }
  return []
}

const add = (body: NewWebhook) => addWebhook([], body, rules, 'new')
const change = (body: WebhookChange) => changeWebhook([hook()], 'a', body, rules)

t.test('A.webhooks.config a new webhook needs only its url', async (t) => {
  t.same(add({ url: 'https://host/path?q=1' }), [
    { id: 'new', url: 'https://host/path?q=1', events: [], secret: null, headers: {}, enabled: true },
  ])
})

t.test('A.webhooks.config a new webhook accepts every field of the document', async (t) => {
  const body = { url: 'http://h/', events: ['frame', 'x'], secret: 's', headers: { A: 'b' }, enabled: false }
  t.same(add(body), [{ id: 'new', ...body }])
})

t.test('A.webhooks.config an update changes what it names and nothing else', async (t) => {
  const before = [
    hook({ secret: 's', events: ['frame'], headers: { A: 'b' } }),
    hook({ id: 'b', url: 'http://other/' }),
  ]
  const after = changeWebhook(before, 'a', { enabled: false }, rules)
  t.same(after, [{ ...before[0], enabled: false }, before[1]])
  t.equal(before[0]?.enabled, true, 'the list before is as it was')
  t.same(changeWebhook(before, 'a', {}, rules), before)
})

t.test('an update without secret keeps it, null removes it, an empty one is refused', async (t) => {
  const list = [hook({ secret: 'kept' })]
  t.equal(changeWebhook(list, 'a', { url: 'http://h/' }, rules)[0]?.secret, 'kept')
  t.equal(changeWebhook(list, 'a', { secret: null }, rules)[0]?.secret, null)
  t.same(
    fieldsOf(() => change({ secret: '' })),
    ['secret'],
  )
  t.same(
    fieldsOf(() => change({ secret: 'x'.repeat(17) })),
    ['secret'],
  )
})

t.test('deletes a webhook by its id, and knows no other id', async (t) => {
  t.same(removeWebhook([hook(), hook({ id: 'b' })], 'a'), [hook({ id: 'b' })])
  t.throws(() => removeWebhook([hook()], 'c'), { code: 'unknown_webhook' })
  t.throws(() => changeWebhook([hook()], 'c', {}, rules), { code: 'unknown_webhook' })
})

t.test('refuses more webhooks than a port may have', async (t) => {
  t.throws(() => addWebhook([hook(), hook({ id: 'b' })], { url: 'http://h/' }, rules, 'c'), {
    code: 'too_many_webhooks',
  })
})

t.test('a webhook with the longest of everything takes no more than its row says', async (t) => {
  const limits = limitsWith()
  const many = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at))
  const each = Math.floor(limits.header_bytes / limits.headers / 2) - 4
  const body = (at: number): NewWebhook => ({
    url: `http://h/${at}`.padEnd(limits.url_length, 'u'),
    secret: `${at}`.padEnd(limits.secret_length, 's'),
    events: many(limits.events, (event) => `${at}-${event}`.padEnd(64, 'e')),
    headers: Object.fromEntries(
      many(limits.headers, (header) => `H${at}-${header}`.padEnd(each, 'h')).map((name) => [name, name]),
    ),
  })
  const bytes = await heapBytesOf(() =>
    Array.from({ length: 128 }, (_, at) =>
      addWebhook([], JSON.parse(JSON.stringify(body(at))), { limits, parseTarget }, `${at}`),
    ),
  )
  const { url_length, header_bytes, secret_length } = limits
  const settings = { 'webhooks.url_length': url_length, 'webhooks.header_bytes': header_bytes }
  const row = rowOf(memoryPlan().rows, 'settings of webhooks', {
    ...settings,
    'webhooks.secret_length': secret_length,
    'webhooks.total': 128,
  })
  t.ok(bytes < row.allBytes, `${bytes / 128} bytes a webhook, of ${row.eachBytes}`)
})

t.test('refuses an address that is malformed, not http, holds credentials, or is not allowed', async (t) => {
  const wrong = [
    '',
    'host/path',
    'ftp://host/',
    'javascript:alert(1)',
    'http://user:pw@host/',
    'http://user@host/',
    ' http://host/',
    'http://ho\nst/',
    'http://host/a b',
    `http://host/${'x'.repeat(64)}`,
    'http://169.254.169.254/latest/meta-data',
    'http://0xA9FEA9FE/',
    'http://2852039166/',
  ]
  for (const url of wrong)
    t.same(
      fieldsOf(() => add({ url })),
      ['url'],
      JSON.stringify(url),
    )
})

t.test('refuses headers that the gateway sets, that frame the message, or that a header cannot carry', async (t) => {
  const wrong: Record<string, string>[] = [
    { 'X-Svc-Port': 'x' },
    { 'x-svc-anything': 'x' },
    { 'content-type': 'text/plain' },
    { HOST: 'x' },
    { Connection: 'close' },
    { 'Keep-Alive': 'x' },
    { 'Content-Length': '1' },
    { 'Transfer-Encoding': 'chunked' },
    { Upgrade: 'h2c' },
    { TE: 'trailers' },
    { Trailer: 'x' },
    { Expect: '100-continue' },
    { 'Proxy-Authorization': 'x' },
    { 'Bad Name': 'x' },
    { 'Bad:Name': 'x' },
    { '': 'x' },
    { 'Bad\r\nName': 'x' },
    { Good: 'a\r\nX-Svc-Port: b' },
    { Good: 'a\n' },
    { Good: 'a\0' },
    { Good: 'ä' },
    { Good: ' x' },
  ]
  for (const headers of wrong)
    t.equal(fieldsOf(() => add({ url: 'http://h/', headers })).length, 1, JSON.stringify(headers))
  t.same(
    fieldsOf(() => add({ url: 'http://h/', headers: { A: '1', a: '2' } })),
    ['headers'],
  )
  t.same(
    fieldsOf(() => add({ url: 'http://h/', headers: { A: '1', B: '2', C: '3' } })),
    ['headers'],
  )
  t.same(
    fieldsOf(() => add({ url: 'http://h/', headers: { A: 'x'.repeat(256) } })),
    ['headers'],
  )
})

t.test('accepts headers such as basic auth as they are', async (t) => {
  const headers = { Authorization: 'Basic dXNlcjpwdw==', 'User-Agent': 'plant, room\t1', Empty: '' }
  t.same(addWebhook([], { url: 'http://h/', headers }, { ...rules, limits: limitsWith() }, 'n')[0]?.headers, headers)
})

t.test('accepts any event name of 1 to 64 characters', async (t) => {
  t.same(
    fieldsOf(() => add({ url: 'http://h/', events: ['no-such-event', 'ü'.repeat(64)] })),
    [],
  )
  t.same(
    fieldsOf(() => add({ url: 'http://h/', events: ['', 'x'.repeat(65)] })),
    ['events[0]', 'events[1]'],
  )
  t.same(
    fieldsOf(() => add({ url: 'http://h/', events: ['a', 'b', 'c'] })),
    ['events'],
  )
})

t.test('names every fault at once and never shows a value', async (t) => {
  const body = { url: 'nothing', secret: '', headers: { Host: 'hidden', Authorization: 'hidden\n' } }
  t.same(
    fieldsOf(() => change(body)),
    ['url', 'secret', 'headers.Host', 'headers.Authorization'],
  )
  try {
    change(body)
  } catch (error) {
    t.notMatch(String(error), /hidden/)
  }
})

t.test('A.webhooks.1 an enabled webhook gets the events its list names, or all if it is empty', async (t) => {
  t.equal(wantsEvent(hook(), 'frame'), true)
  t.equal(wantsEvent(hook({ events: ['frame'] }), 'frame'), true)
  t.equal(wantsEvent(hook({ events: ['frame'] }), 'port'), false)
  t.equal(wantsEvent(hook({ events: ['Frame'] }), 'frame'), false)
  t.equal(wantsEvent(hook({ enabled: false }), 'frame'), false)
})
