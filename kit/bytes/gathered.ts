/** Small bytes gathered into larger pieces: a buffer that waits somewhere takes 300 bytes beside its own. */

export const PIECE_BYTES = 4096

export class Gathered {
  #piece: Uint8Array | undefined
  #length = 0

  /** Bytes that are in no full piece yet. */
  get length(): number {
    return this.#length
  }

  /** @param bytes copied; @param onPiece told of each piece that is full */
  add(bytes: Uint8Array, onPiece: (piece: Uint8Array) => void): void {
    for (let at = 0; at < bytes.length; ) {
      this.#piece ??= new Uint8Array(PIECE_BYTES)
      const part = bytes.subarray(at, at + PIECE_BYTES - this.#length)
      this.#piece.set(part, this.#length)
      this.#length += part.length
      at += part.length
      if (this.#length < PIECE_BYTES) return
      onPiece(this.take())
    }
  }

  /** What is in no full piece yet, as long as it is; empty where nothing is. */
  take(): Uint8Array {
    const piece = this.#piece ?? new Uint8Array(0)
    // A copy where it is not full: the rest of the piece would be kept with it.
    const taken = this.#length < piece.length ? piece.slice(0, this.#length) : piece
    this.#piece = undefined
    this.#length = 0
    return taken
  }
}
