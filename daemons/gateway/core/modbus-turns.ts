/**
 * Whose turn it is on a Modbus line. Operators first, then polls; of many operators in a row, a poll that waits has one
 * turn in between. What may cost a whole timeout (a unit that left its last request unanswered) and background work go
 * into gaps between polls, so that a dead unit does not move the polls of the others; after `background_wait_ms` they go
 * all the same, in turn with polls.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Priority } from './modbus-ask.ts'
import type { Transaction } from './modbus-transaction.ts'
import type { TransactionQueue, Waiting } from './transaction-queue.ts'

type One = Waiting<Priority, Transaction>

export interface ModbusTurnsParts {
  clock: Clock
  queue: Pick<TransactionQueue<Priority, Transaction>, 'lane'>
  /** Its unit is held, or has to be asked something else first: it does not go, whoever asks. */
  isHeld(transaction: Transaction): boolean
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
  backgroundWaitMs: number
  /** How many operators go in a row before one that waits behind them. */
  operatorRow: number
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
  const { backgroundWaitMs, clock, isHeld, operatorRow, queue, units } = parts
  let timer: Timer | undefined
  /** The last turn was one that had waited for a gap in vain: a poll is next, where one waits. */
  let wasOverdue = false
  let operatorsInRow = 0
  /** The last poll was not one of points. */
  let wasOwned = false

  function first(priority: Priority, willDo: (one: One) => boolean): One | undefined {
    for (const one of queue.lane(priority)) if (willDo(one) && !isHeld(one.item)) return one
    return undefined
  }

  function waitedMs(one: One): number {
    return clock.monotonicMs() - Math.min(one.sinceMs, units.wantedSinceMs(unitOf(one)))
  }

  /** Of those that wait for a gap the one that waited longest. */
  function longestWaiter(idleMs: number): One | undefined {
    let longest = first('background', () => true)
    if (!units.hasSuspects) return longest
    for (const one of queue.lane('poll'))
      if (needsGap(one, idleMs, units) && !isHeld(one.item) && (!longest || waitedMs(one) > waitedMs(longest)))
        longest = one
    return longest
  }

  function lookAgain(one: One, idleMs: number): void {
    const overdueMs = backgroundWaitMs - waitedMs(one)
    timer = clock.after(Math.max(1, Math.min(overdueMs, Math.max(LOOK_MS, idleMs))), parts.onReady)
  }

  /** The next poll: those of points and those of others take turns, so that neither waits behind many of the other. */
  function nextPoll(willDo: (one: One) => boolean): One | undefined {
    return first('poll', (one) => isOwned(one) !== wasOwned && willDo(one)) ?? first('poll', willDo)
  }

  /** @param isGap what may cost a whole timeout may go now, where it fits before the next poll */
  function belowOperators(isGap: boolean): One | undefined {
    const hasWaiters = units.hasSuspects || first('background', () => true) !== undefined
    if (!hasWaiters) return nextPoll(() => true)
    const idleMs = parts.idleMs()
    const poll = nextPoll((one) => !needsGap(one, idleMs, units))
    const waiter = longestWaiter(idleMs)
    if (!waiter) return poll
    const isOverdue = waitedMs(waiter) >= backgroundWaitMs
    if (poll) return isOverdue && !wasOverdue ? waiter : poll
    if (isOverdue || (isGap && idleMs >= parts.costMs(waiter.item))) return waiter
    if (isGap) lookAgain(waiter, idleMs)
    return undefined
  }

  function pick(): One | undefined {
    timer?.cancel()
    const operator = first('operator', () => true)
    if (!operator) return belowOperators(true)
    return (operatorsInRow >= operatorRow ? belowOperators(false) : undefined) ?? operator
  }

  return {
    pick,
    taken(one) {
      operatorsInRow = one.priority === 'operator' ? operatorsInRow + 1 : 0
      if (one.priority === 'poll') wasOwned = isOwned(one)
      wasOverdue = needsGap(one, parts.idleMs(), units) && waitedMs(one) >= backgroundWaitMs
    },
    stop: () => timer?.cancel(),
  }
}

function unitOf({ item }: One): number {
  return item.sent.request.unitId
}

/** Somebody else's than the points of the line. */
function isOwned({ item }: One): boolean {
  return item.how.owner !== undefined
}

/** Where polls have no rhythm to keep, only what is known to be silent waits for a gap. */
function needsGap(one: One, idleMs: number, units: ModbusTurnsParts['units']): boolean {
  if (one.priority !== 'poll') return one.priority === 'background'
  const unitId = unitOf(one)
  return units.isSuspect(unitId) && (idleMs !== Number.POSITIVE_INFINITY || units.isSilent(unitId))
}
