/** Routes that stream for as long as the client listens: the live feed and captures. */

import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import { type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import type { Socket, SocketRoute } from '#kit/http/sockets.ts'
import { Gathered } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { CaptureSink, Captures } from '../core/lines/capture.ts'
import { createFeed, type EventHub, type FeedLimits, type FeedSink } from '../core/lines/events.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import { type Fenced, notYourPort, seesPort } from '../core/people/keys.ts'
import { portParams } from './port-routes.ts'

// `/ws`: live events for a page or an integration.

/** The messages of a client. `subscribe` replaces the previous subscription. */
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

interface LiveFeedParts {
  hub: EventHub
  clock: Clock
  limits: FeedLimits
  /** Invalid messages after which the client is disconnected: answering each of them would take time from the lines. */
  badMessages: number
  /** Calls after changes of the ledger. @returns ends it */
  onLedger?: (listener: () => void) => () => void
  /** What the ledger has open, as far as the caller may see it. */
  ledger?: (caller: Caller | undefined) => object
}

/** RFC 6455, 7.4.1. */
const POLICY = 1008

export function liveFeedRoute({ hub, clock, limits, badMessages, ledger, onLedger }: LiveFeedParts): SocketRoute {
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
      const tellLedger = () => void socket.send(JSON.stringify({ type: 'ledger', ...ledger?.(caller) }))
      const feed = createFeed({ hub, clock, limits, mayHear, sink, onLedger: onLedger && (() => onLedger(tellLedger)) })
      let bad = 0
      socket.onMessage((data) => {
        // Messages that arrived after the last invalid one are still delivered: ignore them.
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

/** A caller who sees no port. The route admits only callers who are signed in. */
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
    throw new Fault('bad_message', 'The message is not JSON.', { cause: error })
  }
}

function shown(type: unknown): string {
  return type === undefined ? 'none' : JSON.stringify(type).slice(0, 40)
}

export interface CaptureRouteParts {
  registry: PortRegistry
  captures: Captures
  /** Bytes held for one capture before it is broken off; `capture.backlog_bytes`. */
  backlogBytes: number
}

export function captureRoute({ registry, captures, backlogBytes }: CaptureRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/ports/:path/capture.pcap',
    who: 'user',
    ticket: true,
    summary: 'Live capture of a port until the client leaves, for Wireshark',
    params: portParams,
    replyType: 'application/vnd.tcpdump.pcap',
    handle({ params }) {
      const { path } = params
      const { protocol } = registry.record(path)
      const { file, sink } = captureFile(backlogBytes)
      const stop = captures.start(path, protocol, sink)
      file.once('close', stop)
      return new Reply(200, file, {
        'content-type': 'application/vnd.tcpdump.pcap',
        'content-disposition': `attachment; filename="${nameOf(path)}.pcap"`,
      })
    },
  })
}

/** Sends a record at once to a client that keeps up. Records that wait are joined, since most have a few bytes. */
function captureFile(backlogBytes: number): { file: Readable; sink: CaptureSink } {
  const gathered = new Gathered()
  let isWanted = false
  const file = new Readable({
    // At most one record waits here unjoined.
    highWaterMark: 1,
    read() {
      isWanted = true
      pushRest()
    },
  })
  function pushRest(): void {
    if (!isWanted || gathered.length === 0) return
    isWanted = false
    file.push(gathered.take())
  }
  const sink: CaptureSink = {
    write(bytes) {
      if (file.readableLength + gathered.length + bytes.length > backlogBytes) return false
      gathered.add(bytes, (piece) => void file.push(piece))
      pushRest()
      return true
    },
    end() {
      file.push(gathered.take())
      file.push(null)
    },
    breakOff: (fault) => void file.destroy(fault),
  }
  return { file, sink }
}

/** `/dev/ttyUSB0` becomes `ttyUSB0`: letters, digits, dots and hyphens of the last part. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_') || 'port'
}
