/** What stands behind an operator, as the values that it compares with. */
import { Fault } from '#kit/fault.ts'
import { type Branch, branchOfJsonText, isIndex, type Leaf, named } from './branch.ts'
import type { Operator, QueryLimits } from './query.ts'
import { type QueryValue, valueOfJson, valueOfText } from './query-value.ts'

/** Take lists: a comma separates, unless the value is an element of an array already. */
const LISTS: ReadonlySet<string> = new Set(['in', 'notin', 'between'])
/** Take texts as they are: `_contains[address]=007` looks for these three characters. */
const PATTERNS: ReadonlySet<string> = new Set(['like', 'contains'])
/** Take one value: a second one would contradict the first or say nothing. */
const SINGLE: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'null'])

/**
 * The values of one condition, in number and kind as its operator wants them.
 * @throws Fault `query_unreadable`
 */
export function operandOf(
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
  return operator === 'null' ? [yesOrNo(values[0], refuse)] : values
}

/** Its own, and those of `col[]=1` and `col[0]=1`. */
function leavesOf(branch: Branch, refuse: (why: string) => Fault): Leaf[] {
  const leaves = [...branch.leaves]
  for (const [name, child] of branch.children) {
    if (!isIndex(name) || child.children.size > 0 || child.isList || branch.isList)
      throw refuse('is no value and no list of values')
    for (const leaf of child.leaves) {
      if (!('text' in leaf)) throw refuse('is no value and no list of values')
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

function yesOrNo(value: QueryValue | undefined, refuse: (why: string) => Fault): boolean {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'object' ? value?.text : value
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw refuse('takes true or false for _null')
}
