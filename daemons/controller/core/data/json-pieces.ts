/** A long JSON text that becomes bytes while it is made: as one text it would be copied whole, in one go, when it is sent. */
import type { OutcomeBody } from '../outcome.ts'

export interface JsonPieces {
  /** Rows that are kept until they are written take so much. */
  keep(rowBytes: number): void
  add(part: string): void
  /** It took too much of the room that all have, and has lost what it had: nothing more comes of it. */
  readonly isGivenUp: boolean
  end(): OutcomeBody
  /** Gives its room back, however it has ended. Without effect the second time. */
  close(): void
}

/** Room for answers while they are made, of all accounts together. */
export interface AnswerRoom {
  /** @returns what is short as a text, what is long as UTF-8 in pieces, which lie outside of V8's heap */
  open(userId: number): JsonPieces
  /** What is held now. */
  readonly bytes: number
}

/** Characters of a piece: encoding one is far less than a turn. */
const PIECE_CHARS = 65_536

const encoder = new TextEncoder()

interface Held {
  userId: number
  bytes: number
  giveUp(): void
}

/** Where more is held than may be, the longest answer of the account that holds most is given up. */
export function createAnswerRoom(mostBytes: number): AnswerRoom {
  const holdings = new Set<Held>()
  let bytes = 0

  function longestOfGreediest(): Held | undefined {
    const sums = new Map<number, number>()
    for (const held of holdings) sums.set(held.userId, (sums.get(held.userId) ?? 0) + held.bytes)
    const [greediest] = [...sums].toSorted(([, one], [, other]) => other - one)
    const own = [...holdings].filter(({ userId }) => userId === greediest?.[0])
    return own.toSorted((one, other) => other.bytes - one.bytes)[0]
  }

  function letGo(held: Held): void {
    if (holdings.delete(held)) bytes -= held.bytes
  }

  function grow(held: Held, by: number): void {
    if (by === 0 || !holdings.has(held)) return
    held.bytes += by
    bytes += by
    while (bytes > mostBytes) {
      const worst = longestOfGreediest()
      if (!worst) return
      letGo(worst)
      worst.giveUp()
    }
  }

  return {
    get bytes() {
      return bytes
    },
    open(userId) {
      let pieces: Uint8Array[] = []
      let text = ''
      let keptBytes = 0
      let isGivenUp = false
      const held: Held = {
        ...{ userId, bytes: 0 },
        giveUp() {
          isGivenUp = true
          pieces = []
          text = ''
        },
      }
      function encode(): void {
        const piece = encoder.encode(text)
        text = ''
        pieces.push(piece)
        grow(held, piece.length)
      }
      holdings.add(held)
      return {
        get isGivenUp() {
          return isGivenUp
        },
        keep(rowBytes) {
          const more = rowBytes - keptBytes
          keptBytes = rowBytes
          grow(held, more)
        },
        add(part) {
          if (isGivenUp) return
          text += part
          if (text.length >= PIECE_CHARS) encode()
        },
        end() {
          if (pieces.length === 0) return { text }
          if (text !== '') encode()
          return { pieces }
        },
        close: () => letGo(held),
      }
    },
  }
}
