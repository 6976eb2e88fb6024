/** One request on its way out: handed to the driver, told as an event, timed to its last bit. */
import type { Clock } from '#kit/clock.ts'
import { faultOf } from '#kit/fault.ts'
import type { Line } from '#kit/line/line.ts'
import { describeRequest } from '../wire/modbus-describe.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import { framePayload, sizeOfModbus } from './frame-payload.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { sendFault } from './modbus-faults.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import type { Asking } from './modbus-transaction.ts'
import { sendWithin } from './send-within.ts'

export interface SendParts {
  port: string
  baud: number
  clock: Clock
  settings: ModbusSettings
  counts: ModbusCounts
  line: Line
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/**
 * @returns when the last bit is out, by the clock's monotonic milliseconds. A driver that drains early (a USB adapter,
 *   a pty) does not shorten it below the time on the wire, so it may lie ahead.
 * @throws Fault `modbus_send_timeout`, and what the line throws
 */
export async function sendRequest(parts: SendParts, asking: Asking): Promise<number> {
  const { sent } = asking
  const { clock, counts, line, settings } = parts
  const startMs = clock.monotonicMs()
  const onWireMs = wireUs(parts, sent.frame.length) / 1000
  counts.requests++
  const limitMs = 2 * onWireMs + settings.send_limit_ms
  const limit = { clock, line, limitMs, late: (waitedMs: number) => sendFault(sent, waitedMs) }
  await sendWithin(limit, () => write(parts, asking)).catch((error) => {
    throw faultOf(error, 'line_write_failed', `${parts.port} took no bytes.`)
  })
  return Math.max(clock.monotonicMs(), startMs + onWireMs)
}

async function write({ clock, counts, line, publish }: SendParts, { how, sent }: Asking): Promise<void> {
  const { frame, request } = sent
  await line.write(frame)
  counts.txFrames++
  const atUs = clock.monotonicMs() * 1000
  const payload = () =>
    framePayload({ direction: 'tx', frame, atUs }, { decoded: describeRequest(request), priority: how.priority })
  publish('frame', payload, sizeOfModbus(frame))
  await line.drain()
}
