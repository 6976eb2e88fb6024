/** Events that wait for one target, in order, bounded by count and by bytes, and the bytes of all targets together. */

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

/** What waits for all targets together. A body that waits for many of them is held once, and counts once. */
export interface HeldBodies {
  readonly bytes: number
  hold(body: Uint8Array): void
  letGo(body: Uint8Array): void
  /** A line that has something waiting; it leaves when it has nothing. */
  join(line: HoldingLine): void
  leave(line: HoldingLine): void
  /** Where too much is held, the line with most loses its oldest. */
  makeRoom(): void
}

interface HoldingLine {
  sizeBytes(): number
  loseOldest(): void
}

export function createHeldBodies(mostBytes: number): HeldBodies {
  const holders = new Map<Uint8Array, number>()
  const lines = new Set<HoldingLine>()
  let bytes = 0
  return {
    get bytes() {
      return bytes
    },
    hold(body) {
      const many = holders.get(body) ?? 0
      if (many === 0) bytes += body.byteLength
      holders.set(body, many + 1)
    },
    letGo(body) {
      const many = holders.get(body) ?? 0
      if (many > 1) holders.set(body, many - 1)
      else if (holders.delete(body)) bytes -= body.byteLength
    },
    join: (line) => void lines.add(line),
    leave: (line) => void lines.delete(line),
    makeRoom() {
      while (bytes > mostBytes && lines.size > 0) {
        let most: HoldingLine | undefined
        for (const line of lines) if (!most || line.sizeBytes() > most.sizeBytes()) most = line
        most?.loseOldest()
      }
    },
  }
}

interface Entry {
  outgoing: Outgoing
  next: Entry | undefined
}

/**
 * Linked, not an array: dropping the oldest of 65 536 for each new one must cost nothing.
 * @param onMadeRoom its oldest event was dropped, since too much waits for all targets together
 */
export function createWaitingLine(bounds: WaitingBounds, held: HeldBodies, onMadeRoom: () => void): WaitingLine {
  let first: Entry | undefined
  let last: Entry | undefined
  let length = 0
  let sizeBytes = 0
  const self: HoldingLine = {
    sizeBytes: () => sizeBytes,
    loseOldest() {
      take()
      onMadeRoom()
    },
  }

  function take(): Outgoing | undefined {
    const entry = first
    if (!entry) return undefined
    first = entry.next
    if (!first) last = undefined
    length -= 1
    sizeBytes -= entry.outgoing.body.byteLength
    held.letGo(entry.outgoing.body)
    if (length === 0) held.leave(self)
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
      held.hold(outgoing.body)
      held.join(self)
      let dropped = 0
      while (length > bounds.queue || sizeBytes > bounds.queue_bytes) {
        take()
        dropped += 1
      }
      held.makeRoom()
      return dropped
    },
    take,
  }
}
