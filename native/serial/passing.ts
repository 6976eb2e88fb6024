/** Bytes passed between a line and sockets before JavaScript sees them: which sockets take part, and the reports. */
import { FLOW, type NativePort, NOTE, READS } from './addon.ts'

/** Notes held before they are reported; a round trip makes two, and each socket that falls behind one. */
const NOTES = 1024

/** Reports about a socket, in order. */
export interface PassedSocketHandlers {
  /**
   * The socket sent these bytes; the driver took the first `taken`. The handler must write the rest at once: until it
   * returns nothing else goes to the line. `atUs`: CLOCK_MONOTONIC.
   */
  onBytes(bytes: Buffer, taken: number, atUs: number): void
  /**
   * The socket did not take `rest`, the end of what the line's listener last had. Nothing more is passed to it until
   * `goDirect`. `isHalf`: `rest` begins with a doubled FF whose first byte the socket has taken.
   */
  onBehind(rest: Buffer, isHalf: boolean): void
  /** The socket ended (0) or failed (errno), and no longer takes part. */
  onEnded(errno: number): void
}

/** A socket that takes part. After `leave` or `onEnded` calls have no effect. */
export interface PassedSocket {
  goDirect(): void
  /** Stops passing the line's bytes to it until `goDirect`; only the line's listener gets them. */
  goIndirect(): void
  /**
   * Chooses which of its bytes go to the line directly; `onBytes` reports the rest. Over Telnet each FF is doubled
   * towards it. Default: all bytes, no Telnet.
   */
  steer(reads: keyof typeof READS, isTelnet: boolean): void
  /**
   * Whether its bytes are read. While resting, its end is still detected, and reported with bytes of it unread in the
   * kernel: whoever reads the socket next gets them. While stopped, nothing of it is watched.
   */
  flow(how: keyof typeof FLOW): void
  leave(): void
}

interface PassingParts {
  native: NativePort
  /** Where the port puts bytes, at the start, until its next event. */
  slab: Buffer
  /** How long notes may wait. */
  tellMs: number
  /** Whether sockets are held back already. */
  isHeld: boolean
  line: { holdSockets(): void; releaseSockets(): void }
  onLineBytes(bytes: Buffer, atUs: number): void
}

/** Owned by the channel of a line, which forwards the `passed` events of its port. */
export class Passing {
  readonly #parts: PassingParts
  readonly #sockets = new Map<number, PassedSocketHandlers>()
  readonly #notes = new Float64Array(NOTES * NOTE.size)

  constructor(parts: PassingParts) {
    this.#parts = parts
    parts.native.beginPassing(this.#notes, parts.tellMs)
    parts.native.holdPassing(parts.isHeld)
  }

  /** @throws CallError */
  join(socketFd: number, handlers: PassedSocketHandlers): PassedSocket {
    const { native } = this.#parts
    const id = native.join(socketFd)
    this.#sockets.set(id, handlers)
    return {
      goDirect: () => native.setDirect(id, true),
      goIndirect: () => native.setDirect(id, false),
      steer: (reads, isTelnet) => native.steer(id, READS[reads], isTelnet),
      flow: (how) => native.setFlow(id, FLOW[how]),
      leave: () => {
        this.tell()
        this.#sockets.delete(id)
        native.leave(id)
      },
    }
  }

  /** Reports now what has passed and was not reported yet. */
  tell(): void {
    const notes = this.#notes
    const count = this.#parts.native.takePassed()
    let at = 0
    let line: Buffer | undefined
    for (let slot = 0; slot < count * NOTE.size; slot += NOTE.size) {
      const kind = notes[slot]
      const id = notes[slot + 1] ?? 0
      const length = notes[slot + 2] ?? 0
      const value = notes[slot + 3] ?? 0
      if (kind === NOTE.fromLine) {
        line = this.#copy(at, length)
        this.#parts.onLineBytes(line, notes[slot + 4] ?? 0)
      } else if (kind === NOTE.fromSocket) this.#fromSocket(id, this.#copy(at, length), value, notes[slot + 4] ?? 0)
      else if (kind === NOTE.behind && line) this.#behind(id, line.subarray(line.length - value), notes[slot + 4] === 1)
      else if (kind === NOTE.ended) this.#ended(id, value)
      at += length
    }
  }

  /** Copies each read separately: a small one that is kept must not keep everything else alive. */
  #copy(at: number, length: number): Buffer {
    return Buffer.from(this.#parts.slab.subarray(at, at + length))
  }

  #fromSocket(id: number, bytes: Buffer, taken: number, atUs: number): void {
    // The addon holds by itself if the line took less; this ends that, unless the handler wrote something.
    const isHeld = taken < bytes.length
    if (isHeld) this.#parts.line.holdSockets()
    this.#sockets.get(id)?.onBytes(bytes, taken, atUs)
    if (isHeld) this.#parts.line.releaseSockets()
  }

  #behind(id: number, rest: Buffer, isHalf: boolean): void {
    this.#sockets.get(id)?.onBehind(rest, isHalf)
  }

  #ended(id: number, errno: number): void {
    const handlers = this.#sockets.get(id)
    this.#sockets.delete(id)
    handlers?.onEnded(errno)
  }
}
