/** What the roles of an account allow: the lines of `auth_role.rules`. */
import { nearestName } from '#kit/nearest.ts'
import type { Row } from './row.ts'

/** What a line may be about. */
export type RuleList = 'api' | 'ui' | 'socket'

/** The names of one list, of one role. `*` stands for every one. */
export interface NamesOfList {
  allow: ReadonlySet<string>
  deny: ReadonlySet<string>
}

/** The rules of one role, read. */
export interface RoleRules {
  lists: Readonly<Record<RuleList, NamesOfList>>
  /** Sentences about lines that say nothing, for whoever wrote them. Such a line neither allows nor denies. */
  faults: readonly string[]
}

const LISTS: readonly RuleList[] = ['api', 'ui', 'socket']

/** Functions that there are; others may be named for what is to come, as document 1 does with `delete_macro`. */
const FUNCTIONS = ['command', 'macro', 'query', 'delete_macro']

/** Told of one role. */
const MOST_FAULTS = 20

/** Characters of a word that a sentence says again. */
const LONGEST_QUOTED = 60

/**
 * Reads the rules of a role: `allow api command, macro, query`, `deny api delete_macro`, `allow ui 1, Ground floor`,
 * `allow socket *`, one a line; empty lines and those that begin with `#` say nothing. Names are split at commas only
 * and may hold blanks. Words and functions are the same in capitals; names of UIs are not.
 * @source document 1, Authentication 7
 */
export function parseRoleRules(text: string): RoleRules {
  const lists = { api: emptyNames(), ui: emptyNames(), socket: emptyNames() }
  const faults: string[] = []
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    const said = line.trim()
    if (said === '' || said.startsWith('#')) continue
    const fault = readLine(said, lists)
    const sentence = faults.length < MOST_FAULTS ? fault?.() : undefined
    if (sentence !== undefined) faults.push(`line ${index + 1}: ${sentence}`)
  }
  return { lists, faults }
}

const readAlready = new WeakMap<Row, RoleRules>()

/** The rules of a row of auth_role; read once for each row, since a row is never changed. */
export function rulesOf(role: Row): RoleRules {
  const known = readAlready.get(role)
  if (known !== undefined) return known
  const rules = parseRoleRules(typeof role.rules === 'string' ? role.rules : '')
  readAlready.set(role, rules)
  return rules
}

/**
 * Whether the roles together allow a function: one of them does, by name or `*`, and none denies it.
 * @param what in small letters
 * @source document 1, Authentication 7
 */
export function mayDo(roles: readonly Row[], list: 'api' | 'socket', what: string): boolean {
  const names = roles.map((role) => rulesOf(role).lists[list])
  return !names.some(({ deny }) => holds(deny, what)) && names.some(({ allow }) => holds(allow, what))
}

/**
 * The UIs that the roles together allow; those that are switched off are none. A name of digits is an id and no name.
 * @param uis rows of `ui`
 * @source document 1, POST /api/control, scope_denied
 */
export function uisOf(roles: readonly Row[], uis: readonly Row[]): readonly Row[] {
  const names = roles.map((role) => rulesOf(role).lists.ui)
  const isNamed = (set: ReadonlySet<string>, ui: Row) => set.has('*') || uiNames(ui).some((name) => set.has(name))
  return uis.filter(
    (ui) =>
      ui.enabled !== false &&
      !names.some(({ deny }) => isNamed(deny, ui)) &&
      names.some(({ allow }) => isNamed(allow, ui)),
  )
}

/** What a line may call a UI: its id, and its name unless that is of digits. */
export function uiNames({ id, name }: Row): string[] {
  return typeof name === 'string' && !isDigits(name) ? [String(id), name] : [String(id)]
}

/** Whether a session of these roles is elevated: one of them has Elevated on. @source document 1, POST /api/control */
export function isElevated(roles: readonly Row[]): boolean {
  return roles.some((role) => role.elevated === true)
}

interface NamesBeingRead {
  allow: Set<string>
  deny: Set<string>
}

function emptyNames(): NamesBeingRead {
  return { allow: new Set(), deny: new Set() }
}

/** Says what is wrong with a line: only where somebody will read it, since a text may be nothing but rubbish. */
type LineFault = () => string | undefined

function readLine(said: string, lists: Record<RuleList, NamesBeingRead>): LineFault | undefined {
  const [, verb = '', list = '', rest = ''] = /^(\S+)(?:\s+(\S+))?(?:\s+(.*))?$/s.exec(said) ?? []
  const verbKey = ['allow', 'deny'].find((one) => one === verb.toLowerCase()) as 'allow' | 'deny' | undefined
  if (verbKey === undefined) return () => unknown(verb, 'allow or deny', ['allow', 'deny'])
  const listKey = LISTS.find((one) => one === list.toLowerCase())
  if (listKey === undefined) return () => unknown(list, 'api, ui or socket', LISTS)
  const names = rest
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) return () => `names nothing to ${verbKey}`
  for (const name of names) lists[listKey][verbKey].add(listKey === 'ui' ? plainId(name) : name.toLowerCase())
  return listKey === 'api' ? () => misspelt(names) : undefined
}

function unknown(seen: string, expected: string, known: readonly string[]): string {
  const near = nearestName(seen, known)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return `has ${JSON.stringify(seen.slice(0, LONGEST_QUOTED))}, expected ${expected}${hint}`
}

function misspelt(names: readonly string[]): string | undefined {
  for (const name of names) {
    const near = nearestName(name, FUNCTIONS)
    if (near !== undefined && near !== name.toLowerCase())
      return `names ${JSON.stringify(name.slice(0, LONGEST_QUOTED))}; did you mean ${near}?`
  }
  return undefined
}

function holds(names: ReadonlySet<string>, what: string): boolean {
  return names.has('*') || names.has(what)
}

function isDigits(text: string): boolean {
  return /^\d+$/.test(text)
}

/** `007` is the id 7. */
function plainId(name: string): string {
  return isDigits(name) ? name.replace(/^0+(?=\d)/, '') : name
}
