/** The session that a board offers: which it is, in which version, and what it is called where streams are found. */

import { plainText } from '#kit/bytes/plain-text.ts'
import type { Clock } from '#kit/clock.ts'
import type { StreamDescription } from '../../wire/streams/stream-description.ts'

/** A stream before it is told which session it is. */
export type OwnStream = Omit<StreamDescription, 'sessionId' | 'version'>

/** Seconds from 1900 to 1970. @source RFC 5905, 6 */
const NTP_EPOCH_S = 2_208_988_800

/**
 * Numbers each change: the version is the time of the change, so that it grows over restarts too.
 * @param sessionId digits; the same at each start, so that receivers know the stream again
 * @source RFC 4566, 5.2
 */
export function createOwnSession(clock: Clock, sessionId: string) {
  let version = 0
  let last = ''

  return {
    describe(stream: OwnStream): StreamDescription {
      const text = JSON.stringify(stream)
      if (text !== last) version = Math.max(version + 1, Math.floor(clock.epochMs() / 1000) + NTP_EPOCH_S)
      last = text
      return { ...stream, sessionId, version: String(version) }
    },
  }
}

/** A label of a name. @source RFC 1035, 2.3.4 */
const LABEL_BYTES = 63

/**
 * What RAVENNA devices list the stream as: its name, with the board's behind it, since names have to differ on a network
 * and two boards may be called alike. Dots would part labels.
 */
export function sessionLabel(name: string, hostname: string): string {
  const host = plainText(hostname.replaceAll('.', '-'), 40)
  const room = LABEL_BYTES - new TextEncoder().encode(host).length - 1
  let text = plainText(name.replaceAll('.', '-'), room)
  while (new TextEncoder().encode(text).length > room) text = [...text].slice(0, -1).join('')
  return `${text.trim()} ${host}`.trim() || 'board'
}
