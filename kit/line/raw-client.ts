/** One TCP client of a raw line: what the line does not pass by itself, in order, and within the backlog. */
import type { Socket } from 'node:net'
import type { PassedSocket } from './line.ts'
import type { RawSocketLine } from './raw-line.ts'

/** What a client is made of. */
export interface RawClientParts {
  socket: Socket
  line: RawSocketLine
  /** Bytes held for it before it is told to be behind, and of it before it is read no further. */
  backlogBytes: number
  /** How long the line may wait before it tells what has passed. */
  tellMs: number
  /** More than the backlog waits for it. */
  onBehind(client: RawClient): void
  /** It has everything. */
  onCaughtUp(client: RawClient): void
}

/**
 * Owns the socket. While all is well the line passes its bytes to the client and the client's to the line, and this only
 * hears of them; Node's socket neither reads nor writes. When the client takes less than it is sent, Node's socket sends
 * the rest and all that follows, until it has caught up. When the line takes less than it is sent, the rest is written
 * from here, and the client is read no further once its backlog is full.
 */
export class RawClient {
  readonly socket: Socket
  readonly #parts: RawClientParts
  #passed: PassedSocket | undefined
  /** The line sends to it by itself. */
  #isDirect = true
  #heldBytes = 0

  /** @throws Fault `line_closed` */
  constructor(parts: RawClientParts, socketFd: number) {
    this.#parts = parts
    this.socket = parts.socket
    this.#passed = parts.line.pass(socketFd, parts.tellMs, {
      onBytes: (bytes, taken, atUs) => this.#fromClient(bytes, taken, atUs),
      onBehind: (rest) => this.#fallBehind(rest),
      onEnded: (errno) => this.#ended(errno),
    })
  }

  /** Sends what the line does not. */
  send(bytes: Uint8Array): void {
    if (this.#isDirect || this.socket.destroyed) return
    this.socket.write(bytes, () => this.#written())
    if (this.socket.writableLength > this.#parts.backlogBytes) this.#parts.onBehind(this)
  }

  /** Lets the client go, with what waits for it. */
  destroy(): void {
    this.#passed?.leave()
    this.#passed = undefined
    this.socket.destroy()
  }

  #fallBehind(rest: Uint8Array): void {
    this.#isDirect = false
    this.send(rest)
  }

  #written(): void {
    if (this.socket.writableLength > 0) return
    this.#parts.onCaughtUp(this)
    // What has passed before is not yet with the client, and may put it behind again.
    this.#parts.line.settle()
    if (this.socket.writableLength > 0 || this.socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  /** Node finds the same end, tells the client so and closes. */
  #ended(errno: number): void {
    this.#passed = undefined
    this.#isDirect = false
    if (errno !== 0) this.destroy()
    else this.socket.resume()
  }

  #fromClient(bytes: Uint8Array, taken: number, atUs: number): void {
    const { line } = this.#parts
    if (taken === bytes.length) line.onPassed(bytes, atUs)
    else this.#write(bytes, taken)
  }

  /** The client is read no further while the line has more than the backlog of its bytes still to take. */
  #write(bytes: Uint8Array, taken: number): void {
    const { backlogBytes, line } = this.#parts
    const heldBytes = bytes.length - taken
    this.#heldBytes += heldBytes
    if (this.#heldBytes > backlogBytes) this.#passed?.pause()
    const isTaken = () => {
      this.#heldBytes -= heldBytes
      if (this.#heldBytes <= backlogBytes) this.#passed?.resume()
    }
    try {
      line.onBytes(bytes, taken).then(isTaken, () => this.destroy())
    } catch {
      this.destroy() // the line closed this very moment; its clients are let go with it
    }
  }
}
