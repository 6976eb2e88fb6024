/** The list of webhooks of one port: what is kept of each, and how a list is changed. */
import { counted } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'
import { headerFaults, type WebhookFieldFault } from './webhook-headers.ts'
import type { WebhookLimits } from './webhook-keys.ts'

/** One webhook as it is kept in the port's record. `secret` and the values of `headers` are credentials: never log them. */
export interface WebhookRecord {
  /** Opaque, unique over all ports. */
  id: string
  url: string
  /** Event names that are sent; empty means all. */
  events: string[]
  /** Key of the signature; null for none. */
  secret: string | null
  headers: Record<string, string>
  enabled: boolean
}

/** Body of an update. What is absent stays; `secret: null` removes the secret. */
export interface WebhookChange {
  url?: string
  events?: string[]
  secret?: string | null
  headers?: Record<string, string>
  enabled?: boolean
}

/** Body of a new webhook. */
export type NewWebhook = WebhookChange & { url: string }

/** What a change is measured against. */
export interface WebhookRules {
  limits: WebhookLimits
  /** @throws Fault `bad_target` where the text is no http address, or one that webhooks may not reach */
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

/** The shape in which the HTTP layer answers faults of a body's fields: all at once, each with its name. */
function badFields(fields: WebhookFieldFault[]): Fault {
  const sentences = fields.slice(0, 3).map(({ field, message }) => `${field}: ${message}`)
  const more = fields.length - sentences.length
  const sentence = sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new Fault('bad_fields', sentence, { details: { fields } })
}
