/** Puts each event into the queues of the webhooks that want it, and tests webhooks. Runs in the webhook thread. */
import { atMost } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { deliveryBody, type WebhookTest } from './book.ts'
import {
  attemptDelivery,
  createHeldBodies,
  type Outgoing,
  type QueueParts,
  WebhookQueue,
  type WebhookState,
} from './queue.ts'
import { type WebhookRecord, wantsEvent } from './records.ts'

export interface WebhookDelivery {
  /** Sets the webhooks of a port: at start, after each change, and to none when the port is removed. */
  setWebhooks(port: string, list: readonly WebhookRecord[]): void
  /** Queues an event for every webhook of its port that wants it. Sends nothing in the caller's turn. */
  deliver(outgoing: Outgoing): void
  /** Counts events that were dropped before they got here, for every webhook of the port that wants them. */
  lose(port: string, event: string, lost: { count: number; reason: string }): void
  /** The state of one webhook; zeros if it is not known. */
  state(port: string, id: string): WebhookState
  /**
   * Sends one sample event `test` at once, past the queue and past `enabled`, without a retry, and returns the outcome.
   * @throws Fault `webhook_test_busy` while a test of this webhook is under way
   */
  test(port: string, record: WebhookRecord): Promise<WebhookTest>
  /** Takes no more events, gives the queued ones `webhooks.drain_ms` to go out, and drops the rest. */
  close(): Promise<void>
}

interface Target {
  record: WebhookRecord
  queue: WebhookQueue
}

const noState: WebhookState = {
  counters: { delivered: 0, failed: 0, dropped: 0, retried: 0, queued: 0 },
  lastError: null,
  lastDeliveredAt: null,
  pausedUntil: null,
}

export function createWebhookDelivery(given: Omit<QueueParts, 'held'>): WebhookDelivery {
  const parts: QueueParts = { ...given, held: createHeldBodies(given.limits.held_bytes) }
  const ports = new Map<string, Map<string, Target>>()
  const testing = new Set<string>()
  const stopper = new AbortController()

  const queues = () => [...ports.values()].flatMap((targets) => Array.from(targets.values(), ({ queue }) => queue))

  async function test(port: string, record: WebhookRecord): Promise<WebhookTest> {
    if (testing.has(record.id))
      throw new Fault('webhook_test_busy', 'A test of this webhook is under way; wait for its answer.')
    testing.add(record.id)
    try {
      const outcome = await sendSample(parts, port, record, stopper.signal)
      if (outcome.delivered) ports.get(port)?.get(record.id)?.queue.resume()
      return outcome
    } finally {
      testing.delete(record.id)
    }
  }

  return {
    setWebhooks(port, list) {
      const targets = updatedTargets(parts, port, ports.get(port), list)
      if (targets.size > 0) ports.set(port, targets)
      else ports.delete(port)
    },
    deliver(outgoing) {
      if (stopper.signal.aborted) return
      for (const queue of wantingTargets(ports.get(outgoing.port), outgoing.event)) queue.push(outgoing)
    },
    lose(port, event, { count, reason }) {
      for (const queue of wantingTargets(ports.get(port), event)) queue.lose(event, reason, count)
    },
    state: (port, id) => ports.get(port)?.get(id)?.queue.state() ?? noState,
    test,
    async close() {
      stopper.abort()
      for (const queue of queues()) queue.end()
      const idle = () => Promise.all(queues().map((queue) => queue.whenIdle()))
      await atMost(parts.clock, parts.limits.drain_ms, idle())
      for (const queue of queues()) queue.drop('gateway stopped')
      await idle()
      parts.sender.close()
    },
  }
}

/** Keeps the queues and counters of webhooks that stay, and drops the queues of those deleted or disabled. */
function updatedTargets(
  parts: QueueParts,
  port: string,
  before: ReadonlyMap<string, Target> | undefined,
  list: readonly WebhookRecord[],
): Map<string, Target> {
  const after = new Map(list.map((record) => [record.id, targetFor(parts, port, before?.get(record.id), record)]))
  for (const [id, { queue }] of before ?? []) if (!after.has(id)) queue.drop('webhook deleted')
  return after
}

function targetFor(parts: QueueParts, port: string, known: Target | undefined, record: WebhookRecord): Target {
  if (!known) return { record, queue: new WebhookQueue(parts, port, record) }
  known.queue.setRecord(record)
  if (known.record.enabled && !record.enabled) known.queue.drop('webhook disabled')
  return { record, queue: known.queue }
}

function wantingTargets(targets: ReadonlyMap<string, Target> | undefined, event: string): WebhookQueue[] {
  const wanting: WebhookQueue[] = []
  for (const { record, queue } of targets?.values() ?? []) if (wantsEvent(record, event)) wanting.push(queue)
  return wanting
}

async function sendSample(
  parts: QueueParts,
  port: string,
  record: WebhookRecord,
  stop: AbortSignal,
): Promise<WebhookTest> {
  const event = 'test'
  const timestamp = parts.clock.epochMs()
  const text = deliveryBody({ port, event, timestamp, payload: { message: 'sample sent on request' } })
  const body = new TextEncoder().encode(text)
  const { url, headers, secret } = record
  const request = { url, headers, secret, port, event, body, isFresh: true }
  const outcome = await attemptDelivery({ ...parts, timeoutMs: parts.limits.timeout_ms }, request, stop)
  return {
    delivered: outcome.isDelivered,
    status: outcome.status,
    message: outcome.message,
    tookMs: outcome.tookMs,
  }
}
