/** What units owe when the adapter of their line goes: its successor holds them back as it would have done. */
import type { Clock } from '#kit/clock.ts'
import type { UnitDebts } from './modbus-holds.ts'

/** Debts of the units of one line. */
export interface ModbusDebts {
  /** @param by the adapter that leaves the line; it may come back to it, and knows them then */
  leave(by: object, units: readonly UnitDebts[]): void
  /** @returns what another adapter has left, as far as it is not over */
  take(by: object): readonly UnitDebts[]
}

/**
 * By device path. A port that is set up anew has another adapter, which has asked nobody: the answer to the last request
 * of the one before would be believed as the first of its own.
 * @see docs/decisions/041-late-replies.md
 */
export function createModbusDebts(clock: Clock): (path: string) => ModbusDebts {
  const lines = new Map<string, { by: object; units: readonly UnitDebts[] }>()
  const isOwing = ({ overMs }: UnitDebts) => overMs > clock.monotonicMs()

  /** Ports come and go: what is over is not kept. */
  function forget(): void {
    for (const [path, { units }] of lines) if (!units.some(isOwing)) lines.delete(path)
  }

  return (path) => ({
    leave(by, units) {
      forget()
      const others = lines.get(path)?.units ?? []
      const own = new Set(units.map(({ unitId }) => unitId))
      lines.set(path, { by, units: [...units, ...others.filter(({ unitId }) => !own.has(unitId))] })
    },
    take(by) {
      const left = lines.get(path)
      lines.delete(path)
      return left && left.by !== by ? left.units.filter(isOwing) : []
    },
  })
}
