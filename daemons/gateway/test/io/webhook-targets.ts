/** Real targets for tests of webhooks: servers on loopback that misbehave on request. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { lookupSafely } from '#kit/net/target.ts'
import { freePort } from '#kit/test/free-port.ts'
import type { WebhookRequest } from '../../core/webhooks/records.ts'
import { createWebhookSender, type WebhookSenderParts } from '../../io/webhook-sender.ts'

/** One request as it arrived. */
export interface Received {
  method: string | undefined
  path: string | undefined
  /** Names and values alternating, as sent. */
  rawHeaders: string[]
  headers: http.IncomingHttpHeaders
  body: Buffer
  /** The connection on which it came. */
  socket: Socket
}

/** The part of tap's test that is used here. */
interface Teardown {
  teardown(run: () => void): void
}

type Handler = (received: Received, answer: http.ServerResponse) => void

const answersOk: Handler = (_received, answer) => void answer.end('ok')

/** Starts a target on a free port of loopback. `handler` is called once the whole body has come. */
export async function startTarget(t: Teardown, handler: Handler = answersOk, tls?: https.ServerOptions) {
  const received: Received[] = []
  const onRequest: http.RequestListener = (incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { method, url: path, rawHeaders, headers, socket } = incoming
      const whole = { method, path, rawHeaders, headers, socket, body: Buffer.concat(chunks) }
      received.push(whole)
      handler(whole, answer)
    })
  }
  const server = tls ? https.createServer(tls, onRequest) : http.createServer(onRequest)
  const port = await listen(t, server)
  return { received, port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`, server }
}

/** Starts a target without HTTP: `handler` gets each connection. */
export async function startRawTarget(t: Teardown, handler: (socket: Socket) => void) {
  const port = await listen(t, createServer(handler))
  return { port, url: `http://127.0.0.1:${port}/` }
}

/** An address where nobody listens. */
export async function refusingUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/`
}

async function listen(t: Teardown, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** A sender as the gateway makes it, with these changes; closed with the test. */
export function senderFor(t: Teardown, changes: Partial<WebhookSenderParts> = {}) {
  const sender = createWebhookSender({
    lookup: lookupSafely,
    idleMs: 4000,
    responseBytes: 65_536,
    caFile: '',
    ...changes,
  })
  t.teardown(() => sender.close())
  return sender
}

export function requestTo(url: string, changes: Partial<WebhookRequest> = {}): WebhookRequest {
  const body = new TextEncoder().encode('{"port":"/dev/ttyUSB0","payload":"ä"}')
  return { url, headers: {}, secret: null, port: '/dev/ttyUSB0', event: 'frame', body, isFresh: false, ...changes }
}

/** A signal that never aborts. */
export const never = new AbortController().signal

/** A self-signed certificate for 127.0.0.1 or another name, made with openssl. */
export function selfSigned(t: Teardown & { testdir(content: Record<string, never>): string }, name = 'IP:127.0.0.1') {
  const folder = t.testdir({})
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=target', '-addext', `subjectAltName=${name}`]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', [...made, ...subject, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' })
  return { certFile, tls: { key: readFileSync(keyFile), cert: readFileSync(certFile) } }
}
