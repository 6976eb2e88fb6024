/** Macros as an administrator edits them: read with what waits, written as rows, tried out without a building. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { isList, isObject, isSameJson, type Json } from '../json.ts'
import { type Book, createBook, type Row } from '../site/book.ts'
import { browseRows, overtaken, type RowView } from '../site/browse.ts'
import { type Change, rowsAfter, type SiteRows } from '../site/changes.ts'
import { createMacroBook, readPlan, readSteps } from './plan.ts'
import { type SimulatedWorld, type Simulation, simulate } from './simulate.ts'
import { jsonChars, type MacroLimits, makeArgs } from './values.ts'

type Fields = { readonly [key: string]: Json }

/** The columns that define a step; `position` follows from its place. */
const STEP_COLUMNS = ['type', 'zone_id', 'device_id', 'command', 'args', 'on_error', 'retries'] as const

type StepColumns = { readonly [Column in (typeof STEP_COLUMNS)[number]]?: Json | undefined }

/** A step as it is edited. Targets may be names where they are no references to args. */
export type StepWish = StepColumns & {
  /** Its row; absent for a new one. */
  readonly id?: number | undefined
}

/** What somebody wants a macro to be. */
export interface MacroWish {
  /** Absent for a new one. */
  readonly id?: number
  /** Columns of `macro`; those that are absent stay as they are. */
  readonly values: Fields
  /** All of its steps, in order. */
  readonly steps: readonly StepWish[]
  /** What the editor was opened with: whatever is another by now was changed by somebody else. */
  readonly seen?: { readonly values: Fields; readonly steps: readonly StepWish[] }
}

/** What is wrong with one field: `name`, `steps[2].zone_id`, `steps[2].args.ms`. */
export interface MacroFault {
  readonly field: string
  readonly message: string
}

/** Rows for Apply All, unless there are faults. */
export interface MacroDraft {
  readonly id: number
  readonly rows: Readonly<Record<string, readonly Fields[]>>
  readonly remove: Readonly<Record<string, readonly number[]>>
  readonly faults: readonly MacroFault[]
}

/** A macro as its editor opens it. */
export interface OpenMacro {
  readonly macro: RowView
  readonly steps: readonly StepWish[]
  /** Of the zones, devices and macros that its steps refer to by id. */
  readonly names: RowNames
}

/** Names by table and id. */
export type RowNames = Readonly<Record<'zone' | 'device' | 'macro', Readonly<Record<string, string>>>>

/** The site as it will be after Apply All. */
export interface EditedSite {
  readonly book: Book
  readonly waiting: readonly Change[]
  /** An id for a new row. */
  freeId(table: string): number
}

// Reading.

/** A macro in the list. */
export interface ListedMacro {
  readonly id: number
  readonly name: string
  readonly description: string | null
  readonly enabled: boolean
  readonly elevated: boolean
  readonly steps: number
  readonly pending: RowView['pending']
  /** Why it cannot be run; null if it can. */
  readonly flaw: string | null
}

/** All macros, by name; those included that Apply All adds or removes. */
export function listMacros({ book, waiting }: EditedSite, limits: MacroLimits): ListedMacro[] {
  const { rows } = browseRows(book, waiting, { table: 'macro', limit: Number.MAX_SAFE_INTEGER }) ?? { rows: [] }
  const site = rowsAfter(book, waiting).rows
  const steps = Map.groupBy(site.get('macro_step')?.values() ?? [], ({ macro_id }) => macro_id)
  const changed = stepsWaiting(book, waiting)
  const lines = rows.map(({ id, name, pending, values }): ListedMacro => {
    const own = steps.get(id) ?? []
    const isChanged = pending === null && changed.has(id)
    return {
      ...{ id, name: name ?? String(id), pending: isChanged ? 'change' : pending, steps: own.length },
      ...{ description: textOf(values.description), enabled: values.enabled !== false },
      ...{ elevated: values.elevated === true, flaw: flawOf({ ...values, id }, own, limits) },
    }
  })
  return lines.sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Macros of which steps wait for Apply All. */
function stepsWaiting(book: Book, waiting: readonly Change[]): ReadonlySet<Json | undefined> {
  const own = waiting.filter(({ table }) => table === 'macro_step')
  return new Set(
    own.map((change) => (change.kind === 'add' ? change.row : book.row('macro_step', change.id))?.macro_id),
  )
}

function flawOf(macro: Row, steps: readonly Row[], limits: MacroLimits): string | null {
  const [fault] = faultOf('', () => readPlan(macro, steps, limits))
  return fault?.message ?? null
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** @returns undefined if there is no such macro, or Apply All removes it */
export function openMacro({ book, waiting }: EditedSite, id: number): OpenMacro | undefined {
  const macro = browseRows(book, waiting, { table: 'macro', id, limit: 1 })?.rows[0]
  if (macro === undefined || macro.pending === 'remove') return undefined
  const site = rowsAfter(book, waiting).rows
  const steps = stepsOf(site, id).map((row) => ({ id: row.id, ...contentOf(row) }))
  const pending = macro.pending ?? (stepsWaiting(book, waiting).has(id) ? 'change' : null)
  return { macro: { ...macro, pending }, steps, names: namesOf(site, steps) }
}

function stepsOf(site: SiteRows, macroId: number): Row[] {
  return [...(site.get('macro_step')?.values() ?? [])]
    .filter(({ macro_id }) => macro_id === macroId)
    .sort((one, other) => Number(one.position) - Number(other.position) || one.id - other.id)
}

function contentOf(row: StepColumns | Fields): Fields {
  return Object.fromEntries(STEP_COLUMNS.map((name) => [name, (row as StepColumns)[name] ?? null]))
}

/** The tables that keys of a step refer to. */
const TABLES = { zone_id: 'zone', device_id: 'device', macro_id: 'macro' } as const
type IdKey = keyof typeof TABLES

function isIdKey(key: string): key is IdKey {
  return Object.hasOwn(TABLES, key)
}

/** @param said anything that may hold `zone_id`, `device_id` or `macro_id`, such as steps or a trace */
export function namesOf(site: SiteRows, said: unknown): RowNames {
  const names: Record<'zone' | 'device' | 'macro', Record<string, string>> = { zone: {}, device: {}, macro: {} }
  const open: unknown[] = [said]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    for (const [key, value] of Object.entries(next)) {
      if (typeof value === 'object') open.push(value)
      if (!isIdKey(key) || typeof value !== 'number') continue
      const name = site.get(TABLES[key])?.get(value)?.name
      if (typeof name === 'string') names[TABLES[key]][value] = name
    }
  }
  return names
}

// Writing: names become ids, each step is read as a run would read it, and what somebody else has changed is refused.

/**
 * @returns the rows that make the macro what is wanted, as in a site file, and everything that is wrong with it
 */
export function draftMacro(site: EditedSite, wish: MacroWish, limits: MacroLimits): MacroDraft {
  const rows = rowsAfter(site.book, site.waiting).rows
  const id = wish.id ?? site.freeId('macro')
  const faults: MacroFault[] = refusedMeanwhile(site, rows, wish)
  const find = createFinder(rows)
  const steps = wish.steps.map((step, index) => idsIn(contentOf(step), `steps[${index}]`, { find, faults, limits }))
  if (faults.length === 0) faults.push(...planFaults(wish, steps, limits))
  const kept = new Set(wish.steps.flatMap((step) => step.id ?? []))
  const gone = stepsOf(rows, id).filter((row) => !kept.has(row.id))
  let free = site.freeId('macro_step')
  const own = steps.map((step, index) => ({
    ...contentOf(step),
    ...{ on_error: step.on_error ?? 'stop', retries: step.retries ?? 0 },
    ...{ id: wish.steps[index]?.id ?? free++, macro_id: id, position: index + 1 },
  }))
  return {
    id,
    rows: { macro: [{ ...wish.values, id }], ...(own.length > 0 ? { macro_step: own } : {}) },
    remove: gone.length > 0 ? { macro_step: gone.map((row) => row.id) } : {},
    faults,
  }
}

/** Columns of a macro are compared one by one; its steps are one program, and whole or not at all. */
function refusedMeanwhile(
  { book, waiting }: EditedSite,
  rows: SiteRows,
  { id, values, seen, steps: wanted }: MacroWish,
): MacroFault[] {
  if (id === undefined) return []
  const now = browseRows(book, waiting, { table: 'macro', id, limit: 1 })?.rows[0]
  const faults = overtaken(now, { table: 'macro', id, values, seen: seen?.values ?? {} })
  const before = (seen?.steps ?? []).map((step) => ({ id: step.id ?? null, ...contentOf(step) }))
  const steps = stepsOf(rows, id).map((row) => ({ id: row.id, ...contentOf(row) }))
  if (seen === undefined || isSameJson(before, steps)) return [...faults, ...strangeSteps(wanted, steps)]
  const message = 'Somebody else has changed the steps of this macro meanwhile. Open it again to see them.'
  return [...faults, { field: 'steps', message }]
}

/** A step of another macro would be taken away from it. */
function strangeSteps(wanted: readonly StepWish[], own: readonly { readonly id: number }[]): MacroFault[] {
  const ids = wanted.flatMap((step) => step.id ?? [])
  const isStrange = (id: number, at: number) => ids.indexOf(id) < at || !own.some((step) => step.id === id)
  if (!ids.some(isStrange)) return []
  return [{ field: 'steps', message: 'A step is not one of this macro, or stands there twice. Open it again.' }]
}

interface Naming {
  find: FindId
  faults: MacroFault[]
  limits: MacroLimits
}

/** The step with ids in place of names, at each place where a run expects an id. */
function idsIn(step: Fields, path: string, naming: Naming): Fields {
  try {
    // Measured first: its depth is bounded then.
    jsonChars(step, naming.limits.planChars)
  } catch (thrown) {
    naming.faults.push({ field: path, message: (thrown as Fault).message })
    return {}
  }
  return stepWithIds(step, path, naming)
}

function stepWithIds(step: Fields, path: string, naming: Naming): Fields {
  const named = keysWithIds(step, path, naming)
  const { args, type } = step
  if (!isObject(args)) return named
  const at = `${path}.args`
  return { ...named, args: type === 'parallel' ? branchesWithIds(args, at, naming) : argsWithIds(args, at, naming) }
}

function argsWithIds(args: Fields, path: string, naming: Naming): Fields {
  const named: Record<string, Json> = keysWithIds(args, path, naming)
  for (const side of ['left', 'right'] as const) {
    const value = args[side] ?? null
    if (isObject(value)) named[side] = keysWithIds(value, `${path}.${side}`, naming)
  }
  return named
}

function branchesWithIds(args: Fields, path: string, naming: Naming): Fields {
  const stepOf = (entry: Json, at: string): Json => (isObject(entry) ? stepWithIds(entry, at, naming) : entry)
  const callOf = (entry: Json, at: string): Json => (isObject(entry) ? keysWithIds(entry, at, naming) : entry)
  const { steps, macros } = args
  return {
    ...args,
    ...(isList(steps)
      ? {
          steps: steps.map((branch, at) => {
            const place = `${path}.steps[${at}]`
            return isList(branch) ? branch.map((entry, n) => stepOf(entry, `${place}[${n}]`)) : stepOf(branch, place)
          }),
        }
      : {}),
    ...(isList(macros) ? { macros: macros.map((entry, at) => callOf(entry, `${path}.macros[${at}]`)) } : {}),
  }
}

function keysWithIds(fields: Fields, path: string, { find, faults }: Naming): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]): [string, Json] => {
      if (!isIdKey(key)) return [key, value]
      const found = find(TABLES[key], value)
      if (typeof found !== 'string') return [key, found.id]
      faults.push({ field: `${path}.${key}`, message: found })
      return [key, value]
    }),
  )
}

/** @returns the id, or what is wrong; null and references to args stay as they are */
type FindId = (table: 'zone' | 'device' | 'macro', said: Json) => { readonly id: Json } | string

function createFinder(site: SiteRows): FindId {
  const byName = new Map<string, Map<Json | undefined, Row[]>>()
  const namedIn = (table: string) => {
    const known = byName.get(table) ?? Map.groupBy(site.get(table)?.values() ?? [], ({ name }) => name)
    byName.set(table, known)
    return known
  }
  return (table, said) => {
    if (said === null || (typeof said === 'string' && said.includes('${args.'))) return { id: said }
    const id = typeof said === 'string' && /^\d+$/.test(said) ? Number(said) : said
    if (typeof id === 'number') return site.get(table)?.has(id) ? { id } : `There is no ${table} ${id}.`
    const rows = namedIn(table).get(said) ?? []
    if (rows.length > 1) return `${rows.length} of the table ${table} have this name: give the id instead.`
    const [row] = rows
    if (row !== undefined) return { id: row.id }
    const near = nearestName(
      String(said),
      [...namedIn(table).keys()].filter((name) => typeof name === 'string'),
    )
    return `There is no ${table} of this name${near === undefined ? '' : `, the nearest is ${near}`}.`
  }
}

/** What a run would refuse, step by step, then as a whole. */
function planFaults({ values }: MacroWish, steps: readonly Fields[], limits: MacroLimits): MacroFault[] {
  const faults = steps.flatMap((step, index) => {
    const own = { ...contentOf(step), position: index + 1 }
    return faultOf(`steps[${index}]`, () => readSteps([own], limits))
  })
  if (faults.length > 0) return faults
  const row = { ...values, id: 0, enabled: true, name: '' }
  const whole = steps.map((step, index): Row => ({ ...contentOf(step), id: index, position: index + 1 }))
  return faultOf('', () => readPlan(row, whole, limits))
}

function faultOf(path: string, read: () => unknown): MacroFault[] {
  try {
    read()
    return []
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    if (thrown.code === 'macro_schema') return [{ field: 'args_schema', message: thrown.message }]
    const key = thrown.details?.key
    return [{ field: typeof key === 'string' ? `${path}.args.${key}` : path, message: thrown.message }]
  }
}

// Trying out: the macro as it is edited, in the building as it is now; nothing is sent.

/** What the macro would do. */
export interface TrialWish extends MacroWish {
  readonly args: Fields
  readonly waits: 'met' | 'expired'
}

/**
 * @param world the building as it is now
 * @throws Fault `macro_args`, `macro_value_size`, and those of `readPlan`
 */
export function tryMacro(
  site: EditedSite,
  { rows, id }: MacroDraft,
  { args, waits }: Pick<TrialWish, 'args' | 'waits'>,
  world: Omit<SimulatedWorld, 'book' | 'waits'>,
): Simulation {
  const after = rowsAfter(site.book, site.waiting).rows
  const scratch = createBook()
  const before = after.get('macro')?.get(id) ?? {}
  const macro = { enabled: true, name: '', ...before, ...rows.macro?.[0], id }
  scratch.replace('macro', [...rowsBut(after, 'macro', (row) => row.id === id), { ...macro, enabled: true }])
  const steps = (rows.macro_step ?? []).map((row) => ({ ...row, id: Number(row.id) }))
  scratch.replace('macro_step', [...rowsBut(after, 'macro_step', (row) => row.macro_id === id), ...steps])
  const book = createMacroBook(scratch, world.limits)
  const plan = book.plan(scratch.row('macro', id) as Row)
  return simulate(plan, makeArgs(Object.entries(args), world.limits.valueChars), { ...world, book, waits })
}

function rowsBut(site: SiteRows, table: string, isLeftOut: (row: Row) => boolean): Row[] {
  return [...(site.get(table)?.values() ?? [])].filter((row) => !isLeftOut(row))
}
