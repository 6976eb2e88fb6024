/** Parses the query string of GET /api/data/:entity: conditions in all their spellings, modifiers, columns. */
import { Fault } from '#kit/pure/fault.ts'
import {
  type Branch,
  branchOfJsonText,
  branchOfQuery,
  type Condition,
  type FieldAsk,
  type Fields,
  isIndex,
  type Leaf,
  named,
  nameIn,
  type Operator,
  type OrderBy,
  type Query,
  type QueryLimits,
  type QueryValue,
  queryNumber,
  valueOfJson,
  valueOfText,
  type Where,
} from './query.ts'

// Operands: the values that an operator compares with.

/** Operators that take lists: a comma separates, unless the value is already an array element. */
const LISTS: ReadonlySet<string> = new Set(['in', 'notin', 'between'])
/** Operators that take text literally: `_contains[address]=007` looks for these three characters. */
const PATTERNS: ReadonlySet<string> = new Set(['like', 'contains'])
/** Operators that take one value: a second one would contradict the first or change nothing. */
const SINGLE: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'null'])

/**
 * The values of one condition, in the number and kind that its operator requires.
 * @throws Fault `query_unreadable`
 */
function operandOf(
  column: string,
  operator: Operator | 'equal',
  branch: Branch,
  limits: QueryLimits,
): readonly QueryValue[] {
  const refuse = (why: string) => new Fault('query_unreadable', `the condition on ${named(column)} ${why}`)
  const values: QueryValue[] = []
  for (const leaf of leavesOf(branch, refuse)) {
    if (LISTS.has(operator)) values.push(...listOf(leaf, column))
    else values.push(PATTERNS.has(operator) ? patternOf(leaf, limits, refuse) : valueIn(leaf))
    if (values.length > limits.listItems) throw refuse(`has more than ${limits.listItems} values`)
  }
  if (values.length === 0 && !branch.isList) throw refuse('has no value')
  if (SINGLE.has(operator) && values.length !== 1) throw refuse(`takes one value for _${operator}`)
  if (operator === 'between' && values.length !== 2) throw refuse('takes two values for _between')
  return operator === 'null' ? [truthOf(values[0], refuse)] : values
}

/** The branch's own values, and those of `col[]=1` and `col[0]=1`. */
function leavesOf(branch: Branch, refuse: (why: string) => Fault): Leaf[] {
  const leaves = [...branch.leaves]
  for (const [name, child] of branch.children) {
    if (!isIndex(name) || child.children.size > 0 || child.isList || branch.isList)
      throw refuse('is neither a value nor a list of values')
    for (const leaf of child.leaves) {
      if (!('text' in leaf)) throw refuse('is neither a value nor a list of values')
      leaves.push({ text: leaf.text, isItem: true })
    }
  }
  return leaves
}

function valueIn(leaf: Leaf): QueryValue {
  return 'text' in leaf ? valueOfText(leaf.text) : valueOfJson(leaf.json)
}

function listOf(leaf: Leaf, column: string): QueryValue[] {
  if (leaf.isItem) return [valueIn(leaf)]
  const text = 'text' in leaf ? leaf.text : leaf.json
  if (typeof text !== 'string') return [valueIn(leaf)]
  if (!text.startsWith('[')) return text.split(',').map(valueOfText)
  const array = branchOfJsonText(text, column)
  if (array.children.size > 0) throw new Fault('query_unreadable', `the list of ${named(column)} holds no plain values`)
  return array.leaves.map(valueIn)
}

function patternOf(leaf: Leaf, limits: QueryLimits, refuse: (why: string) => Fault): string {
  const pattern = 'text' in leaf ? leaf.text : typeof leaf.json === 'number' ? String(leaf.json) : leaf.json
  if (typeof pattern !== 'string') throw refuse('wants a text as its pattern')
  if (pattern.length > limits.patternChars) throw refuse(`has a pattern of more than ${limits.patternChars} characters`)
  return pattern
}

function truthOf(value: QueryValue | undefined, refuse: (why: string) => Fault): boolean {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'object' ? value?.text : value
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw refuse('takes true or false for _null')
}

// Conditions in all their spellings: `col=v`, `_op[col]=v`, `col[_op]=v`, `_op={"col": v}`, and `_or`.

/** Case-sensitive: `_LIKE` is an unknown name. */
const OPERATORS = new Map<string, Operator>(
  (['in', 'notin', 'like', 'contains', 'gt', 'gte', 'lt', 'lte', 'between', 'notequal', 'null'] as const).map(
    (operator) => [`_${operator}`, operator],
  ),
)

/**
 * Parses the conditions of a branch.
 * @param isModifier names at the top level that are not conditions; there are none further down
 * @throws Fault `query_unreadable`; `query_unknown_name` for any other name that begins with `_`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
function readWhere(root: Branch, limits: QueryLimits, isModifier: (name: string) => boolean): Where {
  return whereOf(root, { limits, isModifier, count: 0 }, 0)
}

/** The state of parsing. */
interface Reading {
  readonly limits: QueryLimits
  readonly isModifier: (name: string) => boolean
  /** Conditions so far, in the whole query. */
  count: number
}

/** @param depth the number of enclosing `_or` */
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

// `_fields`: the columns of an answer, in all spellings, and whether there is anything but plain names.

/**
 * Accepts names separated by commas, repeated, `_fields[]=`, `_fields[0]=`, or a JSON array of names and pairs. Errors
 * are returned in the result: a caller who may not use pairs is refused for that first.
 * @throws Fault `query_unreadable` for broken JSON
 * @source document 1, GET /api/data/:entity, Modifiers, Guards 7
 */
function readFields(branch: Branch | undefined): Fields | undefined {
  if (branch === undefined) return undefined
  const arrays = branch.leaves.map((leaf) => {
    const text = nameIn(leaf)
    return text !== undefined && /^[[{]/.test(text) ? branchOfJsonText(text, '_fields') : only(branch, leaf)
  })
  const asks = [...arrays, { ...branch, leaves: [] }].flatMap(asksOf)
  const columns = asks.filter((ask) => ask !== undefined)
  const isWrong = columns.length < asks.length
  return {
    columns,
    isPlain: !isWrong && columns.every(({ alias }) => alias === undefined),
    fault: isWrong
      ? '_fields takes names of columns, and pairs of column and alias'
      : columns.length === 0
        ? '_fields names no column'
        : undefined,
  }
}

function only(branch: Branch, leaf: Leaf): Branch {
  return { ...branch, leaves: [leaf], children: new Map() }
}

/** Undefined marks anything that is neither a name nor a pair. */
function asksOf({ leaves, children }: Branch): (FieldAsk | undefined)[] {
  const inner = [...children].flatMap(([name, child]) => {
    if (!isIndex(name)) return [undefined]
    if (child.isList || child.children.size > 0) return [pairOf(child)]
    if (child.leaves.length === 0) return [undefined] // {} in the array
    return child.leaves.flatMap((leaf) => namesOf({ ...leaf, isItem: true }))
  })
  return [...leaves.flatMap(namesOf), ...inner]
}

function namesOf(leaf: Leaf): (FieldAsk | undefined)[] {
  const text = nameIn(leaf)
  if (text === undefined) return [undefined]
  return (leaf.isItem ? [text] : text.split(',')).map((column) => ({ column }))
}

/** `["name", "label"]`, and `_fields[0][0]=name&_fields[0][1]=label`. */
function pairOf({ leaves, children }: Branch): FieldAsk | undefined {
  const inner = [...children]
  const isOdd = inner.some(([name, { children, isList }]) => !isIndex(name) || isList || children.size > 0)
  if (isOdd || (leaves.length > 0 && inner.length > 0)) return undefined
  const [column, alias, ...more] = [...leaves, ...inner.flatMap(([, child]) => child.leaves)].map(nameIn)
  if (column === undefined || alias === undefined || more.length > 0) return undefined
  return { column, alias }
}

// Modifiers: how many rows, from where, in which order, which columns, or only their count.

const ROWS_BY_DEFAULT = 1000
const MOST_ROWS = 10_000

const MODIFIERS: ReadonlySet<string> = new Set([
  '_limit',
  '_offset',
  '_orderby',
  '_order',
  '_fields',
  '_count',
  '_instance',
])

/** Names at the top of a query that are not conditions. */
function isModifier(name: string): boolean {
  return MODIFIERS.has(name)
}

/**
 * Parses the modifiers of a query. A repeated one is refused, except for lists, which are joined.
 * @throws Fault `query_unreadable`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
function readModifiers({ children }: Branch): Omit<Query, 'where'> {
  return {
    limit: Math.min(wholeAbove0(once(children, '_limit')) ?? ROWS_BY_DEFAULT, MOST_ROWS),
    offset: wholeAbove0(once(children, '_offset')) ?? 0,
    order: orderOf([...itemsOf(children.get('_orderby'), '_orderby'), ...itemsOf(children.get('_order'), '_order')]),
    fields: readFields(children.get('_fields')),
    count: countOf(once(children, '_count')),
    isInstance: switchOf(once(children, '_instance'), '_instance'),
  }
}

function once(children: Branch['children'], name: string): string | undefined {
  const branch = children.get(name)
  if (branch === undefined) return undefined
  const [leaf] = branch.leaves
  if (branch.leaves.length !== 1 || branch.children.size > 0 || leaf === undefined || !('text' in leaf))
    throw new Fault('query_unreadable', `${name} is given once, as ${name}=value`)
  return leaf.text
}

/** Zero, negative and non-numeric values count as absent. */
function wholeAbove0(text: string | undefined): number | undefined {
  const whole = Math.floor(queryNumber(text ?? '')?.number ?? 0)
  return whole > 0 ? whole : undefined
}

function switchOf(text: string | undefined, name: string): boolean {
  if (text === 'true' || text === '1') return true
  if (text === undefined || text === 'false' || text === '0') return false
  throw new Fault('query_unreadable', `${name} takes true or false`)
}

function countOf(text: string | undefined): boolean | string {
  if (text === '') throw new Fault('query_unreadable', '_count takes true, false or a column')
  const isSwitch = text === undefined || ['true', 'false', '1', '0'].includes(text)
  return isSwitch ? switchOf(text, '_count') : text
}

function orderOf(items: readonly Leaf[]): OrderBy[] {
  const order = new Map<string, OrderBy>()
  for (const leaf of items) {
    const text = nameIn(leaf)
    if (text === undefined) throw new Fault('query_unreadable', '_orderby takes names of columns')
    for (const part of leaf.isItem ? [text] : text.split(',')) {
      const [column = '', direction = 'asc', ...more] = part.split('=')
      if (!/^(asc|desc)$/i.test(direction) || more.length > 0)
        throw new Fault('query_unreadable', `_orderby takes asc or desc, not ${named(direction)}`)
      const isDescending = direction.toLowerCase() === 'desc'
      if (!order.has(column)) order.set(column, { column, isDescending })
    }
  }
  return [...order.values()]
}

/** The items of a list modifier: repeated, `name[]`, `name[0]`, or a JSON array. */
function itemsOf(branch: Branch | undefined, name: string): Leaf[] {
  if (branch === undefined) return []
  const inner = branch.leaves.flatMap((leaf) => {
    const text = nameIn(leaf)
    return text?.startsWith('[') ? listed(branchOfJsonText(text, name), name) : [leaf]
  })
  return [...inner, ...listed({ ...branch, leaves: [] }, name)]
}

function listed({ leaves, children }: Branch, name: string): Leaf[] {
  const inner = [...children].flatMap(([index, child]) => {
    if (!isIndex(index) || child.children.size > 0 || child.isList)
      throw new Fault('query_unreadable', `${name} takes names of columns`)
    return child.leaves
  })
  return [...leaves, ...inner]
}

// The whole query.
/**
 * Parses a whole query; anything without a meaning is refused, nothing is ignored.
 * @param raw without the `?`, as in the request line
 * @throws Fault `query_unreadable`, `query_unknown_name`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
export function readQuery(raw: string, limits: QueryLimits): Query {
  if (raw.length > limits.queryBytes)
    throw new Fault('query_unreadable', `the query has ${raw.length} bytes, at most ${limits.queryBytes} are read`)
  const root = branchOfQuery(raw)
  return { where: readWhere(root, limits, isModifier), ...readModifiers(root) }
}
