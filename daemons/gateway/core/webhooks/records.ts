/** Webhooks as they are stored: settings, header fields, rules, and the interfaces they need. */
import { type Static, Type } from 'typebox'
import { Fault } from '#kit/pure/fault.ts'
import { bytes, count, milliseconds } from '#kit/pure/setting-keys.ts'
import { counted } from '#kit/pure/text.ts'

// The `webhooks` table of gateway.toml: every bound of webhooks, with default, range, unit and meaning.

/** Keys of the `webhooks` table. */
export const webhookKeys = Type.Object(
  {
    ...queueKeys(),
    ...listKeys(),
    ...connectionKeys(),
  },
  { additionalProperties: false, default: {}, description: 'events sent out to webhook targets, and the bounds of it' },
)

/** A checked `webhooks` table. */
export type WebhookLimits = Static<typeof webhookKeys>

/** The heap of the webhook thread, for queue entries, connections and compiled code. Bodies are outside it. */
export const WEBHOOK_HEAP_MIB = { old: 96, young: 8 }

function queueKeys() {
  return {
    queue: count(256, 1, 65_536, 'events held per target before the oldest is dropped'),
    queue_bytes: bytes(1_048_576, 65_536, 268_435_456, 'bodies held per target before the oldest is dropped'),
    held_bytes: bytes(
      33_554_432,
      65_536,
      1_073_741_824,
      'bodies held for all targets together, one that waits for many once; beyond, the target with most loses its oldest',
    ),
    // The interface document promises 5 seconds, so an installer may shorten this but not stretch it.
    timeout_ms: milliseconds(5000, 50, 5000, 'time one attempt has, from the connection to the end of the answer'),
    pause_after: count(3, 1, 1000, 'events in a row that fail before a target is paused'),
    pause_first_ms: milliseconds(
      1000,
      10,
      600_000,
      'first pause of a failing target; doubles with each further failure',
    ),
    pause_max_ms: milliseconds(60_000, 10, 3_600_000, 'longest pause of a failing target'),
    transit_bytes: bytes(
      1_048_576,
      65_536,
      16_777_216,
      'bodies of all targets on their way to the thread that sends them; more events are dropped',
    ),
    drain_ms: milliseconds(2000, 0, 30_000, 'time held events have to go out when the gateway stops'),
    log_every_ms: milliseconds(10_000, 100, 3_600_000, 'time between two log lines on the failures of one target'),
  }
}

function listKeys() {
  return {
    per_port: count(16, 1, 256, 'webhooks of one port'),
    total: count(128, 1, 4096, 'webhooks of all ports; each may have one delivery under way'),
    url_length: count(2048, 64, 2048, 'characters of a target address'),
    events: count(64, 1, 1024, 'names in the events list of one webhook'),
    headers: count(32, 0, 128, 'headers configured on one webhook'),
    header_bytes: bytes(4096, 256, 16_384, 'names and values of the headers of one webhook together'),
    secret_length: count(512, 16, 4096, 'characters of a secret'),
  }
}

function connectionKeys() {
  return {
    idle_ms: milliseconds(4000, 0, 60_000, 'time an idle connection to a target is kept for the next event'),
    response_bytes: bytes(65_536, 0, 1_048_576, 'bytes of an answer that are read and thrown away before it is cut'),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'PEM file of certificate authorities trusted for https targets besides the usual ones; empty for none',
    }),
  }
}

// The headers of a webhook: which ones may be configured, and how names are encoded to fit a header.

/** What is wrong with one field of a webhook, in a sentence. */
interface WebhookFieldFault {
  field: string
  message: string
}

/** Set by the gateway for each delivery (interface document A, Events 2). */
const ours = new Set(['content-type', 'host'])

/**
 * Headers about the framing of the message or about one connection: a configured value would let one delivery be read
 * as two (RFC 9110, 7.6.1; RFC 9112, 6.3), or would describe a body that is not sent.
 */
const framing = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** RFC 9110, 5.6.2: token. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/**
 * RFC 9110, 5.5, without obs-text: bytes above 0x7E have no agreed meaning. No spaces at the ends, as they would get
 * lost.
 */
const fieldValue = /^(?:[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?)?$/

/** All faults of the given headers; empty if they may be sent. The sentences never contain a value. */
function headerFaults(headers: Readonly<Record<string, string>>, limits: WebhookLimits): WebhookFieldFault[] {
  const entries = Object.entries(headers)
  if (entries.length > limits.headers)
    return [{ field: 'headers', message: `has ${entries.length} headers, at most ${limits.headers} are taken` }]
  const faults = entries.flatMap(([name, value]) => {
    const message = nameFault(name) ?? valueFault(value)
    return message === undefined ? [] : [{ field: fieldOf(name), message }]
  })
  const names = new Set(entries.map(([name]) => name.toLowerCase()))
  if (names.size < entries.length)
    faults.push({ field: 'headers', message: 'two names differ only in upper and lower case; a header is given once' })
  const size = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (size > limits.header_bytes)
    faults.push({ field: 'headers', message: `has ${size} characters, at most ${limits.header_bytes} are taken` })
  return faults
}

/**
 * A device path or event name as a header carries it: its UTF-8 bytes, the same as in the body, each as one character,
 * as Node expects headers. Only a text that no header can carry (control characters, blanks at the ends) is
 * percent-encoded throughout, `%` included, as in a URL (docs/decisions/webhooks.md). No device path is such a text.
 */
export function headerText(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const carried = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return CARRIED.test(carried) ? carried : Array.from(bytes, percentEncoded).join('')
}

/** RFC 9110, 5.5, with obs-text but without tabs: field-vchar, and spaces between them. */
const CARRIED = /^(?:[\x21-\x7E\x80-\xFF](?:[\x20-\x7E\x80-\xFF]*[\x21-\x7E\x80-\xFF])?)?$/

function percentEncoded(byte: number): string {
  const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x25
  return isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** A field name in a fault, shortened, in the spelling that the HTTP layer uses for fields of a body. */
function fieldOf(name: string): string {
  const short = name.length > 64 ? `${name.slice(0, 64)}...` : name
  return /^[\w-]+$/.test(short) ? `headers.${short}` : `headers[${JSON.stringify(short)}]`
}

function nameFault(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (!token.test(name)) return 'is no header name: 1 to 128 letters, digits or hyphens are expected'
  if (ours.has(lower) || lower.startsWith('x-svc-')) return 'is set by the gateway and cannot be replaced'
  if (framing.has(lower)) return 'says how the message is carried and cannot be set'
  return undefined
}

function valueFault(value: string): string | undefined {
  if (fieldValue.test(value)) return undefined
  return 'has a character that a header cannot carry: printable ASCII is expected, no line break, no space at the ends'
}

// The webhooks of one port: what is stored of each, and how the list is changed.

/** One webhook as stored in the port's record. `secret` and the values of `headers` are credentials: never log them. */
export interface WebhookRecord {
  /** Opaque, unique over all ports. */
  id: string
  url: string
  /** Names of the events to send; empty: all. */
  events: string[]
  /** The key of the signature; null: unsigned. */
  secret: string | null
  headers: Record<string, string>
  enabled: boolean
}

/** Body of an update. Absent fields stay as they are; `secret: null` removes the secret. */
export interface WebhookChange {
  url?: string
  events?: string[]
  secret?: string | null
  headers?: Record<string, string>
  enabled?: boolean
}

/** Body of a new webhook. */
export type NewWebhook = WebhookChange & { url: string }

/** The rules that a change is checked against. */
export interface WebhookRules {
  limits: WebhookLimits
  /** @throws Fault `bad_target` if the text is no http address, or one that webhooks may not reach */
  parseTarget(text: string): URL
}

/**
 * The list with one more webhook at its end.
 * @throws Fault `bad_fields` (details.fields), `too_many_webhooks`
 */
export function addWebhook(
  list: readonly WebhookRecord[],
  body: NewWebhook,
  rules: WebhookRules,
  id: string,
): WebhookRecord[] {
  const most = rules.limits.per_port
  if (list.length >= most)
    throw new Fault('too_many_webhooks', `The port has ${list.length} webhooks; webhooks.per_port allows ${most}.`)
  const record: WebhookRecord = { id, url: body.url, events: [], secret: null, headers: {}, enabled: true }
  return [...list, amended(record, body, rules)]
}

/**
 * The list with one webhook changed.
 * @throws Fault `unknown_webhook`, `bad_fields` (details.fields)
 */
export function changeWebhook(
  list: readonly WebhookRecord[],
  id: string,
  change: WebhookChange,
  rules: WebhookRules,
): WebhookRecord[] {
  const before = requireWebhook(list, id)
  const after = amended(before, change, rules)
  return list.map((record) => (record === before ? after : record))
}

/** The list without one webhook. @throws Fault `unknown_webhook` */
export function removeWebhook(list: readonly WebhookRecord[], id: string): WebhookRecord[] {
  const gone = requireWebhook(list, id)
  return list.filter((record) => record !== gone)
}

/** @throws Fault `unknown_webhook` */
export function requireWebhook(list: readonly WebhookRecord[], id: string): WebhookRecord {
  const record = list.find((candidate) => candidate.id === id)
  if (!record) throw new Fault('unknown_webhook', 'The port has no webhook of this id. It may have been deleted.')
  return record
}

/** Whether a webhook is sent an event of this name (interface document A, Events 1). */
export function wantsEvent(record: WebhookRecord, event: string): boolean {
  return record.enabled && (record.events.length === 0 || record.events.includes(event))
}

function amended(record: WebhookRecord, change: WebhookChange, rules: WebhookRules): WebhookRecord {
  const faults = changeFaults(change, rules)
  if (faults.length > 0) throw badFields(faults)
  return {
    id: record.id,
    url: change.url ?? record.url,
    events: change.events ?? record.events,
    secret: change.secret === undefined ? record.secret : change.secret,
    headers: change.headers ?? record.headers,
    enabled: change.enabled ?? record.enabled,
  }
}

function changeFaults(change: WebhookChange, rules: WebhookRules): WebhookFieldFault[] {
  const { url, events, secret, headers } = change
  return [
    ...(url === undefined ? [] : urlFaults(url, rules)),
    ...(events === undefined ? [] : eventFaults(events, rules.limits)),
    ...(secret === undefined || secret === null ? [] : secretFaults(secret, rules.limits)),
    ...(headers === undefined ? [] : headerFaults(headers, rules.limits)),
  ]
}

function urlFaults(text: string, { limits, parseTarget }: WebhookRules): WebhookFieldFault[] {
  if (text.length > limits.url_length)
    return [{ field: 'url', message: `has ${text.length} characters, at most ${limits.url_length} are taken` }]
  try {
    parseTarget(text)
    return []
  } catch (error) {
    if (error instanceof Fault) return [{ field: 'url', message: error.message }]
    throw error
  }
}

function eventFaults(events: string[], limits: WebhookLimits): WebhookFieldFault[] {
  if (events.length > limits.events)
    return [{ field: 'events', message: `has ${events.length} names, at most ${limits.events} are taken` }]
  return events.flatMap((name, index) =>
    name.length >= 1 && name.length <= 64
      ? []
      : [{ field: `events[${index}]`, message: `has ${counted(name.length, 'character')}, 1 to 64 are expected` }],
  )
}

function secretFaults(secret: string, limits: WebhookLimits): WebhookFieldFault[] {
  if (secret === '')
    return [{ field: 'secret', message: 'is empty: leave it out to keep the secret, send null to remove it' }]
  if (secret.length > limits.secret_length)
    return [{ field: 'secret', message: `has ${secret.length} characters, at most ${limits.secret_length} are taken` }]
  return []
}

/** The faults of a body's fields as the HTTP layer reports them: all at once, each with its field. */
function badFields(fields: WebhookFieldFault[]): Fault {
  const sentences = fields.slice(0, 3).map(({ field, message }) => `${field}: ${message}`)
  const more = fields.length - sentences.length
  const sentence = sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new Fault('bad_fields', sentence, { details: { fields } })
}

/** One POST to one target. */
export interface WebhookRequest {
  url: string
  /** The configured headers; the sender adds those of the interface document. */
  headers: Readonly<Record<string, string>>
  secret: string | null
  /** Device path. */
  port: string
  event: string
  /** The exact bytes to send and to sign; shared between targets, never changed. */
  body: Uint8Array
  /** Use a new connection, not a kept one, which may have died unnoticed. */
  isFresh: boolean
}

/** What a target answered. */
export interface WebhookAnswer {
  /** Status of the answer, 200..599. */
  status: number
  /** Resolves when the rest of the answer was read and discarded, or was cut off; never rejects. */
  done: Promise<void>
}

/** Sends one POST, without redirects and without retries. */
export interface WebhookSender {
  /**
   * Resolves with the head of the answer. When `signal` aborts, the connection is closed.
   * @throws Fault `webhook_unreachable`, `bad_target`
   */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>
  /** Closes the kept connections. */
  close(): void
}

/** The storage of webhooks: the port records. */
export interface WebhookKeeper {
  /** @throws Fault `unknown_port` */
  list(port: string): readonly WebhookRecord[]
  /**
   * Changes the list of one port; changes run one after another. Resolves when the new list is saved.
   * @throws Fault `unknown_port`, `store_write_failed`, and what `apply` throws; the list is then as it was
   */
  change(port: string, apply: (list: readonly WebhookRecord[]) => WebhookRecord[]): Promise<void>
}

/** The part of a log that is used here. */
export interface WebhookLog {
  warning(event: string, facts: Record<string, unknown>): void
}
