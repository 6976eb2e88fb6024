/** Events that wait for one target, in order, bounded by count and by bytes. */

/** One event on its way to a target. */
export interface Outgoing {
  port: string
  event: string
  /** The delivery body as JSON in UTF-8; shared between queues, never changed. */
  body: Uint8Array
}

/** The bounds: events and bytes of their bodies. */
export interface WaitingBounds {
  queue: number
  queue_bytes: number
}

export interface WaitingLine {
  length(): number
  /** Adds at the end and drops the oldest until the bounds hold; an event over the byte bound alone drops itself. @returns events dropped */
  add(outgoing: Outgoing): number
  /** The oldest, which then waits no longer. */
  take(): Outgoing | undefined
}

interface Entry {
  outgoing: Outgoing
  next: Entry | undefined
}

/** Linked, not an array: dropping the oldest of 65 536 for each new one must cost nothing. */
export function createWaitingLine(bounds: WaitingBounds): WaitingLine {
  let first: Entry | undefined
  let last: Entry | undefined
  let length = 0
  let sizeBytes = 0

  function take(): Outgoing | undefined {
    const entry = first
    if (!entry) return undefined
    first = entry.next
    if (!first) last = undefined
    length -= 1
    sizeBytes -= entry.outgoing.body.byteLength
    return entry.outgoing
  }

  return {
    length: () => length,
    add(outgoing) {
      const entry: Entry = { outgoing, next: undefined }
      if (last) last.next = entry
      else first = entry
      last = entry
      length += 1
      sizeBytes += outgoing.body.byteLength
      let dropped = 0
      while (length > bounds.queue || sizeBytes > bounds.queue_bytes) {
        take()
        dropped += 1
      }
      return dropped
    },
    take,
  }
}
