/** Units on a line that answer in order, late, twice, or not at all, as a table of manners has it. */
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import { type ModbusRequest, sealed } from '../../../wire/modbus-request.ts'

/** How one request is answered. */
export interface OrderedManner {
  /** How long the unit works on it; it begins when it is done with the one before. */
  workMs: number
  isDropped?: boolean
  /** The answer is said again so much later. */
  copyMs?: number
  /** An exception that nobody caused, said at once, before the answer. */
  exception?: number
}

export interface OrderedLine {
  nowMs(): number
  /** The manner of the next request to this unit. */
  mannerOf(unitId: number): OrderedManner
  /** What comes while it works is not heard. */
  dropsWhileBusy?(unitId: number): boolean
}

/** @returns `say`, as scripts/sim/modbus-device.ts has it */
export function orderedUnits(line: OrderedLine): (reply: Uint8Array, request: ModbusRequest) => Utterance[] {
  const doneMs = new Map<number, number>()
  return (reply, { unitId, fc }) => {
    const nowMs = line.nowMs()
    const busyUntilMs = doneMs.get(unitId) ?? 0
    const { copyMs, exception, isDropped, workMs } = line.mannerOf(unitId)
    const unasked = exception === undefined ? [] : [{ afterMs: 0, bytes: sealed([unitId, fc | 0x80, exception]) }]
    if (isDropped || (busyUntilMs > nowMs && line.dropsWhileBusy?.(unitId))) return unasked
    const atMs = Math.max(nowMs, busyUntilMs) + workMs
    doneMs.set(unitId, atMs)
    const said = [...unasked, { afterMs: atMs - nowMs, bytes: reply }]
    return copyMs === undefined ? said : [...said, { afterMs: copyMs, bytes: reply }]
  }
}
