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
import { sayCommand } from './say-command.ts'
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
    if (!session.may('macro')) return refused('role_denied', { action: 'macro' })
    const args = Object.hasOwn(body, 'args') ? body.args : {}
    return runMacro(session, { macro_id: body.macro_id as Json }, args as Json, 'command')
  }

  async function command(session: Session, body: CommandBody, wanted: Wanted): Promise<Outcome> {
    const { gates } = dispatcher
    const { verb, args } = wanted
    const resolved = dispatcher.resolve(body)
    if ('fault' in resolved) {
      const asked = { target: askedFor(body), action: sayCommand(verb, args) }
      // Of what is beyond its zones a session is not told whether it exists, nor what it is called.
      const isBeyond = resolved.fault === 'unknown' || resolved.named.some((named) => !gates.isReached(named, session))
      if (isBeyond && gates.isScoped(session)) return refused('scope_denied', asked)
      return bad(TARGET_WORDS[resolved.fault], 'bad_target', resolved.sentence, asked)
    }
    const { target } = resolved
    const asked = { target: nameOf(target), action: sayCommand(verb, args, target) }
    const caller: Caller = { session, by: 'command' }
    const reason = gates.refusal(caller, target, verb)
    if (reason) return refused(reason, asked)
    try {
      const { answer } = await dispatcher.dispatch(target, verb, args, caller)
      const said = answer === undefined ? {} : { answer: seenBy(session, answer) }
      const json = { success: true, ...idsOf(target), command: verb, ...said }
      const facts = { action: asked.action, outcome: 'done', detail: null } as const
      return { status: 200, body: { json }, reason: null, target: asked.target, facts }
    } catch (error) {
      return failed(error, asked, session)
    }
  }

  return async (session, body) => {
    if (isMacroCall(body)) return macro(session, body)
    if (!session.may('command')) return refused('role_denied', { action: 'command' })
    try {
      const record = bodyOf(body)
      return await command(session, record, wantedOf(record))
    } catch (error) {
      const said = error instanceof Fault ? BODY_WORDS[error.code] : undefined
      if (!said) throw error
      const [words, reason] = said
      const asked = { action: 'command', ...(isObject(body) ? { target: askedFor(body) } : {}) }
      return bad(words, reason, (error as Fault).message, asked)
    }
  }
}

/** What the field `error` says of a body that cannot be carried out, and its reason, by fault. */
const BODY_WORDS: Readonly<Record<string, readonly [words: string, reason: AuditReason]>> = {
  command_body: ['malformed body', 'bad_command'],
  command_required: ['command required', 'bad_command'],
  args_invalid: ['invalid args', 'bad_args'],
}

const TARGET_WORDS = { none: 'target required', unknown: 'unknown target', ambiguous: 'ambiguous target' } as const

/** What was asked, as far as it could be read. */
interface Asked {
  target?: string | undefined
  action: string
}

function bad(error: string, reason: AuditReason, message: string, { target, action }: Asked): Outcome {
  const facts = { action, outcome: 'refused', detail: message } as const
  return { status: 400, body: { json: { error, message } }, reason, target, facts }
}

/** Says no more than that: why is for the audit. */
function refused(reason: AuditReason, { target, action }: Asked): Outcome {
  const facts = { action, outcome: 'refused', detail: null } as const
  return { status: 403, body: { json: { error: 'unauthorized' } }, reason, target, facts }
}

/** The gates have granted it; an override, the args or the driver have not. */
function failed(error: unknown, asked: Asked, session: Session): Outcome {
  if (!(error instanceof Fault)) throw error
  if (error.code === 'not_authorized') {
    const { reason } = error.details as { reason: AuditReason }
    return refused(reason, asked)
  }
  if (error.code === 'args_invalid') return bad('invalid args', 'bad_args', error.message, asked)
  const json = { success: false, error: seenBy(session, error.message), code: error.code }
  const detail = String(seenValue(NAME_RULES, error.message))
  const facts = { action: asked.action, outcome: 'failed', detail: `${error.code}: ${detail}` } as const
  return { status: 200, body: { json }, reason: null, target: asked.target, facts }
}

/** What a device says may hold what it was set up with. @source document 1, Guards 5 */
function seenBy(session: Session, said: Json): Json {
  return session.isElevated ? said : seenValue(NAME_RULES, said)
}

function idsOf({ zone, device }: Target): { zone_id: number } | { device_id: number } | Record<string, never> {
  if (zone) return { zone_id: zone.id }
  return device ? { device_id: device.id } : {}
}
