/** How a run reaches the world: in the running controller, in a simulation. Answers may come at once or later. */
import type { Clock } from '#kit/clock.ts'
import type { AuditReason } from '../audit.ts'
import type { Json } from '../row.ts'
import type { CallWish } from './call-step.ts'
import type { MacroTarget } from './decide.ts'
import type { AttributeReading, AttributeRef, Secrets } from './ports.ts'
import type { Answer } from './trace.ts'

export type Done = (answer: Answer) => void

/** The world of one run and its caller. */
export interface Doer {
  clock: Pick<Clock, 'after'>
  /** Why the caller may not reach what they supplied; undefined for the house itself and for who is elevated. */
  refusal(target: MacroTarget, verb?: string): AuditReason | undefined
  /** Whether the caller is held by gates at all. */
  isGated(): boolean
  secrets: Pick<Secrets, 'isSensitiveName' | 'withoutSecrets' | 'holdsSecret'>
  send(
    order: { target: MacroTarget; isSupplied: boolean; verb: string; args: Readonly<Record<string, Json>> },
    done: Done,
  ): void
  readAttribute(ref: AttributeRef): AttributeReading | undefined
  setAttribute(ref: AttributeRef, value: Json, done: Done): void
  readLive(target: MacroTarget, field: string): Json | undefined
  /** Whenever something that can be read has changed. @returns ends it */
  onChange(listener: () => void): () => void
  notify(text: string, done: Done): void
  /** @returns ends the run that was called */
  call(wish: CallWish, done: Done): () => void
  /** What becomes of a wait that does not hold at once; left out: it waits. */
  assumed?: 'met' | 'expired'
}
