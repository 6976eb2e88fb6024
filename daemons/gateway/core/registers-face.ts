/** The registers of our units, for whoever fills and reads them from outside the line. */
import { Fault } from '#kit/fault.ts'
import type { OwnUnit } from './modbus-slave-answer.ts'
import type { RegisterTable } from './register-map.ts'

/** A part of one unit's table. */
export interface RegisterRange {
  unitId: number
  table: RegisterTable
  address: number
  quantity: number
}

/** What a part holds. `values`: null where none was written; `writtenAt`: the newest write, epoch milliseconds. */
export interface RegisterView {
  unitId: number
  table: RegisterTable
  address: number
  values: (number | null)[]
  writtenAt: number | null
}

/** What a port in mode slave has. */
export interface RegistersFace {
  /** @throws Fault `unknown_registers` where not all of them are served */
  read(range: RegisterRange): RegisterView
  /**
   * Whole, between two frames of the line: a value of two registers is never seen half written.
   * @param values 0 or 1 per bit, 0..65535 per register; null takes a value back
   * @throws Fault `unknown_registers`, `bad_fields`
   */
  write(range: Omit<RegisterRange, 'quantity'>, values: readonly (number | null)[]): RegisterView
}

export function registersFace(units: ReadonlyMap<number, OwnUnit>): RegistersFace {
  function mapOf(unitId: number) {
    const unit = units.get(unitId)
    if (!unit)
      throw new Fault(
        'unknown_registers',
        `Unit ${unitId} is not served here; settings.slave_units has ${[...units.keys()].join(', ')}.`,
      )
    return unit.map
  }

  function read(range: RegisterRange): RegisterView {
    const { unitId, table, address, quantity } = range
    const map = mapOf(unitId)
    const values = map.read(table, address, quantity)
    if (!values) throw notServed(range)
    return { unitId, table, address, values, writtenAt: map.writtenAt(table, address, quantity) }
  }

  return {
    read,
    write(target, values) {
      const range = { ...target, quantity: values.length }
      const isBits = target.table === 'coils' || target.table === 'discrete_inputs'
      const wrongAt = isBits ? values.findIndex((value) => value !== null && value > 1) : -1
      if (wrongAt >= 0) {
        const message = `is ${values[wrongAt]}; ${target.table} hold 0 or 1`
        const fields = [{ field: `values[${wrongAt}]`, message }]
        throw new Fault('bad_fields', `values[${wrongAt}] ${message}`, { details: { fields } })
      }
      if (!mapOf(target.unitId).write(target.table, target.address, values)) throw notServed(range)
      return read(range)
    },
  }
}

function notServed({ unitId, table, address, quantity }: RegisterRange): Fault {
  const last = address + quantity - 1
  const sentence = `Unit ${unitId} does not serve all of ${table} ${address} to ${last}; settings.slave_blocks says what it serves.`
  return new Fault('unknown_registers', sentence)
}
