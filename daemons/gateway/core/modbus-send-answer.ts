/** One answer on its way out: handed to the driver, and thrown away where the driver does not send it in time. */
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import type { Line } from '#kit/line/line.ts'
import { type LineRate, wireUs } from '../wire/modbus-timing.ts'

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
  const startMs = clock.monotonicMs()
  await new Promise<void>((resolve, reject) => {
    const timer = clock.after((2 * wireUs(rate, reply.length)) / 1000 + limitMs, () => {
      const waitedMs = Math.round(clock.monotonicMs() - startMs)
      const sentence = `The driver did not send the answer of unit ${reply[0]} within ${waitedMs} ms; flow control may hold it back.`
      reject(new Fault('modbus_send_timeout', sentence, { details: { unitId: reply[0], waitedMs } }))
      // What the driver still holds must not go out later, into the master's next request.
      line.flush().catch(() => {})
    })
    line
      .write(reply)
      .then(() => {
        onTaken()
        return line.drain()
      })
      .then(resolve, reject)
      .finally(() => timer.cancel())
  }).catch((error) => {
    throw faultOf(error, 'line_write_failed', `${port} took no bytes.`)
  })
}
