/** Keeps the audit within its bounds: the oldest rows go, a few at a time, and never because a clock was wrong. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { AuditConfig } from '../core/audit-keys.ts'
import type { AuditTask } from './audit-thread.ts'

/** Trims again and again until it is stopped. */
export interface AuditTrim {
  start(): void
  stop(): void
}

const DAY_MS = 86_400_000

/** A wall clock that moved by more than this beside the monotonic one was set by somebody. */
const STEP_MS = 3_600_000

/** Between two steps of one trim, so that what is written meanwhile does not wait. */
const PAUSE_MS = 50

/**
 * By age only once the clock has been steady for a day of this run: a box without a battery that wakes in 2038 would else
 * throw away everything it knows. By number always.
 * @param by `run` does one task; what it throws is logged, and tried again with the next period
 */
export function createAuditTrim(by: {
  clock: Clock
  log: Log
  limits: Pick<AuditConfig, 'keep_days' | 'most_rows' | 'trim_ms' | 'trim_rows'>
  run: (task: AuditTask) => Promise<boolean>
}): AuditTrim {
  const { clock, limits } = by
  // What the clock did before the start nobody knows: a box without a battery wakes with any time.
  let steadySinceMs = clock.monotonicMs()
  let offsetMs = clock.epochMs() - clock.monotonicMs()
  let timer: Timer | undefined
  let isStopped = false

  /** Epoch ms from before which rows may go; 0 while nobody knows how old they are. */
  function oldest(): number {
    const nowMs = clock.monotonicMs()
    const offset = clock.epochMs() - nowMs
    if (Math.abs(offset - offsetMs) > STEP_MS) {
      steadySinceMs = nowMs
      offsetMs = offset
    }
    return nowMs - steadySinceMs < DAY_MS ? 0 : clock.epochMs() - limits.keep_days * DAY_MS
  }

  async function trim(): Promise<void> {
    const task = { kind: 'trim', beforeAt: oldest(), most: limits.most_rows, step: limits.trim_rows } as const
    const hasMore = await by.run(task).catch((fault) => {
      by.log.warning('audit_not_trimmed', { fault })
      return false
    })
    if (!isStopped) timer = clock.after(hasMore ? PAUSE_MS : limits.trim_ms, () => void trim())
  }

  return {
    start: () => void trim(),
    stop() {
      isStopped = true
      timer?.cancel()
    },
  }
}
