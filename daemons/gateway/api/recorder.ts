/** Who changed or sent what, as one line of the journal. */

/** The part of a request that says who asks. */
export interface Asker {
  caller: { name: string } | undefined
  remoteAddress: string
}

/** Writes the journal for every route that changes or sends. */
export interface Recorder {
  /** @param detail plain JSON without secrets */
  changed(asker: Asker, what: string, target?: string, detail?: unknown): Promise<void>
}

/** What the recorder needs of the journal. */
export interface JournalEntryTaker {
  record(entry: { who: string; from: string; what: string; target?: string; detail?: unknown }): void
}

export function createRecorder(journal: JournalEntryTaker): Recorder {
  return {
    async changed(asker, what, target, detail) {
      await journal.record({ who: asker.caller?.name ?? 'nobody', from: asker.remoteAddress, what, target, detail })
    },
  }
}
