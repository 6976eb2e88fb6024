/** The history of attributes on its way to the disk: gathered, written together, and bounded per device and in all. */
import type { Clock, Timer } from '#kit/clock.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'

/** One value that an attribute had from `at` on, in epoch ms. Ids grow with time. */
export interface HistoryRow {
  readonly id: number
  readonly attributeId: number
  readonly value: string | null
  readonly at: number
}

/** How the history is stored. */
export interface HistoryStore {
  /** Returns an id above all that the history ever had. */
  takeId(): number
  /**
   * Durable when it resolves; the oldest rows beyond `mostRows` go. @throws Fault `store_write_failed`: nothing was
   * written
   */
  write(rows: readonly HistoryRow[], mostRows: number): Promise<void>
  /** Removes rows from before an instant; writes nothing if there are none. @throws Fault `store_write_failed` */
  trim(beforeAt: number): Promise<void>
  /**
   * Writes the rows of attributes as they are now.
   * @param upTo a start need not look at the history up to this id any more
   * @throws Fault `store_write_failed`
   */
  settle(attributeIds: readonly number[], upTo?: number): Promise<void>
}

export interface HistoryLimits {
  keepDays: number
  mostRows: number
  /** How long changes are gathered. */
  writeMs: number
  /** Rows that are written together; as many are written before their time. */
  batchRows: number
  /** Most rows that wait, and most characters of their values. */
  queueRows: number
  queueChars: number
  /** Rows of one device in `writeMs`; beyond, only the last value of each attribute is written. */
  deviceRows: number
  /** How often rows of attributes are written, and old history is removed. */
  settleMs: number
  /** History that a start would have to read; as much is settled before its time. */
  settleRows: number
}

interface HistoryParts {
  clock: Clock
  limits: HistoryLimits
  store: HistoryStore
  /** Called when writing begins to fail; the rows wait, and are tried again. */
  onFault(fault: unknown): void
}

/** What a change adds to the history. `source` is the device it comes from, however many attributes that has. */
export interface HistoryEntry {
  attributeId: number
  value: string | null
  at: number
  source: string
}

export interface History {
  add(entry: HistoryEntry): void
  /** Rows that are not on the disk yet, by id. */
  waiting(): readonly HistoryRow[]
  /** Changes that are not in the history, because their device changed too often. */
  thinned(): number
  /** Writes what waits and the rows of attributes. Later changes are not written. */
  close(): Promise<void>
}

const DAY_MS = 86_400_000

/** Rows of attributes written in one transaction. */
const SETTLED_AT_ONCE = 1000

/** A building in which nothing changes writes nothing. */
export function createHistory(parts: HistoryParts): History {
  const { clock, limits, store } = parts
  const queue = createQueue(limits, () => store.takeId())
  const disk = createDisk(parts, queue)
  let timer: Timer | undefined

  function wake(): void {
    timer ??= clock.after(limits.writeMs, () => {
      timer = undefined
      queue.openWindow()
      if (queue.rows().length > 0) wake()
      void disk.writeAll()
    })
  }

  const settling = clock.every(limits.settleMs, () => {
    void disk.settle(clock.epochMs() - limits.keepDays * DAY_MS)
  })

  return {
    add(entry) {
      queue.add(entry)
      wake()
      if (queue.rows().length >= limits.batchRows) disk.writeFull()
    },
    waiting: () => queue.rows(),
    thinned: () => queue.thinned(),
    async close() {
      settling.cancel()
      timer?.cancel()
      queue.openWindow()
      await disk.writeAll()
      await disk.settle()
    },
  }
}

/** Writes what waits, one thing after another. What fails stays where it is, for the next time. */
function createDisk({ limits, store, onFault }: HistoryParts, queue: ReturnType<typeof createQueue>) {
  const inTurn = createSerialTurn()
  /** Attributes whose row on the disk is older than the one in memory. */
  const unsettled = new Set<number>()
  let rowsSinceSettled = 0
  let writtenId = 0
  let isWriting = false
  let isFailing = false

  async function writeBatch(): Promise<void> {
    const rows = queue.rows().slice(0, limits.batchRows)
    if (rows.length === 0) return
    await store.write(rows, limits.mostRows)
    queue.written(rows.length)
    rowsSinceSettled += rows.length
    writtenId = rows.at(-1)?.id ?? writtenId
    for (const { attributeId } of rows) unsettled.add(attributeId)
  }

  async function settleRows(): Promise<void> {
    const ids = [...unsettled]
    const upTo = writtenId
    for (let at = 0; at < ids.length; at += SETTLED_AT_ONCE) {
      const isLast = at + SETTLED_AT_ONCE >= ids.length
      await store.settle(ids.slice(at, at + SETTLED_AT_ONCE), isLast ? upTo : undefined)
    }
    for (const id of ids) unsettled.delete(id)
    rowsSinceSettled = 0
  }

  const safely = (work: () => Promise<void>) =>
    inTurn(async () => {
      try {
        await work()
        isFailing = false
      } catch (fault) {
        if (!isFailing) onFault(fault)
        isFailing = true
      }
    })

  return {
    writeAll: () =>
      safely(async () => {
        while (queue.rows().length > 0) await writeBatch()
        if (rowsSinceSettled >= limits.settleRows) await settleRows()
      }),
    /** A disk that takes nothing is tried again when the time is over, not with each further change. */
    writeFull(): void {
      if (isWriting || isFailing) return
      isWriting = true
      void safely(async () => {
        while (queue.rows().length >= limits.batchRows) await writeBatch()
      }).finally(() => {
        isWriting = false
      })
    },
    /** @param beforeAt older history is removed */
    settle: (beforeAt?: number) =>
      safely(async () => {
        await settleRows()
        if (beforeAt !== undefined) await store.trim(beforeAt)
      }),
  }
}

/** Rows that wait, with the bounds on them. */
function createQueue(limits: HistoryLimits, takeId: () => number) {
  let rows: HistoryRow[] = []
  let chars = 0
  let thinned = 0
  const ofSource = new Map<string, number>()
  /** The last values of attributes that changed too often: one for each, written when the window is over. */
  const lasts = new Map<number, HistoryEntry>()
  let lastChars = 0

  function push({ attributeId, value, at }: HistoryEntry): void {
    rows.push({ id: takeId(), attributeId, value, at })
    chars += value?.length ?? 0
  }

  function putLast(entry: HistoryEntry): void {
    const before = lasts.get(entry.attributeId)
    const more = (entry.value?.length ?? 0) - (before?.value?.length ?? 0)
    const isRoom = before !== undefined || lasts.size < limits.queueRows
    if (before !== undefined || !isRoom) thinned++
    if (!isRoom || lastChars + more > limits.queueChars) return
    lastChars += more
    lasts.set(entry.attributeId, entry)
  }

  const isFull = () => rows.length >= limits.queueRows || chars >= limits.queueChars

  return {
    rows: (): readonly HistoryRow[] => rows,
    thinned: () => thinned,
    add(entry: HistoryEntry) {
      const { attributeId, source } = entry
      const count = ofSource.get(source) ?? 0
      if (count < limits.deviceRows && !isFull() && !lasts.has(attributeId)) {
        ofSource.set(source, count + 1)
        push(entry)
        return
      }
      putLast(entry)
    },
    /** Begins to count anew; last values join the rows as far as there is room. */
    openWindow() {
      ofSource.clear()
      for (const [id, entry] of lasts) {
        if (isFull()) return
        lasts.delete(id)
        lastChars -= entry.value?.length ?? 0
        push(entry)
      }
    },
    written(count: number) {
      for (const { value } of rows.slice(0, count)) chars -= value?.length ?? 0
      rows = rows.slice(count)
    },
  }
}
