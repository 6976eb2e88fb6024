/** What the rules answer to a call of the REST surface, before it becomes HTTP. */
import type { AuditReason } from './audit.ts'

/** A JSON value, or text that is JSON already. */
export type OutcomeBody = { readonly json: unknown } | { readonly text: string }

/** An answer and what the audit says of it. `reason` is null where the call was granted. */
export interface Outcome {
  status: number
  body: OutcomeBody
  reason: AuditReason | null
  /** As in AuditRecord. */
  target?: string
  /** Whom a sign-in was for, where that account exists; calls with a session are those of its user. */
  user?: { id: number; username: string }
  runId?: number
}
