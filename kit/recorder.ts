/** Who changed or sent what, as one line of the journal. */

/** The part of a request that says who asks. */
export interface Asker {
  caller: { name: string } | undefined
  remoteAddress: string
}

/** Writes one kind of note. `detail` is plain JSON without secrets. */
type Write = (asker: Asker, what: string, target?: string, detail?: unknown) => Promise<void>

/** For routes after which something is otherwise than before: settings, users, keys. */
export interface Recorder {
  changed: Write
}

/** For routes that send to a line: programs do that each second, so it has a bound of its own in the journal. */
export interface SendRecorder {
  sent: Write
}

/** For sign-ins, bounded as well. */
export interface SignInRecorder {
  signedIn: Write
}

/** What the recorder needs of the journal. */
export interface JournalEntryTaker {
  record(entry: {
    who: string
    from: string
    what: string
    target?: string
    detail?: unknown
    kind?: 'sent' | 'sign-in'
  }): void
}

export function createRecorder(journal: JournalEntryTaker): Recorder & SendRecorder & SignInRecorder {
  const writer =
    (kind?: 'sent' | 'sign-in'): Write =>
    async ({ caller, remoteAddress: from }, what, target, detail) =>
      journal.record({ who: caller?.name ?? 'nobody', from, what, target, detail, ...(kind && { kind }) })
  return { changed: writer(), sent: writer('sent'), signedIn: writer('sign-in') }
}
