/** Sends a request to a simulated unit without a line, and reads its reply. */
import { hasGoodCrc, type ModbusRequest } from '../../../daemons/gateway/wire/modbus-request.ts'
import type { SimulatedUnit } from '../modbus-unit.ts'

/** Contents of a reply: the words or bits of a read, the code of a refusal, nothing for a write. */
export interface Said {
  values: number[]
  exception: number | null
}

/** @throws Error if the reply is not one of this unit */
export function ask(unit: SimulatedUnit, asked: Omit<ModbusRequest, 'unitId'>): Said {
  const reply = unit.answer({ unitId: unit.unitId, ...asked })
  if (!hasGoodCrc(reply) || reply[0] !== unit.unitId) throw new Error(`no reply: ${Buffer.from(reply).toString('hex')}`)
  if (reply[1] === (asked.fc | 0x80)) return { values: [], exception: reply[2] ?? 0 }
  const data = reply.subarray(3, -2)
  if (asked.fc > 4) return { values: [], exception: null }
  const values =
    asked.fc > 2
      ? Array.from({ length: data.length / 2 }, (_, at) => ((data[2 * at] ?? 0) << 8) | (data[2 * at + 1] ?? 0))
      : Array.from({ length: asked.quantity }, (_, at) => ((data[at >> 3] ?? 0) >> (at & 7)) & 1)
  return { values, exception: null }
}

/** Reads an f32 from two input registers, high word first. */
export function askF32(unit: SimulatedUnit, address: number, fc = 4): number {
  const [high = 0, low = 0] = ask(unit, { fc, address, quantity: 2 }).values
  const view = new DataView(new ArrayBuffer(4))
  view.setUint16(0, high)
  view.setUint16(2, low)
  return view.getFloat32(0)
}
