/** Bytes in and out of one open terminal: reads that are asked for, writes kept in order, the loss told once. */
import { EVENT, type NativePort } from './addon.ts'
import { Passing } from './passing.ts'

/** Most bytes one event hands over. The kernel keeps at most 4 KiB ready per terminal read, and we read in a loop. */
const SLAB_BYTES = 65_536

/** A failed system call. `code` is the errno's name, `HANGUP` for an end without errno, `ECHANGED` for a setting. */
export interface CallError extends Error {
  code: string
  errno: number
  syscall: string
  path?: string
  /** Process that holds the lock, where known. */
  holder?: number
  /** For `ECHANGED`: what the driver changed. */
  field?: string
  wanted?: string
  got?: string
  /** True where the call ended because the port was closed. */
  canceled?: boolean
}

/** Makes a CallError for what TypeScript finds itself. */
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
 * Owns a native port. Bytes are read only while somebody asks: by `read` (one piece each) or by `listen` (a stream of
 * pieces until paused), never both. `lastReadAtUs` is CLOCK_MONOTONIC of the last piece.
 */
export class Channel {
  readonly native: NativePort
  /** Sockets take part only while somebody listens. */
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

  /** One handler; runs once when the device is lost. Runs at once where it already is. */
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

  /** Hands every piece to the handler, which owns it. */
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

  /** Nothing is read meanwhile, whether paused or not. */
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

  /** Writes wait from here until `unblockWrites`. */
  blockWrites(): void {
    this.#isBlocked = true
  }

  unblockWrites(): void {
    this.#isBlocked = false
    if (this.isOpen && this.#writes.length > 0) this.native.awaitWritable()
  }

  /** Ends the writes that wait, as if written: their bytes are thrown away with the driver's. */
  dropWrites(): void {
    for (const write of this.#writes.splice(0)) write.resolve()
  }

  /** Everything pending fails with `canceled`. A second call gives the first one's promise. */
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
