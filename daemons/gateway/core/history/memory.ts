/** What the history may take of memory beside its settings. */

/** Heap of the thread that writes and reads it. MiB. */
export const HISTORY_HEAP_MIB = { old: 64, young: 16 } as const

/** A point or unit with its names and its running slot. @source measured: 0.7 KiB */
export const SERIES_BYTES = 1024

/** One slot of a series that is not on its way to the disk yet. @source measured: 120 bytes */
export const SERIES_SLOT_BYTES = 160

/** One answer: 6000 buckets, and the blocks that are read at once. @source measured: 1.3 MiB */
export const READER_BYTES = 2_097_152
