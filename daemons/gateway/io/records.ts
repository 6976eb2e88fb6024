/** What is written of those who call: the journal, and who was turned away. */
import type { Clock } from '#kit/clock.ts'
import { createJournal, type Journal } from '#kit/journal.ts'
import type { Log } from '#kit/log.ts'
import { createRefusals, type Refusals } from '../core/refusals.ts'

/** The `journal` table. */
interface JournalBounds {
  entries: number
  refusals: number
  refused_ms: number
  refused_groups: number
  sent: number
  sign_ins: number
}

/** What the server writes of those who call. */
export interface Records {
  journal: Journal
  refusals: Refusals
  close(): Promise<void>
}

/** @param world `config` are the settings, of which the table `journal` bounds what is kept */
export function openRecords(world: {
  clock: Clock
  config: { journal: JournalBounds }
  log: Log
  stateFolder: string
}): Records {
  const { clock, config, log, stateFolder } = world
  const {
    entries: maxEntries,
    refusals,
    refused_ms: quietMs,
    refused_groups: maxGroups,
    sent,
    sign_ins,
  } = config.journal
  // However small the journal is set, a quarter of it is for changes.
  const share = (figure: number, parts: number) => Math.min(figure, Math.ceil(maxEntries / parts))
  const most = { sent: share(sent, 2), refusal: share(refusals, 8), 'sign-in': share(sign_ins, 8) }
  const journal = createJournal({ folder: stateFolder, clock, log, maxEntries, most })
  const turnedAway = createRefusals({ clock, record: journal.record.bind(journal), quietMs, maxGroups })
  return {
    journal,
    refusals: turnedAway,
    async close() {
      turnedAway.close()
      await journal.close()
    },
  }
}
