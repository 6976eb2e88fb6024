/** Tests of calls to the daemon: how they are signed, what is sent, how a refusal is handled. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { CallFault, call, canCall, signCallsWith } from '#kit/web/call.ts'

interface Asked {
  headers: IncomingHttpHeaders
  body: string
}

/** A daemon with one answer; `fetch` of this process finds it under the paths that pages use. */
async function daemon(t: Test, answers: { status: number; body: string }[]): Promise<Asked[]> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      asked.push({ headers: request.headers, body })
      const answer = answers[Math.min(asked.length, answers.length) - 1] ?? { status: 500, body: '' }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const real = globalThis.fetch
  globalThis.fetch = (path, init) => real(base + String(path), init)
  t.teardown(() => {
    globalThis.fetch = real
    server.closeAllConnections()
    server.close()
  })
  return asked
}

t.test('if a page never says how calls are signed, a 401 is a fault', async (t) => {
  const asked = await daemon(t, [{ status: 401, body: '{"error":"unauthorized","message":"A password is set."}' }])
  t.equal(canCall(), true)
  await t.rejects(call('GET /api/status'), { code: 'unauthorized', status: 401, message: 'A password is set.' })
  t.equal(asked.length, 1)
  t.equal(asked[0]?.headers.authorization, undefined)
})

t.test('a form is sent as a form, anything else as JSON', async (t) => {
  const asked = await daemon(t, [{ status: 200, body: '{"saved":true}' }])
  t.same(await call('POST /api/config', new URLSearchParams({ name: 'Lift & gate' })), { saved: true })
  t.match(asked[0]?.headers['content-type'], /^application\/x-www-form-urlencoded/)
  t.equal(asked[0]?.body, 'name=Lift+%26+gate')
  await call('POST /api/other', { name: 'x' })
  t.equal(asked[1]?.headers['content-type'], 'application/json')
  t.equal(asked[1]?.body, '{"name":"x"}')
})

t.test('faults of fields come as a list or as names and sentences', async (t) => {
  const list = '{"error":"bad_request","message":"m","fields":[{"field":"line.baud","message":"must be a number"}]}'
  const object = '{"error":"bad_fields","message":"m","fields":{"mask":"The mask has a gap.","ip":"Four numbers."}}'
  await daemon(t, [
    { status: 400, body: list },
    { status: 400, body: object },
    { status: 400, body: '{"error":"bad_request","message":"m"}' },
  ])
  const fieldsOf = async (): Promise<unknown> =>
    call('POST /api/config').then(
      () => undefined,
      (thrown) => (thrown as CallFault).fields,
    )
  t.same(await fieldsOf(), [{ field: 'line.baud', message: 'must be a number' }])
  t.same(await fieldsOf(), [
    { field: 'mask', message: 'The mask has a gap.' },
    { field: 'ip', message: 'Four numbers.' },
  ])
  t.same(await fieldsOf(), [])
})

t.test('after refused credentials they are asked for again and the call is repeated', async (t) => {
  const asked = await daemon(t, [
    { status: 401, body: '{}' },
    { status: 200, body: '{"fine":true}' },
  ])
  let token = 'old'
  signCallsWith({
    header: () => `Bearer ${token}`,
    isReady: () => token !== '',
    async renewed(used) {
      t.equal(used, 'Bearer old')
      token = 'new'
    },
  })
  t.same(await call('GET /api/ports'), { fine: true })
  t.same(
    asked.map(({ headers }) => headers.authorization),
    ['Bearer old', 'Bearer new'],
  )
})

t.test('a refused sign-in is a fault, without asking again', async (t) => {
  const asked = await daemon(t, [{ status: 401, body: '{"error":"wrong_login","message":"No."}' }])
  await t.rejects(call('POST /api/login', {}, { isSignIn: true }), CallFault)
  t.equal(asked.length, 1)
})
