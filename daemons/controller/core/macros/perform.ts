/** Carries out a decided step through the daemon's ports, and reports the result. */

import { Fault } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { durationText, shortCopy } from '#kit/pure/text.ts'
import type { Session } from '../access/accounts.ts'
import type { AuditReason } from '../audit.ts'
import { resolveTarget } from '../control/reading.ts'
import { argsFaults, type Json, withArgDefaults } from '../json.ts'
import { holdsSecret, NAME_RULES } from '../secrets.ts'
import type { Book, Row } from '../site/book.ts'
import type { Decided, MacroTarget, Named, Side, Test } from './decide.ts'
import type { MacroPlan } from './plan.ts'
import type { AttributeReading, AttributeRef, Doer, Done, MacroPorts, Secrets } from './ports.ts'
import type { Answer } from './run.ts'
import { holds, type MacroArgs, makeArgs } from './values.ts'

// Attributes as rows of the book: which one a macro means, its value, and what is secret.

/** The attribute of a zone or a device, of several the secure one; the controller's own if the target has no key. */
export function attributeRow(book: Book, { name, target }: AttributeRef): Row | undefined {
  const place = placeOf(book, target)
  if (place === undefined) return undefined
  const rows = book
    .named('attribute', name)
    .filter((row) => row.system_target === place.kind && row.target_id === place.id)
  return rows.find(({ secure }) => secure === true) ?? rows[0]
}

/** Undefined if there is no such attribute. */
export function readAttribute(book: Book, ref: AttributeRef): AttributeReading | undefined {
  const row = attributeRow(book, ref)
  if (row === undefined) return undefined
  const value = row.value ?? null
  // A value that contains a secret is secret as a whole: comparisons would reveal the secret bit by bit.
  return { value, isSecure: row.secure === true || isSensitiveName(ref.name) || holdsSecret(NAME_RULES, value) }
}

/** Judges by names, and by the `secure` flag of this building's attributes. */
export function secretsOf(book: Book): Secrets {
  return {
    ...NAME_RULES,
    holdsSecret: (value) => holdsSecret(NAME_RULES, value),
    isSecretAttribute: (name) =>
      isSensitiveName(name) || book.named('attribute', name).some(({ secure }) => secure === true),
  }
}

function placeOf(book: Book, target: AttributeRef['target']): { kind: string; id: number | null } | undefined {
  if (Object.keys(target).length === 0) return { kind: 'controller', id: null }
  const resolved = resolveTarget(book, target)
  if ('fault' in resolved) return undefined
  const { zone, device } = resolved.target
  return zone ? { kind: 'zone', id: zone.id } : device && { kind: 'device', id: device.id }
}

// One step: carries out what was decided, and reports the result.

/** Longest message of a failure in a trace, in characters. */
const LONGEST_SENTENCE = 300

function notAuthorized(reason: AuditReason): Answer & { state: 'failed' } {
  return { state: 'failed', code: 'not_authorized', sentence: 'not authorized', final: true, reason }
}

/** @returns a function that cancels the step: its answer is no longer wanted */
export function perform(decided: Decided, doer: Doer, done: Done): () => void {
  const refusal = refusalOf(decided, doer)
  if (refusal !== undefined) {
    done(notAuthorized(refusal))
    return () => {}
  }
  switch (decided.type) {
    case 'delay': {
      const timer = doer.clock.after(decided.waitMs, () => done({ state: 'done' }))
      return () => timer.cancel()
    }
    case 'wait':
      return performWait(decided, doer, done)
    case 'macro':
      return doer.call({ by: decided.macro.what, isSupplied: decided.macro.isSupplied, args: decided.args }, done)
    case 'command': {
      const { target, verb, args } = decided
      doer.send({ target: target.what, isSupplied: target.isSupplied, verb, args }, done)
      break
    }
    case 'set':
      doer.setAttribute({ name: decided.name.what, target: decided.target.what }, decided.value, done)
      break
    case 'notify':
      doer.notify({ text: decided.text, to: decided.to, subject: decided.subject }, done)
      break
    case 'condition':
      done(judged(decided, doer))
      break
    case 'stop':
      done({ state: 'done', stop: decided.isFailure ? 'failed' : 'done' })
  }
  return () => {}
}

/** Turns a thrown value into an answer. Only messages of Faults are used: other errors may contain anything. */
export function failureOf(thrown: unknown, isFinal = false): Answer & { state: 'failed' } {
  if (!(thrown instanceof Fault))
    return { state: 'failed', code: 'macro_step_failed', sentence: 'the step failed', final: isFinal }
  const { code, message } = thrown
  return {
    state: 'failed',
    code,
    sentence: shortCopy(message, LONGEST_SENTENCE),
    final: isFinal || code === 'not_authorized',
    ...(code === 'not_authorized' ? { reason: (thrown.details?.reason ?? 'scope_denied') as AuditReason } : {}),
  }
}

/**
 * Names from the request are checked against the caller; names in the macro itself belong to the building.
 * @source document 1, POST /api/control/:action: "A Command step inside it whose target came from request-supplied args
 * ..."
 */
function refusalOf(decided: Decided, doer: Doer): AuditReason | undefined {
  const ofTarget = ({ what, isSupplied }: Named<MacroTarget>, verb?: string) =>
    isSupplied ? doer.refusal(what, verb) : undefined
  // A name from the request must not give access to secrets, which the caller could then probe bit by bit.
  const isSecretName = ({ what, isSupplied }: Named<string>) =>
    isSupplied && doer.isGated() && doer.secrets.isSensitiveName(what)
  switch (decided.type) {
    case 'command':
      return ofTarget(decided.target, decided.verb)
    case 'set': {
      const isHidden = () => isSecretName(decided.name) || isHiddenFrom(decided.name, decided.target, doer)
      return ofTarget(decided.target) ?? (isHidden() ? 'secure_filtered' : undefined)
    }
    case 'wait':
    case 'condition':
      for (const side of [decided.test.left, decided.test.right]) {
        if (side.kind === 'value') continue
        const looks = side.kind === 'attribute' ? isHiddenFrom : isHiddenLive
        const refusal = ofTarget(side.target)
        if (refusal !== undefined) return refusal
        if (isSecretName(side.name) || looks(side.name, side.target, doer)) return 'secure_filtered'
      }
      return undefined
    default:
      return undefined
  }
}

function isHiddenFrom(name: Named<string>, target: Named<MacroTarget>, doer: Doer): boolean {
  if (!(name.isSupplied || target.isSupplied) || !doer.isGated()) return false
  return doer.readAttribute({ name: name.what, target: target.what })?.isSecure === true
}

/** A live value that contains a secret is secret as a whole: comparisons would reveal the secret bit by bit. */
function isHiddenLive(name: Named<string>, target: Named<MacroTarget>, doer: Doer): boolean {
  if (!(name.isSupplied || target.isSupplied) || !doer.isGated()) return false
  // An attribute of this name holds the same value.
  return isHiddenFrom(name, target, doer) || doer.secrets.holdsSecret(doer.readLive(target.what, name.what) ?? null)
}

function judged(decided: Decided & { type: 'condition' }, doer: Doer): Answer {
  const seen = look(decided.test, doer)
  if (seen.state === 'failed') return seen
  const { isMet, ...answer } = seen
  if (isMet) return answer
  return decided.skip === 'stop' ? { ...answer, stop: 'done' } : { ...answer, skip: decided.skip }
}

function performWait(decided: Decided & { type: 'wait' }, doer: Doer, done: Done): () => void {
  const ends: (() => void)[] = []
  let isDone = false
  const finish = (answer: Answer) => {
    if (isDone) return
    isDone = true
    for (const end of ends) end()
    done(answer)
  }
  const lookAgain = () => {
    if (isDone) return
    const seen = lookSafely(decided, doer)
    if (seen.state === 'failed') return finish(seen)
    const { isMet, ...answer } = seen
    if (isMet || doer.assumed === 'met') return finish(isMet ? answer : { ...answer, answer: { assumed: true } })
  }
  lookAgain()
  if (isDone) return () => {}
  const sentence = `what is waited for did not come within ${durationText(decided.timeoutMs)}`
  const expired = () => finish({ state: 'failed', code: 'macro_wait_timeout', sentence, final: false })
  const timer = doer.clock.after(decided.timeoutMs, expired)
  ends.push(() => timer.cancel(), doer.onChange(lookAgain))
  return () => {
    isDone = true
    for (const end of ends) end()
  }
}

type Seen = { state: 'done'; isMet: boolean; answer: Json; withheld?: true } | (Answer & { state: 'failed' })

/** A listener that reports changes must not fail because of what a macro does. */
function lookSafely(decided: Decided & { type: 'wait' }, doer: Doer): Seen {
  try {
    // What the caller could read when the wait began may by now hold a secret, or be out of reach.
    const refusal = refusalOf(decided, doer)
    return refusal === undefined ? look(decided.test, doer) : notAuthorized(refusal)
  } catch (thrown) {
    return failureOf(thrown)
  }
}

/** Looks up both sides. The answer includes what was read unless it is secret; the step already has its own values. */
function look(test: Test, doer: Doer): Seen {
  const left = lookUp(test.left, doer)
  const right = lookUp(test.right, doer)
  if (left === undefined || right === undefined)
    return { state: 'failed', code: 'macro_not_there', sentence: 'what is compared is not there', final: true }
  const isMet = holds(left.value, test.op, right.value)
  const isSecret = left.isSecret || right.isSecret
  const read: Record<string, Json> = { holds: isMet }
  let isWhole = !isSecret
  for (const [key, side, { value }] of [
    ['left', test.left, left],
    ['right', test.right, right],
  ] as const) {
    if (side.kind === 'value') continue
    read[key] = isSecret ? null : doer.secrets.withoutSecrets(value)
    isWhole &&= JSON.stringify(read[key]) === JSON.stringify(value)
  }
  return isWhole ? { state: 'done', isMet, answer: read } : { state: 'done', isMet, answer: read, withheld: true }
}

function lookUp(side: Side, doer: Doer): { value: Json; isSecret: boolean } | undefined {
  if (side.kind === 'value') return { value: side.value, isSecret: false }
  const name = side.name.what
  const isSensitive = doer.secrets.isSensitiveName(name)
  if (side.kind === 'attribute') {
    const reading = doer.readAttribute({ name, target: side.target.what })
    return reading && { value: reading.value, isSecret: isSensitive || reading.isSecure }
  }
  const value = doer.readLive(side.target.what, name)
  const isSecure = doer.readAttribute({ name, target: side.target.what })?.isSecure === true
  return value === undefined ? undefined : { value, isSecret: isSensitive || isSecure }
}

// How a run reaches the running controller: the daemon's ports, its caller, and the engine for the macros it calls.

/** The run that a Doer works for. */
interface Running {
  readonly caller: Session | null
  /** Whether the macro that was requested is elevated: so is then the building, where it is the caller. */
  readonly isElevated: boolean
  readonly chain: number
  readonly macroId: number
  /** A run has an id once it has started. */
  readonly runId: number
}

export function liveDoer(ports: MacroPorts, running: Running, call: Doer['call']): Doer {
  const { attributes, live, secrets, clock } = ports
  const now = () => (running.caller === null ? null : ports.sessionNow(running.caller))
  const isGated = () => (running.caller === null ? !running.isElevated : now()?.isElevated !== true)
  return {
    clock,
    secrets,
    isGated,
    refusal(target, verb) {
      if (!isGated()) return undefined
      if (running.caller === null) return ports.refusal(null, target, verb)
      const session = now()
      return session === null ? 'invalid_session' : ports.refusal(session, target, verb)
    },
    send({ target, isSupplied, verb, args }, done) {
      const order = { target, verb, args, caller: isSupplied ? now() : null }
      tell(async () => (await ports.dispatch(order)).answer, done)
    },
    readAttribute: (ref) => attributes.read(ref),
    setAttribute(ref, value, done) {
      tell(async () => {
        await attributes.set(ref, value, running.chain)
        return undefined
      }, done)
    },
    readLive: (target, field) => live.read(target, field),
    onChange(listener) {
      const ends = [attributes.onChange(listener), live.onChange(listener)]
      return () => {
        for (const end of ends) end()
      }
    },
    notify(notice, done) {
      const { macroId, runId, caller } = running
      tell(async () => {
        await ports.notify({ ...notice, macroId, runId, userId: caller?.userId ?? null })
        return undefined
      }, done)
    },
    call,
  }

  /** Passes on the result of a promise, without its secrets. */
  function tell(ask: () => Promise<Json | undefined>, done: Done): void {
    const asked = async (): Promise<Answer> => {
      const answer = await ask()
      return answer === undefined ? { state: 'done' } : { state: 'done', answer: secrets.withoutSecrets(answer) }
    }
    asked().then(done, (thrown) => done(failureOf(thrown)))
  }
}

/**
 * Checks the args of a macro call, and fills in the defaults of its schema.
 * @throws Fault `macro_args` with what is wrong in `details.faults`
 */
export function checkedArgs(plan: MacroPlan, args: MacroArgs, mostChars: number): MacroArgs {
  if (!plan.schema) return args
  const values = withArgDefaults(plan.schema, args.values)
  const faults = argsFaults(plan.schema, values)
  if (faults.length > 0)
    throw new Fault('macro_args', `the args do not fit: ${faults.join('; ')}`, { details: { faults } })
  return makeArgs(values, mostChars, args)
}
