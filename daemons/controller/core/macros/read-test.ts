/** Reads what a condition or a wait asks for: which side is a value and which a reading is settled by the macro alone. */
import { Fault } from '#kit/fault.ts'
import { TARGET_KEYS, type TargetKey } from '../control/target.ts'
import { isObject } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { opOf } from './compare.ts'
import type { SideTemplate, TargetTemplate, TestTemplate } from './step.ts'

type Fields = { readonly [key: string]: Json }

/**
 * @param args of the step: `left`, `op`, `right`, or a reading's own keys, `op` and `value`
 * @throws Fault `macro_invalid` with the step's label
 */
export function readTest(args: Fields, label: string): TestTemplate {
  const op = opOf(args.op ?? 'eq')
  if (!op) throw invalid(label, 'has an op that is none of eq, ne, lt, lte, gt, gte, in, contains')
  const isShort = args.attribute !== undefined || args.field !== undefined
  if (isShort && (args.left !== undefined || args.right !== undefined))
    throw invalid(label, 'has left or right, and a reading beside them')
  if (!isShort && (args.value !== undefined || TARGET_KEYS.some((key) => args[key] !== undefined)))
    throw invalid(label, 'has a value or a target beside left and right')
  const left = isShort ? readingOf(args) : args.left
  const right = isShort ? args.value : args.right
  if (left === undefined || right === undefined) throw invalid(label, `has nothing to compare`)
  return { left: readSide(left, label), op, right: readSide(right, label) }
}

/** The target that stands among the keys of an object; keys that hold null count as left out. */
export function targetIn(fields: Fields): TargetTemplate {
  const target: Partial<Record<TargetKey, Json>> = {}
  for (const key of TARGET_KEYS) {
    const value = Object.hasOwn(fields, key) ? (fields[key] as Json) : null
    if (value !== null) target[key] = value
  }
  return target
}

function readingOf(args: Fields): Json {
  const keys = ['attribute', 'field', ...TARGET_KEYS].filter((key) => Object.hasOwn(args, key))
  return Object.fromEntries(keys.map((key) => [key, args[key] as Json]))
}

function readSide(side: Json, label: string): SideTemplate {
  if (!isObject(side)) return { kind: 'value', value: side }
  const target = targetIn(side)
  const known = ['attribute', 'field', ...TARGET_KEYS]
  const strange = Object.keys(side).find((key) => !known.includes(key))
  if (strange !== undefined) throw invalid(label, `compares with an object that has ${JSON.stringify(strange)}`)
  const { attribute, field } = side
  if (typeof attribute === 'string' && field === undefined) return { kind: 'attribute', name: attribute, target }
  if (typeof field !== 'string' || attribute !== undefined)
    throw invalid(label, 'compares with an object that has neither attribute nor field')
  if (Object.keys(target).length === 0) throw invalid(label, 'reads a field of no zone and no device')
  return { kind: 'field', name: field, target }
}

function invalid(label: string, what: string): Fault {
  return new Fault('macro_invalid', `step ${label} ${what}`)
}
