/** A Modbus line with a unit that can go silent, and requests to it of each priority. */
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { AskHow, Priority } from '../../../core/bus/transactions.ts'
import type { UnitView } from '../../../core/bus/units.ts'
import { type ModbusLine, type ModbusLineSetup, modbusLine } from './modbus-line.ts'

/** Unit 1 answers whenever `isDead` is false; unit 2 always does. */
export async function unitLine(setup: ModbusLineSetup = {}) {
  const far = { isDead: false, delayMs: 5 }
  const units = [1, 2].map((unitId) => simulatedUnit({ unitId, holding: [10, 20, 30] }))
  const on = await modbusLine({
    units,
    say: (bytes, { unitId }) =>
      far.isDead && unitId === 1 ? [] : [{ afterMs: unitId === 1 ? far.delayMs : 1, bytes }],
    ...setup,
    // Copies are tested in test/core/modbus/modbus-owed.test.ts. They are off here, because the same read is repeated
    // at once.
    settings: { breaker_retry_ms: 10_000, copy_window_ms: 0, ...setup.settings },
  })
  return { on, far }
}

export function ask(
  on: ModbusLine,
  how: AskHow | Priority,
  unitId = 1,
  address = 0,
): { came?: unknown; atMs?: number } {
  const told: { came?: unknown; atMs?: number } = {}
  const done = (came: unknown) => Object.assign(told, { came, atMs: on.clock.monotonicMs() })
  const asHow = typeof how === 'string' ? { priority: how } : how
  on.adapter.asker.ask({ unitId, fc: 3, address, quantity: 1 }, asHow).then(
    (reply) => done(reply?.values?.[0]),
    (fault) => done(fault.code),
  )
  return told
}

export async function askNow(on: ModbusLine, how: AskHow | Priority, unitId = 1, address = 0): Promise<unknown> {
  const told = ask(on, how, unitId, address)
  for (let left = 20_000; left > 0 && !('came' in told); left--) await on.clock.run(1)
  return told.came
}

export function unit(on: ModbusLine, unitId = 1): UnitView | undefined {
  return on.adapter.faces?.units?.list().find((one) => one.unitId === unitId)
}

/** Requests unit 1 without replies until it counts as silent. */
export async function silence({ on, far }: Awaited<ReturnType<typeof unitLine>>): Promise<void> {
  far.isDead = true
  for (let n = 0; n < 3; n++) await askNow(on, 'operator')
  await on.clock.run(2000)
}
