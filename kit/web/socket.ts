/** One WebSocket for as long as a page wants it, opened with a one-time ticket, opened again when it was cut; and the live feed of events over it. */
import { signal } from '@preact/signals'
import { call, canCall, type Target } from './call.ts'
import { isLost, RETRY_MS } from './contact.ts'

/** What a page does with a socket. Messages are JSON both ways. */
interface SocketUse {
  /** Every time it is open, the first and after every cut. */
  begin(send: (message: object) => void): void
  hear(message: unknown): void
  /** Cut, or closed by the page. */
  end?(): void
}

/** Where a socket is, and who gives tickets for it. */
interface SocketPlace {
  ticket: Target
  path: string
}

const USUAL: SocketPlace = { ticket: 'POST /api/ticket', path: '/ws' }

/** A socket that is kept until closed. */
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
      const { ticket } = await call<{ ticket: string }>(at.ticket)
      if (isClosed) return
      const made = new WebSocket(addressOf(at.path, ticket))
      socket = made
      made.onopen = () => {
        tries = 0
        use.begin((message) => made.send(JSON.stringify(message)))
      }
      made.onmessage = (event) => {
        // What lay in a socket that is closed is old.
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

  // Contact that is back is found by others first; values that stay old for seconds more would look like new ones.
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

function addressOf(path: string, ticket: string): URL {
  const url = new URL(`${path}?ticket=${encodeURIComponent(ticket)}`, location.href)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return url
}

// The live feed of events: a kept socket that is told what the page wants to hear.

/** What a page wants to hear. */
interface Wish {
  port?: string
  events?: string[]
  /** Past events to be told first. */
  replay?: number
}

/** One message of the feed. */
export type FeedMessage =
  | { type: 'event'; port: string; event: string; timestamp: number; payload: unknown }
  | { type: 'summary'; dropped: number }
  | { type: 'error'; error: string; message: string }

/** True while the feed runs. */
export const isFed = signal(false)

/** A feed that runs until closed. */
export type Feed = KeptSocket

/** Listens; survives cuts: every time the socket opens, the wish is told again with its replay, after `begin`. */
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
