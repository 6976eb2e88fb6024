/** Hears what is announced over SAP on one network interface. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import type { Link } from '#kit/net/mdns/links.ts'
import type { StreamBook } from '../../core/streams/stream-book.ts'
import { readSap, type SapPacket } from '../../wire/streams/sap.ts'
import { KeptOnLink } from './kept-on-link.ts'
import { openSapListener } from './sap-sockets.ts'

/** What it is made of. */
export interface SapListenerOptions {
  clock: Clock
  log: Log
  recheckMs: number
  link(): Link | undefined
  book: Pick<StreamBook, 'heard' | 'takenBack'>
}

/** From `start` to `stop`. */
export function createSapListener({ book, clock, link, log, recheckMs }: SapListenerOptions) {
  const counts = { packets: 0, malformed: 0, notRead: 0 }

  function opened(bytes: Uint8Array): SapPacket | undefined {
    try {
      return readSap(bytes)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code === 'sap_not_read') counts.notRead++
      else counts.malformed++
      return undefined
    }
  }

  function onPacket(bytes: Uint8Array, from: string): void {
    counts.packets++
    const packet = opened(bytes)
    if (!packet) return
    const { hash, isDeletion, sdp } = packet
    if (isDeletion) book.takenBack({ by: ['sap'], from, hash, sdp })
    else book.heard({ by: ['sap'], from, hash, sdp })
  }

  const kept = new KeptOnLink({
    ...{ clock, log, link, recheckMs },
    trouble: 'announcements of streams cannot be heard',
    open: ({ address }) => {
      const onTrouble = (fault: Error) => {
        log.warning('announcements of streams are heard no more', { fault })
        kept.broken()
      }
      return openSapListener(address, { onPacket, onTrouble })
    },
    onOpen: () => {},
  })
  return {
    start: () => kept.start(),
    stop: () => kept.stop(),
    isOpen: () => kept.thing !== undefined,
    /** Packets heard; what was none; what was encrypted, compressed, or of something else. */
    counts: () => ({ ...counts }),
  }
}
