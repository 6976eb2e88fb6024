/** Units for tests of what the pages say about them. */

import type { UnitView as BusUnit } from '../../core/bus/units.ts'
import type { Unit } from '../../web/port-verdict.ts'

/** Unit 1, well, as in the gateway's counts. */
export function busUnit(over: Partial<BusUnit> = {}): BusUnit {
  const plain: BusUnit = {
    unitId: 1,
    state: 'well',
    stateSince: 0,
    requests: 10,
    replies: 10,
    exceptions: 0,
    timeouts: 0,
    crcErrors: 0,
    badReplies: 0,
    lateReplies: 0,
    copies: 0,
    lately: { exchanges: 10, damaged: 0, missing: 0, twice: 0, lastBadAt: null },
    lastReplyAt: null,
    lastError: null,
    latencyMs: { last: 20, p50: 20, p95: 30, max: 40 },
    histogram: [],
    heldUntil: null,
    nextTryAt: null,
  }
  return { ...plain, ...over }
}

/** Unit 1, well, as in the frames of the last minute. */
export function seenUnit(over: Partial<Unit> = {}): Unit {
  const plain: Unit = {
    unit: 1,
    answers: 1,
    misses: 0,
    late: 0,
    exceptions: 0,
    isWell: true,
    middleMs: 20,
    history: [20],
    lateMs: null,
  }
  return { ...plain, ...over }
}
