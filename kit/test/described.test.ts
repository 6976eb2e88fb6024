/** Tests of described.ts, over what was built of the gateway. */
import t from 'tap'
import { misfitOf } from './described.ts'

const json = 'application/json; charset=utf-8'
const status = { product: 'P', name: 'n', version: '1', uptimeMs: 5, adminConfigured: true }
const asked = { method: 'GET', path: '/api/status', status: 200, type: json, body: status as unknown }

t.test('an answer that fits is none to speak of, nor a page, nor a refusal in the common form', async (t) => {
  t.equal(misfitOf('gateway', asked), undefined)
  t.equal(misfitOf('gateway', { ...asked, path: '/', type: 'text/html', body: '<html>' }), undefined)
  const refused = { error: 'unauthorized', message: 'no' }
  t.equal(misfitOf('gateway', { ...asked, path: '/api/ports/%2Fdev%2FttyS0', status: 401, body: refused }), undefined)
  t.equal(misfitOf('gateway', { ...asked, path: '/api/nothing', status: 404, body: refused }), undefined)
})

t.test('a field too many, one that is missing, another type or status are told', async (t) => {
  t.match(misfitOf('gateway', { ...asked, body: { ...status, more: 1 } }), /additional properties/)
  t.match(misfitOf('gateway', { ...asked, body: { ...status, uptimeMs: 'x' } }), /uptimeMs must be number/)
  t.match(misfitOf('gateway', { ...asked, body: {} }), /required property 'product'/)
  t.match(misfitOf('gateway', { ...asked, status: 201 }), /GET \/api\/status 201: this status is not described/)
  t.match(misfitOf('gateway', { ...asked, type: 'text/plain' }), /type text\/plain is not described/)
  t.match(misfitOf('gateway', { ...asked, status: 500, body: { oops: 1 } }), /required property 'error'/)
  t.match(misfitOf('gateway', { ...asked, path: '/api/secret' }), /no operation is described for GET \/api\/secret/)
})
