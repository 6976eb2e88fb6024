/** Steps of a macro in the editor: from rows to the fields of a form and back, and what a step does in words. */
import type { Values } from '#kit/web/form.ts'
import type { Json } from '../core/json.ts'
import type { RowNames, StepWish } from '../core/macros/editing.ts'
import * as texts from './texts.ts'

type Fields = { readonly [key: string]: Json }
/** Fields of which some may be left out. */
type Said = { readonly [key: string]: Json | undefined }

/** A step's place among the others. Its fields stand in the form under `key`. */
export interface StepNode {
  readonly key: string
  /** Its row; null for a new one, and in a branch. */
  readonly id: number | null
  /** Keys of its args, each with a name and a value. */
  readonly args: readonly string[]
  /** Lists of steps that run at once. */
  readonly branches: readonly StepList[]
}
export type StepList = readonly StepNode[]

/** What a step may be, in the order in which it is offered. */
export const STEP_TYPES = [
  'command',
  'delay',
  'wait',
  'condition',
  'set',
  'macro',
  'notify',
  'parallel',
  'stop',
] as const

let made = 0

/** A key that no other step or arg has. */
export function freshKey(): string {
  made += 1
  return `s${made}`
}

// Values: numbers, yes and no, and JSON stand as they are; a text that looks like one of them stands in quotes.

export function textOfValue(value: Json | undefined): string {
  if (typeof value !== 'string') return value === undefined ? '' : JSON.stringify(value)
  return typeof valueOfText(value) === 'string' && !value.startsWith('"') && value.trim() === value
    ? value
    : JSON.stringify(value)
}

export function valueOfText(text: string): Json {
  const trimmed = text.trim()
  try {
    return JSON.parse(trimmed) as Json
  } catch {
    return trimmed
  }
}

function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTemplate(value: Json | undefined): boolean {
  return typeof value === 'string' && value.includes('${args.')
}

// Opening: a step whose args no field can hold is edited as JSON.

/** The steps of a macro as a tree, and the fields of all of them. */
export function openSteps(steps: readonly StepWish[], names: RowNames): { tree: StepList; values: Values } {
  const values: Values = {}
  return { tree: steps.map((step) => opened({ ...step }, names, values)), values }
}

function opened(step: Said, names: RowNames, into: Values): StepNode {
  const key = freshKey()
  const own: Record<string, string | boolean> = {}
  const node = fill({ key, own, names, into }, straightened(step))
  const isWhole = sameJson(contentOf(node, { ...into, ...prefixed(key, own) }), straightened(step))
  const args = step.args ?? null
  if (!isWhole) Object.assign(own, { json: JSON.stringify(args, null, 1), isJson: true })
  Object.assign(into, prefixed(key, own))
  return { ...node, id: typeof step.id === 'number' ? step.id : null }
}

function prefixed(key: string, own: Values): Values {
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [`${key}.${name}`, value]))
}

/** One spelling of what may be spelled in several ways: a literal target is an id or a name in `zone_id` or `device_id`. */
function straightened(step: Said): Fields {
  const { type = 'command', zone_id = null, device_id = null, command = null, on_error, retries } = step
  const isRetried = on_error === 'retry'
  const tries = { on_error: on_error ?? 'stop', retries: isRetried ? (retries ?? 1) : 0 }
  const args = straightArgs(String(type), isObject(step.args) ? step.args : {})
  const base = { type, zone_id, device_id, command, ...tries, args }
  if (type !== 'command' || zone_id !== null || device_id !== null) return base
  const { zone_id: zone = null, device_id: device = null, ...rest } = args
  if ((zone === null && device === null) || isTemplate(zone) || isTemplate(device)) return base
  return { ...base, zone_id: zone, device_id: device, args: rest }
}

function straightArgs(type: string, args: Fields): Fields {
  if (type === 'parallel' && Array.isArray(args.steps)) {
    const lists = (args.steps as readonly Json[]).map((entry) => (Array.isArray(entry) ? entry : [entry]))
    return {
      ...args,
      steps: lists.map((list) => list.map((each: Json) => (isObject(each) ? straightened(each) : each))),
    }
  }
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]): [string, Json][] => {
      if (USUAL.has(`${type} ${name} ${JSON.stringify(value)}`)) return []
      if (name === 'to' && Array.isArray(value) && value.length === 1) return [[name, value[0] as Json]]
      const isName = type === 'macro' ? name === 'macro' : name === 'zone' || name === 'device'
      return [[isName && !isTemplate(value) ? `${name}_id` : name, value]]
    }),
  )
}

/** What holds without being said. */
const USUAL: ReadonlySet<string> = new Set([
  'wait op "eq"',
  'condition op "eq"',
  'condition else "stop"',
  'stop failed false',
  'macro args {}',
])

interface Filling {
  key: string
  own: Record<string, string | boolean>
  names: RowNames
  into: Values
}

function fill({ key, own, names, into }: Filling, step: Fields): StepNode {
  const args = isObject(step.args) ? step.args : {}
  const type = String(step.type)
  Object.assign(own, { type, on_error: String(step.on_error), retries: String(step.retries) })
  Object.assign(own, { isJson: false, json: '', command: typeof step.command === 'string' ? step.command : '' })
  const target = { zone_id: step.zone_id, device_id: step.device_id, ...(type === 'macro' ? {} : targetIn(args)) }
  Object.assign(own, placeOf(target, names))
  const given = type === 'macro' ? (isObject(args.args) ? args.args : {}) : type === 'command' ? args : {}
  const pairs = Object.entries(given).filter(([name]) => type === 'macro' || !TARGETS.has(name))
  const keys = pairs.map(([name, value]) => {
    const arg = freshKey()
    Object.assign(own, { [`${arg}.name`]: name, [`${arg}.value`]: textOfValue(value) })
    return arg
  })
  Object.assign(own, plainFields(type, args, names))
  const branches = type === 'parallel' && Array.isArray(args.steps) ? (args.steps as readonly Json[]) : []
  const lists = branches.map((branch) => (Array.isArray(branch) ? branch : [branch]) as readonly Fields[])
  return { key, id: null, args: keys, branches: lists.map((list) => list.map((each) => opened(each, names, into))) }
}

const TARGETS: ReadonlySet<string> = new Set(['zone_id', 'zone', 'device_id', 'device'])

function targetIn(args: Fields): Fields {
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => TARGETS.has(name) && value !== null))
}

/** `by` is the key under which a reference to an arg stands; `known` the id behind the name that is shown. */
function placeOf(target: Said, names: RowNames): Values {
  const found = Object.entries(target).find(([, value]) => value !== null && value !== undefined)
  if (found === undefined) return { kind: '', place: '', by: '', known: '' }
  const [by, value] = found
  const kind = by.startsWith('zone') ? 'zone' : 'device'
  const name = typeof value === 'number' ? names[kind][value] : undefined
  const place = name ?? String(value)
  return { kind, place, by, known: typeof value === 'number' ? `${value} ${place}` : '' }
}

function plainFields(type: string, args: Fields, names: RowNames): Values {
  const said = (name: string): string => textOfValue(args[name])
  switch (type) {
    case 'delay':
      return { ms: said('ms'), spread_ms: said('spread_ms') }
    case 'wait':
    case 'condition': {
      const reads = args.field === undefined ? 'attribute' : 'field'
      const skip = isObject(args.else) ? textOfValue(args.else.skip) : ''
      const op = textOfValue(args.op ?? 'eq')
      return { reads, read: textOfValue(args[reads]), op, value: said('value'), timeout_ms: said('timeout_ms'), skip }
    }
    case 'set':
      return { attribute: said('attribute'), value: said('value') }
    case 'macro': {
      const { macro_id: id, macro } = args
      const name = typeof id === 'number' ? names.macro[id] : undefined
      const shown = name ?? textOfValue(id ?? macro)
      return { macro: shown, known: typeof id === 'number' ? `${id} ${shown}` : '' }
    }
    case 'notify':
      return {
        text: said('text'),
        to: Array.isArray(args.to) ? args.to.join(', ') : said('to'),
        subject: said('subject'),
      }
    case 'stop':
      return { reason: said('reason'), failed: args.failed === true }
    default:
      return {}
  }
}

// Back to rows.

/** All steps as rows, in order. @throws StepJsonFault */
export function stepsOf(tree: StepList, values: Values): StepWish[] {
  return tree.map((node) => ({ ...(node.id === null ? {} : { id: node.id }), ...contentOf(node, values) }))
}

/** What is wrong with the JSON of a step, at its field. */
export class StepJsonFault extends Error {
  readonly field: string

  constructor(field: string, reason: string) {
    super(texts.notJson(reason))
    this.field = field
  }
}

function contentOf(node: StepNode, values: Values): Fields & { readonly type: string } {
  const at = (name: string): string => String(values[`${node.key}.${name}`] ?? '')
  const type = at('type')
  const retries = at('on_error') === 'retry' ? valueOfText(at('retries')) : 0
  const base = { type, zone_id: null, device_id: null, command: null, on_error: at('on_error'), retries }
  if (values[`${node.key}.isJson`] === true)
    return { ...base, ...columnsOf(type, at), args: parsed(node.key, at('json')) }
  return { ...base, ...columnsOf(type, at), args: argsOf(node, type, values, at) }
}

type At = (name: string) => string

function columnsOf(type: string, at: At): Fields {
  if (type !== 'command') return {}
  const column = isTemplate(at('place')) ? {} : targetOf(at)
  return { command: at('command') === '' ? null : at('command'), ...column }
}

function parsed(key: string, text: string): Json {
  try {
    return text.trim() === '' ? null : (JSON.parse(text) as Json)
  } catch (error) {
    throw new StepJsonFault(`${key}.json`, (error as Error).message)
  }
}

/** `zone_id` or `device_id` with an id or a name; a reference to an arg under the key that it had. */
function targetOf(at: At): Fields {
  const [kind, place] = [at('kind'), at('place').trim()]
  if (kind === '' || place === '') return {}
  if (isTemplate(place)) return { [at('by').startsWith(kind) ? at('by') : kind]: place }
  return { [`${kind}_id`]: idOr(at('known'), place) }
}

function idOr(known: string, shown: string): Json {
  const [id = ''] = known.split(' ', 1)
  return known !== '' && known === `${id} ${shown}` ? Number(id) : shown
}

function argsOf(node: StepNode, type: string, values: Values, at: At): Json {
  const given = (names: readonly string[]): Fields =>
    Object.fromEntries(names.filter((name) => at(name).trim() !== '').map((name) => [name, valueOfText(at(name))]))
  const pairs = Object.fromEntries(
    node.args
      .map((arg): [string, Json] => [at(`${arg}.name`).trim(), valueOfText(at(`${arg}.value`))])
      .filter(([name]) => name !== ''),
  )
  switch (type) {
    case 'command':
      return { ...(isTemplate(at('place')) ? targetOf(at) : {}), ...pairs }
    case 'delay':
      return given(['ms', 'spread_ms'])
    case 'wait':
      return { ...testOf(at), ...given(['timeout_ms']) }
    case 'condition':
      return { ...testOf(at), ...(at('skip').trim() === '' ? {} : { else: { skip: valueOfText(at('skip')) } }) }
    case 'set':
      return { ...targetOf(at), ...given(['attribute']), value: valueOfText(at('value')) }
    case 'macro':
      return { ...macroOf(at), ...(node.args.length > 0 ? { args: pairs } : {}) }
    case 'notify':
      return { ...given(['text', 'subject']), ...recipientsOf(at('to')) }
    case 'parallel':
      return { steps: node.branches.map((branch) => branch.map((step) => contentOf(step, values))) }
    default:
      return { ...given(['reason']), ...(values[`${node.key}.failed`] === true ? { failed: true } : {}) }
  }
}

function testOf(at: At): Fields {
  const op: Fields = at('op') === '' || at('op') === 'eq' ? {} : { op: at('op') }
  return {
    ...targetOf(at),
    [at('reads') || 'attribute']: valueOfText(at('read')),
    ...op,
    value: valueOfText(at('value')),
  }
}

function macroOf(at: At): Fields {
  const said = at('macro').trim()
  if (said === '') return {}
  return isTemplate(said) ? { macro: said } : { macro_id: idOr(at('known'), said) }
}

function recipientsOf(said: string): Fields {
  const names = said.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]))
  if (names.length === 0) return {}
  return { to: names.length === 1 ? (names[0] as string) : names }
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, inOrder) === JSON.stringify(other, inOrder)
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

// Faults: the daemon names them by place, the form by key.

/** `steps[2].args.steps[0][1].zone_id` is the field `place` of that step. */
export function fieldOfFault(path: string, tree: StepList, values: Values): string {
  const head = /^steps\[(\d+)\]/.exec(path)
  if (!head) return path
  let node = tree[Number(head[1])]
  let rest = path.slice(head[0].length)
  for (let inner = INNER.exec(rest); inner && node; inner = INNER.exec(rest)) {
    node = node.branches[Number(inner[1])]?.[Number(inner[2] ?? 0)]
    rest = rest.slice(inner[0].length)
  }
  if (!node) return 'steps'
  if (values[`${node.key}.isJson`] === true) return `${node.key}.json`
  const last = rest.split('.').at(-1) ?? ''
  const field = last === 'zone_id' || last === 'device_id' ? 'place' : last === 'macro_id' ? 'macro' : last
  return `${node.key}.${`${node.key}.${field}` in values ? field : 'type'}`
}

const INNER = /^\.args\.steps\[(\d+)\](?:\[(\d+)\])?/

// Changes of the tree.

/** A step whose fields are replaced by the JSON of its args, to be edited as such. */
export function withJson(node: StepNode, values: Values): Values {
  const { args = null } = contentOf(node, values)
  return { ...values, [`${node.key}.isJson`]: true, [`${node.key}.json`]: JSON.stringify(args, null, 1) }
}

/**
 * A step that was edited as JSON, in fields again.
 * @returns undefined if no fields can hold it. @throws StepJsonFault
 */
export function withFields(node: StepNode, values: Values): { node: StepNode; values: Values } | undefined {
  const into: Values = {}
  // The name that is shown for the id stays.
  const [id = '', ...name] = String(values[`${node.key}.known`] ?? '').split(' ')
  const names = { [id]: name.join(' ') }
  const fresh = opened(contentOf(node, values), { zone: names, device: names, macro: names }, into)
  if (into[`${fresh.key}.isJson`] === true) return undefined
  return { node: { ...fresh, id: node.id }, values: { ...values, ...into } }
}

/** A new step of a type, with empty fields. */
export function newStep(type: string): { node: StepNode; values: Values } {
  const key = freshKey()
  const own: Record<string, string | boolean> = {}
  const args: Fields = type === 'parallel' ? { steps: [[], []] } : {}
  const step = { type, zone_id: null, device_id: null, command: null, on_error: 'stop', retries: 0, args }
  const into: Values = {}
  const node = fill({ key, own, names: { zone: {}, device: {}, macro: {} }, into }, step)
  const kind = type === 'command' ? 'zone' : ''
  return { node, values: { ...into, ...prefixed(key, { ...own, kind }) } }
}

/** Changes the list that holds a step, wherever it is. @param change gets the list and the step's index */
export function changeList(tree: StepList, key: string, change: (list: StepList, at: number) => StepList): StepList {
  const at = tree.findIndex((node) => node.key === key)
  if (at >= 0) return change(tree, at)
  return tree.map((node) => ({ ...node, branches: node.branches.map((branch) => changeList(branch, key, change)) }))
}

export function changeStep(tree: StepList, key: string, change: (node: StepNode) => StepNode): StepList {
  return changeList(tree, key, (list, at) => list.map((node, n) => (n === at ? change(node) : node)))
}

export function movedBy(list: StepList, at: number, by: number): StepList {
  const to = at + by
  if (to < 0 || to >= list.length) return list
  const moved = [...list]
  const [node] = moved.splice(at, 1)
  if (node) moved.splice(to, 0, node)
  return moved
}

/** Names of args that the steps refer to. */
export function argsReferred(values: Values): string[] {
  const names = Object.values(values).flatMap((value) =>
    typeof value === 'string' ? [...value.matchAll(/\$\{args\.([^}]+)\}/g)].map(([, name = '']) => name) : [],
  )
  return [...new Set(names)].sort()
}
