/** Points for tests: a holding register of unit 1 unless changed. */
import type { PointDefinition } from '../../../core/points/definition.ts'

export function point(name: string, keys: Partial<PointDefinition> = {}): PointDefinition {
  return {
    name,
    unitId: 1,
    fc: 3,
    address: 0,
    type: 'u16',
    wordOrder: 'big',
    byteOrder: 'big',
    bit: null,
    length: null,
    maxRegisters: null,
    scale: 1,
    offset: 0,
    noValue: [],
    unit: null,
    decimals: null,
    pollMs: 1000,
    deadband: 0,
    template: null,
    ...keys,
  }
}
