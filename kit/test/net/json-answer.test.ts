/** Tests of net/json-answer.ts. */
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, t } from 'tap'
import { readJsonAnswer } from '../../net/json-answer.ts'

async function answered(t: Test, answer: (response: ServerResponse) => void): Promise<IncomingMessage> {
  const server = createServer((_, response) => answer(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const request = get({ port: (server.address() as AddressInfo).port, agent: false })
  request.on('error', () => {})
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

t.test('reads an answer, as JSON or as none', async (t) => {
  const json = await answered(t, (response) => void response.writeHead(201).end('{"a": 1}'))
  t.same(await readJsonAnswer(json, 8), { status: 201, body: { a: 1 } })
  const page = await answered(t, (response) => void response.end('<html>'))
  t.same(await readJsonAnswer(page, 8), { status: 200, body: undefined })
})

t.test('an answer that never ends is ended beyond the bound', async (t) => {
  const closed = Promise.withResolvers<void>()
  const endless = await answered(t, (response) => {
    const more = () => {
      while (response.write(Buffer.alloc(65_536, ' ')));
    }
    response.on('drain', more).on('close', () => closed.resolve())
    more()
  })
  t.same(await readJsonAnswer(endless, 100_000), { status: 200, body: undefined })
  await closed.promise
})
