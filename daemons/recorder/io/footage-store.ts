/** All footage on all disks: where a file goes, which files there are, and which are removed. */
import { join } from 'node:path'
import { atMost, type Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { makeFolder } from '#kit/store/store.ts'
import type { FileWish, FootageFile, FootageStore, KeptFile } from '../core/ports.ts'
import { type DiskHealth, type DiskState, diskForNext, floorOf, isReadable } from '../core/storage/disks.ts'
import { type FolderWish, FootageDisk } from './footage-disk.ts'
import { removeFile, WaitingBytes, WritingFile } from './footage-file.ts'
import { filesOn, isThere, restoredRow } from './footage-finding.ts'
import { type FootageIndex, type IndexRow, openFootageIndex, putIndexAside } from './footage-index.ts'

/** Bounds, by the names of their settings. */
export interface StoreLimits {
  flushMs: number
  /** What may wait for the disks, of one camera and of all. */
  queueBytes: number
  totalQueueBytes: number
  lookMs: number
  stuckMs: number
  proveMs: number
}

/** What is removed, and what is not. */
export interface Keeping {
  keepMs(camera: string): number
  keepBytes(): number
  freeBytes(): number
  /** Whether a stretch is preserved, of which a file has a part. */
  isHeld(camera: string, fromAt: number, toAt: number): boolean
}

interface StoreParts {
  /** Of the index; made if it is missing. */
  folder: string
  stateFolder: string
  folders: readonly FolderWish[]
  clock: Clock
  limits: StoreLimits
  keeping: Keeping
  /** The disk of a folder is known from now on. */
  onKnown(folder: string, id: string): Promise<void>
  /** How a disk is has changed. */
  onDisk(health: DiskHealth): void
  /** A file of a camera is gone, which was kept until now. */
  onRemoved?(camera: string, startAt: number, endAt: number): void
  /** What could not be kept or removed; undefined once it works again. */
  onFault(fault: Fault | undefined): void
  /** The index was put aside, and the next start makes another: nothing is kept until then. */
  onIndexDamaged(fault: Fault): void
}

/** Where footage is kept, and how it is asked for. */
export interface Footage extends FootageStore {
  /**
   * Files that share a moment with the span, in order of time; the ones being written with what is whole of them.
   * @throws Fault `footage_away` if all of them are on disks that are not here
   */
  between(camera: string, fromAt: number, toAt: number): KeptFile[]
  spans(camera: string, fromAt: number, toAt: number): { startAt: number; endAt: number }[]
  /** Those on disks that are not here. */
  awaySpans(camera: string, fromAt: number, toAt: number): { startAt: number; endAt: number }[]
  /** Wherever it is. */
  bounds(camera: string): { startAt: number; endAt: number } | undefined
  /** The end of the newest recording of all. */
  newestAt(): number
  /** On disks that are here. */
  bytes(): number
  disks(): DiskHealth[]
  /** Groups of a camera that waited for a disk as it broke. */
  lostGroups(camera: string): number
  /** As written since the start; null in the first minute. */
  bytesPerDay(): number | null
  /** From now on these folders, and no others. */
  setFolders(folders: readonly FolderWish[]): Promise<void>
  /** Tells the index that a stretch is preserved, or no longer. */
  hold(camera: string, fromAt: number, toAt: number, isHeld: boolean): void
  /** Resolves once all that is on the disks that are here is known. */
  found(): Promise<void>
  /** Removes what is too old or too much. */
  trim(): Promise<void>
  /** Resolves once everything that was taken lies on the disks, but for one that is stuck. */
  close(): Promise<void>
}

/** A disk, and its number in the index once it has been seen. */
interface Place {
  disk: FootageDisk
  number: number | undefined
}

/** @throws Fault `footage_unusable` if the folder of the index cannot be used, `index_damaged` */
export async function openFootage(parts: StoreParts): Promise<Footage> {
  const { folder } = parts
  try {
    await makeFolder(folder)
    const index = openFootageIndex(folder, (fault) => {
      putIndexAside(folder)
      parts.onIndexDamaged(fault)
    })
    const store = new Store(parts, index)
    await store.start()
    return store
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    throw new Fault('footage_unusable', `The folder ${folder} cannot keep the index of footage: ${code ?? message}.`, {
      cause,
    })
  }
}

const WRITABLE: ReadonlySet<DiskState> = new Set(['here', 'full'])
const DAY_MS = 86_400_000
/** More rows of one camera than were written between two syncs of the index. */
const MOST_GONE = 500
const MINUTE_MS = 60_000
/** A stop waits so long for disks: what hangs for longer would be killed. */
const CLOSE_MS = 10_000

class Store implements Footage {
  readonly #parts: StoreParts
  readonly #index: FootageIndex
  readonly #waiting: WaitingBytes
  readonly #writing = new Set<WritingFile>()
  readonly #lost = new Map<string, number>()
  readonly #startedMs: number
  #places: readonly Place[] = []
  #writtenBytes = 0
  #trimming: Promise<void> | undefined
  /** What goes on by itself: files that are found again. */
  readonly #finding = new Map<FootageDisk, Promise<void>>()

  constructor(parts: StoreParts, index: FootageIndex) {
    const { clock, limits } = parts
    this.#parts = parts
    this.#index = index
    this.#waiting = new WaitingBytes({ ofOne: limits.queueBytes, ofAll: limits.totalQueueBytes })
    this.#startedMs = clock.monotonicMs()
  }

  async start(): Promise<void> {
    const { clock, folders, limits } = this.#parts
    await this.setFolders(folders)
    // What a kill left is found again at once; a whole disk that was never read takes its time.
    await atMost(clock, limits.stuckMs, Promise.all(this.#finding.values()))
  }

  async setFolders(folders: readonly FolderWish[]): Promise<void> {
    // One that is begun anew has lost its id, and is another disk from now on.
    const isSame = ({ folder, id }: FolderWish, { disk }: Place) =>
      folder === disk.folder && (id !== undefined || disk.id === undefined)
    const kept = this.#places.filter((place) => folders.some((wish) => isSame(wish, place)))
    const gone = this.#places.filter((place) => !kept.includes(place))
    const added = folders.filter(({ folder }) => !kept.some(({ disk }) => disk.folder === folder))
    const places = added.map((wish) => this.#placeOf(wish))
    this.#places = [...kept, ...places]
    for (const { disk, number } of gone) {
      disk.stop()
      for (const file of this.#writing) if (file.disk === disk) file.close()
      // Put back, it is read anew: what is on it may be another's work by then.
      if (number !== undefined) this.#index.setWhole(number, false)
    }
    // How those that stay are may follow from those that went.
    const looks = Promise.all(kept.map(({ disk }) => disk.look()))
    await Promise.all([
      atMost(this.#parts.clock, this.#parts.limits.stuckMs, looks),
      ...places.map(({ disk }) => disk.start()),
    ])
  }

  #placeOf(wish: FolderWish): Place {
    const { clock, limits, onDisk, onKnown, stateFolder } = this.#parts
    const place: Place = {
      number: wish.id === undefined ? undefined : this.#index.diskOf(wish.id),
      disk: new FootageDisk({
        ...{ ...wish, clock, stateFolder, limits },
        isTaken: (id) => this.#places.some(({ disk }) => disk !== place.disk && disk.id === id),
        onKnown: async (id) => {
          await onKnown(wish.folder, id)
          place.number = this.#index.diskOf(id)
        },
        onState: (state) => {
          if (!WRITABLE.has(state)) this.#leave(place.disk, state)
          else if (!this.#finding.has(place.disk)) this.#find(place)
          if (state === 'full') void this.trim()
          onDisk(this.#healthOf(place))
        },
      }),
    }
    return place
  }

  /** Its files end. One that is stuck gets what waits for it when it answers again. */
  #leave(disk: FootageDisk, state: DiskState): void {
    for (const file of this.#writing) {
      if (file.disk !== disk) continue
      if (state !== 'stuck') file.abandon()
      else if (this.#isAnyHere()) file.close()
    }
  }

  #isAnyHere(): boolean {
    return this.#places.some(({ disk }) => disk.state === 'here')
  }

  async found(): Promise<void> {
    while (this.#finding.size > 0) await Promise.all(this.#finding.values())
  }

  // Finding again what is on a disk: after a kill or a power cut a file ends behind its last whole fragment.

  #find(place: Place): void {
    const found = this.#findAll(place)
      // Its disk has noted it, and it is gone on with when it is back.
      .catch(() => {})
      .finally(() => this.#finding.delete(place.disk))
    this.#finding.set(place.disk, found)
  }

  async #findAll({ disk, number }: Place): Promise<void> {
    if (number === undefined) return
    const index = this.#index
    const newest = new Map(index.cameras().map((camera) => [camera, index.newestOf(camera)]))
    const isOpen = (path: string) => [...this.#writing].some((file) => file.disk === disk && file.path === path)
    for (const row of index.inState(number, 'writing'))
      if (!isOpen(row.path)) await disk.work(() => this.#restore(disk, row))
    for (const row of index.inState(number, 'removing')) await disk.work(() => removeFile(disk.folder, index, row))
    const isWhole = index.isWhole(number)
    if (isWhole) await this.#forgetGone(disk, number)
    // A power cut takes the newest rows along: the index does not wait for its disk. Rows are lost in the order in which they
    // were written, so what is missing began behind the newest that is there.
    const since = (camera: string) => (isWhole ? (newest.get(camera) ?? 0) : 0)
    for await (const { camera, path, startAt } of filesOn(disk, since)) {
      const row = { disk: number, path, camera, startAt, endAt: startAt, bytes: 0, fragments: [] }
      if (!index.has(number, path)) await disk.work(() => this.#restore(disk, row))
    }
    index.setWhole(number, true)
  }

  /** Nor does it forget what was removed just before: those rows are the oldest ones. */
  async #forgetGone(disk: FootageDisk, number: number): Promise<void> {
    const index = this.#index
    for (const camera of index.cameras()) {
      const next = () => index.oldest(number, camera)
      for (let row = next(), left = MOST_GONE; row && left > 0; row = next(), left--) {
        const path = join(disk.folder, row.path)
        if (await disk.work(() => isThere(path))) break
        index.forget(number, row.path)
      }
    }
  }

  /** Keeps what of a file is whole, and cuts off the rest; one without a whole fragment is removed. */
  async #restore(disk: FootageDisk, row: IndexRow): Promise<void> {
    const restored = await restoredRow(disk.folder, row)
    if (!restored) await removeFile(disk.folder, this.#index, row)
    else this.#index.put(restored, 'kept', this.#isHeld(restored))
  }

  #isHeld({ camera, endAt, startAt }: IndexRow): boolean {
    return this.#parts.keeping.isHeld(camera, startAt, endAt)
  }

  // Writing.

  isReady(): boolean {
    return this.#next() !== undefined
  }

  isBehind(camera: string): boolean {
    return this.#waiting.isBehind(camera)
  }

  begin(wish: FileWish): FootageFile {
    const { clock, limits, onFault } = this.#parts
    const place = this.#next()
    if (place?.number === undefined) return NOWHERE
    const { disk, number } = place
    const file = new WritingFile(wish, {
      ...{ clock, disk, number, index: this.#index, waiting: this.#waiting, flushMs: limits.flushMs },
      isHeld: (row) => this.#isHeld(row),
      takesMore: () => disk.state === 'here' || (disk.state === 'stuck' && !this.#isAnyHere()),
      onBehind: (camera) =>
        onFault(new Fault('footage_behind', `The disk is slower than ${camera} sends: footage is lost.`)),
      onWritten: (bytes) => {
        this.#writtenBytes += bytes
        onFault(undefined)
      },
      onLost: (camera, groups) => void this.#lost.set(camera, this.lostGroups(camera) + groups),
      onDone: () => void this.#writing.delete(file),
    })
    this.#writing.add(file)
    return file
  }

  #next(): Place | undefined {
    const known = this.#places.filter(({ number }) => number !== undefined)
    const rooms = known.map((place) => ({
      ...{ place, state: place.disk.state, roomBytes: this.#roomOf(place) },
      oldestAt: undefined as number | undefined,
    }))
    const isTight = !rooms.some(({ roomBytes, state }) => state === 'here' && roomBytes > 0)
    if (isTight) for (const room of rooms) room.oldestAt = this.#oldestOf(room.place)?.startAt
    // None is here: one that does not answer may yet.
    return diskForNext(rooms)?.place ?? known.find(({ disk }) => disk.state === 'stuck')
  }

  #roomOf({ disk }: Place): number {
    const { freeBytes, sizeBytes } = disk.size ?? { freeBytes: 0, sizeBytes: 0 }
    return freeBytes - floorOf(this.#parts.keeping.freeBytes(), sizeBytes)
  }

  // Reading.

  #folderOf(number: number): string | undefined {
    const place = this.#places.find((one) => one.number === number)
    return place && isReadable(place.disk.state) ? place.disk.folder : undefined
  }

  between(camera: string, fromAt: number, toAt: number): KeptFile[] {
    const rows = this.#index.between(camera, fromAt, toAt)
    const files = [...rows, ...this.#openOf(camera, fromAt, toAt)].flatMap(({ disk, path, ...row }) => {
      const folder = this.#folderOf(disk)
      return folder === undefined ? [] : [{ ...row, path: join(folder, path) }]
    })
    if (files.length === 0 && rows.length > 0)
      throw new Fault('footage_away', 'The footage of that time is on a disk that is not here now.')
    return files
  }

  spans(camera: string, fromAt: number, toAt: number) {
    const rows = [...this.#index.spans(camera, fromAt, toAt), ...this.#openOf(camera, fromAt, toAt)]
    return rows.filter(({ disk }) => this.#folderOf(disk) !== undefined)
  }

  awaySpans(camera: string, fromAt: number, toAt: number) {
    if (this.#index.disks().every((number) => this.#folderOf(number) !== undefined)) return []
    return this.#index.spans(camera, fromAt, toAt).filter(({ disk }) => this.#folderOf(disk) === undefined)
  }

  #openOf(camera: string, fromAt: number, toAt: number): IndexRow[] {
    return [...this.#writing]
      .filter((file) => file.camera === camera && !file.isIndexed)
      .map((file) => file.row())
      .filter(({ endAt, fragments, startAt }) => fragments.length > 0 && startAt < toAt && endAt > fromAt)
      .toSorted((a, b) => a.startAt - b.startAt)
  }

  bounds(camera: string): { startAt: number; endAt: number } | undefined {
    const kept = this.#index.bounds(camera)
    const spans = [...(kept ? [kept] : []), ...this.#openOf(camera, 0, Number.POSITIVE_INFINITY)]
    if (spans.length === 0) return undefined
    return {
      startAt: Math.min(...spans.map(({ startAt }) => startAt)),
      endAt: Math.max(...spans.map(({ endAt }) => endAt)),
    }
  }

  newestAt(): number {
    return this.#index.newestAt()
  }

  bytes(): number {
    return this.#places.reduce((sum, place) => sum + (this.#isHere(place) ? this.#bytesOf(place) : 0), 0)
  }

  #isHere({ disk }: Place): boolean {
    return isReadable(disk.state)
  }

  #bytesOf({ disk, number }: Place): number {
    const open = [...this.#writing].filter((file) => file.disk === disk && !file.isIndexed)
    const kept = number === undefined ? 0 : this.#index.bytes(number)
    return open.reduce((sum, file) => sum + file.row().bytes, kept)
  }

  disks(): DiskHealth[] {
    return this.#places.map((place) => this.#healthOf(place))
  }

  #healthOf(place: Place): DiskHealth {
    const { disk } = place
    const fault = disk.fault()
    const isHere = this.#isHere(place)
    return {
      ...{ id: disk.id ?? null, folder: disk.folder, state: disk.state, stateSince: disk.stateSince },
      fault: fault ? { code: fault.code, message: fault.message } : null,
      sizeBytes: isHere ? (disk.size?.sizeBytes ?? null) : null,
      freeBytes: isHere ? (disk.size?.freeBytes ?? null) : null,
      roomBytes: disk.state === 'here' ? Math.max(0, this.#roomOf(place)) : 0,
      footageBytes: this.#bytesOf(place),
    }
  }

  lostGroups(camera: string): number {
    return this.#lost.get(camera) ?? 0
  }

  bytesPerDay(): number | null {
    const passedMs = this.#parts.clock.monotonicMs() - this.#startedMs
    return passedMs < MINUTE_MS ? null : (this.#writtenBytes * DAY_MS) / passedMs
  }

  // Removing.

  hold(camera: string, fromAt: number, toAt: number, isHeld: boolean): void {
    this.#index.hold(camera, fromAt, toAt, isHeld)
  }

  trim(): Promise<void> {
    this.#trimming ??= this.#trim()
      .catch((error: unknown) => {
        const { code, message } = error as NodeJS.ErrnoException
        const sentence = `Old footage cannot be removed: ${code ?? message}.`
        this.#parts.onFault(new Fault('footage_not_removed', sentence, { cause: error }))
      })
      .finally(() => {
        this.#trimming = undefined
      })
    return this.#trimming
  }

  async #trim(): Promise<void> {
    const { clock, keeping, limits } = this.#parts
    // How much is free now, also where a write has just found the disk full.
    await atMost(clock, limits.stuckMs, Promise.all(this.#places.map(({ disk }) => disk.look())))
    const places = this.#places.filter(({ disk, number }) => WRITABLE.has(disk.state) && number !== undefined)
    const isOld = ({ camera, endAt }: IndexRow) => endAt < clock.epochMs() - keeping.keepMs(camera)
    for (const place of places) await this.#removeWhile(place, isOld)
    for (;;) {
      const [first] = places
        .flatMap((place) => [this.#oldestOf(place)].flatMap((row) => (row ? [{ place, row }] : [])))
        .toSorted((a, b) => a.row.startAt - b.row.startAt)
      if (!first || this.bytes() <= keeping.keepBytes()) break
      await this.#remove(first.place, first.row)
    }
    for (const place of places) {
      let missing = -this.#roomOf(place)
      for (let row = this.#oldestOf(place); row && missing > 0; row = this.#oldestOf(place)) {
        await this.#remove(place, row)
        missing -= row.bytes
      }
    }
    this.#forgetAbsent()
  }

  async #removeWhile(place: Place, isOver: (row: IndexRow) => boolean): Promise<void> {
    for (const camera of this.#index.cameras()) {
      const next = () => this.#index.oldest(place.number ?? -1, camera)
      for (let row = next(); row && isOver(row); row = next()) await this.#remove(place, row)
    }
  }

  #oldestOf({ number }: Place): IndexRow | undefined {
    if (number === undefined) return undefined
    return this.#index
      .cameras()
      .flatMap((camera) => this.#index.oldest(number, camera) ?? [])
      .toSorted((a, b) => a.startAt - b.startAt)[0]
  }

  async #remove({ disk }: Place, row: IndexRow): Promise<void> {
    await disk.work(() => removeFile(disk.folder, this.#index, row))
    this.#parts.onRemoved?.(row.camera, row.startAt, row.endAt)
  }

  /** What was on disks that belong no longer to this recorder is forgotten as it would have been removed. */
  #forgetAbsent(): void {
    const { clock, keeping } = this.#parts
    for (const number of this.#index.disks())
      if (!this.#places.some((place) => place.number === number))
        this.#index.together(() => this.#index.forgetBefore(number, clock.epochMs() - keeping.keepMs('')))
  }

  async close(): Promise<void> {
    for (const { disk } of this.#places) disk.stop()
    const isOver = (file: WritingFile) => file.closed().then(() => {})
    const files = Promise.all([...this.#writing].map(isOver))
    const all = Promise.all([files, this.#trimming, ...this.#finding.values()])
    await atMost(this.#parts.clock, CLOSE_MS, all)
    this.#index.close()
  }
}

/** Takes nothing: no disk is here. */
const NOWHERE: FootageFile = { append: () => false, close: () => {} }
