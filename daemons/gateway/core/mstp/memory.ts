/** What the thread of MS/TP may hold. */

/** Its heap: the code, and for each line a frame, a map of 255 nodes, and the frames on their way. MiB. */
export const MSTP_HEAP_MIB = { old: 64, young: 8 } as const

/**
 * One frame on its way from the thread, with its message. @source measured: 0.6 KiB of a token, 2.3 KiB of a frame of 520
 * bytes, which counts as three
 */
export const TRANSIT_BYTES = 1024

/** As how many frames one of this length counts on its way. */
export function transitWeight(bytes: number): number {
  return 1 + (bytes >> 8)
}
