/** From an event of a port to the thread that delivers it: made to text once for all targets, nothing waits for it. */
import type { Clock } from '#kit/clock.ts'
import type { PortEvent } from './ports.ts'
import { type WebhookRecord, wantsEvent } from './webhook-list.ts'
import type { WebhookState } from './webhook-queue.ts'

/** What `POST .../test` answers. */
export interface WebhookTest {
  delivered: boolean
  status: number | null
  message: string
  tookMs: number
}

/** One event on its way to the thread. */
export interface WebhookEvent {
  port: string
  event: string
  /** The delivery body, JSON. */
  body: string
}

/** Events that could not be handed over. */
export interface WebhookLoss {
  port: string
  event: string
  reason: string
  count: number
}

/** The thread that delivers, as `core` sees it. What is asked is done in the order in which it was asked. */
export interface WebhookCourier {
  /** Resolves once nothing goes out any more by the list that was. */
  setWebhooks(port: string, list: readonly WebhookRecord[]): Promise<void>
  /** Resolves when they were taken; nobody waits for that but the account of what is on its way. */
  hand(batch: { events: readonly WebhookEvent[]; losses: readonly WebhookLoss[] }): Promise<void>
  state(port: string, id: string): Promise<WebhookState>
  /** @throws Fault `webhook_test_busy` */
  test(port: string, record: WebhookRecord): Promise<WebhookTest>
  close(): Promise<void>
}

export interface WebhookPublisher extends Omit<WebhookCourier, 'hand'> {
  /** Quick, never throws, sends nothing in the caller's turn: the caller is the bus. */
  publish(event: PortEvent): void
  /** Webhooks of all ports. */
  size(): number
}

/** @param transitBytes of bodies that were handed over and not yet taken; an event beyond is dropped and counted */
export function createWebhookPublisher(
  courier: WebhookCourier,
  { clock, transitBytes }: { clock: Clock; transitBytes: number },
): WebhookPublisher {
  const lists = new Map<string, readonly WebhookRecord[]>()
  const transit = createTransit(courier, clock, transitBytes)
  let isClosed = false
  return {
    async setWebhooks(port, list) {
      const had = lists.has(port)
      if (list.length > 0) lists.set(port, list)
      else lists.delete(port)
      // A port without webhooks, before and after, is none of the thread's.
      if (had || list.length > 0) await courier.setWebhooks(port, list)
    },
    publish(event) {
      if (isClosed) return
      if (!lists.get(event.port)?.some((record) => wantsEvent(record, event.event))) return
      try {
        transit.add(event, bodyOf(event))
      } catch (error) {
        // The caller is the bus: it must not fail because a payload cannot be written as JSON.
        transit.lose(event.port, event.event, `payload is no JSON: ${String(error)}`)
      }
    },
    size: () => lists.values().reduce((sum, list) => sum + list.length, 0),
    state: (port, id) => courier.state(port, id),
    test: (port, record) => courier.test(port, record),
    async close() {
      isClosed = true
      transit.flush()
      await courier.close()
    },
  }
}

/** What is on its way to the thread: one message for all events of a turn. */
function createTransit(courier: WebhookCourier, clock: Clock, mostBytes: number) {
  let events: WebhookEvent[] = []
  let losses = new Map<string, WebhookLoss>()
  let heldBytes = 0
  let isWaiting = false

  function flush(): void {
    isWaiting = false
    if (events.length === 0 && losses.size === 0) return
    const batch = { events, losses: [...losses.values()] }
    const sizeBytes = batch.events.reduce((sum, { body }) => sum + body.length, 0)
    events = []
    losses = new Map()
    const letGo = () => {
      heldBytes -= sizeBytes
    }
    courier.hand(batch).then(letGo, (error: unknown) => {
      letGo()
      for (const { port, event } of batch.events) lose(port, event, String(error))
    })
  }

  /** In a turn of its own: the bus comes first. */
  function flushLater(): void {
    if (isWaiting) return
    isWaiting = true
    clock.after(0, flush)
  }

  function lose(port: string, event: string, reason: string): void {
    const key = JSON.stringify([port, event, reason])
    const loss = losses.get(key) ?? { port, event, reason, count: 0 }
    loss.count += 1
    losses.set(key, loss)
    flushLater()
  }

  function add({ port, event }: PortEvent, body: string): void {
    if (heldBytes + body.length > mostBytes) {
      lose(port, event, 'too much is on its way to the thread of webhooks')
      return
    }
    heldBytes += body.length
    events.push({ port, event, body })
    flushLater()
  }

  return { add, lose, flush }
}

/** The delivery body, in the order of the interface document. @throws where the payload is no JSON value */
export function bodyOf({ port, event, timestamp, payload }: PortEvent): string {
  return JSON.stringify({ port, event, timestamp, payload: payload ?? null })
}
