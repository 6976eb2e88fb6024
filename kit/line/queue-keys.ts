/** Keys of what waits to be written to a serial line, in the table of each daemon that has lines with TCP clients. */
import { Type } from 'typebox'

/** To be spread into a table. */
export function queueKeys() {
  return {
    queue_bytes: Type.Integer({
      default: 65_536,
      minimum: 1024,
      maximum: 16_777_216,
      unit: 'bytes',
      description:
        'bytes of all clients that wait for one line, in at most 256 writes; then none of an address that has some waiting is read. Each address has an equal share, and a turn',
    }),
    queue_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'the same in time: no more waits than the line sends within this, 1024 bytes at least',
    }),
    left_bytes: Type.Integer({
      default: 65_536,
      minimum: 0,
      maximum: 16_777_216,
      unit: 'bytes',
      description:
        'bytes for one line of clients that have closed their connection which are still sent; further ones, and those of clients that were cut off, are dropped. 0 drops all',
    }),
    left_ms: Type.Integer({
      default: 30_000,
      minimum: 10,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'how long those may take to be sent; then the rest is dropped',
    }),
  }
}

/** As `LineQueueLimits`. */
export function queueLimits(table: Record<keyof ReturnType<typeof queueKeys>, number>) {
  const { queue_bytes: queueBytes, queue_ms: queueMs, left_bytes: leftBytes, left_ms: leftMs } = table
  return { queueBytes, queueMs, leftBytes, leftMs }
}
