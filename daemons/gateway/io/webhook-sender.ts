/** Sends webhook deliveries: one HTTP or HTTPS POST, without redirects, and with a limit on the answer. */
import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import tls from 'node:tls'
import { webhookSignature } from '#kit/net/signature.ts'
import { certificateSentence, parseTarget, trustedAuthorities } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { headerText, type WebhookAnswer, type WebhookRequest, type WebhookSender } from '../core/webhooks/records.ts'

/** What the sender needs. */
export interface WebhookSenderParts {
  /** Resolves names and refuses those with an address that webhooks may not reach: `lookupSafely`, except in tests. */
  lookup: LookupFunction
  /** How long an unused connection is kept. */
  idleMs: number
  /** How many bytes of an answer are read before it is cut off. */
  responseBytes: number
  /** PEM file of additional certificate authorities; empty: none. */
  caFile: string
}

const CA_FILE = 'webhooks.ca_file'

/** How many idle connections are kept per target host; others are closed when their delivery is done. */
const MOST_IDLE_PER_HOST = 4

/** @throws Fault `ca_file_unreadable` */
export function createWebhookSender(parts: WebhookSenderParts): WebhookSender {
  // Made only once: reading some 150 authorities for each connection would cost more than the connection.
  const secureContext = trust(parts.caFile)
  const fresh = { keepAlive: false, lookup: parts.lookup }
  const kept = {
    ...fresh,
    keepAlive: parts.idleMs > 0,
    timeout: parts.idleMs > 0 ? parts.idleMs : undefined,
    maxFreeSockets: MOST_IDLE_PER_HOST,
  }
  const plain = { kept: new http.Agent(kept), fresh: new http.Agent(fresh) }
  let secure: { kept: https.Agent; fresh: https.Agent } | undefined
  // Made with the first https target: most lines have none, and TLS takes 5 MB.
  function secureAgents() {
    secure ??= {
      kept: new https.Agent({ ...kept, secureContext }),
      fresh: new https.Agent({ ...fresh, secureContext }),
    }
    return secure
  }

  return {
    async send(request, signal) {
      // Checked again: a stored webhook may be older than the rule, and a literal address is never looked up.
      const url = parseTarget(request.url)
      const isSecure = url.protocol === 'https:'
      const agents = isSecure ? secureAgents() : plain
      const agent = request.isFresh ? agents.fresh : agents.kept
      const options = { method: 'POST', headers: deliveryHeaders(request), agent, signal }
      const outgoing = isSecure ? https.request(url, options) : http.request(url, options)
      return await exchange(outgoing, request.body, parts.responseBytes)
    },
    close() {
      for (const agent of [plain.kept, plain.fresh, secure?.kept, secure?.fresh]) agent?.destroy()
    },
  }
}

/**
 * Headers of one delivery: the configured ones, then those of the interface document.
 * @source interface document A, Events 2 and 3
 */
export function deliveryHeaders(request: WebhookRequest): Record<string, string> {
  const { secret, body } = request
  return {
    ...request.headers,
    'Content-Type': 'application/json',
    'Content-Length': String(body.byteLength),
    'X-Svc-Port': headerText(request.port),
    'X-Svc-Event': headerText(request.event),
    ...(secret === null ? {} : { 'X-Svc-Signature': webhookSignature(body, secret) }),
  }
}

function exchange(outgoing: http.ClientRequest, body: Uint8Array, responseBytes: number): Promise<WebhookAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, done: thrownAway(incoming, responseBytes) })
    })
    // After the head of the answer these no longer matter: the promise is settled, and `done` follows the body.
    outgoing.on('error', (error) => reject(unreachable(error)))
    outgoing.on('close', () => reject(new Fault('webhook_unreachable', 'the target closed without an answer')))
    outgoing.end(body)
  })
}

/** Resolves when the answer has ended, has broken off, or was cut off after `most` bytes. */
function thrownAway(incoming: http.IncomingMessage, most: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0
    incoming.on('data', (chunk: Uint8Array) => {
      seen += chunk.byteLength
      if (seen > most) incoming.destroy()
    })
    // The status is known: a body that breaks off changes nothing, and 'close' follows.
    incoming.on('error', () => {})
    incoming.on('close', resolve)
  })
}

/** Node tries every address of a name and then throws an AggregateError, which has no message of its own. */
function unreachable(error: Error): Fault {
  if (error instanceof Fault) return error
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
  const refused = errors.find((one) => one instanceof Fault)
  if (refused) return refused
  const sentence = errors.map(sentenceOf).join('; ')
  return new Fault('webhook_unreachable', sentence, { cause: error })
}

function sentenceOf(error: unknown): string {
  return certificateSentence(error, CA_FILE) ?? (error instanceof Error ? error.message : String(error))
}

/** @throws Fault `ca_file_unreadable` */
export function checkAuthorities(caFile: string): void {
  trust(caFile)
}

/**
 * The TLS context with Node's own authorities and those of the file; undefined if no file is set, as Node has its own.
 */
function trust(caFile: string): tls.SecureContext | undefined {
  return caFile === '' ? undefined : tls.createSecureContext({ ca: trustedAuthorities(CA_FILE, caFile) })
}
