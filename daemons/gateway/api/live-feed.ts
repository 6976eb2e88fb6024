/** `/ws`: live events for a page or an integration. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { createReader } from '#kit/http/check.ts'
import type { Caller } from '#kit/http/route.ts'
import type { Socket } from '#kit/http/socket.ts'
import type { SocketRoute } from '#kit/http/sockets.ts'
import type { EventHub } from '../core/event-hub.ts'
import { createFeed, type FeedLimits, type FeedSink } from '../core/feed.ts'
import { type Fenced, notYourPort, seesPort } from '../core/key-fence.ts'

/** What a client may say. `subscribe` replaces what it asked for before. */
const readSubscribe = createReader(
  Type.Object(
    {
      type: Type.Literal('subscribe'),
      port: Type.Optional(Type.String({ maxLength: 4096, description: 'device path; absent means every port' })),
      events: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64, description: 'event names' })),
      replay: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, description: 'past events to begin with' })),
    },
    { additionalProperties: false },
  ),
)
const readUnsubscribe = createReader(
  Type.Object({ type: Type.Literal('unsubscribe') }, { additionalProperties: false }),
)

export interface LiveFeedParts {
  hub: EventHub
  clock: Clock
  limits: FeedLimits
  /** Messages not understood after which a client is let go: to answer each would cost the lines their time. */
  badMessages: number
}

/** RFC 6455, 7.4.1. */
const POLICY = 1008

export function liveFeedRoute({ hub, clock, limits, badMessages }: LiveFeedParts): SocketRoute {
  return {
    path: '/ws',
    who: 'user',
    summary: 'Live events, by port and event name; a client that does not keep up gets their count',
    open(socket: Socket, caller: Caller | undefined) {
      const mayHear = (port: string) => seesPort(caller ?? NOBODY, port)
      const sink: FeedSink = {
        send: (text) => socket.send(text),
        get hasCaughtUp() {
          return socket.bufferedBytes === 0
        },
      }
      const feed = createFeed({ hub, clock, limits, mayHear, sink })
      let bad = 0
      socket.onMessage((data) => {
        // What came behind the last straw is still handed up.
        if (!socket.isOpen) return
        try {
          hear(feed, String(data), caller ?? NOBODY)
        } catch (error) {
          const fault = error instanceof Fault ? error : new Fault('bad_message', 'The message is not understood.')
          socket.send(JSON.stringify({ type: 'error', error: fault.code, message: fault.message, ...fault.details }))
          if (++bad >= badMessages) socket.close(POLICY, `${bad} messages were not understood`)
        }
      })
      socket.onClose(() => feed.close())
    },
  }
}

/** Sees no port; the route lets nobody in who is not known. */
const NOBODY: Fenced = { name: 'nobody', only: [] }

function hear(feed: ReturnType<typeof createFeed>, text: string, caller: Fenced): void {
  const message = parsed(text)
  const type = (message as { type?: unknown } | null)?.type
  if (type === 'subscribe') {
    const wish = readSubscribe(message)
    if (wish.port !== undefined && !seesPort(caller, wish.port)) throw notYourPort(caller)
    feed.subscribe(wish)
  } else if (type === 'unsubscribe') {
    readUnsubscribe(message)
    feed.unsubscribe()
  } else throw new Fault('bad_message', `A message has type "subscribe" or "unsubscribe"; this one has ${shown(type)}.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault('bad_message', 'The message is no JSON.', { cause: error })
  }
}

function shown(type: unknown): string {
  return type === undefined ? 'none' : JSON.stringify(type).slice(0, 40)
}
