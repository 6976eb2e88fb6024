/** Announces a stream over SAP on one network interface. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Link } from '#kit/net/mdns/links.ts'
import { type Announced, SapAnnouncing } from '../../core/streams/sap-announcing.ts'
import { KeptOnLink } from './kept-on-link.ts'
import { openSapSpeaker, type SapSpeaker } from './sap-sockets.ts'

/** What it is made of. */
export interface SapAnnouncerOptions {
  clock: Clock
  log: Log
  everyMs: number
  /** 1..255 */
  ttl: number
  recheckMs: number
  link(): Link | undefined
  describe(): Announced | undefined
  /** Something was announced, or could not be. */
  onChange(): void
}

/** From `start` to `stop`, which takes the stream back. */
export function createSapAnnouncer(options: SapAnnouncerOptions) {
  const { clock, describe, everyMs, link, log, onChange, recheckMs, ttl } = options
  const kept = new KeptOnLink<SapSpeaker>({
    ...{ clock, log, link, recheckMs },
    trouble: 'the stream cannot be announced',
    open: ({ address }) =>
      openSapSpeaker(address, ttl, (fault) => {
        log.warning('the stream could not be announced', { fault })
        kept.broken()
        onChange()
      }),
    onOpen: () => announcing.again(),
  })
  const announcing = new SapAnnouncing({
    ...{ clock, everyMs, describe },
    send(bytes) {
      kept.thing?.send(bytes)
      onChange()
      return kept.thing !== undefined
    },
  })
  return {
    async start(): Promise<void> {
      await kept.start()
      announcing.start()
    },
    async stop(): Promise<void> {
      announcing.stop()
      await kept.stop()
    },
    changed: () => announcing.changed(),
    /** `on` while it can be sent. */
    view: () => ({ ...announcing.view(), on: kept.thing !== undefined }),
  }
}
