/** The live socket of the zones, kept open as long as somebody is signed in. */
import { type KeptSocket, keepSocket } from '#kit/web/socket.ts'
import type { ZoneMessage } from '../core/zone-feed.ts'

/** What hears it. */
export interface LiveUse {
  hear(message: ZoneMessage): void
  /** Open, the first time and after every cut. */
  begun(): void
  ended(): void
}

/** Opens it with a ticket of the session's cookie, and again when it was cut. */
export function openLive({ hear, begun, ended }: LiveUse): KeptSocket {
  const use = { begin: begun, hear: (message: unknown) => hear(message as ZoneMessage), end: ended }
  return keepSocket(use, { ticket: 'POST /ui/ticket', path: '/ui/live' })
}
