/** A target of webhooks on loopback, which keeps what is delivered. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** What was delivered. */
export interface Delivery {
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A target on loopback. `answer` decides its response; without one it accepts everything. */
export async function targetOf(
  t: Test,
  answer: (response: ServerResponse, count: number) => void = (r) => r.writeHead(204).end(),
) {
  const got: Delivery[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      got.push({ headers: request.headers, body: Buffer.concat(parts) })
      answer(response, got.length)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in` }
}
