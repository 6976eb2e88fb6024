/** Why the board started: what was left behind by the life before, against the machine as it is now. */
import type { RestartReason, StartReason } from './machine-ports.ts'

/** What one life of the board leaves to the next. */
export interface StartRecord {
  /** Of the machine's life, new at each boot; empty where the machine does not tell. */
  bootId: string
  startedAt: number
  reason: StartReason
  /** Why the board began anew itself; null where it did not. */
  intent: RestartReason | null
  /** Whether it was stopped rather than cut off. */
  isStopped: boolean
}

/**
 * Why the board started.
 * @param before what the life before left; undefined at the first start
 */
export function reasonOfStart(before: StartRecord | undefined, bootId: string): StartReason {
  if (before === undefined) return 'first'
  if (before.intent !== null) return before.intent
  if (bootId === '' || before.bootId === '') return before.isStopped ? 'service' : 'unknown'
  if (before.bootId !== bootId) return before.isStopped ? 'reboot' : 'power'
  return before.isStopped ? 'service' : 'crash'
}
