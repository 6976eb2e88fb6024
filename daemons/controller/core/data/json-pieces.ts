/** A long JSON text that becomes bytes while it is made: as one text it would be copied whole, in one go, when it is sent. */
import type { OutcomeBody } from '../outcome.ts'

export interface JsonPieces {
  add(part: string): void
  end(): OutcomeBody
}

/** Characters of a piece: encoding one is far less than a turn. */
const PIECE_CHARS = 65_536

const encoder = new TextEncoder()

/** @returns what is short as a text, what is long as UTF-8 in pieces, which lie outside of V8's heap */
export function createJsonPieces(): JsonPieces {
  const pieces: Uint8Array[] = []
  let text = ''
  return {
    add(part) {
      text += part
      if (text.length < PIECE_CHARS) return
      pieces.push(encoder.encode(text))
      text = ''
    },
    end() {
      if (pieces.length === 0) return { text }
      if (text !== '') pieces.push(encoder.encode(text))
      return { pieces }
    },
  }
}
