/** Runs schedules when they are due: once for each time, whatever the clock does and however long the controller was down. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Book, Row } from '../site/book.ts'
import { type Calendar, readCalendar, timeAfter, timeUpTo } from './calendar.ts'

/** Settings of the same names in table `schedules`. */
export interface ScheduleLimits {
  /** Most enabled schedules that are run; further ones are not. */
  most: number
  /** How often the clock is looked at, as it may be set. */
  lookMs: number
  /** A time that is missed by no more than this is run late. */
  lateMs: number
  /** The same for a schedule with `catch_up`. */
  catchUpMs: number
  /** When the clock is set back by no more than this, times that were run are not run again. */
  backMs: number
}

interface ScheduleParts {
  book: Book
  clock: Clock
  limits: ScheduleLimits
  /** Starts its macro. Must not throw. @param dueMs the time that it is for */
  run(schedule: Row, dueMs: number): void
  /** A time that was missed by too much, and is not run. */
  missed(schedule: Row, dueMs: number): void
  /** Writes the column `last_at`: up to which time the schedule has been run. */
  keep(id: number, lastAt: number): void
}

/** What a schedule will do. */
interface ScheduleView {
  readonly row: Row
  /** Epoch ms; null if it is never due, disabled, or cannot be read. */
  readonly nextAt: number | null
  /** Epoch ms of the time that was run last. */
  readonly lastAt: number | null
  /** Why it is not run; null if it is. */
  readonly flaw: string | null
}

/** A schedule that is run. */
interface Live {
  row: Row
  /** What makes it another schedule if it changes. */
  rule: string
  calendar: Calendar
  /** Times up to here have been dealt with. */
  doneMs: number
  nextMs: number | null
}

/** Columns that are no part of the rule. */
const NO_RULE = new Set(['name', 'updated_at', 'last_at', 'args', 'macro_id', 'catch_up'])

/** A wall clock that is slowed down or sped up by NTP differs less than this between two looks. */
const STEP_MS = 500

/**
 * Reads a schedule as it would be run.
 * @returns why it cannot be run; undefined if it can
 */
export function scheduleFlaw(row: Row, site: Row | undefined): string | undefined {
  const read = readOrFlaw(row, site)
  return typeof read === 'string' ? read : undefined
}

function readOrFlaw(row: Row, site: Row | undefined): Calendar | string {
  try {
    return readCalendar(row, site)
  } catch (fault) {
    if (fault instanceof Fault) return fault.message
    throw fault
  }
}

/** Lives as long as the daemon. */
export class Schedules {
  readonly #parts: ScheduleParts
  #live = new Map<number, Live>()
  #flaws = new Map<number, string>()
  #timer: Timer | undefined
  #isStopped = true
  /** Both clocks at the last look. */
  #seen = { wallMs: 0, steadyMs: 0 }

  constructor(parts: ScheduleParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock } = this.#parts
    this.#isStopped = false
    this.#seen = { wallMs: clock.epochMs(), steadyMs: clock.monotonicMs() }
    this.refresh()
  }

  /** Call this when rows have changed. */
  refresh(): void {
    if (this.#isStopped) return
    const { book, clock, limits } = this.#parts
    const nowMs = clock.epochMs()
    const [site] = book.rows('site')
    const before = this.#live
    this.#live = new Map()
    this.#flaws = new Map()
    for (const row of book.rows('schedule')) {
      if (row.enabled === false) continue
      const hasRoom = this.#live.size < limits.most
      const read = hasRoom ? readOrFlaw(row, site) : `only ${limits.most} schedules are run (schedules.most)`
      if (typeof read === 'string') this.#flaws.set(row.id, read)
      else
        this.#live.set(
          row.id,
          this.#following(before.get(row.id), { row, rule: ruleOf(row, site), calendar: read }, nowMs),
        )
    }
    this.#look()
  }

  /** All schedules, by id. */
  list(): ScheduleView[] {
    return this.#parts.book.rows('schedule').map((row) => ({
      row,
      nextAt: this.#live.get(row.id)?.nextMs ?? null,
      lastAt: lastAtOf(this.#live.get(row.id)?.row ?? row),
      flaw: this.#flaws.get(row.id) ?? null,
    }))
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** A schedule goes on from where it was, unless its rule has changed. */
  #following(before: Live | undefined, now: Pick<Live, 'row' | 'rule' | 'calendar'>, nowMs: number): Live {
    if (before?.rule === now.rule) return { ...before, row: now.row }
    const doneMs = before === undefined ? this.#doneAtStart(now.row, nowMs) : this.#doneAt(now.row, nowMs)
    return { ...now, doneMs, nextMs: timeAfter(now.calendar, doneMs) }
  }

  /** Times since the last that was run, or since the row was changed, have been missed. */
  #doneAtStart(row: Row, nowMs: number): number {
    const knownMs = Math.max(lastAtOf(row) ?? 0, Number(row.updated_at))
    return Math.max(knownMs <= nowMs ? knownMs : this.#doneAt(row, nowMs), nowMs - this.#mostLateMs(row))
  }

  /** What was run ahead of now is not run again, unless the clock was far off then. */
  #doneAt(row: Row, nowMs: number): number {
    const lastAt = lastAtOf(row) ?? 0
    return lastAt > nowMs && lastAt <= nowMs + this.#parts.limits.backMs ? lastAt : nowMs
  }

  #mostLateMs(row: Row): number {
    const { catchUpMs, lateMs } = this.#parts.limits
    return row.catch_up === true ? Math.max(catchUpMs, lateMs) : lateMs
  }

  #look(): void {
    const { clock } = this.#parts
    const nowMs = clock.epochMs()
    const steadyMs = clock.monotonicMs()
    const isSetBack = nowMs - this.#seen.wallMs - (steadyMs - this.#seen.steadyMs) < -STEP_MS
    this.#seen = { wallMs: nowMs, steadyMs }
    for (const schedule of this.#live.values()) {
      if (isSetBack) {
        schedule.doneMs = this.#doneAt(schedule.row, nowMs)
        schedule.nextMs = timeAfter(schedule.calendar, schedule.doneMs)
      }
      if (schedule.nextMs !== null && schedule.nextMs <= nowMs) this.#due(schedule, schedule.nextMs, nowMs)
    }
    this.#wait(nowMs)
  }

  /** Of several times that were missed, the last one is run. */
  #due(schedule: Live, firstMs: number, nowMs: number): void {
    const { calendar, row, doneMs } = schedule
    const oldestMs = Math.max(doneMs, nowMs - this.#mostLateMs(row) - 1)
    const dueMs = timeUpTo(calendar, nowMs, oldestMs)
    schedule.doneMs = nowMs
    schedule.nextMs = timeAfter(calendar, nowMs)
    if (dueMs === null) {
      this.#parts.missed(row, firstMs)
      return
    }
    schedule.row = { ...row, last_at: dueMs }
    this.#parts.keep(row.id, dueMs)
    this.#parts.run(row, dueMs)
  }

  #wait(nowMs: number): void {
    const { clock, limits } = this.#parts
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#isStopped || this.#live.size === 0) return
    let firstMs = Number.POSITIVE_INFINITY
    for (const { nextMs } of this.#live.values()) if (nextMs !== null && nextMs < firstMs) firstMs = nextMs
    this.#timer = clock.after(Math.min(limits.lookMs, Math.max(0, firstMs - nowMs)), () => this.#look())
  }
}

function lastAtOf({ last_at: lastAt }: Row): number | null {
  return typeof lastAt === 'number' ? lastAt : null
}

function ruleOf(row: Row, site: Row | undefined): string {
  const columns = Object.entries(row).filter(([name]) => !NO_RULE.has(name))
  return JSON.stringify([columns, site?.timezone, site?.latitude, site?.longitude])
}
