/** Backups on the page: one is made or taken at a time, and what was checked waits until somebody confirms it by name. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { RestoreNote } from '#kit/store/restore.ts'

// States.

export type BackupState = 'idle' | 'making' | 'made' | 'taking' | 'checking' | 'checked' | 'restarting'
export type BackupEvent = 'makeAsked' | 'packed' | 'sent' | 'whole' | 'passed' | 'failed' | 'dropped' | 'confirmed'

/** What may be done in which state. `confirmed` ends this run of the controller: the next one begins with the other state. */
export const backupStateTable: Readonly<Record<BackupState, Partial<Record<BackupEvent, BackupState>>>> = {
  idle: { makeAsked: 'making', sent: 'taking', confirmed: 'restarting' },
  making: { packed: 'made', failed: 'idle' },
  made: { makeAsked: 'making', sent: 'taking', dropped: 'idle', confirmed: 'restarting' },
  taking: { whole: 'checking', failed: 'idle' },
  checking: { passed: 'checked', failed: 'idle' },
  checked: { makeAsked: 'making', sent: 'taking', dropped: 'idle', confirmed: 'restarting' },
  restarting: {},
}

// What backups need of the disk.

/** What is known of a backup. Times are epoch ms. */
export interface BackupFacts {
  madeAt: number
  /** Of the Plantroom that made it. */
  version: string
  files: number
  /** Of the file itself. */
  sizeBytes: number
  /** Whether secrets of other machines are in it: one of the command line has them. */
  hasAllSecrets: boolean
  /** What the building in it is called, and how much is in it. */
  site: string | null
  zones: number
  people: number
}

/** How much is done of what is being done. */
export interface BackupProgress {
  doneBytes: number
  /** Null where it is not known. */
  ofBytes: number | null
}

type OnProgress = (progress: BackupProgress) => void

/** The disk. One call at a time. */
export interface BackupDisk {
  /** Makes a backup of the present state. @throws Fault `backup_failed` */
  pack(onProgress: OnProgress): Promise<BackupFacts>
  /** The one that was made. Its bytes stay readable while somebody reads them. */
  open(): AsyncIterable<Uint8Array>
  /** Keeps what is sent. @throws Fault of the upload, `backup_failed` for the disk's own */
  take(bytes: AsyncIterable<Uint8Array>, onProgress: OnProgress): Promise<void>
  /** Checks what was taken, and prepares it. @throws Fault `bad_backup` */
  check(onProgress: OnProgress): Promise<BackupFacts>
  /** From here on it is in place after the next start. @throws Fault `nothing_to_undo` */
  commit(note: Omit<RestoreNote, 'isTold'>): void
  /** What was there before the last restore, and who replaced it. */
  former(): RestoreNote | undefined
  /** Removes what was made, taken or prepared. */
  drop(): void
}

/** Backups as a page shows them. */
export interface BackupView {
  state: BackupState
  progress: BackupProgress | null
  /** Of the backup that was made, or that was checked. */
  facts: BackupFacts | null
  /** Why the last backup was not made; null where it was. */
  failed: string | null
  former: RestoreNote | null
  /** The name that confirms a restore. */
  name: string
  mostBytes: number
}

interface BackupParts {
  clock: Clock
  disk: BackupDisk
  /** The name of the building, which whoever restores has to type. */
  siteName(): string
  /** Ends this run of the controller, and begins the next. */
  restart(): void
  record(who: string, what: string, detail: Record<string, string | number>): void
  limits: { bytes: number; keptMs: number }
}

/** An answer gets out before the controller restarts. */
const ANSWER_MS = 500

export class Backups {
  readonly #parts: BackupParts
  #state: BackupState = 'idle'
  #progress: BackupProgress | null = null
  #facts: BackupFacts | null = null
  #failed: string | null = null
  #expiry: Timer | undefined

  constructor(parts: BackupParts) {
    this.#parts = parts
  }

  view(): BackupView {
    const { disk, limits, siteName } = this.#parts
    return {
      ...{ state: this.#state, progress: this.#progress, facts: this.#facts, failed: this.#failed },
      ...{ former: disk.former() ?? null, name: siteName(), mostBytes: limits.bytes },
    }
  }

  /** Begins to make one; `view` tells when it is made. @throws Fault `backup_busy` */
  make(by: string): void {
    this.#begin('makeAsked')
    void this.#make(by)
  }

  async #make(by: string): Promise<void> {
    const { disk, record } = this.#parts
    try {
      const facts = await disk.pack(this.#onProgress)
      this.#end('packed', facts)
      record(by, 'backup made', { sizeBytes: facts.sizeBytes })
    } catch (error) {
      this.#failed = faultOf(error, 'backup_failed', 'the backup could not be made').message
      this.#end('failed', null)
    }
  }

  /** The bytes of the one that was made. @throws Fault `no_backup` */
  read(): { bytes: AsyncIterable<Uint8Array>; facts: BackupFacts } {
    if (this.#state !== 'made' || this.#facts === null)
      throw new Fault('no_backup', 'No backup is ready here. Make one, then save it.')
    return { bytes: this.#parts.disk.open(), facts: this.#facts }
  }

  /**
   * Takes one and checks it.
   * @throws Fault `bad_backup` with what is wrong with it, `backup_busy`, and those of the upload: nothing is changed
   */
  async take(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { disk } = this.#parts
    this.#begin('sent')
    try {
      await disk.take(bytes, this.#onProgress)
      this.#step('whole')
      this.#end('passed', await disk.check(this.#onProgress))
    } catch (error) {
      disk.drop()
      this.#end('failed', null)
      if (error instanceof Fault && error.code === 'bad_backup')
        throw new Fault('bad_backup', `This file is not restored, and nothing was changed: ${error.message}.`, {
          cause: error,
        })
      throw error
    }
  }

  /**
   * Puts what was checked in the place of the present state, with a restart.
   * @param name as it was typed. @throws Fault `bad_fields`, `no_backup`
   */
  restore(name: string, by: string): void {
    if (this.#state !== 'checked' || this.#facts === null)
      throw new Fault('no_backup', 'No checked backup waits here. Send one, then confirm it.')
    this.#commit(name, { by, what: 'backup', madeAt: this.#facts.madeAt })
  }

  /** Puts back what was there before the last restore. @throws Fault `bad_fields`, `nothing_to_undo`, `backup_busy` */
  undo(name: string, by: string): void {
    this.#commit(name, { by, what: 'undo', madeAt: this.#parts.disk.former()?.at ?? 0 })
  }

  /** Forgets what was made or checked. */
  discard(): void {
    if (backupStateTable[this.#state].dropped === undefined) return
    this.#parts.disk.drop()
    this.#end('dropped', null)
  }

  close(): void {
    this.#expiry?.cancel()
  }

  #commit(name: string, note: Omit<RestoreNote, 'isTold' | 'at'>): void {
    const { clock, disk, record, restart, siteName } = this.#parts
    const wanted = siteName()
    if (name.trim() !== wanted) {
      const fields = [{ field: 'name', message: `This is ${wanted}. Type that to go on.` }]
      throw new Fault('bad_fields', 'The name is another one.', { details: { fields } })
    }
    if (backupStateTable[this.#state].confirmed === undefined) throw busy()
    disk.commit({ ...note, at: clock.epochMs() })
    this.#step('confirmed')
    record(note.by, note.what === 'undo' ? 'restore taken back' : 'backup restored', { madeAt: note.madeAt })
    clock.after(ANSWER_MS, restart)
  }

  readonly #onProgress = (progress: BackupProgress): void => {
    this.#progress = progress
  }

  #begin(event: BackupEvent): void {
    if (backupStateTable[this.#state][event] === undefined) throw busy()
    this.#expiry?.cancel()
    this.#parts.disk.drop()
    this.#facts = null
    this.#failed = null
    this.#step(event)
  }

  #end(event: BackupEvent, facts: BackupFacts | null): void {
    const { clock, limits } = this.#parts
    this.#step(event)
    this.#facts = facts
    this.#expiry?.cancel()
    if (facts !== null) this.#expiry = clock.after(limits.keptMs, () => this.discard())
  }

  #step(event: BackupEvent): void {
    this.#state = backupStateTable[this.#state][event] ?? this.#state
    this.#progress = null
  }
}

function busy(): Fault {
  return new Fault('backup_busy', 'A backup is being made, sent or checked just now. Wait for it, then try again.')
}
