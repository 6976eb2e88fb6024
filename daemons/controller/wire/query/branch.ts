/** Names with brackets, and JSON, as one kind of tree, so that every spelling of a query is read by the same rules. */
import { Fault } from '#kit/fault.ts'
import { decodePart } from './percent.ts'

/** A value at the end of a name: text of the query string, or a scalar of JSON, which says its type. `isItem`: of a list. */
export type Leaf = ({ readonly text: string } | { readonly json: null | boolean | number | string }) & {
  readonly isItem: boolean
}

/** What stands at a name: values, and what stands in brackets behind it. `isList`: it was an array of JSON. */
export interface Branch {
  readonly leaves: Leaf[]
  /** A Map: names come from outside, `__proto__` among them. */
  readonly children: Map<string, Branch>
  readonly isList: boolean
}

/** JSON deeper than this is no query. */
const MOST_LEVELS = 16

/**
 * The raw query string as a tree; empty parts between `&` say nothing.
 * @param raw without the `?`
 * @throws Fault `query_unreadable`
 */
export function branchOfQuery(raw: string): Branch {
  const root = newBranch(false)
  for (const part of raw.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    if (at < 0) throw new Fault('query_unreadable', `${named(decodePart(part))} has no = and no value`)
    const path = pathOf(decodePart(part.slice(0, at)))
    let branch = root
    for (const name of path) branch = childOf(branch, name)
    branch.leaves.push({ text: decodePart(part.slice(at + 1)), isItem: false })
  }
  return root
}

/**
 * A value that must be JSON, as a tree.
 * @param what the name it stands at, for the sentence
 * @throws Fault `query_unreadable`
 */
export function branchOfJsonText(text: string, what: string): Branch {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Fault('query_unreadable', `the value of ${named(what)} is not the JSON it must be`, { cause: error })
  }
  return branchOfJson(json, 1)
}

/** Characters of a name that a sentence says again. */
const LONGEST_SAID = 64

/** A name of the query as it may stand in a sentence: shortened, in quotes. */
export function named(name: string): string {
  return JSON.stringify(name.length > LONGEST_SAID ? `${name.slice(0, LONGEST_SAID)}...` : name)
}

/** The name of a column in a list of names; undefined where something else stands there. */
export function nameIn(leaf: Leaf): string | undefined {
  if ('text' in leaf) return leaf.text
  return typeof leaf.json === 'string' ? leaf.json : undefined
}

/** Whether it is the name of an element of a list: `a[]`, `a[0]`. */
export function isIndex(name: string): boolean {
  return /^\d{0,5}$/.test(name)
}

function branchOfJson(json: unknown, level: number): Branch {
  if (level > MOST_LEVELS) throw new Fault('query_unreadable', `JSON in the query is nested deeper than ${MOST_LEVELS}`)
  const branch = newBranch(Array.isArray(json))
  if (Array.isArray(json))
    for (const [at, item] of json.entries()) {
      if (isScalar(item)) branch.leaves.push({ json: item, isItem: true })
      else branch.children.set(String(at), branchOfJson(item, level + 1))
    }
  else if (isScalar(json)) branch.leaves.push({ json, isItem: false })
  else
    for (const [name, value] of Object.entries(json as object))
      branch.children.set(name, branchOfJson(value, level + 1))
  return branch
}

function isScalar(json: unknown): json is null | boolean | number | string {
  return json === null || typeof json !== 'object'
}

function newBranch(isList: boolean): Branch {
  return { leaves: [], children: new Map(), isList }
}

function childOf(branch: Branch, name: string): Branch {
  let child = branch.children.get(name)
  if (child === undefined) {
    child = newBranch(false)
    branch.children.set(name, child)
  }
  return child
}

/** `_or[0][_gt][id]` as its four names. */
function pathOf(name: string): string[] {
  const open = name.indexOf('[')
  if (open < 0 && name !== '') return [name]
  const path = [name.slice(0, open)]
  let at = open
  while (open > 0 && at < name.length) {
    const close = name.indexOf(']', at)
    if (name[at] !== '[' || close < 0) break
    const inner = name.slice(at + 1, close)
    if (inner.includes('[')) break
    path.push(inner)
    at = close + 1
  }
  if (open <= 0 || at < name.length) throw new Fault('query_unreadable', `${named(name)} is no name of a parameter`)
  if (path.length > MOST_LEVELS)
    throw new Fault('query_unreadable', `${named(name)} has more than ${MOST_LEVELS - 1} brackets`)
  return path
}
