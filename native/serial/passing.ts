/** Bytes that pass between a line and sockets before JavaScript hears of them: who takes part, and what is told. */
import { FLOW, type NativePort, NOTE, READS } from './addon.ts'

/** Notes held before they are told; with two a round trip, and one for each socket that fell behind. */
const NOTES = 1024

/** What is told of a socket, in the order in which it happened. */
export interface PassedSocketHandlers {
  /**
   * The socket sent these; the driver took the first `taken` of them. The rest is the handler's to write, at once: until
   * it returns nothing else goes to the line. `atUs`: CLOCK_MONOTONIC.
   */
  onBytes(bytes: Buffer, taken: number, atUs: number): void
  /**
   * It did not take `rest`, the end of what the line's listener had last. Nothing more goes to it until `goDirect`.
   * `isHalf`: of a doubled FF, with which the rest begins, it took the first.
   */
  onBehind(rest: Buffer, isHalf: boolean): void
  /** It ended (0) or failed (errno), and has left. */
  onEnded(errno: number): void
}

/** A socket that takes part. After `leave` or `onEnded` calls are of no effect. */
export interface PassedSocket {
  goDirect(): void
  /** What the line sends is told by the line alone, until `goDirect`. */
  goIndirect(): void
  /**
   * What of its bytes goes to the line at once; what does not is told by `onBytes`. Over Telnet each FF goes to it twice.
   * All of them, and no Telnet, unless said otherwise.
   */
  steer(reads: keyof typeof READS, isTelnet: boolean): void
  /**
   * Whether its bytes are read. At rest its end is seen all the same, and told while bytes of it lie unread with the
   * kernel: they are for whoever reads the socket next. Stopped, nothing of it is seen.
   */
  flow(how: keyof typeof FLOW): void
  leave(): void
}

/** Owned by a channel, which gives it the `passed` events of its port. */
export class Passing {
  readonly #native: NativePort
  readonly #slab: Buffer
  readonly #onLineBytes: (bytes: Buffer, atUs: number) => void
  readonly #sockets = new Map<number, PassedSocketHandlers>()
  #notes: Float64Array | undefined
  #holds = 0

  constructor(native: NativePort, slab: Buffer, onLineBytes: (bytes: Buffer, atUs: number) => void) {
    this.#native = native
    this.#slab = slab
    this.#onLineBytes = onLineBytes
  }

  /** @param tellMs how long notes may wait; the first socket's holds for all. @throws CallError */
  join(socketFd: number, tellMs: number, handlers: PassedSocketHandlers): PassedSocket {
    if (this.#notes === undefined) {
      this.#notes = new Float64Array(NOTES * NOTE.size)
      this.#native.beginPassing(this.#notes, tellMs)
      this.#native.holdPassing(this.#holds > 0)
    }
    const id = this.#native.join(socketFd)
    this.#sockets.set(id, handlers)
    return {
      goDirect: () => this.#native.setDirect(id, true),
      goIndirect: () => this.#native.setDirect(id, false),
      steer: (reads, isTelnet) => this.#native.steer(id, READS[reads], isTelnet),
      flow: (how) => this.#native.setFlow(id, FLOW[how]),
      leave: () => {
        this.tell()
        this.#sockets.delete(id)
        this.#native.leave(id)
      },
    }
  }

  /** @param most bytes of one read of a socket, at least 1 */
  limitReads(most: number): void {
    this.#native.limitReads(most)
  }

  /** What sockets send waits for the writes from here until each `hold` had its `release`. */
  hold(): void {
    if (this.#holds++ === 0 && this.#notes !== undefined) this.#native.holdPassing(true)
  }

  release(): void {
    if (--this.#holds === 0 && this.#notes !== undefined) this.#native.holdPassing(false)
  }

  /** Tells now what has passed and was not told yet. */
  tell(): void {
    const notes = this.#notes
    if (notes === undefined) return
    const count = this.#native.takePassed()
    let at = 0
    let line: Buffer | undefined
    for (let slot = 0; slot < count * NOTE.size; slot += NOTE.size) {
      const kind = notes[slot]
      const id = notes[slot + 1] ?? 0
      const length = notes[slot + 2] ?? 0
      const value = notes[slot + 3] ?? 0
      if (kind === NOTE.fromLine) {
        line = this.#copy(at, length)
        this.#onLineBytes(line, notes[slot + 4] ?? 0)
      } else if (kind === NOTE.fromSocket) this.#fromSocket(id, this.#copy(at, length), value, notes[slot + 4] ?? 0)
      else if (kind === NOTE.behind && line) this.#behind(id, line.subarray(line.length - value), notes[slot + 4] === 1)
      else if (kind === NOTE.ended) this.#ended(id, value)
      at += length
    }
  }

  /** Each read on its own: a small one that is kept must not keep all that passed with it. */
  #copy(at: number, length: number): Buffer {
    return Buffer.from(this.#slab.subarray(at, at + length))
  }

  #fromSocket(id: number, bytes: Buffer, taken: number, atUs: number): void {
    // The addon holds by itself when the line took less; this ends it, unless the handler wrote something.
    const isHeld = taken < bytes.length
    if (isHeld) this.hold()
    this.#sockets.get(id)?.onBytes(bytes, taken, atUs)
    if (isHeld) this.release()
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
