/** Records of what callers did (changes, sends, sign-ins, refusals), and the ledger of what was wrong. */
import type { Clock, Timer } from '../clock.ts'
import type { JournalConfig } from '../config/tables.ts'
import type { Log } from '../log.ts'
import { createJournal, type Journal } from './journal.ts'
import { Ledger, type LedgerConfig, reportDisk } from './ledger.ts'

// Refusals in the journal: the first at once, the rest as a count, so that guessing cannot flood the journal.

/** One refused caller. */
export interface Refusal {
  /** What it is counted by, such as a network or a key. */
  group: string
  who: string
  from: string
  what: string
  target?: string
  /** Plain JSON without secrets. */
  detail: Readonly<Record<string, unknown>>
}

/** A note for the journal; `times` in the detail counts refusals since the entry before. */
export type RefusalNote = Omit<Refusal, 'group'> & { kind: 'refusal' }

interface RefusalParts {
  clock: Clock
  record(note: RefusalNote): void
  /** A group is recorded again at most this often; key `journal.refused_ms`. */
  quietMs: number
  /** Groups counted separately; further ones are counted together. Key `journal.refused_groups`. */
  maxGroups: number
}

export interface Refusals {
  add(refusal: Refusal): void
  /** Records what was counted but not recorded yet. */
  close(): void
}

export function createRefusals({ clock, record, quietMs, maxGroups }: RefusalParts): Refusals {
  const groups = new Map<string, { last: Refusal; times: number; timer?: Timer }>()

  function tell(group: string): void {
    const counted = groups.get(group)
    if (!counted || counted.times === 0) {
      groups.delete(group)
      return
    }
    const { group: _, detail, ...note } = counted.last
    record({ ...note, detail: { ...detail, times: counted.times }, kind: 'refusal' })
    counted.times = 0
    counted.timer = clock.after(quietMs, () => tell(group))
  }

  return {
    add(refusal) {
      const group = groups.has(refusal.group) || groups.size < maxGroups ? refusal.group : 'others'
      const counted = groups.get(group)
      groups.set(group, { ...counted, last: refusal, times: (counted?.times ?? 0) + 1 })
      if (!counted) tell(group)
    },
    close() {
      for (const [group, { timer }] of groups) {
        timer?.cancel()
        tell(group)
        groups.get(group)?.timer?.cancel()
      }
    },
  }
}

// Records who changed or sent what, as one journal entry.

/** The caller's part of a request. */
interface Asker {
  caller: { name: string } | undefined
  remoteAddress: string
}

/** Writes one kind of note. `detail` is plain JSON without secrets. */
type Write = (asker: Asker, what: string, target?: string, detail?: unknown) => Promise<void>

/** For routes that change something: settings, users, keys. */
export interface Recorder {
  changed: Write
}

/** For routes that send to a line: programs do so each second, so these have their own limit in the journal. */
export interface SendRecorder {
  sent: Write
}

/** For sign-ins, which have their own limit too. */
export interface SignInRecorder {
  signedIn: Write
}

/** What the recorder needs of the journal. */
interface JournalEntryTaker {
  record(entry: {
    who: string
    from: string
    what: string
    target?: string
    detail?: unknown
    kind?: 'sent' | 'sign-in'
  }): void
}

function createRecorder(journal: JournalEntryTaker): Recorder & SendRecorder & SignInRecorder {
  const writer =
    (kind?: 'sent' | 'sign-in'): Write =>
    async ({ caller, remoteAddress: from }, what, target, detail) =>
      journal.record({ who: caller?.name ?? 'nobody', from, what, target, detail, ...(kind && { kind }) })
  return { changed: writer(), sent: writer('sent'), signedIn: writer('sign-in') }
}

/** One daemon's records. */
export interface Records {
  journal: Journal
  recorder: Recorder & SendRecorder & SignInRecorder
  refusals: Refusals
  ledger: Ledger
  /** Records what was counted, and resolves when everything is written. */
  close(): Promise<void>
}

/** What records need from the daemon. */
interface RecordNeeds {
  stateFolder: string
  clock: Clock
  log: Log
  config: { journal: JournalConfig; ledger: LedgerConfig }
}

/** Opens the records of a state folder. @param ledgerStep as `step` of the ledger */
export function openRecords({ stateFolder: folder, clock, log, config }: RecordNeeds, ledgerStep = () => 1): Records {
  const bounds = config.journal
  const {
    entries: maxEntries,
    chars: maxChars,
    refusals: refused,
    refused_ms: quietMs,
    refused_groups: maxGroups,
  } = bounds
  // However small the journal, a quarter of it is reserved for changes.
  const share = (figure: number, parts: number) => Math.min(figure, Math.ceil(maxEntries / parts))
  const most = { sent: share(bounds.sent, 2), refusal: share(refused, 8), 'sign-in': share(bounds.sign_ins, 8) }
  const ledger = new Ledger({ folder, clock, log, config: config.ledger, step: ledgerStep })
  const onDisk = (fault: unknown) => reportDisk(ledger, 'journal.jsonl', fault)
  const journal = createJournal({ folder, clock, log, maxEntries, maxChars, most, onDisk })
  const refusals = createRefusals({ clock, record: journal.record.bind(journal), quietMs, maxGroups })
  return {
    journal,
    recorder: createRecorder(journal),
    refusals,
    ledger,
    async close() {
      refusals.close()
      await journal.close()
      await ledger.close()
    },
  }
}
