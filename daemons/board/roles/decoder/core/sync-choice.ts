/** By what time a stream is played: the clock that board and sender share, or the arrival of its packets. */
import type { PtpView } from '../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { isSameClock, type OwnRefClock } from '../../../wire/streams/description.ts'
import type { SyncMode } from './ports.ts'

/** The board's own clock. */
export interface OwnClock {
  view: Pick<PtpView, 'enabled' | 'state'>
  refClock: OwnRefClock
  isLocked: boolean
  /** It has been, at some time since the start. */
  wasLocked: boolean
}

/** What the choice is made from. */
export interface SyncFacts {
  /** null where nobody announces it. */
  announcement: Pick<HeardStream, 'refclk'> | null
  own: OwnClock
  /** Arrival of packets less their timestamps by the board's clock, in ms; null while that is not known. */
  transitMs: number | null
}

/** How it is played, and why it may not be. */
export interface SyncChoice {
  sync: SyncMode
  /** Why the stream cannot be played in time with its sender; null where it can. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | null
}

/** Timestamps this close to the board's own clock are counted on it: by chance that is one stream in half a million. */
const SAME_CLOCK_MS = { from: -20, to: 150 } as const

/**
 * A stream that names a grandmaster is played by that clock where this board follows one, and is silent while it has
 * never been locked, or follows another; a board without PTP plays it by arrival, as it does those of a sender that keeps
 * its own time. What names no clock is on the board's where its timestamps say so.
 */
export function chooseSync({ announcement, own, transitMs }: SyncFacts): SyncChoice {
  const clock = announcement?.refclk ?? null
  const isByPtp = own.view.enabled && own.view.state !== 'absent'
  if (clock?.kind === 'ptp') {
    if (!isByPtp) return { sync: 'arrival', broken: null }
    // A clock that is lost goes on at its last rate, and so does the sound.
    if (!own.isLocked) return { sync: 'clock', broken: own.wasLocked ? null : 'no_ptp_lock' }
    return { sync: 'clock', broken: isSameClock(clock, own.refClock) ? null : 'other_grandmaster' }
  }
  if (clock?.kind === 'localmac') {
    const isOwn = own.refClock.kind === 'localmac' && own.refClock.mac.toUpperCase() === clock.mac.toUpperCase()
    return { sync: isOwn ? 'clock' : 'arrival', broken: null }
  }
  const isOurs = own.isLocked && transitMs !== null && isNear(transitMs)
  return { sync: isOurs ? 'clock' : 'arrival', broken: null }
}

function isNear(transitMs: number): boolean {
  return transitMs >= SAME_CLOCK_MS.from && transitMs <= SAME_CLOCK_MS.to
}
