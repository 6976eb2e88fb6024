/** Storage as people change it: what they say takes effect at once, or not at all. */
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { DiskHealth } from './disks.ts'
import type { KeepChange, Kept, PreservedStretch, StorageBook } from './storage-book.ts'

/** What is done on the disks. */
interface FootagePort {
  disks(): DiskHealth[]
  setFolders(folders: ReturnType<StorageBook['folders']>): Promise<void>
  hold(camera: string, fromAt: number, toAt: number, isHeld: boolean): void
  trim(): Promise<void>
}

interface StorageParts {
  book: StorageBook
  footage: FootagePort
}

export interface Storage {
  disks(): DiskHealth[]
  isFromSettings(): boolean
  /**
   * @param folders null: as the settings say
   * @throws Fault `no_disk_left` if none of them could be written; then all stays as it was
   */
  setFolders(folders: Parameters<StorageBook['setFolders']>[0]): Promise<void>
  kept(): Kept
  setKept(change: KeepChange): Promise<void>
  preserved: StorageBook['preserved']
  /** @throws Fault `too_many_preserved` */
  preserve(...wish: Parameters<StorageBook['preserve']>): Promise<PreservedStretch>
  /** @throws Fault `unknown_stretch` */
  release(camera: string, id: string): Promise<PreservedStretch>
}

export function createStorage({ book, footage }: StorageParts): Storage {
  const inTurn = createSerialTurn()

  async function setFolders(folders: Parameters<StorageBook['setFolders']>[0]): Promise<void> {
    const before = book.isFromSettings() ? null : book.folders().map(({ folder }) => ({ folder, isNew: false }))
    await book.setFolders(folders)
    await footage.setFolders(book.folders())
    const disks = footage.disks()
    if (disks.some(({ state }) => state === 'here' || state === 'full')) return
    await book.setFolders(before)
    await footage.setFolders(book.folders())
    const why = disks.find(({ fault }) => fault)?.fault?.message ?? 'No folder is named.'
    throw new Fault('no_disk_left', `Nothing could be recorded there. ${why}`)
  }

  return {
    disks: () => footage.disks(),
    isFromSettings: () => book.isFromSettings(),
    setFolders: (folders) => inTurn(() => setFolders(folders)),
    kept: () => book.kept(),
    async setKept(change) {
      await book.setKept(change)
      // Goes on by itself: a month of footage takes its time.
      void footage.trim()
    },
    preserved: (camera) => book.preserved(camera),
    async preserve(...wish) {
      const stretch = await book.preserve(...wish)
      footage.hold(stretch.camera, stretch.from, stretch.to, true)
      return stretch
    },
    async release(camera, id) {
      const released = await book.release(camera, id)
      footage.hold(camera, released.from, released.to, false)
      // A file may have had a part of another one too.
      for (const { from, to } of book.preserved(camera)) footage.hold(camera, from, to, true)
      return released
    },
  }
}
