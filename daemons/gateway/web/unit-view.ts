/** One unit as the page shows it: what the gateway counts of it, and what was seen in the frames of the last minute. */
import type { Lit } from '#kit/web/lamp.ts'
import { count, sinceText, timeOf } from '#kit/web/numbers.ts'
import type { UnitState } from '../core/modbus/unit-health.ts'
import type { UnitView as BusUnit } from '../core/modbus/units.ts'
import type { Unit } from './bus.ts'
import type { When } from './verdicts.ts'

/** A unit. */
export interface UnitView {
  unitId: number
  state: UnitState
  /** Null where the gateway counts nothing by unit. */
  bus: BusUnit | null
  /** Null where no frame of it was seen in the last minute. */
  seen: Unit | null
}

/** Units by number: those the gateway knows, else those the frames show. @param bus null where it counts none */
export function unitViews(bus: readonly BusUnit[] | null, seen: readonly Unit[]): UnitView[] {
  const frames = new Map(seen.map((unit) => [unit.unit, unit]))
  if (bus !== null)
    return bus.map((unit) => ({
      unitId: unit.unitId,
      state: unit.state,
      bus: unit,
      seen: frames.get(unit.unitId) ?? null,
    }))
  return seen.map((unit) => ({ unitId: unit.unit, state: seenState(unit), bus: null, seen: unit }))
}

function seenState(unit: Unit): UnitState {
  if (unit.isWell) return 'well'
  if (unit.late > 0) return 'slow'
  return unit.answers > unit.misses ? 'noisy' : 'silent'
}

const LITS: Readonly<Record<UnitState, Lit>> = {
  unknown: 'off',
  well: 'ok',
  slow: 'warn',
  noisy: 'warn',
  failing: 'warn',
  silent: 'fault',
  probing: 'busy',
}

/** Its lamp: a unit that answers with exceptions is not quite well. */
export function unitLit(view: UnitView): Lit {
  return view.state === 'well' && (view.seen?.exceptions ?? 0) > 0 ? 'warn' : LITS[view.state]
}

/** Its state in a word or three; a silent one says when it is asked again. */
export function unitWord(view: UnitView, { nowMs, zone }: When): string {
  const { bus, seen, state } = view
  if (state === 'well' && seen && seen.exceptions > 0) return `${count(seen.exceptions)} refused`
  const next = bus?.nextTryAt ?? null
  if (state === 'silent' && next !== null && next > nowMs) return `silent, asked at ${timeOf(next, zone)}`
  if (state === 'silent' && bus?.stateSince) return `silent since ${sinceText(bus.stateSince, nowMs, zone)}`
  if (state === 'noisy' && bus) return noiseShort(bus.lately)
  return {
    unknown: 'not asked yet',
    well: 'answers',
    slow: 'too late',
    noisy: 'misses some',
    failing: 'no answer yet',
    silent: 'silent',
    probing: 'asked again',
  }[state]
}

/** `16 of 100 damaged`; `bad` where it is of several kinds, which its row names. */
function noiseShort({ damaged, exchanges, missing, twice }: BusUnit['lately']): string {
  const kinds: [number, string][] = [
    [damaged, 'damaged'],
    [missing, 'missing'],
    [twice, 'twice'],
  ]
  const found = kinds.filter(([number]) => number > 0)
  const bad = found.reduce((all, [number]) => all + number, 0)
  return `${bad} of ${exchanges} ${found.length === 1 ? found[0]?.[1] : 'bad'}`
}

/** Its usual reply time: that of the last minute, else since it was opened; null before the first reply. */
export function replyMs(view: UnitView): number | null {
  return view.seen?.middleMs ?? view.bus?.latencyMs?.p50 ?? null
}
