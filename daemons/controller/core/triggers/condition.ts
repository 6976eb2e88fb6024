/** The condition of a trigger on an attribute: when it comes to hold, for how long, and when it is over. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { isObject, type Json } from '../json.ts'
import { holds, numberOf, type Op, opOf } from '../macros/values.ts'

// The states of a condition: state x event -> next state.

/**
 * - `unseen` its attribute has not been looked at since the start
 * - `ready` it does not hold
 * - `pending` it holds, and has to go on holding for its `for_ms`
 * - `fired` it holds and its macro was started already, or it held at the start
 */
export type ConditionState = 'unseen' | 'ready' | 'pending' | 'fired'

/**
 * - `holds` it holds
 * - `held` it holds at the first look and has no `for_ms`: nobody saw it begin
 * - `passed` it has held for its `for_ms`
 * - `ended` it holds no more, its hysteresis included
 */
export type ConditionEvent = 'holds' | 'held' | 'passed' | 'ended'

/** A pair that is not listed does not change the state. */
export const conditionStateTable: Readonly<Record<ConditionState, Partial<Record<ConditionEvent, ConditionState>>>> = {
  unseen: { holds: 'pending', held: 'fired', ended: 'ready' },
  ready: { holds: 'pending' },
  pending: { passed: 'fired', ended: 'ready' },
  fired: { ended: 'ready' },
}

/** @returns the state after the event; unchanged if the table has no such pair */
export function nextConditionState(state: ConditionState, event: ConditionEvent): ConditionState {
  return conditionStateTable[state][event] ?? state
}

// The condition itself, as in the column `condition`.

export interface Condition {
  readonly op: Op
  readonly value: Json
  /** How far a number has to come back before it counts as over. */
  readonly hysteresis: number
  readonly forMs: number
}

const KEYS = ['op', 'value', 'hysteresis', 'for_ms']

/** Operators that take numbers, and on which side the hysteresis lies. */
const SIDES: ReadonlyMap<Op, 1 | -1> = new Map([
  ['gt', -1],
  ['gte', -1],
  ['lt', 1],
  ['lte', 1],
])

/**
 * @param json null for a trigger that fires with every change
 * @throws Fault `trigger_invalid`
 */
export function readCondition(json: Json, longestMs: number): Condition | undefined {
  if (json === null) return undefined
  if (!isObject(json)) throw invalid('is not an object such as {"op": ">", "value": 26}')
  for (const key of Object.keys(json))
    if (!KEYS.includes(key)) {
      const near = nearestName(key, KEYS)
      throw invalid(`does not know ${JSON.stringify(key)}${near === undefined ? '' : `; the nearest is ${near}`}`)
    }
  const op = opOf(json.op ?? 'eq')
  if (op === undefined) throw invalid('has an op that is none of eq, ne, lt, lte, gt, gte, in, contains')
  const { value, hysteresis = 0, for_ms: forMs = 0 } = json
  if (value === undefined) throw invalid('has no value to compare with')
  if (SIDES.has(op) && typeof numberOf(value) !== 'number') throw invalid('compares by order with what is no number')
  if (typeof hysteresis !== 'number' || hysteresis < 0 || (hysteresis > 0 && !SIDES.has(op)))
    throw invalid('has a hysteresis that is no number from 0 up, or an op that takes none')
  if (typeof forMs !== 'number' || forMs < 0 || forMs > longestMs)
    throw invalid(`has a for_ms that is no number from 0 to ${longestMs}`)
  return { op, value, hysteresis, forMs }
}

/** @returns undefined within the hysteresis, or for a text where numbers are compared: neither is known then */
export function judge({ op, value, hysteresis }: Condition, now: Json): 'holds' | 'ended' | undefined {
  const side = SIDES.get(op)
  if (side === undefined) return holds(now, op, value) ? 'holds' : 'ended'
  if (numberOf(now) === undefined) return undefined
  if (holds(now, op, value)) return 'holds'
  const border = Number(numberOf(value)) + side * hysteresis
  return holds(now, op, border) ? undefined : 'ended'
}

function invalid(what: string): Fault {
  return new Fault('trigger_invalid', `condition ${what}`)
}
