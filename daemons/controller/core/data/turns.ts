/** How answers share the process: turns of queries, and long JSON that becomes bytes while it is made. */
import type { JsonBody } from '../json.ts'

// Turns of queries: together they hold up everything else for a moment at a time, and no account holds up another.

/** What is worked in pieces: it yields wherever it may be interrupted. */
export type Steps<Result> = Generator<void, Result>

export interface DataTurns {
  /**
   * Works off the steps of a query: at once where there is little to do and nobody waits, else a piece at a time, in turn
   * with the other accounts that ask.
   * @param userId whose query it is
   */
  run<Result>(userId: number, steps: Steps<Result>): Result | Promise<Result>
  /** Whether an account has as many queries under way as it may. */
  isFull(userId: number): boolean
}

interface DataTurnsParts {
  nowMs(): number
  /** Runs it when everything else has had its turn of the event loop. */
  onceAround(run: () => void): void
  limits: {
    /** How long queries work between two such turns. A single step is not interrupted. */
    turnMs: number
    /** Queries of one account that are under way at once. */
    queries: number
    /** Of those, how many take turns with each other; the others wait until one of them has ended. */
    sideBySide: number
  }
}

/**
 * Time is what counts, not rows: a row may be a light switch, or a device with ten thousand zones. The first piece is
 * worked off where the query comes in, as most queries end there; but of all that come in at once only for as long as one
 * piece, since a hundred first pieces are no moment any more.
 */
export function createDataTurns({ nowMs, onceAround, limits }: DataTurnsParts): DataTurns {
  /** By account, those first that have waited longest. */
  const waiting = new Map<number, (() => void)[]>()
  const underWay = new Map<number, number>()
  /** When this turn began; undefined where nothing was worked in it. */
  let beganMs: number | undefined
  let isGoingAround = false

  function goAround(): void {
    if (isGoingAround) return
    isGoingAround = true
    onceAround(() => {
      isGoingAround = false
      beganMs = undefined
      const [next] = waiting
      if (next === undefined) return
      const [userId, [first, ...rest]] = next
      // To the end of the line, behind all other accounts.
      waiting.delete(userId)
      if (rest.length > 0) waiting.set(userId, rest)
      if (waiting.size > 0) goAround()
      first?.()
    })
  }

  function isDue(): boolean {
    if (beganMs === undefined) {
      beganMs = nowMs()
      goAround()
      return false
    }
    return nowMs() - beganMs >= limits.turnMs
  }

  /** @returns undefined where there is more to do */
  function piece<Result>(steps: Steps<Result>): { result: Result } | undefined {
    for (;;) {
      const step = steps.next()
      if (step.done) return { result: step.value }
      if (isDue()) return undefined
    }
  }

  /** @param hasBegun it goes before those of the account that have not: each holds the rows that it has written so far */
  function turnOf(userId: number, hasBegun: boolean): Promise<void> {
    return new Promise((resolve) => {
      const line = waiting.get(userId) ?? []
      waiting.set(userId, line)
      line.splice(hasBegun ? limits.sideBySide - 1 : line.length, 0, resolve)
      goAround()
    })
  }

  async function inTurn<Result>(userId: number, steps: Steps<Result>): Promise<Result> {
    underWay.set(userId, (underWay.get(userId) ?? 0) + 1)
    try {
      for (let hasBegun = false; ; hasBegun = true) {
        await turnOf(userId, hasBegun)
        const done = piece(steps)
        if (done) return done.result
      }
    } finally {
      const left = (underWay.get(userId) ?? 1) - 1
      if (left > 0) underWay.set(userId, left)
      else underWay.delete(userId)
    }
  }

  return {
    run(userId, steps) {
      const done = waiting.size === 0 && !isDue() ? piece(steps) : undefined
      return done ? done.result : inTurn(userId, steps)
    },
    isFull: (userId) => (underWay.get(userId) ?? 0) >= limits.queries,
  }
}

// Long JSON that becomes bytes while it is made: one text would be copied whole, in one go, when it is sent.

export interface JsonPieces {
  /** Rows that are kept until they are written take so much. */
  keep(rowBytes: number): void
  add(part: string): void
  /** It took too much of the room that all have, and has lost what it had: nothing more comes of it. */
  readonly isGivenUp: boolean
  end(): JsonBody
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
