/** The live feed: one socket, opened with a one-time ticket, opened again when it was cut. */
import { signal } from '@preact/signals'
import { call } from './call.ts'
import { RETRY_MS } from './contact.ts'
import { token } from './session.ts'

/** What a page wants to hear. */
export interface Wish {
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
export interface Feed {
  close(): void
}

/** Listens; survives cuts: every time the socket opens, the wish is told again with its replay, after `begin`. */
export function openFeed(wish: Wish, hear: (message: FeedMessage) => void, begin: () => void): Feed {
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let tries = 0

  async function open(): Promise<void> {
    try {
      const { ticket } = await call<{ ticket: string }>('POST /api/ticket')
      if (isClosed) return
      const url = new URL(`ws?ticket=${encodeURIComponent(ticket)}`, location.href)
      url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
      url.hash = ''
      socket = new WebSocket(url)
      socket.onopen = () => {
        tries = 0
        isFed.value = true
        begin()
        socket?.send(JSON.stringify({ type: 'subscribe', ...wish }))
      }
      socket.onmessage = (event) => hear(JSON.parse(String(event.data)) as FeedMessage)
      socket.onclose = again
    } catch {
      again()
    }
  }

  function again(): void {
    if (isClosed) return
    isFed.value = false
    const waitMs = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 8000
    tries += 1
    timer = setTimeout(() => void (token.value ? open() : again()), waitMs)
  }

  void open()
  return {
    close() {
      isClosed = true
      isFed.value = false
      clearTimeout(timer)
      socket?.close()
    },
  }
}
