/** One who watches live over a connection of their own: what is sent, and what is left out where it is too slow. */
import type { Clock } from '#kit/clock.ts'
import type { LiveFragment, LiveHead, LiveViewer } from './channel.ts'

/** A connection to one who watches. */
export interface LiveLine {
  /** Bytes that wait to be sent. */
  readonly bufferedBytes: number
  /** @returns false if it was not taken: too much waits */
  send(message: string | Uint8Array): boolean
  close(code: number, reason: string): void
}

/** Bounds of one who watches, by the names of their settings. */
export interface ViewerLimits {
  /** What waits for so long to be sent is too late: only key frames follow. */
  lagMs: number
  /** Who has not caught up after so long is closed. */
  slowMs: number
}

// state x event -> next state.

export type ViewerState = 'waiting' | 'flowing' | 'behind' | 'closed'

/**
 * - `keyFrame` one was sent, and nothing waits
 * - `missed` pictures are missing: what follows is of no use before the next key frame
 * - `tooSlow` what was sent waits too long, or too much of it
 * - `outOfTime` it has not caught up
 */
export type ViewerEvent = 'keyFrame' | 'missed' | 'tooSlow' | 'outOfTime'

/** A pair that is not listed does not change the state. */
export const viewerStateTable: Readonly<Record<ViewerState, Partial<Record<ViewerEvent, ViewerState>>>> = {
  waiting: { keyFrame: 'flowing', tooSlow: 'behind' },
  flowing: { missed: 'waiting', tooSlow: 'behind' },
  behind: { keyFrame: 'flowing', outOfTime: 'closed' },
  closed: {},
}

/** RFC 6455, 7.4.1, and the register of IANA. */
const NORMAL = 1000
const POLICY_VIOLATION = 1008
export const TRY_AGAIN_LATER = 1013

/** How a stream of a camera with masks is closed: nothing is painted into it. A reason has at most 123 bytes. */
export const MASKED = [
  POLICY_VIOLATION,
  'This camera has privacy masks. Ask for its stream.mjpg or playback.mp4.',
] as const

/** What was sent since is no backlog: sound and a picture of one moment come together. */
const MOMENT_MS = 20

/** A frame of more than 65,535 bytes has so many before it. */
const FRAME_HEAD_BYTES = 10

interface ViewerParts {
  clock: Clock
  line: LiveLine
  isHearing: boolean
  limits: ViewerLimits
}

export function createViewer({ clock, isHearing, limits, line }: ViewerParts): LiveViewer & { state(): ViewerState } {
  const unsent = createUnsentTimes(clock)
  let state: ViewerState = 'waiting'
  let slowSinceMs = 0
  /** What is sent before the next key frame. */
  let headDue: LiveHead | undefined

  function move(event: ViewerEvent): void {
    const next = viewerStateTable[state][event]
    if (next === undefined) return
    if (next === 'behind') slowSinceMs = clock.monotonicMs()
    state = next
  }

  function sent(message: string | Uint8Array): boolean {
    if (!line.send(message)) return false
    unsent.add(message.length + FRAME_HEAD_BYTES, line.bufferedBytes)
    return true
  }

  function sentHead(): boolean {
    if (!headDue) return true
    const { bytes, height, mime, startAt, width } = headDue
    if (!sent(JSON.stringify({ type: 'init', mime, width, height, startAt })) || !sent(bytes)) return false
    headDue = undefined
    return true
  }

  /** Whether all that was sent before is on its way: then it may be sent every picture. */
  function showKey(fragment: LiveFragment): void {
    const hasCaughtUp = state !== 'behind' || unsent.oldestMs(line.bufferedBytes) <= MOMENT_MS
    if (sentHead() && sent(fragment.bytes)) {
      if (hasCaughtUp) move('keyFrame')
    } else move('tooSlow')
  }

  return {
    isHearing,
    state: () => state,
    end: (why) => (why === 'removed' ? line.close(NORMAL, 'The camera was removed.') : line.close(...MASKED)),
    begin(head) {
      headDue = head
      move('missed')
    },
    show(fragment) {
      if (state === 'flowing' && unsent.oldestMs(line.bufferedBytes) > limits.lagMs) move('tooSlow')
      if (state === 'behind' && clock.monotonicMs() - slowSinceMs > limits.slowMs) {
        move('outOfTime')
        line.close(TRY_AGAIN_LATER, 'Pictures were taken too slowly. Open it again, or watch the sub stream.')
      }
      if (state === 'closed') return
      if (fragment.isKey) showKey(fragment)
      else if (state === 'flowing' && !sent(fragment.bytes)) move('tooSlow')
    },
    hear(bytes) {
      // Sound is little beside pictures: it goes on beside key frames alone. What does not fit is left out.
      if (headDue === undefined && state !== 'closed') sent(bytes)
    },
  }
}

/** Since when what waits to be sent does so. */
function createUnsentTimes(clock: Clock) {
  const waiting: { bytes: number; sinceMs: number }[] = []
  let sum = 0

  function forgetGone(unsentBytes: number): void {
    let gone = 0
    for (const { bytes } of waiting) {
      if (sum - bytes < unsentBytes) break
      sum -= bytes
      gone++
    }
    if (gone > 0) waiting.splice(0, gone)
  }

  return {
    /** @param unsentBytes what the connection has not passed on, this message included */
    add(bytes: number, unsentBytes: number): void {
      waiting.push({ bytes, sinceMs: clock.monotonicMs() })
      sum += bytes
      // Not only when a picture asks for it: a camera may go on with its sound alone.
      forgetGone(unsentBytes)
    },
    /** @returns how long the oldest of it waits; 0: nothing does */
    oldestMs(unsentBytes: number): number {
      forgetGone(unsentBytes)
      const [oldest] = waiting
      return oldest && unsentBytes > 0 ? clock.monotonicMs() - oldest.sinceMs : 0
    },
  }
}
