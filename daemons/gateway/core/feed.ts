/** One listener of the live feed: what it wants of the events, and what happens when it cannot keep up. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { EventHub, ToldEvent } from './event-hub.ts'

/** Where a feed's messages go. */
export interface FeedSink {
  /** @returns false where the listener is too far behind and the message was not taken */
  send(text: string): boolean
  /** Everything sent so far has been taken. */
  readonly hasCaughtUp: boolean
}

/** What a listener asks for; absent means all. */
export interface FeedWish {
  port?: string
  events?: readonly string[]
  /** Events of the past to begin with, only with `port`. */
  replay?: number
}

export interface FeedLimits {
  /** How often a listener that is behind is told what it missed. */
  summaryMs: number
}

/**
 * A slow listener loses messages and is told how many: `{type: 'summary', dropped}`. Nothing is kept for it.
 * Of ports that are not its own it hears nothing, whatever it asks for: past or present.
 */
export function createFeed(parts: {
  hub: EventHub
  clock: Clock
  sink: FeedSink
  limits: FeedLimits
  /** Whether this listener may hear of a port. */
  mayHear: (port: string) => boolean
}) {
  const { hub, sink } = parts
  let leave: (() => void) | undefined
  let dropped = 0
  let summary: Timer | undefined

  function tellWhatWasDropped(): void {
    summary = undefined
    if (dropped === 0) return
    // Not as soon as it fits: who reads nothing would be sent summaries until they fill what events could not.
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
    leave = undefined
  }

  return {
    /** Replaces the wish before. */
    subscribe(wish: FeedWish): void {
      unsubscribe()
      const names = wish.events && new Set(wish.events)
      const isWanted = (event: ToldEvent) =>
        (wish.port === undefined || event.port === wish.port) &&
        (!names || names.has(event.event)) &&
        parts.mayHear(event.port)
      // A listener that is behind gets no past: it could ask for it again and again, at the cost of everybody else.
      if (wish.port !== undefined && wish.replay && dropped === 0)
        for (const event of hub.recent(wish.port, wish.replay).filter(isWanted)) pass(event)
      leave = hub.subscribe((event) => {
        if (isWanted(event)) pass(event)
      })
    },
    unsubscribe,
    close(): void {
      unsubscribe()
      summary?.cancel()
    },
  }
}
