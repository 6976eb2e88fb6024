/** A command in words for the audit: verb, value and target, and never what may be a code. */

import type { Json } from '../row.ts'
import { isSensitiveName } from '../sensitive-name.ts'
import { type Args, foldedName, isValueArg, readNumber } from './reading.ts'
import { isTargetKey, type Target } from './target.ts'

/** Args that are told. */
const MOST_ARGS = 4
const LONGEST_NAME = 40
/** Numbers from here on may be the code of a door, unless they are the value of a zone. */
const FIRST_CODE = 1000

/** `level 40 on "Hall"`, `unlock (code …) on "Front door"`; without a target that was found, what is to be done alone. */
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
  const number = isValue ? readNumber(value) : typeof value === 'number' ? value : undefined
  return number !== undefined && (isValue || Math.abs(number) < FIRST_CODE) ? String(number) : '…'
}

function shortened(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…`.toWellFormed() : name
}
