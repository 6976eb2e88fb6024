/** Turns by key: what concerns one thing happens one after another, what concerns others at once. */
import { createTurn, type InTurn } from '#kit/turn.ts'

export interface Turns<Key> {
  /** Runs after what was asked for the same key before, whatever came of it. */
  run<Result>(key: Key, change: () => Promise<Result>): Promise<Result>
}

/** Keys that nobody waits for are forgotten. */
export function createTurns<Key>(): Turns<Key> {
  const lines = new Map<Key, { inTurn: InTurn; waiting: number }>()
  return {
    async run(key, change) {
      const line = lines.get(key) ?? { inTurn: createTurn(), waiting: 0 }
      lines.set(key, line)
      line.waiting++
      try {
        return await line.inTurn(change)
      } finally {
        if (--line.waiting === 0) lines.delete(key)
      }
    },
  }
}
