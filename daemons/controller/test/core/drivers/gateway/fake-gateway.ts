/** A gateway of a few points that a test moves as it likes, at a loopback port. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'

export const KEY = 'pr_key_of_the_controller'

/** A point as GET .../points lists it. */
export function pointOf(name: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    ...{ name, unitId: 1, fc: 1, address: 0, type: 'bit', wordOrder: 'big', byteOrder: 'big', bit: null, length: null },
    ...{ scale: 1, offset: 0, unit: null, quality: 'good', value: false, fault: null, readAt: 1, ageMs: 0 },
    ...more,
  }
}

/** @param tls its certificate and key: then it speaks HTTPS */
export async function fakeGateway(
  t: Test,
  points: Readonly<Record<string, readonly object[]>>,
  tls?: Pick<ServerOptions, 'key' | 'cert'>,
) {
  const tables = new Map(Object.entries(points))
  const posts: { path: string; body: unknown }[] = []
  const sockets = new Set<WebSocket>()
  const wishes: unknown[] = []
  let asked = 0
  let heads = 0
  let answer: (path: string, body: unknown) => [status: number, body: unknown] = () => [200, { sent: 1 }]
  const server = tls ? createSecureServer(tls) : createServer()
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    heads++
    const path = decodeURIComponent(request.url ?? '')
    if (request.headers.authorization !== `Bearer ${KEY}`) return reply(response, 401, { error: 'unauthorized' })
    if (request.method === 'GET') {
      asked++
      const table = tables.get(path.replace('/api/ports/', '').replace('/points', ''))
      if (path !== '/api/me' && !table) return reply(response, 404, { message: 'This port is not set up.' })
      return reply(response, 200, { points: table })
    }
    const body = JSON.parse(await textOf(request))
    posts.push({ path, body })
    reply(response, ...answer(path, body))
  })
  const feed = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    heads++
    if (request.headers.authorization !== `Bearer ${KEY}`) return socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    feed.handleUpgrade(request, socket, head, (ws) => {
      sockets.add(ws)
      ws.on('close', () => sockets.delete(ws))
      ws.on('error', () => {})
      ws.on('message', (data) => wishes.push(JSON.parse(String(data))))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    for (const ws of sockets) ws.terminate()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  const say = (text: string | Uint8Array) => {
    for (const ws of sockets) ws.send(text)
  }
  return {
    port,
    posts,
    sockets,
    wishes,
    tables,
    stop,
    say,
    asked: () => asked,
    /** Requests of any kind whose head arrived, which has the key. */
    heads: () => heads,
    answers: (answering: typeof answer) => {
      answer = answering
    },
    event: (path: string, payload: object, timestamp = Date.now()) =>
      say(JSON.stringify({ type: 'event', port: path, event: 'value', timestamp, payload })),
  }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
