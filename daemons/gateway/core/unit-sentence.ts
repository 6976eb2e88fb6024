/** What the change of a unit's state means, in a sentence. */
import { durationText } from '#kit/bytes/words.ts'
import { noiseRemedy, noiseText } from '../wire/noise-words.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import type { UnitState } from './unit-state-table.ts'
import type { Lately } from './unit-window.ts'

export interface UnitChange {
  state: UnitState
  previous: UnitState
  settings: ModbusSettings
  /** In a row without an answer. */
  misses: number
  lately: Lately
}

/** As `unit` events carry it. */
export function unitSentence(unitId: number, { state, previous, settings, misses, lately }: UnitChange): string {
  const unit = `Unit ${unitId}`
  switch (state) {
    case 'well':
      if (previous === 'silent') return `${unit} answers again.`
      if (previous === 'slow') return `${unit} answered in time for ${durationText(settings.slow_unit_ms)}.`
      return previous === 'noisy' ? `${unit} is well again: ${noiseText(lately)}.` : `${unit} answers.`
    case 'slow':
      return `${unit} answered too late: it takes longer than ${settings.response_timeout_ms} ms, settings.response_timeout_ms.`
    case 'noisy':
      return `${unit} is noisy: ${noiseText(lately)}. ${noiseRemedy(lately)}`
    case 'failing':
      return `${unit} has not answered yet.`
    case 'silent':
      if (settings.mode === 'listen') return `${unit} left ${misses} requests in a row without an answer that holds.`
      return `${unit} left ${misses} requests in a row without an answer that holds. Polls and background work wait until it answers a probe.`
    default:
      return `${unit} is ${state}.`
  }
}
