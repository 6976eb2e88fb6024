/** What is written to a TCP client: at once, and what waits for a slow one gathered, so that it takes no more than its bytes. */
import type { Socket } from 'node:net'
import { Gathered, PIECE_BYTES } from '../bytes/gathered.ts'

/** Owns what is written to a socket. */
export class SocketWriter {
  readonly #socket: Socket
  readonly #onEmpty: () => void
  readonly #gathered = new Gathered()
  /** Of Node's, that are not over. */
  #writes = 0

  /** @param onEmpty the kernel has taken what was written; not told of a socket that is gone */
  constructor(socket: Socket, onEmpty: () => void) {
    this.#socket = socket
    this.#onEmpty = onEmpty
    // Node ends a socket whose other end has, once this was told: what was gathered is written before.
    socket.prependListener('end', () => this.#flush())
  }

  /** Bytes that the kernel has not taken. */
  get waitingBytes(): number {
    return this.#socket.writableLength + this.#gathered.length
  }

  write(bytes: Uint8Array): void {
    if (this.waitingBytes > 0 && bytes.length < PIECE_BYTES) {
      this.#gathered.add(bytes, (piece) => this.#write(piece))
      return
    }
    // What is large is not copied: it may wait for many clients.
    this.#flush()
    this.#write(bytes)
  }

  /** Closes once what waits is sent. */
  end(): void {
    this.#flush()
    this.#socket.destroySoon()
  }

  #write(bytes: Uint8Array): void {
    this.#writes++
    this.#socket.write(bytes, (error) => {
      if (--this.#writes > 0 || error) return
      if (this.#gathered.length > 0) this.#flush()
      else if (this.waitingBytes === 0) this.#onEmpty()
    })
  }

  #flush(): void {
    if (this.#gathered.length > 0) this.#write(this.#gathered.take())
  }
}
