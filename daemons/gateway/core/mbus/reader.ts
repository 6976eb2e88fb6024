/** Reads whole meters: reset or selection first, then telegram after telegram, one reading of a meter at a time. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { SELECTED } from '../../wire/mbus/frames.ts'
import { type MeterIdentity, secondaryOf } from '../../wire/mbus/identity.ts'
import { type MbusRecord, withOwnNames } from '../../wire/mbus/records.ts'
import { type BusCounts, busFaultKind, createBusFaults, queueFullFault } from '../bus/faults.ts'
import { type BusSettings, quarantineMs } from '../bus/settings.ts'
import { type AskHow, type BusAsker, type Priority, priorities } from '../bus/transactions.ts'
import { type MbusReply, type MbusRequest, mbus } from './protocol.ts'

/** A meter as it is asked: at its primary address, or at 253 after it was selected. */
export type MeterTarget = Pick<MbusRequest, 'unitId' | 'link' | 'secondary'>

/** Everything that a meter has told, of all its telegrams. */
export interface MeterReading {
  meter: MeterIdentity | null
  accessNumber: number | null
  status: readonly string[]
  /** Each with a name that no other has. */
  records: readonly MbusRecord[]
  /** What could not be read in each telegram; empty where all was. */
  rest: readonly Uint8Array[]
  isEncrypted: boolean
  telegrams: readonly Uint8Array[]
  /** The meter had no more to tell. */
  isComplete: boolean
  /** Why not all was read. */
  problem: string | null
}

/** The reading that telegrams make, from the first on. At least one of them is there. */
export function readingOfTelegrams(replies: readonly MbusReply[]): MeterReading {
  const telegrams = replies.flatMap(({ telegram }) => telegram ?? [])
  const [first] = telegrams
  return {
    meter: first?.meter ?? null,
    accessNumber: first?.accessNumber ?? null,
    status: first?.status ?? [],
    records: withOwnNames(telegrams.flatMap(({ records }) => records)),
    rest: telegrams.flatMap(({ rest }) => (rest.length > 0 ? [rest] : [])),
    isEncrypted: telegrams.some(({ isEncrypted }) => isEncrypted),
    telegrams: replies.map(({ frame }) => frame),
    isComplete: telegrams.at(-1)?.hasMore === false,
    problem: telegrams.find(({ problem }) => problem !== null)?.problem ?? null,
  }
}

/** The secondary addresses of the first and the last meter of a reading, if these are two. */
export function strangersIn(replies: readonly MbusReply[]): [first: string, last: string] | undefined {
  const [first, last] = [replies[0], replies.at(-1)].map((reply) => reply?.telegram?.meter)
  if (!first || !last || secondaryOf(first) === secondaryOf(last)) return undefined
  return [secondaryOf(first), secondaryOf(last)]
}

// Turns: at one address only one reading is under way, as each counts on the frame count bit of the one before. All
// meters that are selected share one address.

interface Waiting {
  readonly priority: Priority
  readonly owner: object | undefined
  readonly timer: Timer
  begin(): void
  fail(fault: Fault): void
}

interface TurnParts {
  port: string
  clock: Clock
  settings: Pick<BusSettings, 'queue' | 'request_deadline_ms'>
  counts: Pick<BusCounts, 'queueFull' | 'expired'>
}

const faults = createBusFaults(mbus)

/** Who may ask at which address. */
export class AddressTurns {
  readonly #parts: TurnParts
  /** By address; the list is of those who wait behind the one that is under way. */
  readonly #addresses = new Map<number, Waiting[]>()
  #waiting = 0

  constructor(parts: TurnParts) {
    this.#parts = parts
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * Waits for its turn: operators first, then polls, then background work, each in order of arrival.
   * @returns ends the turn
   * @throws Fault `queue_full`, `mbus_expired`, `mbus_withdrawn`, and what `clear` gives
   */
  async enter(request: MbusRequest, how: Pick<AskHow, 'priority' | 'owner'>): Promise<() => void> {
    const { link } = request
    const line = this.#addresses.get(link)
    if (line) await this.#wait(line, request, how)
    else this.#addresses.set(link, [])
    let isOver = false
    return () => {
      if (!isOver) this.#next(link)
      isOver = true
    }
  }

  /** Whoever has this owner need not wait any more. */
  withdraw(owner: object, fault: Fault): void {
    this.#failAll((one) => one.owner === owner, fault)
  }

  /** The line was closed. */
  clear(fault: Fault): void {
    this.#failAll(() => true, fault)
  }

  #wait(line: Waiting[], request: MbusRequest, { owner, priority }: Pick<AskHow, 'priority' | 'owner'>): Promise<void> {
    const { clock, counts, port, settings } = this.#parts
    if (this.#waiting >= settings.queue) {
      counts.queueFull++
      throw queueFullFault(port, this.#waiting, 1000)
    }
    return new Promise((resolve, reject) => {
      const sinceMs = clock.monotonicMs()
      const leave = () => {
        one.timer.cancel()
        line.splice(line.indexOf(one), 1)
        this.#waiting--
      }
      const one: Waiting = {
        priority,
        owner,
        timer: clock.after(settings.request_deadline_ms, () => {
          counts.expired++
          one.fail(faults.expired(request, clock.monotonicMs() - sinceMs, undefined))
        }),
        begin() {
          leave()
          resolve()
        },
        fail(fault) {
          leave()
          reject(fault)
        },
      }
      this.#waiting++
      line.push(one)
    })
  }

  #next(link: number): void {
    const line = this.#addresses.get(link) ?? []
    for (const priority of priorities) {
      const one = line.find((each) => each.priority === priority)
      if (!one) continue
      one.begin()
      return
    }
    this.#addresses.delete(link)
  }

  #failAll(isMeant: (one: Waiting) => boolean, fault: Fault): void {
    for (const line of this.#addresses.values()) for (const one of line.filter(isMeant)) one.fail(fault)
  }
}

interface ReaderParts {
  clock: Clock
  settings: Pick<BusSettings, 'response_timeout_ms' | 'quarantine_ms'> & { retries: number; max_telegrams: number }
  turns: AddressTurns
  asker: Pick<BusAsker<MbusRequest, MbusReply>, 'ask' | 'withdraw'>
}

export interface MeterReader {
  /** @throws Fault of the bus, `mbus_refused` */
  read(target: MeterTarget, how: AskHow): Promise<MeterReading>
  /** Resets the link of a meter, or of all: those do not answer. */
  init(target: MeterTarget, how: AskHow): Promise<void>
}

/** One request of a reading that is under way. */
type AskStep = (step: Pick<MbusRequest, 'kind' | 'part'>) => Promise<MbusReply | null>

export function createMeterReader({ asker, clock, settings, turns }: ReaderParts): MeterReader {
  /**
   * An acknowledgement does not say whose it is. So after one that did not come, none is asked of another address until
   * it can come no more.
   */
  let owed: { link: number; untilMs: number } | undefined

  async function waitForOwed(link: number): Promise<void> {
    const leftMs = owed && owed.link !== link ? owed.untilMs - clock.monotonicMs() : 0
    if (leftMs > 0) await new Promise<void>((resolve) => void clock.after(leftMs, resolve))
  }

  async function askOnce(request: MbusRequest, how: AskHow): Promise<MbusReply | null> {
    const isAcknowledged = request.kind !== 'read'
    if (isAcknowledged) await waitForOwed(request.link)
    try {
      return await asker.ask(request, how)
    } catch (error) {
      if (isAcknowledged && isMiss(error))
        owed = { link: request.link, untilMs: clock.monotonicMs() + quarantineMs(settings) }
      throw error
    }
  }

  /**
   * @returns asks one step after the other at the address of the meter, each again if its answer is missing; but a poll
   *   of a meter that is not there ends at once, as all meters that are selected wait for that address
   */
  function stepsOf(target: MeterTarget, how: AskHow): AskStep {
    return async (step) => {
      for (let left = settings.retries; ; left--) {
        try {
          return await askOnce({ ...target, ...step }, how)
        } catch (error) {
          const isGone = how.priority === 'poll' && step.kind !== 'read'
          if (left <= 0 || isGone || !isMiss(error)) throw error
        }
      }
    }
  }

  async function inTurn<Made>(target: MeterTarget, how: AskHow, work: (ask: AskStep) => Promise<Made>): Promise<Made> {
    const leave = await turns.enter({ ...target, kind: 'read' }, how)
    try {
      return await work(stepsOf(target, how))
    } finally {
      leave()
    }
  }

  /** Of several telegrams the first and the last are of one meter, or what came is none of it. */
  async function readAll(target: MeterTarget, ask: AskStep): Promise<MeterReading> {
    await ask({ kind: target.link === SELECTED ? 'select' : 'init' })
    const reading = {}
    const replies: MbusReply[] = []
    while (replies.length < settings.max_telegrams) {
      const isLast = replies.length + 1 >= settings.max_telegrams
      const reply = await ask({ kind: 'read', part: { reading, before: [...replies], isLast } })
      if (!reply) break
      replies.push(reply)
      refuseStrangers(target, replies)
      if (!reply.telegram?.hasMore) break
    }
    return readingOfTelegrams(replies)
  }

  return {
    read: (target, how) => inTurn(target, how, (ask) => readAll(target, ask)),
    init: (target, how) =>
      inTurn(target, how, async (ask) => {
        if (target.link === SELECTED) await ask({ kind: 'select' })
        await ask({ kind: 'init' })
      }),
  }
}

function isMiss(error: unknown): boolean {
  const kind = error instanceof Fault ? busFaultKind(error) : undefined
  return kind === 'noReply' || kind === 'badReply'
}

function refuseStrangers({ unitId }: MeterTarget, replies: readonly MbusReply[]): void {
  const two = strangersIn(replies)
  if (!two) return
  throw mbus.fault(
    'badReply',
    `The telegrams of meter ${unitId} are of two meters, ${two.join(' and ')}. Give each an address of its own.`,
    { details: { unitId } },
  )
}
