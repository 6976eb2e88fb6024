/**
 * Byte stream of one open terminal: reads on request, ordered writes, one report of its loss, and bytes passed between
 * a line and sockets before JavaScript sees them.
 */
import { EVENT, FLOW, type NativePort, NOTE, READS } from './addon.ts'

/** Most bytes per event. The kernel has at most 4 KiB ready per terminal read, and we read in a loop. */
const SLAB_BYTES = 65_536

/** A failed system call. `code` is the errno's name, `HANGUP` for an end without errno, `ECHANGED` for a setting. */
export interface CallError extends Error {
  code: string
  errno: number
  syscall: string
  path?: string
  /** Process that holds the lock, if known. */
  holder?: number
  /** For `ECHANGED`: what the driver changed. */
  field?: string
  wanted?: string
  got?: string
  /** True if the call ended because the port was closed. */
  canceled?: boolean
}

/** Creates a CallError for errors found in TypeScript. */
export function callError(sentence: string, facts: Omit<CallError, keyof Error>): CallError {
  return Object.assign(new Error(sentence), facts)
}

interface PendingWrite {
  bytes: Uint8Array
  at: number
  resolve(): void
  reject(error: Error): void
}

interface PendingRead {
  target: Uint8Array
  resolve(bytesRead: number): void
  reject(error: Error): void
}

/**
 * Owns a native port. Bytes are read only on request: by `read` (one piece each) or by `listen` (a stream of pieces
 * until paused), never both. `lastReadAtUs` is CLOCK_MONOTONIC of the last piece.
 */
export class Channel {
  readonly native: NativePort
  /** Passing works only while there is a listener. */
  readonly passing: Passing
  isOpen = true
  lastReadAtUs = 0
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  #listener: ((bytes: Buffer, atUs: number) => void) | undefined
  #isPaused = false
  #rests = 0
  #read: PendingRead | undefined
  #writes: PendingWrite[] = []
  #isBlocked = false
  #lost: CallError | undefined
  #onLost: ((error: CallError) => void) | undefined
  #closing: Promise<void> | undefined

  constructor(native: NativePort) {
    this.native = native
    this.passing = new Passing(native, this.#slab, (bytes, atUs) => this.#onPassed(bytes, atUs))
    native.begin(this.#slab, (event, value, atUs) => this.#onEvent(event, value, atUs))
  }

  /** One handler; runs once when the device is lost, or at once if it already is. */
  onLost(handler: (error: CallError) => void): void {
    this.#onLost = handler
    if (this.#lost !== undefined) handler(this.#lost)
  }

  /** Resolves to the number of bytes (1..target's length) put into `target`. @throws CallError, `canceled` on close */
  read(target: Uint8Array): Promise<number> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    if (!this.isOpen) return Promise.reject(this.#canceled('read'))
    return new Promise((resolve, reject) => {
      this.#read = { target, resolve, reject }
      this.native.want(target.length)
    })
  }

  /** Passes every piece to the handler, which owns it. */
  listen(handler: (bytes: Buffer, atUs: number) => void): void {
    this.#listener = handler
    this.resume()
  }

  pause(): void {
    this.#isPaused = true
    if (this.isOpen) this.native.want(0)
  }

  resume(): void {
    this.#isPaused = false
    this.#wantMore()
  }

  /** Runs something while nothing is read, whether paused or not. */
  async rest(during: () => Promise<void>): Promise<void> {
    this.#rests++
    if (this.isOpen) this.native.want(0)
    try {
      await during()
    } finally {
      this.#rests--
      this.#wantMore()
    }
  }

  /** Resolves once the driver has taken all bytes; `bytes` must not change until then. Writes keep their order. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    if (!this.isOpen) return Promise.reject(this.#canceled('write'))
    let taken = 0
    if (this.#writes.length === 0 && !this.#isBlocked) {
      try {
        taken = this.native.write(bytes, 0)
      } catch (error) {
        return Promise.reject(error)
      }
      if (taken === bytes.length) return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      this.#writes.push({ bytes, at: taken, resolve, reject })
      if (!this.#isBlocked) this.native.awaitWritable()
    })
  }

  /** Queues writes until `unblockWrites`. */
  blockWrites(): void {
    this.#isBlocked = true
  }

  unblockWrites(): void {
    this.#isBlocked = false
    if (this.isOpen && this.#writes.length > 0) this.native.awaitWritable()
  }

  /** Ends queued writes as if written: their bytes are dropped with the driver's. */
  dropWrites(): void {
    for (const write of this.#writes.splice(0)) write.resolve()
  }

  /** Everything pending fails with `canceled`. A second call returns the first one's promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #close(): Promise<void> {
    this.passing.tell()
    this.isOpen = false
    const closed = this.native.close()
    this.#failPending((call) => this.#canceled(call))
    return closed
  }

  #canceled(call: string): CallError {
    return callError(`${call} on ${this.native.path} ended: the port was closed`, {
      code: 'ECANCELED',
      errno: 125,
      syscall: call,
      canceled: true,
    })
  }

  #failPending(errorOf: (call: string) => CallError): void {
    const read = this.#read
    this.#read = undefined
    read?.reject(errorOf('read'))
    for (const write of this.#writes.splice(0)) write.reject(errorOf('write'))
  }

  #onEvent(event: number, value: number, atUs: number): void {
    if (event === EVENT.bytes) this.#onBytes(value, atUs)
    else if (event === EVENT.passed) this.passing.tell()
    else if (event === EVENT.writable) this.#onWritable()
    else this.#onHangup(value)
  }

  #onBytes(length: number, atUs: number): void {
    this.lastReadAtUs = atUs
    const read = this.#read
    if (read !== undefined) {
      this.#read = undefined
      read.target.set(this.#slab.subarray(0, length))
      read.resolve(length)
      return
    }
    this.#listener?.(Buffer.from(this.#slab.subarray(0, length)), atUs)
    this.#wantMore()
  }

  #onPassed(bytes: Buffer, atUs: number): void {
    this.lastReadAtUs = atUs
    this.#listener?.(bytes, atUs)
  }

  #wantMore(): void {
    const isWanted = !this.#isPaused && this.#rests === 0 && this.#listener !== undefined
    if (isWanted && this.isOpen && this.#lost === undefined) this.native.want(SLAB_BYTES)
  }

  #onWritable(): void {
    if (this.#isBlocked) return
    for (let write = this.#writes[0]; write !== undefined; write = this.#writes[0]) {
      try {
        write.at += this.native.write(write.bytes, write.at)
      } catch (error) {
        this.#writes.shift()
        write.reject(error as Error)
        continue
      }
      if (write.at < write.bytes.length) {
        this.native.awaitWritable()
        return
      }
      this.#writes.shift()
      write.resolve()
    }
  }

  #onHangup(errno: number): void {
    const code = errno === 0 ? 'HANGUP' : 'EIO'
    const why = errno === 0 ? 'hung up' : `failed with errno ${errno}`
    const error = callError(`${this.native.path} is gone: read ${why}`, { code, errno, syscall: 'read' })
    this.#lost = error
    this.#failPending(() => error)
    this.#onLost?.(error)
  }
}

// Passing: bytes between a line and sockets before JavaScript sees them; which sockets take part, and the reports.

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

/** Owned by a channel, which forwards the `passed` events of its port. */
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

  /** @param tellMs how long notes may wait; the first socket's value applies to all. @throws CallError */
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

  /** @param most bytes of one read from a socket, at least 1 */
  limitReads(most: number): void {
    this.#native.limitReads(most)
  }

  /** Holds back sockets' bytes, so that writes from here go first, until each `hold` has had its `release`. */
  hold(): void {
    if (this.#holds++ === 0 && this.#notes !== undefined) this.#native.holdPassing(true)
  }

  release(): void {
    if (--this.#holds === 0 && this.#notes !== undefined) this.#native.holdPassing(false)
  }

  /** Reports now what has passed and was not reported yet. */
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

  /** Copies each read separately: a small one that is kept must not keep everything else alive. */
  #copy(at: number, length: number): Buffer {
    return Buffer.from(this.#slab.subarray(at, at + length))
  }

  #fromSocket(id: number, bytes: Buffer, taken: number, atUs: number): void {
    // The addon holds by itself if the line took less; this ends that, unless the handler wrote something.
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
