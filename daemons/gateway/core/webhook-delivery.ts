/** Hands every event to the queues of the webhooks that want it. */
import { atMost } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { PortEvent } from './ports.ts'
import { attemptDelivery } from './webhook-attempt.ts'
import { type WebhookRecord, wantsEvent } from './webhook-list.ts'
import { type QueueParts, WebhookQueue, type WebhookState } from './webhook-queue.ts'

/** What `POST .../test` answers. */
export interface WebhookTest {
  delivered: boolean
  status: number | null
  message: string
  tookMs: number
}

export interface WebhookDelivery {
  /** The webhooks of a port from now on: at start, after each change, and none when the port is removed. */
  setWebhooks(port: string, list: readonly WebhookRecord[]): void
  /** Queues an event for every webhook of its port that wants it. Quick, never throws, sends nothing in the caller's turn. */
  publish(event: PortEvent): void
  /** State of one webhook; zeros for one not known. */
  state(port: string, id: string): WebhookState
  /** Webhooks of all ports. */
  size(): number
  /**
   * Sends one sample event `test` at once, past the queue and past `enabled`, without retry, and says what came of it.
   * @throws Fault `webhook_test_busy` while a test of this webhook is under way
   */
  test(port: string, record: WebhookRecord): Promise<WebhookTest>
  /** Takes no more events, gives those that wait `webhooks.drain_ms` to go out, drops the rest. */
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
}

export function createWebhookDelivery(parts: QueueParts): WebhookDelivery {
  const ports = new Map<string, Map<string, Target>>()
  const testing = new Set<string>()
  const stopper = new AbortController()

  const queues = () => [...ports.values()].flatMap((targets) => Array.from(targets.values(), ({ queue }) => queue))

  async function test(port: string, record: WebhookRecord): Promise<WebhookTest> {
    if (testing.has(record.id))
      throw new Fault('webhook_test_busy', 'A test of this webhook is under way; wait for its answer.')
    testing.add(record.id)
    try {
      return await sendSample(parts, port, record, stopper.signal)
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
    publish(event) {
      if (stopper.signal.aborted) return
      const wanting = wantingTargets(ports.get(event.port), event.event)
      if (wanting.length > 0) pushTo(wanting, event)
    },
    state: (port, id) => ports.get(port)?.get(id)?.queue.state() ?? noState,
    size: () => ports.values().reduce((sum, targets) => sum + targets.size, 0),
    test,
    async close() {
      stopper.abort()
      const idle = () => Promise.all(queues().map((queue) => queue.whenIdle()))
      await atMost(parts.clock, parts.limits.drain_ms, idle())
      for (const queue of queues()) queue.drop('gateway stopped')
      await idle()
      parts.sender.close()
    },
  }
}

/** The delivery body, in the order of the interface document. @throws where the payload is no JSON value */
function deliveryBody({ port, event, timestamp, payload }: PortEvent): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ port, event, timestamp, payload: payload ?? null }))
}

/** Keeps queues and counters of webhooks that stay; queues of those deleted or disabled are dropped. */
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

/** Serialised once for all targets: a busy bus has thousands of frames a second. */
function pushTo(queues: WebhookQueue[], event: PortEvent): void {
  let body: Uint8Array
  try {
    body = deliveryBody(event)
  } catch (error) {
    // The publisher is the bus: it must not fail because a payload cannot be written as JSON.
    for (const queue of queues) queue.lose(event.event, `payload is no JSON: ${String(error)}`)
    return
  }
  for (const queue of queues) queue.push({ port: event.port, event: event.event, body })
}

async function sendSample(
  parts: QueueParts,
  port: string,
  record: WebhookRecord,
  stop: AbortSignal,
): Promise<WebhookTest> {
  const event = 'test'
  const timestamp = parts.clock.epochMs()
  const body = deliveryBody({ port, event, timestamp, payload: { message: 'sample sent on request' } })
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
