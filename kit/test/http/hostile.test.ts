/** Tests of http/server.ts against requests made at random: every one is answered, none with 500. */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import { anyText } from '../any-text.ts'
import { echo, serve } from './server-here.ts'

/** Without fetch, which would repair the path. */
function send(port: number, ask: { path: string; headers: Record<string, string>; body: string }) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const outgoing = request({ port, method: 'POST', path: ask.path, headers: ask.headers }, (reply) => {
      text(reply).then((body) => resolve({ status: reply.statusCode ?? 0, body }), reject)
    })
    outgoing.on('error', reject)
    outgoing.end(ask.body)
  })
}

const part = fc.oneof(
  fc.constantFrom('%2F', '%', '%zz', '..', '%00', '%ff', ':path', '__proto__', '?', '&', '=', '//'),
  fc.webSegment(),
)
const path = fc.array(part, { maxLength: 6 }).map((parts) => `/api/ports/${parts.join('')}/echo`)
const query = fc.oneof(
  fc.constantFrom('', '?limit=5', '?limit=x', '?limit[]=1', '?__proto__=1', '?a&a&a'),
  fc.webQueryParameters().map((q) => `?${q}`),
)
const body = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.record({ unitId: fc.jsonValue(), on: fc.jsonValue() }, { requiredKeys: [] }).map((value) => JSON.stringify(value)),
  anyText(),
)
const type = fc.constantFrom(
  'application/json',
  'application/json; charset=latin1',
  'text/plain',
  'application/jsonx',
  ';',
  'a/b',
)
const authorization = fc.constantFrom('Bearer admin', 'Bearer viewer', 'Bearer ', 'Basic eDp5', 'x'.repeat(600))

t.test('answers every request with JSON of the one shape, and never with 500', async (t) => {
  const { port } = await serve(t, { routes: [echo] })
  await holdsLater(
    t,
    fc.asyncProperty(fc.record({ path, query, body, type, authorization }), async (made) => {
      const headers = { 'content-type': made.type, authorization: made.authorization }
      const reply = await send(port, { path: made.path + made.query, headers, body: made.body })
      if (reply.status === 200) return
      const { error, message } = JSON.parse(reply.body)
      const isRefusal = reply.status >= 400 && reply.status < 500
      return isRefusal && /^[a-z_]+$/.test(error) && typeof message === 'string' && message.length > 10
    }),
    { numRuns: 300 },
  )
})
