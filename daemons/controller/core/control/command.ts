/** POST /api/control/command: from a body to an answer and what the audit says of it. */
import { Fault } from '#kit/fault.ts'
import type { AuditReason } from '../audit.ts'
import { seenValue } from '../data/attribute-value.ts'
import { isObject } from '../json-kind.ts'
import type { Outcome } from '../outcome.ts'
import type { Json } from '../row.ts'
import { NAME_RULES } from '../sensitive-name.ts'
import type { Session } from '../session.ts'
import { bodyOf, type CommandBody, isMacroCall, type Wanted, wantedOf } from './command-body.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Caller } from './gates.ts'
import { askedFor, nameOf, type Target } from './target.ts'

/** Runs a macro for a session, with all gates of macros but the role's. `macro_id` and args are as the body has them. */
export type RunMacro = (
  session: Session,
  ref: { readonly macro_id: Json },
  args: Json,
  origin: 'command',
) => Promise<Outcome>

export interface CommandParts {
  dispatcher: Dispatcher
  runMacro: RunMacro
}

/** Answers one call. A body with a macro_id is a call of that macro, whatever else it holds. */
export type Command = (session: Session, body: unknown) => Promise<Outcome>

/**
 * The gates in the order: role, target, elevation, scope. What a gate refuses reaches no driver; what a driver refuses
 * is an answer of 200 with `success` false.
 * @source document 1, POST /api/control/:action
 */
export function createCommand({ dispatcher, runMacro }: CommandParts): Command {
  async function macro(session: Session, body: CommandBody): Promise<Outcome> {
    if (!session.may('macro')) return refused('role_denied')
    const args = Object.hasOwn(body, 'args') ? body.args : {}
    return runMacro(session, { macro_id: body.macro_id as Json }, args as Json, 'command')
  }

  async function command(session: Session, body: CommandBody, wanted: Wanted): Promise<Outcome> {
    const { gates } = dispatcher
    const resolved = dispatcher.resolve(body)
    if ('fault' in resolved) {
      const asked = askedFor(body)
      if (resolved.fault === 'unknown' && gates.isScoped(session)) return refused('scope_denied', asked)
      return bad(TARGET_WORDS[resolved.fault], 'bad_target', resolved.sentence, asked)
    }
    const { target } = resolved
    const caller: Caller = { session, by: 'command' }
    const reason = gates.refusal(caller, target, wanted.verb)
    if (reason) return refused(reason, nameOf(target))
    try {
      const { answer } = await dispatcher.dispatch(target, wanted.verb, wanted.args, caller)
      const json = {
        success: true,
        ...idsOf(target),
        command: wanted.verb,
        ...(answer === undefined ? {} : { answer: seenBy(session, answer) }),
      }
      return { status: 200, body: { json }, reason: null, target: nameOf(target) }
    } catch (error) {
      return failed(error, nameOf(target), session)
    }
  }

  return async (session, body) => {
    if (isMacroCall(body)) return macro(session, body)
    if (!session.may('command')) return refused('role_denied')
    try {
      const record = bodyOf(body)
      return await command(session, record, wantedOf(record))
    } catch (error) {
      const words = error instanceof Fault ? BODY_WORDS[error.code] : undefined
      if (!words) throw error
      return bad(words, 'malformed_body', (error as Fault).message, isObject(body) ? askedFor(body) : undefined)
    }
  }
}

/** What the field `error` says of a body that cannot be read, by fault. */
const BODY_WORDS: Readonly<Record<string, string>> = {
  command_body: 'malformed body',
  command_required: 'command required',
  args_invalid: 'invalid args',
}

const TARGET_WORDS = { none: 'target required', unknown: 'unknown target', ambiguous: 'ambiguous target' } as const

function bad(error: string, reason: AuditReason, message: string, target?: string): Outcome {
  return { status: 400, body: { json: { error, message } }, reason, target }
}

/** Says no more than that: why is for the audit. */
function refused(reason: AuditReason, target?: string): Outcome {
  return { status: 403, body: { json: { error: 'unauthorized' } }, reason, target }
}

/** The gates have granted it; an override, the args or the driver have not. */
function failed(error: unknown, target: string, session: Session): Outcome {
  if (!(error instanceof Fault)) throw error
  if (error.code === 'not_authorized') {
    const { reason } = error.details as { reason: AuditReason }
    return refused(reason, target)
  }
  if (error.code === 'args_invalid') return bad('invalid args', 'malformed_body', error.message, target)
  const json = { success: false, error: seenBy(session, error.message), code: error.code }
  return { status: 200, body: { json }, reason: null, target }
}

/** What a device says may hold what it was set up with. @source document 1, Guards 5 */
function seenBy(session: Session, said: Json): Json {
  return session.isElevated ? said : seenValue(NAME_RULES, said)
}

function idsOf({ zone, device }: Target): { zone_id: number } | { device_id: number } | Record<string, never> {
  if (zone) return { zone_id: zone.id }
  return device ? { device_id: device.id } : {}
}
