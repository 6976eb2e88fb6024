/** The webhooks of all ports, and how events get to the thread that delivers them. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { EventHub } from '../lines/events.ts'
import type { PortEvent } from '../lines/ports.ts'
import type { WebhookState } from './queue.ts'
import {
  addWebhook,
  changeWebhook,
  type NewWebhook,
  removeWebhook,
  requireWebhook,
  type WebhookChange,
  type WebhookKeeper,
  type WebhookRecord,
  type WebhookRules,
  wantsEvent,
} from './records.ts'

// From an event of a port to the thread that delivers it. It is serialised once for all targets, and nothing waits for
// it.

/** The reply to `POST .../test`. */
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

/** The delivering thread as `core` sees it. It handles calls in the order in which they were made. */
export interface WebhookCourier {
  /** Resolves once nothing more is sent because of the previous list. */
  setWebhooks(port: string, list: readonly WebhookRecord[]): Promise<void>
  /** Resolves when the thread has taken the batch. Only the limit on bytes in transit waits for it. */
  hand(batch: { events: readonly WebhookEvent[]; losses: readonly WebhookLoss[] }): Promise<void>
  state(port: string, id: string): Promise<WebhookState>
  /** @throws Fault `webhook_test_busy` */
  test(port: string, record: WebhookRecord): Promise<WebhookTest>
  close(): Promise<void>
}

export interface WebhookPublisher extends Omit<WebhookCourier, 'hand'> {
  /** Webhooks of all ports. */
  size(): number
}

/**
 * Listens to the events of all ports, while there is a webhook.
 * @param transitBytes the most bytes of bodies in transit; events beyond are dropped and counted
 */
export function createWebhookPublisher(
  courier: WebhookCourier,
  { clock, hub, transitBytes }: { clock: Clock; hub: Pick<EventHub, 'subscribe'>; transitBytes: number },
): WebhookPublisher {
  const lists = new Map<string, readonly WebhookRecord[]>()
  const transit = createTransit(courier, clock, transitBytes)
  let isClosed = false
  let leave: (() => void) | undefined

  /** Called by the bus, so it is fast, never throws, and sends nothing before it returns. */
  function publish(event: PortEvent): void {
    if (!lists.get(event.port)?.some((record) => wantsEvent(record, event.event))) return
    try {
      transit.add(event, deliveryBody(event))
    } catch (error) {
      // The caller is the bus, which must not fail because a payload cannot be written as JSON.
      transit.lose(event.port, event.event, `payload is not JSON: ${String(error)}`)
    }
  }

  function listen(): void {
    if (lists.size > 0 && !isClosed) leave ??= hub.subscribe(publish)
    else {
      leave?.()
      leave = undefined
    }
  }

  return {
    async setWebhooks(port, list) {
      const had = lists.has(port)
      if (list.length > 0) lists.set(port, list)
      else lists.delete(port)
      listen()
      // The thread need not know of a port that has no webhooks before and after the change.
      if (had || list.length > 0) await courier.setWebhooks(port, list)
    },
    size: () => lists.values().reduce((sum, list) => sum + list.length, 0),
    state: (port, id) => courier.state(port, id),
    test: (port, record) => courier.test(port, record),
    async close() {
      isClosed = true
      listen()
      transit.flush()
      await courier.close()
    },
  }
}

/** Events in transit to the thread: one message for all events of one turn of the event loop. */
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

  /** Not in the current turn of the event loop: the bus comes first. */
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

/** The delivery body, in the order of the interface document. @throws if the payload is no JSON value */
export function deliveryBody({ port, event, timestamp, payload }: PortEvent): string {
  return JSON.stringify({ port, event, timestamp, payload: payload ?? null })
}

/** A webhook as the API shows it. The secret is never shown, and headers only to administrators. */
export interface WebhookEntry extends Omit<WebhookRecord, 'secret'>, WebhookState {
  hasSecret: boolean
}

/** What the book needs. */
interface WebhookBookParts {
  keeper: WebhookKeeper
  delivery: WebhookPublisher
  rules: WebhookRules
  /** A new unique text each time. */
  newId(): string
}

/** Every method throws Fault `unknown_port` if the port is not configured. */
export interface WebhookBook {
  list(port: string): Promise<WebhookEntry[]>
  /** @throws Fault `bad_fields`, `too_many_webhooks`, `store_write_failed` */
  create(port: string, body: NewWebhook): Promise<WebhookEntry>
  /** @throws Fault `unknown_webhook`, `bad_fields`, `store_write_failed` */
  change(port: string, id: string, change: WebhookChange): Promise<WebhookEntry>
  /** @throws Fault `unknown_webhook`, `store_write_failed` */
  remove(port: string, id: string): Promise<void>
  /** @throws Fault `unknown_webhook`, `webhook_test_busy` */
  test(port: string, id: string): Promise<WebhookTest>
}

export function createWebhookBook({ keeper, delivery, rules, newId }: WebhookBookParts): WebhookBook {
  async function entryOf(port: string, record: WebhookRecord): Promise<WebhookEntry> {
    const { id, url, events, headers, enabled, secret } = record
    return { id, url, events, headers, enabled, hasSecret: secret !== null, ...(await delivery.state(port, id)) }
  }

  /** A new list takes effect only once it is saved, so a change that failed never sends anything. */
  async function applied(port: string, apply: (list: readonly WebhookRecord[]) => WebhookRecord[]): Promise<void> {
    await keeper.change(port, apply)
    await delivery.setWebhooks(port, keeper.list(port))
  }

  const shown = (port: string, id: string) => entryOf(port, requireWebhook(keeper.list(port), id))

  return {
    list: async (port) => await Promise.all(keeper.list(port).map((record) => entryOf(port, record))),
    async create(port, body) {
      const id = newId()
      await applied(port, (list) => {
        refuseBeyondTotal(delivery.size(), rules)
        return addWebhook(list, body, rules, id)
      })
      return await shown(port, id)
    },
    async change(port, id, change) {
      await applied(port, (list) => changeWebhook(list, id, change, rules))
      return await shown(port, id)
    },
    remove: (port, id) => applied(port, (list) => removeWebhook(list, id)),
    test: async (port, id) => await delivery.test(port, requireWebhook(keeper.list(port), id)),
  }
}

/** Limits the total, because each webhook may have its own connection, so that none waits for another. */
function refuseBeyondTotal(size: number, { limits }: WebhookRules): void {
  if (size >= limits.total)
    throw new Fault('too_many_webhooks', `There are ${size} webhooks; webhooks.total allows ${limits.total}.`)
}
