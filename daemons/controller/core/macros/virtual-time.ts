/** Time of a simulation: passes as soon as nothing else is left to do. */
import type { Timer } from '#kit/clock.ts'

export interface VirtualTime {
  /** Whole milliseconds since it began. */
  nowMs(): number
  after(delayMs: number, run: () => void): Timer
  /** Goes to the next instant at which something is due, and does it. @returns false where nothing is */
  step(): boolean
}

export function createVirtualTime(): VirtualTime {
  let nowMs = 0
  let order = 0
  const waiting = new Map<number, { dueMs: number; run: () => void }>()
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const key = order++
      waiting.set(key, { dueMs: nowMs + Math.max(0, Math.ceil(delayMs)), run })
      return { cancel: () => void waiting.delete(key) }
    },
    step() {
      // In order of setting where several are due at once.
      let next: [number, { dueMs: number; run: () => void }] | undefined
      for (const entry of waiting) if (!next || entry[1].dueMs < next[1].dueMs) next = entry
      if (!next) return false
      waiting.delete(next[0])
      nowMs = next[1].dueMs
      next[1].run()
      return true
    },
  }
}
