/** Fills the values of a run into a step and checks that each is of the right kind; looks nothing up. */

import { Fault } from '#kit/pure/fault.ts'
import { shortCopy } from '#kit/pure/text.ts'
import type { TargetKey } from '../control/reading.ts'
import { isObject, type Json } from '../json.ts'
import type { DoingStep, SideTemplate, TargetTemplate, TestTemplate } from './plan.ts'
import { isSupplied, type MacroArgs, makeArgs, type Op, refersTo, substitute, type Template } from './values.ts'

/** A target by the keys of document 1; the code that resolves it checks whether they fit together. */
export type MacroTarget = Readonly<{ zone_id?: number; zone?: string; device_id?: number; device?: string }>

/** A name, and whether it came from the request: only then is it checked against the caller. */
export interface Named<What> {
  readonly what: What
  readonly isSupplied: boolean
}

export type Side =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'attribute' | 'field'; readonly name: Named<string>; readonly target: Named<MacroTarget> }

export interface Test {
  readonly left: Side
  readonly op: Op
  readonly right: Side
}

export type Decided =
  | { type: 'command'; target: Named<MacroTarget>; verb: string; args: Readonly<Record<string, Json>> }
  | { type: 'delay'; waitMs: number }
  | { type: 'wait'; test: Test; timeoutMs: number }
  | { type: 'condition'; test: Test; skip: number | 'stop' }
  | { type: 'set'; name: Named<string>; target: Named<MacroTarget>; value: Json }
  | { type: 'macro'; macro: Named<{ id: number } | { name: string }>; args: MacroArgs }
  | { type: 'notify'; text: string; to: readonly string[]; subject: string | null }
  | { type: 'stop'; reason: string; isFailure: boolean }

/** What `decide` needs. */
interface Deciding {
  args: MacroArgs
  /** 0 <= n < 1, always the same for the same step of the same run. */
  chance(): number
  /** Most characters of JSON, and longest time in ms. */
  limits: { valueChars: number; longestMs: number }
}

/** Longest name and longest text, in characters. */
const LONGEST_NAME = 200
const LONGEST_TEXT = 2000
/** Most recipients of one notice. */
const MOST_RECIPIENTS = 32
/** Most steps that a condition may skip: more than a macro can have by default. */
const MOST_SKIPPED = 1000

/** @throws Fault `macro_arg_missing`, `macro_value_size`; `macro_step_value` for a value of the wrong kind */
export function decide(step: DoingStep, deciding: Deciding): Decided {
  const fill = (template: Template) => substitute(template, deciding.args, deciding.limits.valueChars)
  const { longestMs } = deciding.limits
  switch (step.type) {
    case 'command':
      return {
        type: 'command',
        target: targetOf(step.target, deciding),
        verb: step.verb,
        args: fieldsOf(fill(step.args)),
      }
    case 'delay': {
      const spreadMs = numberWithin(fill(step.spreadMs), 'spread_ms', longestMs)
      return {
        type: 'delay',
        waitMs: Math.round(numberWithin(fill(step.ms), 'ms', longestMs) + spreadMs * deciding.chance()),
      }
    }
    case 'wait': {
      const timeoutMs = numberWithin(fill(step.timeoutMs), 'timeout_ms', longestMs)
      return { type: 'wait', test: testOf(step.test, deciding), timeoutMs: Math.round(timeoutMs) }
    }
    case 'condition': {
      const skip = step.skip === 'stop' ? 'stop' : Math.floor(numberWithin(fill(step.skip), 'skip', MOST_SKIPPED))
      return { type: 'condition', test: testOf(step.test, deciding), skip }
    }
    case 'set':
      return {
        type: 'set',
        name: nameOf(step.name, 'attribute', deciding),
        target: targetOf(step.target, deciding),
        value: fill(step.value),
      }
    case 'macro':
      return { type: 'macro', macro: macroOf(step, deciding), args: calledWith(step.args, deciding) }
    case 'notify':
      return {
        type: 'notify',
        text: textOf(fill(step.text)),
        to: recipientsOf(fill(step.to)),
        subject: subjectOf(fill(step.subject)),
      }
    case 'stop':
      return { type: 'stop', reason: textOf(fill(step.reason)), isFailure: step.isFailure }
  }
}

function testOf(test: TestTemplate, deciding: Deciding): Test {
  return { left: sideOf(test.left, deciding), op: test.op, right: sideOf(test.right, deciding) }
}

function sideOf(side: SideTemplate, deciding: Deciding): Side {
  if (side.kind === 'value')
    return { kind: 'value', value: substitute(side.value, deciding.args, deciding.limits.valueChars) }
  return {
    kind: side.kind,
    name: nameOf(side.name, side.kind, deciding),
    target: targetOf(side.target, deciding),
  }
}

/** A key whose value is null is ignored: so a macro can let its caller choose which of two keys to give. */
function targetOf(template: TargetTemplate, deciding: Deciding): Named<MacroTarget> {
  const target: Partial<Record<TargetKey, number | string>> = {}
  for (const [key, part] of Object.entries(template) as [TargetKey, Template][]) {
    const value = substitute(part, deciding.args, deciding.limits.valueChars)
    if (value === null) continue
    const isId = key === 'zone_id' || key === 'device_id'
    const fits = isId ? Number.isSafeInteger(value) : isName(value)
    if (!fits) throw wrong(key, isId ? 'an id' : 'a name')
    target[key] = value as number | string
  }
  if (Object.keys(target).length === 0 && Object.keys(template).length > 0) throw wrong('target', 'a zone or a device')
  return { what: target as MacroTarget, isSupplied: isSupplied(template as Template, deciding.args) }
}

function nameOf(template: Template, key: string, deciding: Deciding): Named<string> {
  const name = substitute(template, deciding.args, deciding.limits.valueChars)
  if (!isName(name)) throw wrong(key, 'a name')
  return { what: name, isSupplied: isSupplied(template, deciding.args) }
}

function macroOf(step: DoingStep & { type: 'macro' }, deciding: Deciding): Named<{ id: number } | { name: string }> {
  if (step.id === null) {
    const { what: name, isSupplied } = nameOf(step.name, 'macro', deciding)
    return { what: { name }, isSupplied }
  }
  const id = substitute(step.id, deciding.args, deciding.limits.valueChars)
  if (!Number.isSafeInteger(id)) throw wrong('macro_id', 'an id')
  return { what: { id: id as number }, isSupplied: isSupplied(step.id, deciding.args) }
}

function calledWith(template: Template, { args, limits }: Deciding): MacroArgs {
  return filledArgs(template, args, limits.valueChars)
}

/**
 * The args of a macro from a template, with what is supplied and what is secret in them.
 * @param template an object; its values may refer to `args`
 * @throws Fault `macro_arg_missing`, `macro_value_size`
 */
export function filledArgs(template: Template, args: MacroArgs, valueChars: number): MacroArgs {
  const values = fieldsOf(substitute(template, args, valueChars))
  const templates = Object.entries(fieldsOf(template))
  const supplied = templates.filter(([, part]) => isSupplied(part, args)).map(([key]) => key)
  const secret = templates.filter(([, part]) => refersTo(part, args.secret)).map(([key]) => key)
  return makeArgs(Object.entries(values), valueChars, { supplied, secret })
}

/** The fields of an object; the args of a step were checked to be one when its macro was read. */
function fieldsOf(value: Json): Readonly<Record<string, Json>> {
  return isObject(value) ? value : {}
}

function recipientsOf(value: Json): readonly string[] {
  const names = value === null ? [] : Array.isArray(value) ? value : [value]
  if (names.length <= MOST_RECIPIENTS && names.every(isName)) return names
  throw wrong('to', `the name of a user, or a list of at most ${MOST_RECIPIENTS}`)
}

/** One line: it becomes the head of a letter. */
function subjectOf(value: Json): string | null {
  return value === null ? null : shortCopy(textOf(value).replace(/\s+/g, ' ').trim(), LONGEST_NAME)
}

function numberWithin(value: Json, key: string, most: number): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return value
  throw wrong(key, `a number from 0 to ${most}`)
}

function isName(value: Json): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME
}

function textOf(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return shortCopy(text, LONGEST_TEXT)
}

function wrong(key: string, expected: string): Fault {
  return new Fault('macro_step_value', `${key} did not come to ${expected}`)
}
