/** What macros need of the rest of the controller. */
import type { Clock } from '#kit/clock.ts'
import type { AuditReason } from '../audit.ts'
import type { Ack } from '../driver.ts'
import type { Json } from '../row.ts'
import type { Session } from '../session.ts'
import type { MacroTarget } from './decide.ts'
import type { RunState } from './run-state-table.ts'
import type { Trace } from './trace.ts'

/** One command of a step, to be sent as a call of /api/control/command is, gates apart. */
export interface MacroOrder {
  target: MacroTarget
  verb: string
  args: Readonly<Record<string, Json>>
  /**
   * Who supplied the target; where it is then re-targeted, it is checked against them again. Null where the target stands
   * in the macro, or the house runs it: nothing is checked.
   */
  caller: Session | null
}

/** An attribute by its name: the controller's own where the target has no key. */
export interface AttributeRef {
  name: string
  target: MacroTarget
}

export interface AttributeReading {
  value: Json
  isSecure: boolean
}

export interface MacroAttributes {
  /** Undefined where no such attribute is. */
  read(ref: AttributeRef): AttributeReading | undefined
  /** Resolves when it has the value. @throws Fault with a code; there is none that macros count on */
  set(ref: AttributeRef, value: Json): Promise<void>
  /** @returns ends it */
  onChange(listener: () => void): () => void
}

/** What zones and devices do now. */
export interface MacroLive {
  /** A field of the live object; null where its driver has not reported it; undefined where no such target is. */
  read(target: MacroTarget, field: string): Json | undefined
  /** @returns ends it */
  onChange(listener: () => void): () => void
}

/** Where runs are kept: rows of macro_run. */
export interface RunKeeper {
  /** Writes a row without an end. @returns its id, once it is on the disk: nothing is done before. Rejects where it is not. */
  begin(run: { macro_id: number; user_id: number | null; seed: number; started_at: number }): Promise<number>
  /** Gives it its end. Never rejects: who keeps runs says itself when that fails. */
  end(id: number, end: RunEnd): Promise<void>
  /** Ids of rows without an end. */
  unended(): Promise<readonly number[]>
}

/** The columns that a run has when it is over. */
export interface RunEnd {
  ended_at: number
  result: RunState
  trace: Trace | null
}

/** What counts as secret. */
export interface Secrets {
  /** By the words of a name: args, JSON keys, attributes, fields. */
  isSensitiveName(name: string): boolean
  /** The value with null under each sensitive key, at every depth. */
  withoutSecrets(value: Json): Json
  /** Whether something inside a value is not for who is not elevated: under a sensitive key, or in an address. */
  holdsSecret(value: Json): boolean
  /** By its name, or because an attribute of this name is flagged secure. */
  isSecretAttribute(name: string): boolean
}

export interface MacroPorts {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  /**
   * Why the caller may not command the target, with this verb where there is one, by every check that
   * /api/control/command makes of it; undefined where they may.
   */
  refusal(session: Session, target: MacroTarget, verb?: string): AuditReason | undefined
  /** The caller as they are now: a run may outlive a role or an account. Null where the account may do nothing any more. */
  sessionNow(session: Session): Session | null
  /** @throws Fault with a code: of the drivers, or of a target that is not there */
  dispatch(order: MacroOrder): Promise<Ack>
  attributes: MacroAttributes
  live: MacroLive
  /** @param notice its text without the secrets among the args. @throws Fault with a code */
  notify(notice: { text: string; macroId: number; runId: number; userId: number | null }): Promise<void>
  keeper: RunKeeper
  secrets: Secrets
}
