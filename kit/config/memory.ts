/** How much memory a daemon may need: the sum of its rows, and the limit in its unit. */
import type { TObject } from 'typebox'
import { type Amount, type MemoryPlan, type MemoryRow, MIB, type Setting } from '../pure/memory-plan.ts'
import { schemaTables } from './load.ts'

/** A memory row with its figures. */
export interface MemoryLine {
  what: string
  /** What the row is counted per, and the bytes of one; undefined if there is one for the whole daemon. */
  of: string | undefined
  eachBytes: number | undefined
  allBytes: number
  /** Undefined if only measured. */
  shownBy: string | undefined
  /** Names of the settings it depends on. */
  settings: readonly string[]
}

/** A memory plan with its figures. */
export interface MemorySum {
  lines: readonly MemoryLine[]
  /** Heap of the main thread, garbage included. */
  heapBytes: number
  allBytes: number
  tasks: Readonly<Record<string, number>>
  /** `MemoryMax` of the unit, in MiB. */
  memoryMaxMib: number
  tasksMax: number
}

/** `MemoryMax` is rounded up to steps, so that it does not change with each new row. */
const STEP_MIB = 32

/**
 * Node uses half of its memory limit for the heap of a thread. @source measured with Node 24.21 in a control group of
 * 640 MiB: 320 MiB, and 48 for young objects
 */
const HEAP_PART = 0.5

/** Allowance for short-lived threads of Node, V8 and libraries, such as one that resolves names. */
const SPARE_TASKS = 8

/** @throws Error if a row names an unknown setting, or one that is not a number */
export function sumOfMemory(plan: MemoryPlan, setting: Setting): MemorySum {
  const lines = plan.rows.map((row) => lineOf(row, setting))
  const sum = (of: readonly MemoryLine[]) => of.reduce((bytes, { allBytes }) => bytes + allBytes, 0)
  const living = sum(lines.filter((_, at) => plan.rows[at]?.isHeap))
  const garbage = measured('garbage that V8 has yet to collect', Math.ceil(living * plan.garbage) + plan.youngBytes)
  const all = [measured('Node, and the daemon itself', plan.idleBytes), ...lines, garbage]
  const heapBytes = living + garbage.allBytes
  const allBytes = sum(all)
  const tasks = Object.fromEntries(Object.entries(plan.tasks).map(([what, many]) => [what, numberOf(many, setting)]))
  const most = Math.max(allBytes, heapBytes / HEAP_PART)
  return {
    ...{ lines: all, heapBytes, allBytes, tasks },
    memoryMaxMib: Math.ceil(most / MIB / STEP_MIB) * STEP_MIB,
    tasksMax: Object.values(tasks).reduce((many, more) => many + more, SPARE_TASKS),
  }
}

/** The settings of a daemon with nothing configured. */
export function defaultSettings(schema: TObject): Setting {
  const tables = schemaTables(schema)
  return settingsOf((table, key) => tables[table]?.properties[key]?.default)
}

/** @param config checked settings, by table and key */
export function givenSettings(config: object): Setting {
  const tables = config as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  return settingsOf((table, key) => tables[table]?.[key])
}

function settingsOf(look: (table: string, key: string) => unknown): Setting {
  return (name) => {
    const [table = '', key = ''] = name.split('.')
    const value = look(table, key)
    if (typeof value !== 'number') throw new Error(`${name} is not a number among the settings`)
    return value
  }
}

function measured(what: string, allBytes: number): MemoryLine {
  return { what, of: undefined, eachBytes: undefined, allBytes, settings: [], shownBy: undefined }
}

function lineOf(row: MemoryRow, setting: Setting): MemoryLine {
  const settings = new Set<string>()
  const noted: Setting = (name) => {
    settings.add(name)
    return setting(name)
  }
  const eachBytes = row.each === undefined ? undefined : numberOf(row.each, noted)
  const allBytes =
    row.many === undefined ? numberOf(row.all, noted) : numberOf(row.each, noted) * numberOf(row.many, noted)
  const { what, of, shownBy } = row
  return { what, of, shownBy, eachBytes, allBytes: Math.ceil(allBytes), settings: [...settings] }
}

function numberOf(amount: Amount, setting: Setting): number {
  if (typeof amount === 'number') return amount
  return typeof amount === 'string' ? setting(amount) : amount(setting)
}
