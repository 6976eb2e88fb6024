/** Answers that go from a line to a socket, and questions from a socket to the line, before JavaScript hears of them. */
import type { NativePort } from './addon.ts'

interface RelaysParts {
  native: NativePort
  /** Where the port puts bytes, at the start, until its next event. */
  slab: Buffer
  isOpen(): boolean
}

/** What a relay's socket sends. */
interface RelayHandlers {
  /**
   * The handler owns the bytes. @param sent how many bytes of the admitted question in them, with its checksum, the line
   * took: the rest must be written before this returns
   */
  onBytes(bytes: Buffer, sent: number): void
  /** It has ended or failed, which whoever reads it next is told. */
  onEnded(): void
}

/** A socket that takes part. After `leave`, or once the line is closed, calls have no effect. */
interface RelaySocket {
  /**
   * If the next read of the line has exactly this frame, the socket gets `head` and the frame without its checksum. The
   * listener has the frame too, after `onSent` was told how many bytes the socket took.
   */
  expect(answer: { head: Uint8Array; begins: Uint8Array; length: number; onSent(taken: number): void }): void
  /** Begins to read the socket. */
  read(handlers: RelayHandlers): void
  pause(): void
  resume(): void
  /**
   * If the next bytes of the socket are one message of Modbus TCP that reads that unit, its question goes to the line, unless
   * something came. Not before that time, CLOCK_MONOTONIC.
   */
  admit(unitId: number, notBeforeMs: number): void
  leave(): void
}

/** Owned by the channel of a line, which forwards the events of its port. */
export class Relays {
  readonly #parts: RelaysParts
  readonly #readers = new Map<number, RelayHandlers>()
  #onPassed: ((taken: number) => void) | undefined

  constructor(parts: RelaysParts) {
    this.#parts = parts
  }

  /** Copies the descriptor of a connected socket. @throws CallError */
  join(socketFd: number): RelaySocket {
    const { isOpen, native } = this.#parts
    const id = native.relayTo(socketFd)
    const read = (isRead: boolean) => {
      if (isOpen() && this.#readers.has(id)) native.readRelay(id, isRead)
    }
    return {
      expect: ({ begins, head, length, onSent }) => {
        if (!isOpen()) return
        this.#onPassed = onSent
        native.expect(id, head, begins, length)
      },
      read: (handlers) => {
        this.#readers.set(id, handlers)
        read(true)
      },
      pause: () => read(false),
      resume: () => read(true),
      admit: (unitId, notBeforeMs) => native.admit(id, unitId, notBeforeMs * 1000),
      leave: () => {
        this.#readers.delete(id)
        native.leaveRelay(id)
      },
    }
  }

  /** Nothing passes by itself any more until the next `expect` or `admit`. */
  end(): void {
    this.#parts.native.endRelay()
  }

  /** The addon says that what was expected has passed. */
  passed(taken: number): void {
    this.#onPassed?.(taken)
  }

  /** The addon says that a socket has sent something; nothing: it has ended. */
  asked(id: number, length: number, sent: number): void {
    const reader = this.#readers.get(id)
    if (length > 0) {
      reader?.onBytes(Buffer.from(this.#parts.slab.subarray(0, length)), sent)
      return
    }
    this.#readers.delete(id)
    reader?.onEnded()
  }
}
