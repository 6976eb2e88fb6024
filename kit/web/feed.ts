/** The live feed of events: a kept socket that is told what the page wants to hear. */
import { signal } from '@preact/signals'
import { type KeptSocket, keepSocket } from './socket.ts'

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
