/** One TCP client of a raw line: what the line does not pass by itself, in order, and within the backlog. */
import type { Socket } from 'node:net'
import type { Clock } from '#kit/clock.ts'
import { networkOf, plainAddress } from '../net/address.ts'
import type { PassedSocket } from './line.ts'
import type { LineSender } from './line-queue.ts'
import type { RawSocketLine } from './raw-line.ts'
import { SocketWriter } from './socket-writer.ts'

/** What a client is made of. */
export interface RawClientParts {
  socket: Socket
  line: RawSocketLine
  clock: Clock
  /** Bytes held for it before it is told to be behind. */
  backlogBytes: number
  /** Most bytes kept of what it sent before it left. */
  leftBytes: number
  /** How long the line may wait before it tells what has passed. */
  tellMs: number
  /** More than the backlog waits for it. */
  onBehind(client: RawClient): void
  /** It has everything. */
  onCaughtUp(client: RawClient): void
  /** It has said all it will say; what waits for it is still sent. */
  onEnding(client: RawClient): void
  /** Bytes it sent were thrown away, as it has left. */
  onDropped(count: number): void
}

/** What is written at once of one that has left, so that others have their turn between. */
const PIECE_BYTES = 4096

/**
 * Owns the socket. While all is well the line passes its bytes to the client and the client's to the line, and this only
 * hears of them; Node's socket neither reads nor writes. When the client takes less than it is sent, Node's socket sends
 * the rest and all that follows, until it has caught up. When the line takes less than it is sent, the rest waits its turn
 * with the line, and the client is at rest while its address has enough waiting. What is unread when it ends Node reads.
 */
export class RawClient {
  readonly socket: Socket
  readonly #parts: RawClientParts
  readonly #sender: LineSender
  readonly #writer: SocketWriter
  #passed: PassedSocket | undefined
  /** The line sends to it by itself. */
  #isDirect = true
  /** It ended as one does who is done. */
  #hasEnded = false
  #activeMs: number
  #isResting = false

  /** @throws Fault `line_closed` */
  constructor(parts: RawClientParts, socketFd: number) {
    this.#parts = parts
    this.socket = parts.socket
    this.#writer = new SocketWriter(parts.socket, () => this.#written())
    this.#activeMs = parts.clock.monotonicMs()
    this.#passed = parts.line.pass(socketFd, parts.tellMs, {
      onBytes: (bytes, taken, atUs) => this.#fromClient(bytes, taken, atUs),
      onBehind: (rest) => this.#fallBehind(rest),
      onEnded: (errno) => this.#ended(errno),
    })
    this.#sender = parts.line.sender(networkOf(plainAddress(parts.socket.remoteAddress)), {
      onRest: (isResting) => {
        this.#isResting = isResting
        this.#passed?.flow(isResting ? 'resting' : 'reading')
      },
    })
  }

  /** Its bytes are not read, as enough of its address waits for the line. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Bytes that it has not taken. */
  get waitingBytes(): number {
    return this.#writer.waitingBytes
  }

  /** When something of it was read last. */
  get activeMs(): number {
    return this.#activeMs
  }

  /** Sends what the line does not. */
  send(bytes: Uint8Array): void {
    if (this.#isDirect || this.socket.destroyed) return
    this.#writer.write(bytes)
    if (this.waitingBytes > this.#parts.backlogBytes) this.#parts.onBehind(this)
  }

  /** Lets the client go, with what waits for it. */
  destroy(): void {
    this.#passed?.leave()
    this.#passed = undefined
    this.#sender.leave(this.#hasEnded)
    this.socket.destroy()
  }

  #fallBehind(rest: Uint8Array): void {
    this.#isDirect = false
    this.send(rest)
  }

  #written(): void {
    this.#parts.onCaughtUp(this)
    // What has passed before is not yet with the client, and may put it behind again.
    this.#parts.line.settle()
    if (this.waitingBytes > 0 || this.socket.destroyed || !this.#passed) return
    this.#isDirect = true
    this.#passed.goDirect()
  }

  /** Node reads what is left, finds the same end, tells the client so and closes. */
  #ended(errno: number): void {
    this.#passed = undefined
    this.#isDirect = false
    if (errno !== 0) {
      this.destroy()
      return
    }
    this.#hasEnded = true
    this.socket.on('data', (bytes) => this.#leftUnread(bytes))
    this.socket.resume()
    this.#parts.onEnding(this)
  }

  #leftUnread(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      if (this.#sender.heldBytes >= this.#parts.leftBytes) {
        this.#parts.onDropped(bytes.length - at)
        return
      }
      // A copy: where one is thrown away, a view would keep all that was read with it.
      this.#write(new Uint8Array(bytes.subarray(at, at + PIECE_BYTES)), 0)
    }
  }

  #fromClient(bytes: Uint8Array, taken: number, atUs: number): void {
    this.#activeMs = this.#parts.clock.monotonicMs()
    if (taken === bytes.length) this.#parts.line.onPassed(bytes, atUs)
    else this.#write(bytes, taken)
  }

  #write(bytes: Uint8Array, taken: number): void {
    const { line, onDropped } = this.#parts
    try {
      line.onBytes(bytes, taken, this.#sender).then(
        (written) => onDropped(bytes.length - taken - written),
        () => this.destroy(),
      )
    } catch {
      this.destroy() // the line closed this very moment; its clients are let go with it
    }
  }
}
