/** Puts frames on the line: after its silence, within a time, and tells that they went. */

import type { Clock, Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { describeRequest } from '../../wire/modbus-reply.ts'
import { type LineRate, wireUs } from '../../wire/modbus-request.ts'
import { sendWithin } from '../lines/adapter.ts'
import { framePayload, sizeOfModbus } from '../lines/events.ts'
import { type ModbusCounts, sendFault } from './faults.ts'
import type { ModbusSettings } from './settings.ts'
import type { Asking } from './transactions.ts'

// The silence before each request.

interface SilenceParts {
  clock: Clock
  /** When the line has been silent long enough, by the monotonic clock; moves on with each byte. */
  silentAtMs(): number
  /** How long silence is waited for. */
  limitMs: number
  onSilent(): void
  onBusy(waitedMs: number): void
}

/**
 * Waits for silence. Even where the line was silent for long, input that lies in the driver is read before the send, so
 * that an old reply is never found behind a new request.
 */
export function awaitSilence(parts: SilenceParts): Timer {
  const { clock } = parts
  const sinceMs = clock.monotonicMs()
  let timer = next()

  function next(): Timer {
    const leftMs = parts.silentAtMs() - clock.monotonicMs()
    return leftMs > 0 ? clock.after(leftMs, waitOn) : clock.soon(look)
  }

  function look(): void {
    if (clock.monotonicMs() >= parts.silentAtMs()) parts.onSilent()
    else waitOn()
  }

  function waitOn(): void {
    const waitedMs = clock.monotonicMs() - sinceMs
    if (waitedMs >= parts.limitMs && clock.monotonicMs() < parts.silentAtMs()) parts.onBusy(Math.round(waitedMs))
    else timer = next()
  }

  return { cancel: () => timer.cancel() }
}

interface SendParts {
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

// One answer on its way out: handed to the driver, and thrown away where the driver does not send it in time.

interface SendAnswerParts {
  port: string
  clock: Clock
  line: Line
  rate: LineRate
  /** Beyond twice its time on the wire. */
  limitMs: number
  /** The driver has all of it. */
  onTaken(): void
}

/**
 * Resolves when the driver has sent it.
 * @throws Fault `modbus_send_timeout`, and what the line throws
 */
export async function sendAnswer(parts: SendAnswerParts, reply: Uint8Array): Promise<void> {
  const { clock, limitMs, line, onTaken, port, rate } = parts
  function late(waitedMs: number): Fault {
    const sentence = `The driver did not send the answer of unit ${reply[0]} within ${durationText(waitedMs)}; flow control may hold it back.`
    return new Fault('modbus_send_timeout', sentence, { details: { unitId: reply[0], waitedMs } })
  }
  async function send(): Promise<void> {
    await line.write(reply)
    onTaken()
    await line.drain()
  }
  const onWireMs = wireUs(rate, reply.length) / 1000
  await sendWithin({ clock, line, limitMs: 2 * onWireMs + limitMs, late }, send).catch((error) => {
    throw faultOf(error, 'line_write_failed', `${port} took no bytes.`)
  })
}
