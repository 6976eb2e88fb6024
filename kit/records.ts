/** What a daemon keeps of those who call: the journal, who wrote into it, and who was turned away. */
import type { Clock } from '#kit/clock.ts'
import type { JournalConfig } from './config/journal.ts'
import { createJournal, type Journal } from './journal.ts'
import type { Log } from './log.ts'
import { createRecorder, type Recorder, type SendRecorder, type SignInRecorder } from './recorder.ts'
import { createRefusals, type Refusals } from './refusals.ts'

/** One daemon's records. */
export interface Records {
  journal: Journal
  recorder: Recorder & SendRecorder & SignInRecorder
  refusals: Refusals
  /** Tells what was counted, and resolves when everything is written. */
  close(): Promise<void>
}

/** What they need of the daemon. */
export interface RecordNeeds {
  stateFolder: string
  clock: Clock
  log: Log
  config: { journal: JournalConfig }
}

/** Opens what the state folder has of them. */
export function openRecords({ stateFolder: folder, clock, log, config }: RecordNeeds): Records {
  const bounds = config.journal
  const {
    entries: maxEntries,
    chars: maxChars,
    refusals: refused,
    refused_ms: quietMs,
    refused_groups: maxGroups,
  } = bounds
  // However small the journal is set, a quarter of it is for changes.
  const share = (figure: number, parts: number) => Math.min(figure, Math.ceil(maxEntries / parts))
  const most = { sent: share(bounds.sent, 2), refusal: share(refused, 8), 'sign-in': share(bounds.sign_ins, 8) }
  const journal = createJournal({ folder, clock, log, maxEntries, maxChars, most })
  const refusals = createRefusals({ clock, record: journal.record.bind(journal), quietMs, maxGroups })
  return {
    journal,
    recorder: createRecorder(journal),
    refusals,
    async close() {
      refusals.close()
      await journal.close()
    },
  }
}
