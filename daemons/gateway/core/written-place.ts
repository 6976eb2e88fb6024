/** Which coils or registers a write changes, by the function that reads them. */
import type { ModbusRequest } from '../wire/modbus-request.ts'
import { sizeOf } from '../wire/point-value.ts'
import type { PointDefinition } from './point-record.ts'

/** `unitId` 0: of every unit. `fc` 1 for coils, 3 for holding registers. */
export interface WrittenPlace {
  unitId: number
  fc: 1 | 3
  address: number
  quantity: number
}

/** @returns undefined where the request writes nothing */
export function writtenPlace(request: ModbusRequest): WrittenPlace | undefined {
  const { unitId, address, quantity } = request
  switch (request.fc) {
    case 5:
    case 15:
      return { unitId, fc: 1, address, quantity }
    case 6:
    case 16:
    case 22:
      return { unitId, fc: 3, address, quantity }
    case 23:
      return { unitId, fc: 3, address: request.writeAddress ?? address, quantity: request.values?.length ?? 0 }
    default:
      return undefined
  }
}

/** Whether the point has a part of its value there. */
export function isTouched(point: PointDefinition, { unitId, fc, address, quantity }: WrittenPlace): boolean {
  if (point.fc !== fc || (unitId !== 0 && point.unitId !== unitId)) return false
  return point.address < address + quantity && address < point.address + sizeOf(point)
}
