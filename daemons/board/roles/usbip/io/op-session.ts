/** The first phase of one connection: what the host asks is read, and no byte more, and answered. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Holder, Use } from '#kit/places.ts'
import type { TcpConnection } from '#native/usbip/index.ts'
import type { HostDesk, HostLink, OpOutcome } from '../core/ports.ts'
import { OP_HEADER_BYTES } from '../wire/op-header.ts'
import { devlistReply, importReply } from '../wire/op-reply.ts'
import { LONGEST_REQUEST_BYTES, openRequest, requestBytesOf } from '../wire/op-request.ts'

/** What a session is made of. */
export interface OpSessionParts {
  clock: Clock
  connection: TcpConnection
  /** The same, as the desk knows it. */
  link: HostLink
  desk: HostDesk
  /** For the request, and again for the host to take the answer and hang up. */
  timeoutMs: number
  /** The session is over; the connection is closed, or the desk's. */
  onDone(): void
  own(promise: Promise<unknown>): void
}

/** Bytes that are read and thrown away while a host hangs up. */
const MOST_LEFTOVER_BYTES = 65_536

/** Owns the connection until it is over. */
export class OpSession implements Holder {
  readonly #parts: OpSessionParts
  readonly #sinceMs: number
  #use: Use = 'opening'
  readonly #request = new Uint8Array(LONGEST_REQUEST_BYTES)
  #have = 0
  #wanted = OP_HEADER_BYTES
  #leftoverBytes = 0
  #deadline: Timer | undefined
  #isOver = false

  constructor(parts: OpSessionParts) {
    this.#parts = parts
    this.#sinceMs = parts.clock.monotonicMs()
  }

  use(): ReturnType<Holder['use']> {
    return { use: this.#use, sinceMs: this.#sinceMs }
  }

  /** Another host needs the place. */
  giveWay(): void {
    this.#over('too_many')
  }

  /** Once. */
  start(): void {
    this.#limitTime(() => this.#over('too_slow'))
    this.#guarded(() => this.#awaitBytes())
  }

  /** Ends it at once, as when the server closes. */
  close(): void {
    this.#over('went_away')
  }

  #limitTime(run: () => void): void {
    this.#deadline?.cancel()
    this.#deadline = this.#parts.clock.after(this.#parts.timeoutMs, run)
  }

  #awaitBytes(): void {
    this.#parts.connection.onceReadable(() => this.#guarded(() => this.#read()))
  }

  #read(): void {
    const count = this.#parts.connection.read(this.#request.subarray(this.#have, this.#wanted))
    if (count === 0) {
      this.#over('went_away')
      return
    }
    this.#have += count ?? 0
    if (this.#have === OP_HEADER_BYTES) this.#wanted = requestBytesOf(this.#request.subarray(0, OP_HEADER_BYTES))
    if (this.#have < this.#wanted) {
      this.#awaitBytes()
      return
    }
    const request = openRequest(this.#request.subarray(0, this.#wanted))
    if (request.kind === 'devlist') this.#answer(devlistReply(this.#parts.desk.list()), 'listed')
    else this.#parts.own(this.#import(request.busId))
  }

  async #import(busId: string): Promise<void> {
    const { desk, link } = this.#parts
    // What the desk does has its own limits of time.
    this.#deadline?.cancel()
    this.#use = 'busy'
    const { status, device } = await desk.take(busId, link)
    if (status !== 'ok') {
      this.#guarded(() => this.#answer(importReply(status), 'import_refused'))
      return
    }
    // The link is the desk's: where this answer cannot be sent, the desk is told that the host has gone.
    try {
      if (!this.#write(importReply(status, device))) link.cut()
    } catch {
      link.cut()
    }
    this.#settle('imported')
  }

  /** Answers, and leaves the host time to take it: what closes with bytes unread resets the connection. */
  #answer(reply: Uint8Array, outcome: OpOutcome): void {
    if (this.#isOver) return
    if (!this.#write(reply)) {
      this.#over('went_away')
      return
    }
    this.#use = 'idle'
    this.#limitTime(() => this.#over(outcome))
    this.#parts.connection.end()
    this.#drain(outcome)
  }

  #drain(outcome: OpOutcome): void {
    this.#parts.connection.onceReadable(() => {
      try {
        const slab = new Uint8Array(4096)
        const count = this.#parts.connection.read(slab)
        this.#leftoverBytes += count ?? 0
        if (count === 0 || this.#leftoverBytes > MOST_LEFTOVER_BYTES) this.#over(outcome)
        else this.#drain(outcome)
      } catch {
        this.#over(outcome)
      }
    })
  }

  /** An answer is some hundred bytes, which a new connection always takes at once. */
  #write(bytes: Uint8Array): boolean {
    return this.#parts.connection.write(bytes) === bytes.length
  }

  /** What the peer sends, or does to the connection, ends the session and nothing else. */
  #guarded(run: () => void): void {
    if (this.#isOver) return
    try {
      run()
    } catch (error) {
      if (error instanceof Fault) this.#over('not_understood')
      else if ((error as NodeJS.ErrnoException).syscall !== undefined) this.#over('went_away')
      else throw error
    }
  }

  #over(outcome: OpOutcome): void {
    if (this.#isOver) return
    this.#settle(outcome)
    this.#parts.connection.close()
  }

  #settle(outcome: OpOutcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline?.cancel()
    this.#parts.desk.ended(outcome, this.#parts.link.address)
    this.#parts.onDone()
  }
}
