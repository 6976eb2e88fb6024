/** Sends webhook deliveries: one HTTP or HTTPS POST, without redirects, and with a limit on the answer. */
import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import tls from 'node:tls'
import { exchange } from '#kit/net/post.ts'
import { webhookSignature } from '#kit/net/signature.ts'
import { parseTarget, trustedAuthorities } from '#kit/net/target.ts'
import { headerText, type WebhookRequest, type WebhookSender } from '../core/webhooks/records.ts'

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
      return await exchange(outgoing, request.body, { responseBytes: parts.responseBytes, caSetting: CA_FILE })
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
