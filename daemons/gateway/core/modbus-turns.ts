/**
 * Whose turn it is on a Modbus line. Operators first, then polls. What may cost a whole timeout (a unit that left its
 * last request unanswered) and background work go into gaps between polls, so that a dead unit does not move the polls
 * of the others; after `background_wait_ms` they go all the same, in turn with polls.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Priority } from './modbus-ask.ts'
import type { Transaction } from './modbus-transaction.ts'
import type { TransactionQueue, Waiting } from './transaction-queue.ts'

type One = Waiting<Priority, Transaction>

export interface ModbusTurnsParts {
  clock: Clock
  queue: Pick<TransactionQueue<Priority, Transaction>, 'lane'>
  /** Quarantine: nothing goes to it, whoever asks. */
  isHeld(unitId: number): boolean
  units: {
    readonly hasSuspects: boolean
    isSuspect(unitId: number): boolean
    isSilent(unitId: number): boolean
    wantedSinceMs(unitId: number): number
  }
  /** What a request costs the line that is not answered, milliseconds. */
  costMs(transaction: Transaction): number
  /** As `MasterHooks` has it. */
  idleMs(): number
  /** Since when nothing is out, by the monotonic clock. */
  freeSinceMs(): number
  backgroundWaitMs: number
  /** One that waited for a gap may have its turn. */
  onReady(): void
}

export interface ModbusTurns {
  /** The one whose turn it is; undefined where none may go now. Then `onReady` is called when one may. */
  pick(): One | undefined
  /** The one picked has its turn. */
  taken(one: One): void
  stop(): void
}

/** How soon a gap is looked for again, at the least: the next poll to come is often put off. */
const LOOK_MS = 20

export function createModbusTurns(parts: ModbusTurnsParts): ModbusTurns {
  const { backgroundWaitMs, clock, isHeld, queue, units } = parts
  let timer: Timer | undefined
  /** The last turn was one that had waited for a gap in vain: a poll is next, where one waits. */
  let wasOverdue = false

  const unitOf = ({ item }: One) => item.sent.request.unitId

  function first(priority: Priority, willDo: (one: One) => boolean): One | undefined {
    for (const one of queue.lane(priority)) if (!isHeld(unitOf(one)) && willDo(one)) return one
    return undefined
  }

  /** Where polls have no rhythm to keep, only what is known to be silent waits for a gap. */
  function needsGap(one: One, idleMs: number): boolean {
    if (one.priority !== 'poll') return one.priority === 'background'
    const unitId = unitOf(one)
    return units.isSuspect(unitId) && (idleMs !== Number.POSITIVE_INFINITY || units.isSilent(unitId))
  }

  function waitedMs(one: One): number {
    return clock.monotonicMs() - Math.min(one.sinceMs, units.wantedSinceMs(unitOf(one)))
  }

  /** Of those that wait for a gap the one that waited longest. */
  function longestWaiter(idleMs: number): One | undefined {
    let longest = first('background', () => true)
    if (!units.hasSuspects) return longest
    for (const one of queue.lane('poll'))
      if (needsGap(one, idleMs) && !isHeld(unitOf(one)) && (!longest || waitedMs(one) > waitedMs(longest)))
        longest = one
    return longest
  }

  /**
   * Who writes without pause asks again while the line is silent for its gap, and would keep polls away for ever. A poll
   * that waited too long goes before operators who all came when nothing was out: they wait for one transaction, too.
   */
  function starvedPoll(operator: One): One | undefined {
    if (operator.sinceMs < parts.freeSinceMs()) return undefined
    const poll = first('poll', ({ item }) => !units.isSuspect(item.sent.request.unitId))
    return poll && waitedMs(poll) >= backgroundWaitMs ? poll : undefined
  }

  function lookAgain(one: One, idleMs: number): void {
    const overdueMs = backgroundWaitMs - waitedMs(one)
    timer = clock.after(Math.max(1, Math.min(overdueMs, Math.max(LOOK_MS, idleMs))), parts.onReady)
  }

  function pick(): One | undefined {
    timer?.cancel()
    const operator = first('operator', () => true)
    if (operator) return starvedPoll(operator) ?? operator
    const hasWaiters = units.hasSuspects || first('background', () => true) !== undefined
    if (!hasWaiters) return first('poll', () => true)
    const idleMs = parts.idleMs()
    const poll = first('poll', (one) => !needsGap(one, idleMs))
    const waiter = longestWaiter(idleMs)
    if (!waiter) return poll
    const isOverdue = waitedMs(waiter) >= backgroundWaitMs
    if (poll) return isOverdue && !wasOverdue ? waiter : poll
    if (isOverdue || idleMs >= parts.costMs(waiter.item)) return waiter
    lookAgain(waiter, idleMs)
    return undefined
  }

  return {
    pick,
    taken(one) {
      wasOverdue = needsGap(one, parts.idleMs()) && waitedMs(one) >= backgroundWaitMs
    },
    stop: () => timer?.cancel(),
  }
}
