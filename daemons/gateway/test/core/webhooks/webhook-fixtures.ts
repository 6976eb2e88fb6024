/**
 * What the tests of webhooks share: limits, records, a sender that misbehaves on request, a log that tests can read.
 */
import { Value } from 'typebox/value'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { parseTarget } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { EventHub } from '../../../core/lines/events.ts'
import type { PortEvent } from '../../../core/lines/ports.ts'
import {
  createWebhookBook,
  createWebhookPublisher,
  deliveryBody,
  type WebhookCourier,
} from '../../../core/webhooks/book.ts'
import { createWebhookDelivery, type WebhookDelivery } from '../../../core/webhooks/delivery.ts'
import { createHeldBodies, type Outgoing } from '../../../core/webhooks/queue.ts'
import {
  type WebhookAnswer,
  type WebhookLimits,
  type WebhookRecord,
  type WebhookRequest,
  webhookKeys,
} from '../../../core/webhooks/records.ts'

/** The default limits, with these changes. */
export function limitsWith(changes: Partial<WebhookLimits> = {}): WebhookLimits {
  return { ...(Value.Default(webhookKeys, {}) as WebhookLimits), ...changes }
}

export function hook(changes: Partial<WebhookRecord> = {}): WebhookRecord {
  return { id: 'a', url: 'http://target/x', events: [], secret: null, headers: {}, enabled: true, ...changes }
}

export function outgoing(name: string, size = 2): Outgoing {
  return { port: '/dev/ttyUSB0', event: name, body: new Uint8Array(size) }
}

/** How a target reacts to one request: answers with a status, breaks off, hangs, or answers with an endless body. */
export type Deed = number | 'breaks' | 'hangs' | 'endless'

/** Reacts to requests as listed, in order, then answers 200. */
export function fakeSender(...deeds: Deed[]) {
  const requests: WebhookRequest[] = []
  const aborted: string[] = []
  let underWay = 0
  let mostUnderWay = 0
  return {
    requests,
    aborted,
    events: () => requests.map(({ event }) => event),
    mostUnderWay: () => mostUnderWay,
    isClosed: false,
    async send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer> {
      requests.push(request)
      mostUnderWay = Math.max(mostUnderWay, ++underWay)
      const deed = deeds.shift() ?? 200
      signal.addEventListener('abort', () => {
        aborted.push(request.event)
        underWay -= 1
      })
      if (deed === 'hangs') return await new Promise(() => {})
      if (deed === 'endless') return { status: 200, done: new Promise(() => {}) }
      await Promise.resolve()
      underWay -= 1
      if (deed === 'breaks') throw new Error('socket hang up')
      return { status: deed, done: Promise.resolve() }
    },
    close() {
      this.isClosed = true
    },
  }
}

export interface LoggedLine {
  event: string
  facts: Record<string, unknown>
}

/** The parts that all queues share, controlled by the test. */
export function queueParts(sender: ReturnType<typeof fakeSender>, changes: Partial<WebhookLimits> = {}) {
  const lines: LoggedLine[] = []
  const clock: FakeClock = fakeClock()
  const log = { warning: (event: string, facts: Record<string, unknown>) => void lines.push({ event, facts }) }
  const limits = limitsWith(changes)
  return { sender, clock, log, lines, limits, held: createHeldBodies(limits.held_bytes) }
}

/** Hands an event to the delivery at once, as the thread does with the events it gets. */
export function publishTo(delivery: Pick<WebhookDelivery, 'deliver'>, event: PortEvent): void {
  delivery.deliver({ port: event.port, event: event.event, body: new TextEncoder().encode(deliveryBody(event)) })
}

/** A courier without a thread: every call takes effect at once. */
export function courierTo(delivery: WebhookDelivery): WebhookCourier {
  return {
    setWebhooks: async (port, list) => delivery.setWebhooks(port, list),
    async hand({ events, losses }) {
      for (const { port, event, ...lost } of losses) delivery.lose(port, event, lost)
      for (const { port, event, body } of events)
        delivery.deliver({ port, event, body: new TextEncoder().encode(body) })
    },
    state: async (port, id) => delivery.state(port, id),
    test: (port, record) => delivery.test(port, record),
    close: () => delivery.close(),
  }
}

/** What a publisher listens to. Its `publish` reaches the listeners at once. */
export function eventsHere() {
  const listeners = new Set<Parameters<EventHub['subscribe']>[0]>()
  return {
    subscribe(listener: Parameters<EventHub['subscribe']>[0]) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isHeard: () => listeners.size > 0,
    publish(event: PortEvent) {
      for (const listener of listeners) listener(Object.assign(event, { message: '' }))
    },
  }
}

/** A book over lists in memory, for /dev/ttyUSB0 and /dev/ttyUSB1. With `disk.isFull` every save fails. */
export function bookWith(changes: Partial<WebhookLimits> = {}) {
  const port = '/dev/ttyUSB0'
  const sender = fakeSender()
  const parts = queueParts(sender, changes)
  const { clock } = parts
  const hub = eventsHere()
  const delivery = createWebhookPublisher(courierTo(createWebhookDelivery(parts)), { hub, clock, transitBytes: 65_536 })
  const lists = new Map<string, readonly WebhookRecord[]>([
    [port, []],
    ['/dev/ttyUSB1', []],
  ])
  const disk = { isFull: false }
  const list = (path: string) => {
    const found = lists.get(path)
    if (!found) throw new Fault('unknown_port', `No port ${path}`)
    return found
  }
  let ids = 0
  const book = createWebhookBook({
    keeper: {
      list,
      async change(path, apply) {
        const next = apply(list(path))
        if (disk.isFull) throw new Fault('store_write_failed', 'No space left.')
        lists.set(path, next)
      },
    },
    delivery,
    rules: { limits: parts.limits, parseTarget },
    newId: () => `id${++ids}`,
  })
  const publish = () => hub.publish({ port, event: 'frame', timestamp: 1, payload: 1 })
  return { book, disk, sender, publish, clock: parts.clock }
}
