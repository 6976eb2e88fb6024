/** What a query asks beside conditions: how many rows, from where, in which order, which columns, or only their number. */
import { Fault } from '#kit/fault.ts'
import { type Branch, branchOfJsonText, isIndex, type Leaf, named, nameIn } from './branch.ts'
import { readFields } from './fields.ts'
import type { OrderBy, Query } from './query.ts'
import { readNumber } from './query-value.ts'

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

/** Names that stand at the top of a query and ask nothing of a row. */
export function isModifier(name: string): boolean {
  return MODIFIERS.has(name)
}

/**
 * The modifiers of a query. Where one is given twice it is refused, but for lists, which grow.
 * @throws Fault `query_unreadable`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
export function readModifiers({ children }: Branch): Omit<Query, 'where'> {
  return {
    limit: Math.min(wholeAbove0(once(children, '_limit')) ?? ROWS_BY_DEFAULT, MOST_ROWS),
    offset: wholeAbove0(once(children, '_offset')) ?? 0,
    order: orderOf([...itemsOf(children.get('_orderby'), '_orderby'), ...itemsOf(children.get('_order'), '_order')]),
    fields: readFields(children.get('_fields')),
    count: countOf(once(children, '_count')),
    isInstance: yesOrNo(once(children, '_instance'), '_instance'),
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

/** Zero, negative and non-numeric are as if it was not given. */
function wholeAbove0(text: string | undefined): number | undefined {
  const whole = Math.floor(readNumber(text ?? '')?.number ?? 0)
  return whole > 0 ? whole : undefined
}

function yesOrNo(text: string | undefined, name: string): boolean {
  if (text === 'true' || text === '1') return true
  if (text === undefined || text === 'false' || text === '0') return false
  throw new Fault('query_unreadable', `${name} takes true or false`)
}

function countOf(text: string | undefined): boolean | string {
  if (text === '') throw new Fault('query_unreadable', '_count takes true, false or a column')
  const isSwitch = text === undefined || ['true', 'false', '1', '0'].includes(text)
  return isSwitch ? yesOrNo(text, '_count') : text
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

/** The items of a list modifier: repeated, `name[]`, `name[0]`, or an array of JSON. */
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
