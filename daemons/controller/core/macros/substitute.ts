/** Puts what a run was called with into the values of a step: never into its structure, never twice, nothing evaluated. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import { Fault } from '#kit/fault.ts'
import { Plain, SHAPE_CHARS, VALUE_CHARS } from '../bounded-value.ts'
import { isObject, putKey } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { MacroArgs } from './args.ts'

/** A value with references in its texts, as it stands in macro_step.args. */
export type Template = Json

/** `${args.NAME}`; a name is 1 to 64 letters, digits, `_` and `-`. Bounded, so that no text makes it slow. */
const REFERENCE = /\$\{args\.([\p{L}\p{N}_-]{1,64})\}/gu
const WHOLE = /^\$\{args\.([\p{L}\p{N}_-]{1,64})\}$/u

/**
 * The names that the texts of a template refer to. Keys are no values: what stands there is left as it is.
 * @throws Fault `macro_reference` where `${args.` begins what is no reference
 */
export function referencesOf(template: Template): Set<string> {
  const names = new Set<string>()
  const open: Template[] = [template]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (typeof item === 'string') for (const name of namesIn(item)) names.add(name)
    else if (Array.isArray(item)) for (const entry of item) open.push(entry)
    else if (isObject(item)) for (const entry of Object.values(item)) open.push(entry)
  }
  return names
}

function namesIn(text: string): string[] {
  if (text.replace(REFERENCE, ' ').includes('${args.'))
    throw new Fault(
      'macro_reference',
      'a text holds "$" and "{args." without a name of letters, digits, _ and -, and "}" behind it',
    )
  return [...text.matchAll(REFERENCE)].map((match) => match[1] as string)
}

/** Whether something in the template came with the request. */
export function isSupplied(template: Template, args: MacroArgs): boolean {
  return refersTo(template, args.supplied)
}

/** Whether a template refers to one of these names. */
export function refersTo(template: Template, names: ReadonlySet<string>): boolean {
  for (const name of referencesOf(template)) if (names.has(name)) return true
  return false
}

/**
 * A template with its references replaced. A text that is one reference becomes the JSON value; within a text stands the
 * value's text, of lists and objects their JSON. What is put in is not looked through again.
 * @param mostChars of JSON that may come of it; counted before anything is put together
 * @returns objects inherit nothing
 * @throws Fault `macro_arg_missing` for a name the run was not called with; `macro_value_size`
 */
export function substitute(template: Template, args: MacroArgs, mostChars: number): Json {
  return fill(template, { args, mostChars, left: mostChars })
}

interface Filling {
  args: MacroArgs
  mostChars: number
  left: number
}

/** Templates are at most DEEPEST_VALUE deep: they were measured when their macro was read. */
function fill(template: Template, filling: Filling): Json {
  if (typeof template === 'string') return fillText(template, filling)
  spend(filling, typeof template === 'object' && template !== null ? 6 + VALUE_CHARS : 6)
  if (Array.isArray(template)) return template.map((entry) => fill(entry, filling))
  if (!isObject(template)) return template
  const filled: Record<string, Json> = new Plain()
  const keys = Object.keys(template)
  if (keys.length > 0) spend(filling, SHAPE_CHARS)
  for (const key of keys) {
    spend(filling, key.length)
    putKey(filled, key, fill(template[key] as Template, filling))
  }
  return filled
}

function fillText(text: string, filling: Filling): Json {
  const whole = WHOLE.exec(text)
  if (whole) return argOf(whole[1] as string, filling)
  spend(filling, text.length)
  return text.replace(REFERENCE, (_, name: string) => {
    const value = argOf(name, filling)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

function argOf(name: string, filling: Filling): Json {
  const value = filling.args.values.get(name)
  if (value === undefined) throw new Fault('macro_arg_missing', `the run was not called with args.${name}`)
  spend(filling, filling.args.chars.get(name) ?? 0)
  return value
}

function spend(filling: Filling, chars: number): void {
  filling.left -= chars
  if (filling.left < 0)
    throw new Fault('macro_value_size', `the values of a step come to more than ${filling.mostChars} characters`)
}
