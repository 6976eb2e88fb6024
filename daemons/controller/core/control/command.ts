/** POST /api/control/command: takes a body through overrides to a driver, and makes the answer and the audit record. */

import { Fault } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import type { Session } from '../access/accounts.ts'
import { type AuditReason, NOT_ALLOWED, type Outcome } from '../audit.ts'
import type { PerformAv } from '../av/av.ts'
import type { Ack, DriverHost } from '../drivers/driver.ts'
import { isObject, type Json, putKey } from '../json.ts'
import { NAME_RULES, seenValue } from '../secrets.ts'
import type { Book, Row } from '../site/book.ts'
import { type Caller, createGates, type Gates, type Refusal } from './gates.ts'
import {
  type Args,
  askedFor,
  type CommandBody,
  decimalOf,
  foldedName,
  isMacroCall,
  isTargetKey,
  isValueArg,
  type Resolved,
  readArgs,
  readCommandBody,
  resolveTarget,
  TARGET_KEYS,
  type Target,
  targetName,
  type Wanted,
  wantedOf,
  withoutTargets,
} from './reading.ts'

// Overrides: a zone sends a verb to another target, one step at a time.

/** A command in progress: what to do, and to what. */
interface Order {
  readonly target: Target
  readonly verb: string
  readonly args: Args
  /** The verb is already spelled as the building spells it: it comes from a macro or an override. */
  readonly isOwn: boolean
}

/**
 * Applies the override in the zone's column `overrides`: another zone or device, or the same one with another verb. The
 * override's args are merged over those of the order: a level is passed on, a fixed one replaces it.
 * @returns undefined if the zone has no override for the verb
 * @throws Fault `override_broken` if it names something that does not exist, or is malformed
 */
function overridden(book: Book, { target, verb, args }: Order): Order | undefined {
  const overrides = target.zone?.overrides
  if (!isObject(overrides)) return undefined
  const name = foldedName(verb)
  const own = Object.keys(overrides).filter((key) => overrides[key] !== null && foldedName(key) === name)
  const [only] = own
  if (only === undefined) return undefined
  const broken = (what: string) =>
    new Fault('override_broken', `the override of ${targetName(target)} for ${verb} is broken: ${what}`)
  if (own.length > 1) throw broken(`there are ${own.length} of them in other letters`)
  const override = overrides[only]
  if (!isObject(override)) throw broken('it is not an object')
  const command = Object.hasOwn(override, 'command') ? override.command : only
  if (typeof command !== 'string' || command === '') throw broken('its command is not a verb')
  const fixed = Object.hasOwn(override, 'args') ? (override.args ?? {}) : {}
  if (!isObject(fixed)) throw broken('its args are no object')
  const resolved = resolveTarget(book, override)
  if ('fault' in resolved && resolved.fault !== 'none') throw broken(resolved.sentence)
  const next = 'target' in resolved ? resolved.target : target
  // Normalise the caller's args first, so that fixed args replace them however they are spelled.
  const given = readArgs(command, readArgs(only, args))
  return { target: next, verb: command, args: over(given, readArgs(command, fixed)), isOwn: true }
}

/** Whether two orders have the same target and verb. */
function isSame(one: Order, other: Order): boolean {
  return foldedName(one.verb) === foldedName(other.verb) && targetName(one.target) === targetName(other.target)
}

function over(args: Args, own: Args): Record<string, Json> {
  const all: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(args)) putKey(all, key, value)
  for (const [key, value] of Object.entries(own)) putKey(all, key, value)
  return all
}

// The dispatcher: follows the overrides of zones, checks each one, and passes the command to its driver.

interface DispatcherParts {
  book: Book
  host: DriverHost
  limits: DispatchLimits
  /** Carries out what is of sound. */
  av?: PerformAv
}

interface DispatchLimits {
  /** Most overrides that one command may pass through. */
  overrides: number
}

/** How macros and internal callers send commands; the HTTP call below uses it too. */
export interface Dispatcher {
  gates: Gates
  /** Resolves a target as a body or the args of a step name it. */
  resolve(named: Readonly<Record<string, unknown>>): Resolved
  /** Checks role, elevation and scope of a session on the target of a request. @returns why it is refused */
  checkTarget(caller: Caller, target: Target, verb?: string): Refusal | undefined
  /** Why a verb is taken for a misspelt one, where no driver says itself which it knows. */
  misspelt(target: Target, verb: string): string | undefined
  /**
   * Carries out the command. Only overrides are checked here: the caller has already checked the first target.
   * @param caller whom overrides are checked for, and whose args lose their targets; without one, nothing is checked
   * @throws Fault `not_authorized` with `details.reason`, `override_broken`, `override_loop`, `zone_without_device`,
   * `device_disabled`, `command_disabled`, `args_invalid`, `command_unknown`, `command_args`, and those of DriverHost
   */
  dispatch(target: Target, verb: string, args: Args, caller?: Caller): Promise<Ack>
}

export function createDispatcher({ book, host, limits, av }: DispatcherParts): Dispatcher {
  const gates = createGates(book)

  /** Follows the chain to its last order. An override to itself ends it: a zone may change the args of its own verb. */
  function followed(first: Order, caller: Caller | undefined): Order {
    let order = first
    for (let passed = 0; ; passed++) {
      const next = overridden(book, order)
      if (!next) return order
      if (passed === limits.overrides)
        throw new Fault(
          'override_loop',
          `${targetName(first.target)}: more than ${limits.overrides} overrides in a row`,
        )
      const reason = caller && gates.refusal(caller, next.target, next.verb)
      if (reason)
        throw new Fault('not_authorized', 'an override leads to what this session may not command', {
          details: { reason, target: targetName(next.target) },
        })
      if (isSame(order, next)) return next
      order = next
    }
  }

  function checkEnabled({ zone, device }: Target): void {
    if (!device) throw new Fault('zone_without_device', `zone ${zone?.id} has no device that could do it`)
    if (device.enabled === false) throw new Fault('device_disabled', `device ${device.id} is disabled`)
    for (const row of [device, zone]) {
      const subsystem = typeof row?.subsystem_id === 'number' && book.row('subsystem', row.subsystem_id)
      if (subsystem && subsystem.enabled === false)
        throw new Fault('device_disabled', `subsystem ${subsystem.id}, which it belongs to, is disabled`)
    }
  }

  return {
    gates,
    resolve: (named) => resolveTarget(book, named),
    misspelt: (target, verb) =>
      target.device && host.verbsOf(target.device) ? undefined : gates.verbs.misspelt(target, verb),
    checkTarget: (caller, target, verb) => gates.refusal(caller, target, verb),
    async dispatch(first, wish, given, caller) {
      const isOwn = caller?.by !== 'command'
      const { target: found, ...order } = followed({ target: first, verb: wish, args: given, isOwn }, caller)
      checkEnabled(found)
      const target = found.zone ? { ...found, zone: gates.verbs.limited(found.zone) } : found
      const device = target.device as Row
      const read = gates.verbs.read(target, order, host.verbsOf(device))
      const by = caller && { by: caller.session.userId }
      const sent = { zone: target.zone, verb: read.verb, args: argsFor(target, read.args, caller), ...by }
      const refusal = (next: Target, verb: string) => caller && gates.refusal(caller, next, verb)
      const done = av?.({ target, verb: sent.verb, args: sent.args, caller, refusal })
      if (done !== undefined) return done
      host.check(device, sent)
      return host.execute(device.id, sent)
    },
  }
}

/**
 * Args as the driver gets them. In a session that is not elevated they name no target but the resolved one.
 * @source document 1, POST /api/control/:action: a zone_id inside args is dropped and replaced
 */
function argsFor(target: Target, args: Args, caller: Caller | undefined): Args {
  if (!caller || caller.session.isElevated) return args
  const clean = withoutTargets(args)
  if (target.zone && Object.hasOwn(args, 'zone_id')) clean.zone_id = target.zone.id
  return clean
}

// A command in words for the audit: verb, value and target, but nothing that may be a code.

/** Most args that are listed. */
const MOST_ARGS = 4
const LONGEST_NAME = 40
/** Numbers from here on may be a door code, unless they are the value of a zone. */
const FIRST_CODE = 1000

/** `level 40 on "Hall"`, `unlock (code …) on "Front door"`; just the verb and args if no target was resolved. */
export function sayCommand(verb: string, args: Args, target?: Target): string {
  const own: string[] = []
  const others: string[] = []
  for (const [name, value] of Object.entries(args)) {
    if (isTargetKey(foldedName(name))) continue
    const said = sayValue(verb, name, value)
    if (foldedName(name) === foldedName(verb) || isValueArg(verb, name)) own.push(said)
    else if (others.length < MOST_ARGS) others.push(`${shortened(name)} ${said}`)
  }
  const what = [shortened(verb), ...own.slice(0, 1), ...(others.length > 0 ? [`(${others.join(', ')})`] : [])].join(' ')
  const name = target?.zone?.name ?? target?.device?.name
  return typeof name === 'string' ? `${what} on ${JSON.stringify(shortened(name))}` : what
}

function sayValue(verb: string, name: string, value: Json): string {
  const isSecret = isSensitiveName(verb) || isSensitiveName(name)
  if (isSecret) return '…'
  if (typeof value === 'boolean') return String(value)
  const isValue = isValueArg(verb, name)
  // A text may be anything that somebody typed.
  const number = isValue ? decimalOf(value) : typeof value === 'number' ? value : undefined
  return number !== undefined && (isValue || Math.abs(number) < FIRST_CODE) ? String(number) : '…'
}

function shortened(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…`.toWellFormed() : name
}

// The call: from a body to an answer and its audit record.
/** Runs a macro for a session, with all gates of macros but the role's. `macro_id` and args are as the body has them. */
type RunMacro = (session: Session, ref: { readonly macro_id: Json }, args: Json, origin: 'command') => Promise<Outcome>

interface CommandParts {
  dispatcher: Dispatcher
  runMacro: RunMacro
}

/** Answers one call. A body with a macro_id calls that macro, whatever else it contains. */
export type Command = (session: Session, body: unknown) => Promise<Outcome>

/**
 * Checks in this order: role, target, elevation, scope. A command that a gate refuses reaches no driver; one that a
 * driver refuses is answered with 200 and `success` false.
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
      // A session must not learn whether a target beyond its zones exists, nor what it is called.
      const isBeyond = resolved.fault === 'unknown' || resolved.named.some((named) => !gates.isReached(named, session))
      if (isBeyond && gates.isScoped(session)) return refused('scope_denied', asked)
      return bad(TARGET_WORDS[resolved.fault], ['bad_target', ...targetFields(body)], resolved.sentence, asked)
    }
    const { target } = resolved
    const asked = { target: targetName(target), action: sayCommand(verb, args, target) }
    const caller: Caller = { session, by: 'command' }
    const reason = gates.refusal(caller, target, verb)
    if (reason) return refused(reason, asked)
    const strange = dispatcher.misspelt(target, verb)
    if (strange !== undefined) return bad('unknown command', ['bad_command', 'command'], strange, asked)
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
      const record = readCommandBody(body)
      return await command(session, record, wantedOf(record))
    } catch (error) {
      const said = error instanceof Fault ? BODY_WORDS[error.code] : undefined
      if (!said) throw error
      const [words, reason] = said
      const asked = { action: 'command', ...(isObject(body) ? { target: askedFor(body) } : {}) }
      const fields = ((error as Fault).details?.fields ?? []) as readonly string[]
      return bad(words, [reason, ...fields], (error as Fault).message, asked)
    }
  }
}

/** The field `error` and the audit reason for a body that cannot be carried out, by fault. */
const BODY_WORDS: Readonly<Record<string, readonly [words: string, reason: AuditReason]>> = {
  command_body: ['malformed body', 'bad_command'],
  command_required: ['command required', 'bad_command'],
  args_invalid: ['invalid args', 'bad_args'],
  command_fields: ['unknown field', 'bad_command'],
}

/** The keys by which a body names its target; all of them where it names none. */
function targetFields(body: CommandBody): readonly string[] {
  const said = TARGET_KEYS.filter((key) => Object.hasOwn(body, key) && body[key] !== null)
  return said.length > 0 ? said : TARGET_KEYS
}

const TARGET_WORDS = { none: 'target required', unknown: 'unknown target', ambiguous: 'ambiguous target' } as const

/** What was asked, as far as it could be parsed. */
interface Asked {
  target?: string | undefined
  action: string
}

/** @param fields names of the fields that are wrong */
function bad(error: string, [reason, ...fields]: BadReason, message: string, { target, action }: Asked): Outcome {
  const facts = { action, outcome: 'refused', detail: message } as const
  const named = fields.length === 0 ? {} : { fields: fields.map((field) => ({ field, message })) }
  return { status: 400, body: { json: { error, message, ...named } }, reason, target, facts }
}

type BadReason = readonly [reason: AuditReason, ...fields: string[]]

/** The answer gives no reason; the reason goes to the audit. */
function refused(reason: AuditReason, { target, action }: Asked): Outcome {
  const facts = { action, outcome: 'refused', detail: null } as const
  return { status: 403, body: { json: { error: 'unauthorized', message: NOT_ALLOWED } }, reason, target, facts }
}

/** The gates let the command through, but an override, the args or the driver refused it. */
function failed(error: unknown, asked: Asked, session: Session): Outcome {
  if (!(error instanceof Fault)) throw error
  if (error.code === 'not_authorized') {
    const { reason } = error.details as { reason: AuditReason }
    return refused(reason, asked)
  }
  if (error.code === 'args_invalid' || error.code === 'command_args')
    return bad('invalid args', ['bad_args', 'args'], error.message, asked)
  if (error.code === 'command_unknown') return bad('unknown command', ['bad_command', 'command'], error.message, asked)
  const json = { success: false, error: seenBy(session, error.message), code: error.code }
  const detail = String(seenValue(NAME_RULES, error.message))
  const facts = { action: asked.action, outcome: 'failed', detail: `${error.code}: ${detail}` } as const
  return { status: 200, body: { json }, reason: null, target: asked.target, facts }
}

/** A device's answer may contain its settings, secrets included. @source document 1, Guards 5 */
function seenBy(session: Session, said: Json): Json {
  return session.isElevated ? said : seenValue(NAME_RULES, said)
}

function idsOf({ zone, device }: Target): { zone_id: number } | { device_id: number } | Record<string, never> {
  if (zone) return { zone_id: zone.id }
  return device ? { device_id: device.id } : {}
}
