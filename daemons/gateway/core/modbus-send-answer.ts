/** One answer on its way out: handed to the driver, and thrown away where the driver does not send it in time. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import type { Line } from '#kit/line/line.ts'
import { type LineRate, wireUs } from '../wire/modbus-timing.ts'
import { sendWithin } from './send-within.ts'

export interface SendAnswerParts {
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
