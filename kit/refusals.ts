/** Who was turned away, for the journal: the first at once, the rest as a count, so that a guesser fills no journal. */
import type { Clock, Timer } from '#kit/clock.ts'

/** One that was turned away. */
export interface Refusal {
  /** What it is counted with, such as a network or a key. */
  group: string
  who: string
  from: string
  what: string
  target?: string
  /** Plain JSON without secrets. */
  detail: Readonly<Record<string, unknown>>
}

/** What the journal is told; `times` in the detail is how often it happened since the entry before. */
export type RefusalNote = Omit<Refusal, 'group'> & { kind: 'refusal' }

export interface RefusalParts {
  clock: Clock
  record(note: RefusalNote): void
  /** A group is told again at most this often; key `journal.refused_ms`. */
  quietMs: number
  /** Groups counted apart; further ones are counted together. Key `journal.refused_groups`. */
  maxGroups: number
}

export interface Refusals {
  add(refusal: Refusal): void
  /** Tells what was counted and not told yet. */
  close(): void
}

export function createRefusals({ clock, record, quietMs, maxGroups }: RefusalParts): Refusals {
  const groups = new Map<string, { last: Refusal; times: number; timer?: Timer }>()

  function tell(group: string): void {
    const counted = groups.get(group)
    if (!counted || counted.times === 0) {
      groups.delete(group)
      return
    }
    const { group: _, detail, ...note } = counted.last
    record({ ...note, detail: { ...detail, times: counted.times }, kind: 'refusal' })
    counted.times = 0
    counted.timer = clock.after(quietMs, () => tell(group))
  }

  return {
    add(refusal) {
      const group = groups.has(refusal.group) || groups.size < maxGroups ? refusal.group : 'others'
      const counted = groups.get(group)
      groups.set(group, { ...counted, last: refusal, times: (counted?.times ?? 0) + 1 })
      if (!counted) tell(group)
    },
    close() {
      for (const [group, { timer }] of groups) {
        timer?.cancel()
        tell(group)
        groups.get(group)?.timer?.cancel()
      }
    },
  }
}
