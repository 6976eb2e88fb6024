/** How answers share the process: a scheduler for queries, and long JSON that is encoded while it is written. */
import type { JsonBody } from '../json.ts'

// The query scheduler: queries block everything else only for a moment at a time, and no account delays another.

/** Work in pieces: the generator yields wherever it may be interrupted. */
export type Steps<Result> = Generator<void, Result>

export interface DataTurns {
  /**
   * Runs the steps of a query: at once if there is little to do and nobody waits, else a piece at a time, taking turns
   * with the other accounts.
   * @param userId whose query it is
   */
  run<Result>(userId: number, steps: Steps<Result>): Result | Promise<Result>
  /** Whether an account has reached its limit of running queries. */
  isFull(userId: number): boolean
}

interface DataTurnsParts {
  nowMs(): number
  /** Runs the callback after everything else has had its turn of the event loop. */
  onceAround(run: () => void): void
  limits: {
    /** How long queries may work per turn of the event loop. A single step is not interrupted. */
    turnMs: number
    /** Most queries of one account at once. */
    queries: number
    /** How many of those take turns with each other; the rest wait until one of them has ended. */
    sideBySide: number
  }
}

/**
 * Turns are limited by time, not by rows: a row may be a light switch, or a device with ten thousand zones. The first
 * piece runs as soon as the query comes in, since most queries end there. All queries that come in during one turn
 * share the time of one piece, since a hundred first pieces would take too long.
 */
export function createDataTurns({ nowMs, onceAround, limits }: DataTurnsParts): DataTurns {
  /** By account, longest waiting first. */
  const waiting = new Map<number, (() => void)[]>()
  const underWay = new Map<number, number>()
  /** When this turn began; undefined if nothing has run in it yet. */
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
      // The account goes to the end of the queue, behind all others.
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

  /** @returns undefined if there is more to do */
  function piece<Result>(steps: Steps<Result>): { result: Result } | undefined {
    for (;;) {
      const step = steps.next()
      if (step.done) return { result: step.value }
      if (isDue()) return undefined
    }
  }

  /**
   * @param hasBegun go before those of the account that have not begun: a begun query holds the rows it has written so
   * far
   */
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

// Long JSON, encoded while it is written: a single string would be copied whole when it is sent.

export interface JsonPieces {
  /** Sets the memory that rows use which are kept until they are written. */
  keep(rowBytes: number): void
  add(part: string): void
  /**
   * True after the answer used too much of the shared memory: its content has been dropped, and it yields no result.
   */
  readonly isGivenUp: boolean
  end(): JsonBody
  /** Releases its memory, however the answer ended. Calling it again has no effect. */
  close(): void
}

/** Memory for answers while they are written, shared by all accounts. */
export interface AnswerRoom {
  /** @returns a writer: a short result stays a text, a long one becomes UTF-8 in pieces, outside V8's heap */
  open(userId: number): JsonPieces
  /** Bytes in use now. */
  readonly bytes: number
}

/** Characters per piece: encoding one takes far less time than a turn. */
const PIECE_CHARS = 65_536

const encoder = new TextEncoder()

interface Held {
  userId: number
  bytes: number
  giveUp(): void
}

/** If the limit is exceeded, the longest answer of the account that uses most is given up. */
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
