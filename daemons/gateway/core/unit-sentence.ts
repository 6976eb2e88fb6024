/** What the change of a unit's state means, in a sentence. */
import type { ModbusSettings } from './modbus-settings.ts'
import type { UnitState } from './unit-state-table.ts'

export interface UnitChange {
  state: UnitState
  previous: UnitState
  settings: ModbusSettings
}

/** As `unit` events carry it. */
export function unitSentence(unitId: number, { state, previous, settings }: UnitChange): string {
  const unit = `Unit ${unitId}`
  switch (state) {
    case 'well':
      if (previous === 'silent') return `${unit} answers again.`
      if (previous === 'slow') return `${unit} answered in time for ${settings.slow_unit_ms / 1000} s.`
      return previous === 'failing' ? `${unit} answers without fail again.` : `${unit} answers.`
    case 'slow':
      return `${unit} answered too late: it takes longer than ${settings.response_timeout_ms} ms, settings.response_timeout_ms.`
    case 'failing':
      return `${unit} left a request without an answer that holds.`
    case 'silent':
      if (settings.mode === 'listen')
        return `${unit} left ${settings.breaker_failures} requests in a row without an answer that holds.`
      return `${unit} left ${settings.breaker_failures} requests in a row without an answer that holds. Polls and background work wait until it answers a probe.`
    default:
      return `${unit} is ${state}.`
  }
}
