/** Units on a line that answer in order, and late, twice or not at all, as a test wants it. */
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import { type ModbusRequest, sealed } from '../../../wire/modbus-request.ts'

/** How one request is answered. */
export interface OrderedManner {
  /** How long the unit works on it, starting when it is done with the previous request. */
  workMs: number
  isDropped?: boolean
  /** How much later the reply is sent a second time. */
  copyMs?: number
  /** An exception that nobody caused, sent at once, before the reply. */
  exception?: number
}

export interface OrderedLine {
  nowMs(): number
  /** How the next request to this unit is answered. */
  mannerOf(unitId: number): OrderedManner
  /** Whether requests that come while the unit is busy are lost. */
  dropsWhileBusy?(unitId: number): boolean
}

/** @returns a `say` for scripts/sim/modbus-device.ts */
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
