/** Conditions of a query in all their spellings: `col=v`, `_op[col]=v`, `col[_op]=v`, `_op={"col": v}`, and `_or`. */
import { Fault } from '#kit/fault.ts'
import { type Branch, branchOfJsonText, isIndex, named } from './branch.ts'
import { operandOf } from './operands.ts'
import type { Condition, Operator, QueryLimits, Where } from './query.ts'

/** Exactly as they are written: `_LIKE` is an unknown name. */
const OPERATORS = new Map<string, Operator>(
  (['in', 'notin', 'like', 'contains', 'gt', 'gte', 'lt', 'lte', 'between', 'notequal', 'null'] as const).map(
    (operator) => [`_${operator}`, operator],
  ),
)

/**
 * What a branch asks of a row.
 * @param isModifier names at this level that are no conditions; deeper in there are none
 * @throws Fault `query_unreadable`; `query_unknown_name` for any other name that begins with `_`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
export function readWhere(root: Branch, limits: QueryLimits, isModifier: (name: string) => boolean): Where {
  return whereOf(root, { limits, isModifier, count: 0 }, 0)
}

/** What is read so far. */
interface Reading {
  readonly limits: QueryLimits
  readonly isModifier: (name: string) => boolean
  /** Conditions, everywhere in the query. */
  count: number
}

/** @param depth how many `_or` stand around it */
function whereOf(branch: Branch, reading: Reading, depth: number): Where {
  const conditions: Condition[] = []
  const either: Where[][] = []
  for (const [name, child] of branch.children) {
    if (depth === 0 && reading.isModifier(name)) continue
    if (name === '_or') either.push(...groupsOf(child, reading, depth + 1))
    else if (name.startsWith('_')) conditions.push(...byOperator(name, child, reading))
    else conditions.push(...byColumn(name, child, reading))
  }
  return { conditions, either }
}

/** `_gt[id]=5`, and `_gt={"id": 5}`. */
function byOperator(name: string, branch: Branch, reading: Reading): Condition[] {
  const operator = operatorOf(name)
  const objects = branch.leaves.map((leaf) => ('text' in leaf ? branchOfJsonText(leaf.text, name) : branch))
  if (branch.children.size > 0 || objects.length === 0) objects.push({ ...branch, leaves: [] })
  return objects.flatMap(({ children, leaves, isList }) => {
    if (isList || leaves.length > 0 || children.size === 0)
      throw new Fault('query_unreadable', `${name} must name a column`)
    return [...children].map(([column, operand]) => conditionOf(column, operator, operand, reading))
  })
}

/** `name=Hall`, `name[]=Hall`, `id[_gt]=5`. */
function byColumn(column: string, branch: Branch, reading: Reading): Condition[] {
  const inner = [...branch.children]
  const items = inner.filter(([name]) => isIndex(name))
  if (branch.leaves.length === 0 && inner.length === 0 && !branch.isList)
    throw new Fault('query_unreadable', `${named(column)} is compared with nothing`)
  const conditions: Condition[] = []
  if (branch.leaves.length > 0 || items.length > 0 || branch.isList)
    conditions.push(conditionOf(column, 'equal', { ...branch, children: new Map(items) }, reading))
  for (const [name, operand] of inner) {
    if (isIndex(name)) continue
    if (!name.startsWith('_')) throw new Fault('query_unreadable', `${named(column)} has no part ${named(name)}`)
    conditions.push(conditionOf(column, operatorOf(name), operand, reading))
  }
  return conditions
}

function conditionOf(column: string, operator: Operator | 'equal', operand: Branch, reading: Reading): Condition {
  const { limits } = reading
  reading.count++
  if (reading.count > limits.conditions)
    throw new Fault('query_unreadable', `the query has more than ${limits.conditions} conditions`)
  const values = operandOf(column, operator, operand, limits)
  return { column, operator: operator === 'equal' ? 'in' : operator, values }
}

/** Each `_or=[...]` is a group of its own; all `_or[n]` together are one. */
function groupsOf(branch: Branch, reading: Reading, depth: number): Where[][] {
  if (depth > reading.limits.depth)
    throw new Fault('query_unreadable', `_or is nested deeper than ${reading.limits.depth}`)
  const groups = branch.leaves.map((leaf) => {
    const array = 'text' in leaf ? branchOfJsonText(leaf.text, '_or') : branch
    return groupOf(array, reading, { depth, isArray: array.isList })
  })
  if (branch.children.size > 0 || branch.leaves.length === 0)
    groups.push(groupOf({ ...branch, leaves: [] }, reading, { depth, isArray: true }))
  return groups
}

function groupOf(array: Branch, reading: Reading, { depth, isArray }: { depth: number; isArray: boolean }): Where[] {
  const parts = [...array.children]
  const isClean = parts.every(([name, { leaves, isList }]) => /^\d{1,5}$/.test(name) && leaves.length === 0 && !isList)
  if (!isArray || !isClean || parts.length === 0 || array.leaves.length > 0)
    throw new Fault('query_unreadable', '_or must be an array of conditions')
  return parts.map(([, part]) => {
    const inner = whereOf(part, reading, depth)
    if (inner.conditions.length === 0 && inner.either.length === 0)
      throw new Fault('query_unreadable', 'a part of _or holds no condition')
    return inner
  })
}

function operatorOf(name: string): Operator {
  const operator = OPERATORS.get(name)
  if (operator === undefined) throw new Fault('query_unknown_name', `${named(name)} is not known to queries`)
  return operator
}
