/** What the rules answer to a call of the REST surface, before it becomes HTTP. */
import type { AuditFacts, AuditReason } from './audit.ts'

/** A JSON value, text that is JSON already, or such text as UTF-8 in pieces, which stay whose they are. */
export type OutcomeBody =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly pieces: readonly Uint8Array[] }

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
  /** Of a command or a macro: what was asked, and what came of it. */
  facts?: AuditFacts
}

/** A body as one text, for who does not write it out piece by piece. */
export function textOf(body: OutcomeBody): string {
  if ('text' in body) return body.text
  if ('json' in body) return JSON.stringify(body.json)
  const decoder = new TextDecoder()
  return body.pieces.map((piece) => decoder.decode(piece, { stream: true })).join('')
}
