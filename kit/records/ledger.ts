/** The ledger of a daemon: its conditions, with place, beginning, end, count, and who acknowledged them. */
import { type Static, Type } from 'typebox'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import {
  type Condition,
  type Conditions,
  type Ended,
  type LedgerEntry,
  plainCondition,
  plainWho,
  type Severity,
} from './ledger-entry.ts'
import { LEDGER_FILE, openLedgerFile } from './ledger-file.ts'

// The life of an entry: state x event -> next state.

/**
 * - `open` the condition lasts
 * - `resting` it is over, and would be the same entry if it came back
 * - `former` it lasted when the daemon was stopped, and has not been seen since the start
 * - `ended` for good: if it comes back, that is a new entry
 */
export type LedgerState = 'open' | 'resting' | 'former' | 'ended'

/**
 * `raised` and `cleared` by the part that sees it; `heldLong` the hold, or the time after a start, is over, or the entry
 * rests and its room is needed.
 */
export type LedgerEvent = 'raised' | 'cleared' | 'heldLong'

/** A pair that is not listed does not change the state. */
export const ledgerStateTable: Readonly<Record<LedgerState, Partial<Record<LedgerEvent, LedgerState>>>> = {
  open: { cleared: 'resting' },
  resting: { raised: 'open', heldLong: 'ended' },
  former: { raised: 'open', cleared: 'resting', heldLong: 'ended' },
  ended: {},
}

// Settings.

/** The `ledger` table of a daemon. */
export function ledgerTable() {
  const milliseconds = (byDefault: number, maximum: number, description: string) =>
    Type.Integer({ default: byDefault, minimum: 0, maximum, unit: 'ms', description })
  return Type.Object(
    {
      entries: Type.Integer({
        default: 2000,
        minimum: 100,
        maximum: 100_000,
        description: 'entries kept; beyond, the oldest that is over goes first, and what finds no room is counted',
      }),
      days: Type.Integer({
        default: 90,
        minimum: 1,
        maximum: 3650,
        unit: 'd',
        description: 'how long an entry is kept after it is over',
      }),
      hold_ms: milliseconds(60_000, 86_400_000, 'a condition that comes back within this time is the same entry'),
      resume_ms: milliseconds(
        120_000,
        86_400_000,
        'time after a start in which a condition of the run before continues if it is seen again; else it ended with the restart',
      ),
      save_ms: milliseconds(2000, 600_000, 'wait between two writes to the disk; what changes meanwhile shares one'),
      save_most_ms: milliseconds(
        60_000,
        600_000,
        'what is written already and changes again and again is written ever more seldom, down to this wait: writes wear a card',
      ),
      tell_ms: milliseconds(250, 60_000, 'how soon after a change open pages are told'),
      log_lines: Type.Integer({
        default: 60,
        minimum: 1,
        maximum: 10_000,
        description: 'log lines a minute about conditions; further ones are counted in one line',
      }),
    },
    { additionalProperties: false, default: {}, description: 'the ledger of what was wrong, where and when' },
  )
}

export type LedgerConfig = Static<ReturnType<typeof ledgerTable>>

/** A search. */
export interface LedgerQuery {
  limit: number
  /** Only entries with a smaller number: that of the last one on the page before. */
  before?: number
  /** Only those that last, or only those that are over. */
  open?: boolean
  /** Only entries that lasted at this instant or came later. */
  since?: number
  /** Part of the place, in any case. */
  where?: string
  what?: string
  severity?: Severity
}

/** Called when an entry has opened and when it is over for good: not at each return within the hold. */
export type ToldListener = (entry: LedgerEntry, event: 'opened' | 'ended') => void

/** Which entries a reader may see. */
type IsShown = (entry: LedgerEntry) => boolean

interface LedgerParts {
  /** Created if missing. */
  folder: string
  clock: Clock
  log: Log
  config: LedgerConfig
  /** How far the number of an entry is beyond that of the one before, at least 1. Default: 1. */
  step?: () => number
}

interface Held {
  entry: LedgerEntry
  state: LedgerState
  /** Monotonic instant that durations are counted from. */
  fromMs: number
  /** Monotonic instant at which it ended; undefined if that was in a former run. */
  endedMs: number | undefined
  timer: Timer | undefined
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Lives as long as the daemon. What lasted when the daemon was stopped waits `resume_ms` to be seen again. */
export class Ledger implements Conditions {
  readonly #clock: Clock
  readonly #step: () => number
  readonly #config: LedgerConfig
  readonly #file: ReturnType<typeof openLedgerFile>
  readonly #lines: ReturnType<typeof createLineBudget>
  /** By number, in the order of the numbers. */
  readonly #held = new Map<number, Held>()
  /** Entries that are not over for good, by condition. */
  readonly #living = new Map<string, Held>()
  readonly #told = new Set<ToldListener>()
  readonly #changed = new Set<() => void>()
  #telling: Timer | undefined
  #lastId = 0
  #leftOut = 0
  #revision = 0
  #prunedMs: number

  /** @throws Fault `store_unreadable` */
  constructor({ folder, clock, log, config, step = () => 1 }: LedgerParts) {
    const { entries, log_lines: lines, save_ms: saveMs, save_most_ms: saveMostMs } = config
    this.#clock = clock
    this.#step = step
    this.#config = config
    this.#lines = createLineBudget(clock, log, lines)
    this.#prunedMs = clock.monotonicMs()
    this.#file = openLedgerFile(
      { folder, clock, log, entries, saveMs, saveMostMs },
      {
        all: () => Array.from(this.#held.values(), (one) => this.#current(one)),
        onDisk: (fault) => reportDisk(this, LEDGER_FILE, fault),
      },
    )
    for (const entry of this.#file.entries) this.#keep(entry)
    while (this.#held.size > entries && this.#makeRoom());
    this.#prune()
  }

  raise(condition: Condition): void {
    const plain = plainCondition(condition)
    const one = this.#living.get(keyOf(plain))
    if (one) this.#renew(one, plain)
    else this.#add(plain)
  }

  clear(what: string, where: string, about?: string): void {
    this.#rest({ what, where, about }, 'cleared')
  }

  happened(condition: Condition): void {
    this.raise(condition)
    this.#rest(plainCondition(condition), 'momentary')
  }

  /**
   * The thing that conditions are about has another name, or is gone: what lasts stays open under its new name, or is over.
   * @param from its name until now: a place, or the first part of one before a comma
   * @param to undefined: it is gone
   */
  renamed(about: string, from: string, to: string | undefined): void {
    for (const one of [...this.#living.values()]) {
      const { where } = one.entry
      if (one.entry.about !== about || (where !== from && !where.startsWith(`${from}, `))) continue
      const next = plainCondition({ ...one.entry, where: `${to ?? from}${where.slice(from.length)}` }).where
      if (to === undefined || this.#living.has(keyOf({ ...one.entry, where: next }))) {
        this.#rest(one.entry, 'cleared')
        continue
      }
      this.#living.delete(keyOf(one.entry))
      one.entry = { ...one.entry, where: next }
      this.#living.set(keyOf(one.entry), one)
      this.#touch(one)
    }
  }

  /** Newest first. */
  list(query: LedgerQuery, isShown: IsShown = () => true): LedgerEntry[] {
    const found: LedgerEntry[] = []
    for (const one of [...this.#held.values()].reverse()) {
      if (found.length === query.limit) break
      if (fits(one.entry, query) && isShown(one.entry)) found.push(this.#current(one))
    }
    return found
  }

  /** @throws Fault `unknown_entry` */
  entry(id: number): LedgerEntry {
    return this.#current(this.#known(id))
  }

  /** The first to acknowledge stays. @throws Fault `unknown_entry` */
  acknowledge(id: number, who: string): LedgerEntry {
    const one = this.#known(id)
    if (one.entry.acknowledgedBy === null) {
      one.entry = { ...one.entry, acknowledgedBy: plainWho(who), acknowledgedAt: this.#clock.epochMs() }
      this.#touch(one)
    }
    return this.#current(one)
  }

  /** Open entries by severity. */
  openCounts(isShown: IsShown = () => true): Record<Severity, number> {
    const counts = { fault: 0, warning: 0, notice: 0 }
    for (const { entry } of this.#living.values()) if (entry.until === null && isShown(entry)) counts[entry.severity]++
    return counts
  }

  /** From this instant on the ledger is complete, but for conditions that found no room. */
  keptSince(): number {
    return this.#file.begunAt()
  }

  /** Conditions that found no room since the start. */
  leftOut(): number {
    return this.#leftOut
  }

  /** Grows with each change, for watchers that ask. */
  revision(): number {
    return this.#revision
  }

  onTold(listener: ToldListener): void {
    this.#told.add(listener)
  }

  /** Called `tell_ms` after a change, once for all that changed meanwhile. @returns ends it */
  onChange(listener: () => void): () => void {
    const own = () => listener()
    this.#changed.add(own)
    return () => void this.#changed.delete(own)
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    for (const { timer } of this.#living.values()) timer?.cancel()
    this.#telling?.cancel()
    this.#lines.close()
    await this.#file.close()
  }

  /** An entry of a former run. */
  #keep(entry: LedgerEntry): void {
    const fromMs = this.#clock.monotonicMs() - Math.max(0, this.#clock.epochMs() - entry.since)
    const one: Held = { entry, state: 'ended', fromMs, endedMs: undefined, timer: undefined }
    this.#held.set(entry.id, one)
    this.#lastId = Math.max(this.#lastId, entry.id)
    if (entry.until !== null) return
    one.state = 'former'
    this.#living.set(keyOf(entry), one)
    one.timer = this.#clock.after(this.#config.resume_ms, () => this.#settle(one))
  }

  #add(condition: Condition): void {
    if (this.#clock.monotonicMs() - this.#prunedMs > HOUR_MS) this.#prune()
    if (this.#held.size >= this.#config.entries && !this.#makeRoom()) {
      this.#leftOut++
      this.#lines.say('warning', 'ledger is full of open entries', { leftOut: this.#leftOut })
      return
    }
    const at = this.#clock.epochMs()
    this.#lastId += this.#step()
    const entry: LedgerEntry = {
      ...{ id: this.#lastId, ...condition, since: at, until: null, durationMs: 0, count: 1, lastAt: at },
      ...{ ended: null, acknowledgedBy: null, acknowledgedAt: null },
    }
    const fromMs = this.#clock.monotonicMs()
    const one: Held = { entry, state: 'open', fromMs, endedMs: undefined, timer: undefined }
    this.#held.set(entry.id, one)
    this.#living.set(keyOf(entry), one)
    this.#touch(one)
    this.#tell(one, 'opened')
  }

  /** Raised again: it came back, was seen again after a restart, or lasts and has another sentence. */
  #renew(one: Held, { severity, sentence }: Condition): void {
    const { count, sentence: before, severity: was } = one.entry
    const hasReturned = one.state === 'resting'
    if (!this.#move(one, 'raised') && sentence === before && severity === was) return
    const again = hasReturned ? { count: count + 1, lastAt: this.#clock.epochMs() } : {}
    one.entry = { ...one.entry, severity, sentence, until: null, ended: null, ...again }
    this.#touch(one)
  }

  #rest(of: Pick<Condition, 'about' | 'what' | 'where'>, ended: Ended): void {
    const one = this.#living.get(keyOf(of))
    if (!one || !this.#move(one, 'cleared')) return
    this.#end(one, ended)
    one.timer = this.#clock.after(this.#config.hold_ms, () => this.#settle(one))
  }

  /** The hold is over, or the condition was not seen again after the start. */
  #settle(one: Held): void {
    const wasFormer = one.state === 'former'
    if (!this.#move(one, 'heldLong')) return
    this.#living.delete(keyOf(one.entry))
    if (wasFormer) this.#end(one, 'restart')
    // One that happened once was told in full when it opened.
    if (one.entry.ended !== 'momentary' || one.entry.count > 1) this.#tell(one, 'ended')
  }

  #end(one: Held, ended: Ended): void {
    one.endedMs = this.#clock.monotonicMs()
    const durationMs = Math.round(one.endedMs - one.fromMs)
    one.entry = { ...one.entry, until: this.#clock.epochMs(), durationMs, ended }
    this.#touch(one)
  }

  #move(one: Held, event: LedgerEvent): boolean {
    const next = ledgerStateTable[one.state][event]
    if (next === undefined) return false
    one.state = next
    one.timer?.cancel()
    one.timer = undefined
    return true
  }

  #touch(one: Held): void {
    this.#revision++
    this.#file.write(this.#current(one))
    if (this.#changed.size > 0) this.#telling ??= this.#clock.after(this.#config.tell_ms, () => this.#tellChange())
  }

  #tellChange(): void {
    this.#telling = undefined
    for (const listener of this.#changed) listener()
  }

  #tell(one: Held, event: 'opened' | 'ended'): void {
    const { count, durationMs, ended, sentence, severity, what, where } = one.entry
    const facts = event === 'opened' ? { sentence } : { durationMs, count, ended }
    this.#lines.say(event === 'opened' ? severity : 'notice', `condition ${event}`, { what, where, ...facts })
    for (const listener of this.#told) listener(this.#current(one), event)
  }

  /** The entry with its duration up to now. */
  #current({ entry, fromMs }: Held): LedgerEntry {
    if (entry.until !== null) return entry
    return { ...entry, durationMs: Math.round(this.#clock.monotonicMs() - fromMs) }
  }

  #known(id: number): Held {
    const one = this.#held.get(id)
    if (!one) throw unknownEntry(id)
    return one
  }

  /**
   * Drops the oldest entry that is over for good, else the oldest that rests: what comes and goes all the time must not
   * keep out what lasts. @returns false if there is none
   */
  #makeRoom(): boolean {
    for (const one of this.#held.values()) if (one.state === 'ended') return this.#drop(one)
    for (const one of this.#held.values()) {
      if (one.state !== 'resting') continue
      this.#settle(one)
      return this.#drop(one)
    }
    return false
  }

  /** Ages go by the monotonic clock where possible: setting the wall clock for the first time must not drop everything. */
  #prune(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#prunedMs = nowMs
    for (const one of [...this.#held.values()]) {
      const { endedMs, entry, state } = one
      const ageMs = endedMs === undefined ? this.#clock.epochMs() - (entry.until ?? 0) : nowMs - endedMs
      if (state === 'ended' && ageMs > this.#config.days * DAY_MS) this.#drop(one)
    }
  }

  #drop({ entry }: Held): boolean {
    this.#file.dropped(entry.until ?? 0)
    return this.#held.delete(entry.id)
  }
}

/** Also for an entry that its reader may not see. */
export function unknownEntry(id: number): Fault {
  return new Fault('unknown_entry', `The ledger has no entry ${id}: it was dropped, or never there.`)
}

/** Reports that a file of the state cannot be written. @param fault undefined: it can again */
export function reportDisk(conditions: Conditions, where: string, fault: unknown): void {
  if (fault === undefined) {
    conditions.clear('state_unwritable', where)
    return
  }
  const { code = 'unknown error' } = fault as { code?: string }
  const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : `the disk answered ${code}`
  const sentence = `${where} cannot be written: ${why}. New entries are kept in memory until it can; make room, or look at the disk.`
  conditions.raise({ what: 'state_unwritable', where, severity: 'fault', sentence })
}

function keyOf({ about, what, where }: Pick<Condition, 'about' | 'what' | 'where'>): string {
  return about === undefined ? `${what} ${where}` : `${what} ${where}\n${about}`
}

function fits(entry: LedgerEntry, { before, open, severity, since, what, where }: LedgerQuery): boolean {
  if (before !== undefined && entry.id >= before) return false
  if (open !== undefined && open !== (entry.until === null)) return false
  if (severity !== undefined && entry.severity !== severity) return false
  if (what !== undefined && entry.what !== what) return false
  if (since !== undefined && entry.until !== null && entry.until < since) return false
  return where === undefined || entry.where.toLowerCase().includes(where.toLowerCase())
}

/** Limits the log lines of each minute; the rest are counted in one further line. */
function createLineBudget(clock: Clock, log: Log, most: number) {
  const levels = { fault: 'error', warning: 'warning', notice: 'notice' } as const
  let said = 0
  let timer: Timer | undefined

  function close(): void {
    timer?.cancel()
    timer = undefined
    if (said > most) log.warning('conditions not logged', { count: said - most })
    said = 0
  }

  return {
    say(severity: Severity, event: string, facts: Record<string, unknown>): void {
      timer ??= clock.after(60_000, close)
      if (++said <= most) log[levels[severity]](event, facts)
    },
    close,
  }
}
