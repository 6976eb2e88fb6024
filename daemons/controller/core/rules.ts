/** What stands behind the REST surface: the rules it asks, in its own order, for each call. */
import type { Outcome } from './outcome.ts'
import type { Origin, Session } from './session.ts'

/** Headers as Node gives them: names in lower case, repeated ones joined or listed. */
export type CallHeaders = Readonly<Record<string, string | string[] | undefined>>

/** All rules of one controller. What one of them throws is answered as an error of the program. @source document 1 */
export interface Rules {
  /**
   * Where a call comes from.
   * @param peerAddress of the connection itself
   * @param isTunnel whether the tunnel marked the call
   * @source document 1, Audit record; Authentication 5
   */
  origin(peerAddress: string, headers: CallHeaders, isTunnel: boolean): Origin
  /** @param form the body as it was read: any JSON value. @source document 1, POST /api/token */
  signIn(form: unknown, origin: Origin, signal?: AbortSignal): Promise<Outcome>
  /** Asked anew for each call. @source document 1, Session token */
  resolve(token: string | undefined, origin: Origin): Session | 'invalid_session'
  /** Whether or not the token is one. @source document 1, Session token */
  logout(token: string | undefined): void
  /** @returns the identity as JSON. @source document 1, Identity */
  me(session: Session): unknown
  /** @source document 1, POST /api/session_handoff */
  handoff(session: Session): Outcome
  /** @param body any JSON value. @source document 1, POST /api/control/:action */
  command(session: Session, body: unknown): Promise<Outcome>
  /** @param body any JSON value. @source document 1, Macro payload */
  runMacro(session: Session, body: unknown): Promise<Outcome>
  /**
   * @param entity the name in the path, percent-decoded
   * @param rawQuery what stands behind the question mark, as sent, ASCII
   * @source document 1, GET /api/data/:entity
   */
  answerData(session: Session, entity: string, rawQuery: string): Outcome | Promise<Outcome>
}
