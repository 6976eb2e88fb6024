/** Events of ports: their frame payload, the history of the newest ones, and the subscribers. */

import type { Clock, Timer } from '#kit/clock.ts'
import { hexOf } from '#kit/pure/bytes.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { FramePayload, PortEvent } from './ports.ts'

// The payload of the event `frame`.

/** One frame, its direction, and its time by CLOCK_MONOTONIC, microseconds. */
export interface SeenFrame {
  direction: FramePayload['direction']
  frame: Uint8Array
  atUs: number
}

/** @param reading the frame as decoded by the protocol, and other known fields */
export function framePayload(
  { direction, frame, atUs }: SeenFrame,
  reading: Pick<FramePayload, 'decoded' | 'decodeError' | 'priority'>,
): FramePayload {
  return { direction, monotonicUs: Math.round(atUs), hex: hexOf(frame), length: frame.length, ...reading }
}

/** The event's field for why a frame cannot be decoded; empty if it can. */
export function decodeErrorOf(fault: Fault | undefined): Pick<FramePayload, 'decodeError'> {
  return fault ? { decodeError: { code: fault.code, message: fault.message } } : {}
}

// Sends every event of every port to all subscribers, and keeps the newest ones of each port.

/** An event as subscribers receive it. */
interface ToldEvent extends PortEvent {
  /** The event as a message of the live feed. While it is being sent out, it is built once for all subscribers. */
  readonly message: string
}

/** A listener must be quick and must not throw: it queues, it does not send. */
type EventListener = (event: ToldEvent) => void

interface EventHubLimits {
  /** Events kept per port for a page that is opened later. */
  history: number
  /** Bytes of frames kept per port; the newest event is kept whatever its size. */
  historyBytes: number
  /** Bytes for the kept events of all ports together; the newest event of each port is always kept. */
  totalBytes: number
}

/** The bytes that a kept event takes with its payload, without its frame. */
export const EVENT_BYTES = 2048

/** The text of a frame that somebody has read takes three characters per byte. */
export const TEXT_OF_BYTE = 3

/** Publishes the events of one port; see `publish` of the hub. */
type PublishEvent = (event: string, payload: unknown, sizeBytes?: number) => void

export interface EventHub {
  /**
   * @param payload a plain value, or a function that makes it when the first listener or reader asks
   *   (a busy raw line would spend more on hex text than on its bytes)
   * @param sizeBytes bytes held while the event is kept; omitted for small events
   */
  publish(port: string, event: string, payload: unknown, sizeBytes?: number): void
  /** @param heard called first for each event but `frame`, of which there are thousands; @returns publishes for a port */
  publisherOf(port: string, heard: (event: string, payload: unknown) => void): PublishEvent
  /** @returns a function that ends the subscription */
  subscribe(listener: EventListener): () => void
  /** The newest `limit` events kept of a port, oldest first. */
  recent(port: string, limit: number): ToldEvent[]
  /** Removes the kept events of a port. */
  forget(port: string): void
  /** The bytes that kept events take now. */
  keptBytes(): number
}

/** @param limits bounds of the kept events; each listener bounds its own queue */
export function createEventHub(clock: Clock, limits: EventHubLimits): EventHub {
  const listeners = new Set<EventListener>()
  const kept = new Map<string, Ring>()

  let keptBytes = 0

  function newRing(port: string): Ring {
    const ring = new Ring(limits)
    kept.set(port, ring)
    return ring
  }

  /** Evicts the oldest events of whichever port keeps the most bytes. */
  function makeRoom(): void {
    while (keptBytes > limits.totalBytes) {
      let most: Ring | undefined
      for (const ring of kept.values()) if (ring.canLose && ring.bytes > (most?.bytes ?? 0)) most = ring
      if (!most) return
      keptBytes -= most.bytes
      most.dropOldest()
      keptBytes += most.bytes
    }
  }

  function publish(port: string, event: string, payload: unknown, sizeBytes = 0): void {
    const entry = new Published(port, event, clock.epochMs(), payload)
    const ring = kept.get(port) ?? newRing(port)
    keptBytes -= ring.bytes
    ring.add(entry, sizeBytes)
    keptBytes += ring.bytes
    makeRoom()
    if (listeners.size > 0) entry.tell(listeners)
  }

  return {
    publish,
    publisherOf: (port, heard) => (event, payload, sizeBytes) => {
      if (event !== 'frame') heard(event, payload)
      publish(port, event, payload, sizeBytes)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    recent: (port, limit) => kept.get(port)?.newest(limit) ?? [],
    forget(port) {
      keptBytes -= kept.get(port)?.bytes ?? 0
      kept.delete(port)
    },
    keptBytes: () => keptBytes,
  }
}

/** An event whose payload is made when it is first read. A class: a busy line makes thousands of these a second. */
class Published implements ToldEvent {
  readonly port: string
  readonly event: string
  readonly timestamp: number
  #payload: unknown
  #isMade: boolean
  /** Held only while the event is sent out: the ring keeps events, and three times their bytes would be too much. */
  #message: string | undefined
  #isOut = false

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

  get message(): string {
    if (this.#message !== undefined) return this.#message
    const { port, event, timestamp, payload } = this
    const message = JSON.stringify({ type: 'event', port, event, timestamp, payload })
    if (this.#isOut) this.#message = message
    return message
  }

  tell(listeners: Iterable<EventListener>): void {
    this.#isOut = true
    for (const listener of listeners) listener(this)
    this.#isOut = false
    this.#message = undefined
  }

  toJSON(): PortEvent {
    const { port, event, timestamp, payload } = this
    return { port, event, timestamp, payload }
  }
}

/** Replaces an evicted event, so that nothing of it stays in memory. */
const nothing: ToldEvent = { port: '', event: '', timestamp: 0, payload: null, message: '' }

/** The newest events of one port within both bounds. */
class Ring {
  readonly #limits: EventHubLimits
  readonly #entries: ToldEvent[] = []
  readonly #sizes: number[] = []
  #first = 0
  #length = 0
  #heldBytes = 0

  constructor(limits: EventHubLimits) {
    this.#limits = limits
  }

  /** What keeping them takes. */
  get bytes(): number {
    return this.#length * EVENT_BYTES + this.#heldBytes * TEXT_OF_BYTE
  }

  get canLose(): boolean {
    return this.#length > 1
  }

  add(entry: ToldEvent, sizeBytes: number): void {
    const { history, historyBytes } = this.#limits
    if (this.#length === history) this.dropOldest()
    const slot = (this.#first + this.#length) % history
    this.#entries[slot] = entry
    this.#sizes[slot] = sizeBytes
    this.#length++
    this.#heldBytes += sizeBytes
    while (this.#heldBytes > historyBytes && this.#length > 1) this.dropOldest()
  }

  newest(limit: number): ToldEvent[] {
    const count = Math.min(limit, this.#length)
    const from = this.#first + this.#length - count
    return Array.from({ length: count }, (_, at) => this.#entries[(from + at) % this.#limits.history]).filter(
      (entry) => entry !== undefined,
    )
  }

  dropOldest(): void {
    this.#heldBytes -= this.#sizes[this.#first] ?? 0
    this.#entries[this.#first] = nothing
    this.#first = (this.#first + 1) % this.#limits.history
    this.#length--
  }
}

/** Where a feed's messages go. */
export interface FeedSink {
  /** @returns false where the listener is too far behind and the message was not taken */
  send(text: string): boolean
  /** Everything sent so far has been taken. */
  readonly hasCaughtUp: boolean
}

/** What a listener asks for; an absent field means all. */
interface FeedWish {
  port?: string
  events?: readonly string[]
  /** How many past events come first; only with `port`. */
  replay?: number
}

export interface FeedLimits {
  /** How often a listener that is behind gets a count of what it missed. */
  summaryMs: number
}

/**
 * A slow listener loses messages and is told how many: `{type: 'summary', dropped}`. Nothing is kept for it. It gets no
 * past or present events of ports that it may not see, whatever it asks for.
 */
export function createFeed(parts: {
  hub: EventHub
  clock: Clock
  sink: FeedSink
  limits: FeedLimits
  /** Whether this listener may see a port. */
  mayHear: (port: string) => boolean
  /** Tells the listener of changes of the ledger. @returns ends it */
  onLedger?: () => () => void
}) {
  const { hub, sink } = parts
  let leave: (() => void) | undefined
  let leaveLedger: (() => void) | undefined
  let dropped = 0
  let summary: Timer | undefined

  function tellWhatWasDropped(): void {
    summary = undefined
    if (dropped === 0) return
    // Only once the listener has caught up: one that reads nothing would otherwise get summaries until they fill the
    // buffer.
    if (sink.hasCaughtUp && sink.send(JSON.stringify({ type: 'summary', dropped }))) dropped = 0
    else summaryLater()
  }

  function summaryLater(): void {
    summary ??= parts.clock.after(parts.limits.summaryMs, tellWhatWasDropped)
  }

  function pass(event: ToldEvent): void {
    if (dropped > 0) {
      dropped++ // order is kept: first the summary, then new events
      return
    }
    if (sink.send(event.message)) return
    dropped++
    summaryLater()
  }

  function unsubscribe(): void {
    leave?.()
    leaveLedger?.()
    leave = undefined
    leaveLedger = undefined
  }

  return {
    /** Replaces the previous subscription. */
    subscribe(wish: FeedWish): void {
      unsubscribe()
      const names = wish.events && new Set(wish.events)
      const isWanted = (event: ToldEvent) =>
        (wish.port === undefined || event.port === wish.port) &&
        (!names || names.has(event.event)) &&
        parts.mayHear(event.port)
      // A listener that is behind gets no past events: it could ask for them again and again, at everybody's expense.
      if (wish.port !== undefined && wish.replay && dropped === 0)
        for (const event of hub.recent(wish.port, wish.replay).filter(isWanted)) pass(event)
      leave = hub.subscribe((event) => {
        if (isWanted(event)) pass(event)
      })
      // The ledger is of no one port.
      if (wish.port === undefined && (!names || names.has('ledger'))) leaveLedger = parts.onLedger?.()
    },
    unsubscribe,
    close(): void {
      unsubscribe()
      summary?.cancel()
    },
  }
}
