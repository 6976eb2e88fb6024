/** The overrides of a zone: for each verb another target and command, as one JSON value. */
import { nearestName } from '#kit/nearest.ts'
import { foldedName } from '../control/reading.ts'
import { TARGET_KEYS } from '../control/target.ts'
import { isObject, objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { Table } from '../schema/column.ts'
import { tableOf } from '../schema/registry.ts'
import { quoted } from './site-faults.ts'
import { kindOf } from './site-value.ts'

/** Keys of an override that name a row, and the table they name it in. */
const TARGETS = new Map([
  ['zone_id', 'zone'],
  ['device_id', 'device'],
])

/** One reference inside the overrides of a zone. */
export interface OverrideTarget {
  /** `.overrides.on.zone_id` */
  path: string
  table: Table
  said: Json
}

/** All references inside overrides; what has another form than overrides have is passed over. */
export function overrideTargets(overrides: Json): OverrideTarget[] {
  return entriesOf(overrides).flatMap(([verb, override]) =>
    entriesOf(override).flatMap(([key, said]) => {
      const table = tableOf(TARGETS.get(key) ?? '')
      return table === undefined || said === null ? [] : [{ path: `.overrides.${verb}.${key}`, table, said }]
    }),
  )
}

/** The same overrides with each reference put through `resolve`, which answers null for one that is wrong. */
export function withTargets(overrides: Json, resolve: (target: OverrideTarget) => Json): Json {
  const targets = new Map(overrideTargets(overrides).map((target) => [target.path, target]))
  return objectOf(
    entriesOf(overrides).map(([verb, override]) => [
      verb,
      objectOf(
        entriesOf(override).map(([key, said]) => {
          const target = targets.get(`.overrides.${verb}.${key}`)
          return [key, target === undefined ? said : resolve(target)]
        }),
      ),
    ]),
  )
}

/** What is wrong with the form of overrides, by path. @source the tables: overrides json {verb: {zone_id?, device_id?, command, args}} */
export function overrideFaults(overrides: Json): { path: string; sentence: string }[] {
  if (overrides === null) return []
  if (!isObject(overrides))
    return [{ path: '.overrides', sentence: `must be an object of verbs, is ${kindOf(overrides)}` }]
  const verbs = new Map<string, string>()
  return Object.entries(overrides).flatMap(([verb, override]) => {
    const path = `.overrides.${verb}`
    const name = foldedName(verb)
    const other = verbs.get(name)
    if (other !== undefined) return [{ path, sentence: `is the same verb as ${quoted(other)}` }]
    verbs.set(name, verb)
    if (!isObject(override)) return [{ path, sentence: `must be an object, is ${kindOf(override)}` }]
    return Object.entries(override).flatMap(([key, value]) => {
      const sentence = faultOfKey(key, value)
      return sentence === undefined ? [] : [{ path: `${path}.${key}`, sentence }]
    })
  })
}

const KEYS = [...TARGET_KEYS, 'command', 'args']

function faultOfKey(key: string, value: Json): string | undefined {
  if (!KEYS.includes(key)) {
    const near = nearestName(key, KEYS)
    return `an override has no such key${near === undefined ? '' : `; the nearest is ${quoted(near)}`}`
  }
  if (key === 'command' && typeof value !== 'string') return `must be text, is ${kindOf(value)}`
  if (key === 'args' && value !== null && !isObject(value)) return `must be an object, is ${kindOf(value)}`
  return undefined
}

function entriesOf(value: Json): [string, Json][] {
  return isObject(value) ? Object.entries(value) : []
}
