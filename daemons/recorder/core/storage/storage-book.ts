/** What was said of storage while the recorder ran: folders, what is kept, and stretches that are preserved. */
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { counted } from '#kit/pure/text.ts'

/** A stretch that no rule removes. Times are epoch milliseconds. */
export interface PreservedStretch {
  id: string
  camera: string
  from: number
  to: number
  note: string | null
  /** Who said so. */
  by: string
  at: number
}

/** What is kept; null: as the settings say. */
export interface KeepRules {
  keepDays: number | null
  keepBytes: number | null
  freeBytes: number | null
}

/** As it is saved. */
export interface StorageRecord extends KeepRules {
  /** Null: as the settings say. */
  folders: readonly { folder: string; isOwn: boolean }[] | null
  /** Which disk was seen in which folder. */
  known: readonly { folder: string; id: string }[]
  /** Of single cameras. */
  keepDaysOf: Readonly<Record<string, number>>
  preserved: readonly PreservedStretch[]
}

interface BookParts {
  record: StorageRecord
  /** Resolves once it is on disk. */
  save(record: StorageRecord): Promise<void>
  newId(): string
  /** What the settings say. */
  settings: {
    folders: readonly { folder: string; isOwn: boolean }[]
    keepDays: number
    keepBytes: number
    freeBytes: number
  }
  /** Key `storage.preserved`. */
  mostPreserved: number
  /** Of one account that is no administrator; key `storage.preserved_of_account`. */
  mostOfAccount: number
}

/** What is kept now, after the settings and what was said since. */
export interface Kept {
  keepDays: number
  keepBytes: number
  freeBytes: number
  keepDaysOf: Readonly<Record<string, number>>
}

/** A change; null of a camera: as all others. */
export interface KeepChange extends Partial<KeepRules> {
  cameras?: Readonly<Record<string, number | null>>
}

/** Each change throws Fault `store_write_failed` if it could not be saved; then nothing has changed. */
export interface StorageBook {
  folders(): readonly { folder: string; isOwn: boolean; id: string | undefined }[]
  isFromSettings(): boolean
  /** @param folders null: as the settings say; `isNew` begins there whatever was known of it */
  setFolders(folders: readonly { folder: string; isNew: boolean }[] | null): Promise<void>
  know(folder: string, id: string): Promise<void>
  kept(): Kept
  setKept(change: KeepChange): Promise<void>
  /** Of one camera, or of all; oldest first. */
  preserved(camera?: string): readonly PreservedStretch[]
  /** Whether a preserved stretch shares a moment with the span. */
  isPreserved(camera: string, fromAt: number, toAt: number): boolean
  /**
   * @param isAdmin whether an administrator says so, who may have as many as there may be: one account of another kind
   *   leaves room to the others
   * @throws Fault `too_many_preserved`
   */
  preserve(wish: Omit<PreservedStretch, 'id'>, isAdmin: boolean): Promise<PreservedStretch>
  /** @throws Fault `unknown_stretch` */
  release(camera: string, id: string): Promise<PreservedStretch>
}

export function createStorageBook(parts: BookParts): StorageBook {
  const { newId, record: saved, save, settings } = parts
  let record = saved
  const inTurn = createSerialTurn()

  /** Nothing takes effect before it is saved. */
  async function put(change: Partial<StorageRecord>): Promise<void> {
    const next = { ...record, ...change }
    await save(next)
    record = next
  }

  return {
    folders: () =>
      (record.folders ?? settings.folders).map((one) => ({
        ...one,
        id: record.known.find(({ folder }) => folder === one.folder)?.id,
      })),
    isFromSettings: () => record.folders === null,
    setFolders: (wishes) =>
      inTurn(async () => {
        const begun = new Set((wishes ?? []).filter(({ isNew }) => isNew).map(({ folder }) => folder))
        const isOwn = (folder: string) =>
          (record.folders ?? settings.folders).some((one) => one.folder === folder && one.isOwn)
        const folders = wishes?.map(({ folder, isNew }) => ({ folder, isOwn: isNew || isOwn(folder) })) ?? null
        await put({ folders, known: record.known.filter(({ folder }) => !begun.has(folder)) })
      }),
    know: (folder, id) =>
      inTurn(() => {
        // A disk that was mounted elsewhere is known where it was seen last.
        const others = record.known.filter((one) => one.folder !== folder && one.id !== id)
        return put({ known: [...others, { folder, id }] })
      }),
    kept: () => ({
      keepDays: record.keepDays ?? settings.keepDays,
      keepBytes: record.keepBytes ?? settings.keepBytes,
      freeBytes: record.freeBytes ?? settings.freeBytes,
      keepDaysOf: record.keepDaysOf,
    }),
    setKept: ({ cameras = {}, ...rules }) =>
      inTurn(async () => {
        const all = Object.entries({ ...record.keepDaysOf, ...cameras })
        const keepDaysOf = Object.fromEntries(all.flatMap(([id, days]) => (days === null ? [] : [[id, days]])))
        await put({ ...rules, keepDaysOf })
      }),
    preserved: (camera) => record.preserved.filter((one) => camera === undefined || one.camera === camera),
    isPreserved: (camera, fromAt, toAt) =>
      record.preserved.some((one) => one.camera === camera && one.from < toAt && one.to > fromAt),
    preserve: (wish, isAdmin) =>
      inTurn(async () => {
        requirePlace(parts, record.preserved, isAdmin ? undefined : wish.by)
        const stretch = { ...wish, id: newId() }
        await put({ preserved: [...record.preserved, stretch].toSorted((a, b) => a.from - b.from) })
        return stretch
      }),
    release: (camera, id) =>
      inTurn(async () => {
        const stretch = record.preserved.find((one) => one.id === id && one.camera === camera)
        if (!stretch) throw new Fault('unknown_stretch', 'No stretch of this camera is preserved under this id.')
        await put({ preserved: record.preserved.filter((one) => one !== stretch) })
        return stretch
      }),
  }
}

/** @param account that may have its share alone. @throws Fault `too_many_preserved` */
function requirePlace(
  { mostOfAccount, mostPreserved }: BookParts,
  preserved: readonly PreservedStretch[],
  account: string | undefined,
): void {
  const own = preserved.filter(({ by }) => by === account).length
  if (account !== undefined && own >= mostOfAccount)
    throw new Fault(
      'too_many_preserved',
      `${account} preserves ${counted(own, 'stretch', 'stretches')}; storage.preserved_of_account allows ${mostOfAccount}.`,
    )
  if (preserved.length >= mostPreserved)
    throw new Fault(
      'too_many_preserved',
      `${preserved.length} stretches are preserved; storage.preserved allows ${mostPreserved}.`,
    )
}
