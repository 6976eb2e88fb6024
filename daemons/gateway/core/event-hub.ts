/** Hands every event of every port to those who listen, and keeps the last ones of each port. */
import type { Clock } from '#kit/clock.ts'
import type { PortEvent } from './ports.ts'

/** A listener must be quick and must not throw: it queues, it does not send. */
export type EventListener = (event: PortEvent) => void

export interface EventHubLimits {
  /** Events kept per port for a page that is opened later. */
  history: number
}

export interface EventHub {
  /**
   * @param payload a plain value, or a function that makes it when the first listener or reader asks
   *   (a busy raw line would spend more on hex text than on its bytes)
   */
  publish(port: string, event: string, payload: unknown): void
  /** @returns a function that ends the subscription */
  subscribe(listener: EventListener): () => void
  /** The newest `limit` events kept of a port, oldest first. */
  recent(port: string, limit: number): PortEvent[]
  /** Forgets what is kept of a port. */
  forget(port: string): void
}

/** @param limits bounds of what is kept; a listener's own queue is the listener's */
export function createEventHub(clock: Clock, limits: EventHubLimits): EventHub {
  const listeners = new Set<EventListener>()
  const kept = new Map<string, Ring>()

  function newRing(port: string): Ring {
    const ring = createRing(limits.history)
    kept.set(port, ring)
    return ring
  }

  return {
    publish(port, event, payload) {
      const entry = new Published(port, event, clock.epochMs(), payload)
      const ring = kept.get(port) ?? newRing(port)
      ring.add(entry)
      for (const listener of listeners) listener(entry)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    recent: (port, limit) => kept.get(port)?.newest(limit) ?? [],
    forget: (port) => void kept.delete(port),
  }
}

/** An event whose payload is made when it is first read. A class: a busy line makes thousands of these a second. */
class Published implements PortEvent {
  readonly port: string
  readonly event: string
  readonly timestamp: number
  #payload: unknown
  #isMade: boolean

  constructor(port: string, event: string, timestamp: number, payload: unknown) {
    this.port = port
    this.event = event
    this.timestamp = timestamp
    this.#payload = payload
    this.#isMade = typeof payload !== 'function'
  }

  get payload(): unknown {
    if (!this.#isMade) this.#payload = (this.#payload as () => unknown)()
    this.#isMade = true
    return this.#payload
  }

  toJSON(): PortEvent {
    const { port, event, timestamp, payload } = this
    return { port, event, timestamp, payload }
  }
}

interface Ring {
  add(entry: PortEvent): void
  newest(limit: number): PortEvent[]
}

function createRing(size: number): Ring {
  const slots: PortEvent[] = []
  let nextSlot = 0
  return {
    add(entry) {
      slots[nextSlot] = entry
      nextSlot = (nextSlot + 1) % size
    },
    newest(limit) {
      const ordered = slots.length < size ? slots : [...slots.slice(nextSlot), ...slots.slice(0, nextSlot)]
      return ordered.slice(Math.max(0, ordered.length - limit))
    },
  }
}
