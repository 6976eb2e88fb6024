/** One entry of the ledger: what parts of a daemon report, and how an entry is read back from the disk. */
import { plainText } from '../pure/text.ts'

/** How urgent a condition is: something does not do its work; it works, but look soon; it is worth noting. */
export const severities = ['fault', 'warning', 'notice'] as const
export type Severity = (typeof severities)[number]

/** What a part of the daemon reports. */
export interface Condition {
  /** A code such as `line_absent`; listed in the chapter of the daemon. */
  what: string
  /** The line, unit, device or file. Together with `what` and `about` it identifies the condition. */
  where: string
  /** Id of the device, where names are given to another one and entries are for those alone who may see it. */
  about?: string | undefined
  severity: Severity
  /** For people: what was seen, and what to do. Never a secret. */
  sentence: string
}

/** Why an entry is over: the condition ended, was one of a moment, or was not seen again after a restart. */
export type Ended = (typeof ENDED)[number]
const ENDED = ['cleared', 'momentary', 'restart'] as const

/** One entry. Instants are epoch milliseconds as the clock showed them; durations do not depend on them. */
export interface LedgerEntry extends Condition {
  /** Grows with each entry, over restarts too. */
  id: number
  since: number
  /** Null while it lasts. */
  until: number | null
  /** From the first time to the end, or to now. */
  durationMs: number
  /** How often, including the first time: a condition that comes back within `ledger.hold_ms` is the same entry. */
  count: number
  /** When it came last. */
  lastAt: number
  ended: Ended | null
  acknowledgedBy: string | null
  acknowledgedAt: number | null
}

/** How the parts of a daemon report conditions. Each call is quick, never throws and never waits for the disk. */
export interface Conditions {
  /** The condition holds. Raising it again while it lasts only replaces its sentence. */
  raise(condition: Condition): void
  /** The condition holds no more; does nothing if it did not hold. */
  clear(what: string, where: string, about?: string): void
  /** Something that happened and does not last. */
  happened(condition: Condition): void
}

/** Characters kept of each text. */
const LONGEST = { what: 64, where: 256, about: 16, sentence: 512, who: 128 } as const

/** Shortens the texts and takes control characters out: some of them come from devices and networks. */
export function plainCondition({ about, what, where, severity, sentence }: Condition): Condition {
  return {
    what: plainText(what, LONGEST.what),
    where: plainText(where, LONGEST.where),
    ...(typeof about === 'string' && { about: plainText(about, LONGEST.about) }),
    severity,
    sentence: plainText(sentence, LONGEST.sentence),
  }
}

/** The name of whoever acknowledged, in the form in which it is kept. */
export function plainWho(who: string): string {
  return plainText(who, LONGEST.who)
}

/** A greater id in a damaged file would leave no room to count on. */
const LAST_ID = 2 ** 52
/** The latest instant that a Date can hold. @source ECMA-262, 21.4.1.1 */
const LAST_INSTANT = 8.64e15

/** Reads a line of the file, which may be damaged: only what can be shown, counted and written again is taken. */
export function entryOf(line: string): LedgerEntry | undefined {
  try {
    const kept = JSON.parse(line) as LedgerEntry
    const { acknowledgedAt: seenAt, acknowledgedBy: by, count, durationMs, ended, id, lastAt, since, until } = kept
    if (!Number.isSafeInteger(id) || id < 1 || id > LAST_ID || !severities.includes(kept.severity)) return undefined
    if ([kept.what, kept.where, kept.sentence].some((text) => typeof text !== 'string')) return undefined
    if (!isInstant(since) || !isInstant(lastAt) || (until !== null && !isInstant(until))) return undefined
    const isSeen = typeof by === 'string' && isInstant(seenAt)
    return {
      ...{ id, ...plainCondition(kept), since, until, lastAt },
      durationMs: Number.isFinite(durationMs) ? Math.max(0, durationMs) : 0,
      count: Number.isSafeInteger(count) ? Math.max(1, count) : 1,
      ended: until === null ? null : ENDED.includes(ended as Ended) ? ended : 'cleared',
      ...(isSeen
        ? { acknowledgedBy: plainWho(by), acknowledgedAt: seenAt }
        : { acknowledgedBy: null, acknowledgedAt: null }),
    }
  } catch {
    return undefined
  }
}

export function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LAST_INSTANT
}
