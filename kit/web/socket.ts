/**
 * A WebSocket for as long as a page wants it: opened with a one-time ticket or a cookie, reopened after a cut; and the
 * live feed of events over it.
 */
import { signal } from '@preact/signals'
import { call, canCall, type Target } from './call.ts'
import { isLost, RETRY_MS } from './contact.ts'

/** Callbacks of a page's socket. Messages are JSON both ways. */
interface SocketUse {
  /** Called every time it opens, at first and after every cut. */
  begin(send: (message: object) => void): void
  hear(message: unknown): void
  /** It was cut, or closed by the page. */
  end?(): void
}

/** Path of a socket. */
interface SocketPlace {
  /** Where to get its tickets; without, the cookie of the page opens it. */
  ticket?: Target
  path: string
}

const USUAL: SocketPlace = { ticket: 'POST /api/ticket', path: '/ws' }

/** A socket that is kept open until closed. */
export interface KeptSocket {
  close(): void
}

/** Opens the daemon's `/ws`, or another one, and keeps it open. */
export function keepSocket(use: SocketUse, at: SocketPlace = USUAL): KeptSocket {
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let tries = 0

  async function open(): Promise<void> {
    try {
      const shown = at.ticket && (await call<{ ticket: string }>(at.ticket))
      if (isClosed) return
      const made = new WebSocket(addressOf(at.path, shown?.ticket))
      socket = made
      made.onopen = () => {
        tries = 0
        use.begin((message) => made.send(JSON.stringify(message)))
      }
      made.onmessage = (event) => {
        // Messages still buffered in a closed socket are stale.
        if (!isClosed) use.hear(JSON.parse(String(event.data)))
      }
      made.onclose = again
    } catch {
      again()
    }
  }

  function again(): void {
    if (isClosed) return
    use.end?.()
    const waitMs = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 8000
    tries += 1
    timer = setTimeout(retry, waitMs)
  }

  function retry(): void {
    timer = undefined
    if (canCall()) void open()
    else again()
  }

  // Others notice first that contact is back; retry at once, since values that stay old for seconds would look current.
  const stopWatching = isLost.subscribe((lost) => {
    if (lost || timer === undefined) return
    clearTimeout(timer)
    tries = 0
    retry()
  })
  void open()
  return {
    close() {
      isClosed = true
      stopWatching()
      use.end?.()
      clearTimeout(timer)
      socket?.close()
    },
  }
}

function addressOf(path: string, ticket: string | undefined): URL {
  const url = new URL(path, location.href)
  if (ticket !== undefined) url.searchParams.set('ticket', ticket)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return url
}

// The live feed of events: a kept socket with a subscription.

/** The subscription of a page. */
interface Wish {
  port?: string
  events?: string[]
  /** Number of past events to send first. */
  replay?: number
}

/** One message of the feed. */
export type FeedMessage =
  | { type: 'event'; port: string; event: string; timestamp: number; payload: unknown }
  | { type: 'summary'; dropped: number }
  | { type: 'error'; error: string; message: string }

/** True while the feed is open. */
export const isFed = signal(false)

/** A feed that runs until closed. */
export type Feed = KeptSocket

/** Subscribes, and survives cuts: every time the socket opens, it calls `begin` and subscribes again, with replay. */
export function openFeed(wish: Wish, hear: (message: FeedMessage) => void, begin: () => void): Feed {
  return keepSocket({
    begin(send) {
      isFed.value = true
      begin()
      send({ type: 'subscribe', ...wish })
    },
    hear: (message) => hear(message as FeedMessage),
    end() {
      isFed.value = false
    },
  })
}
