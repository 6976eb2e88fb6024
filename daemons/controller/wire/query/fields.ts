/** `_fields`: which columns an answer shows, in all spellings, and whether anything but plain names stands in it. */
import { type Branch, branchOfJsonText, isIndex, type Leaf, nameIn } from './branch.ts'
import type { FieldAsk, Fields } from './query.ts'

/**
 * Names separated by commas, repeated, `_fields[]=`, `_fields[0]=`, or an array of JSON with names and pairs in it.
 * What is wrong is told in the result: who may not give pairs is refused for that before anything else.
 * @throws Fault `query_unreadable` for broken JSON
 * @source document 1, GET /api/data/:entity, Modifiers, Guards 7
 */
export function readFields(branch: Branch | undefined): Fields | undefined {
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

/** Undefined stands for what is neither a name nor a pair. */
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
