/** The wait for one reply: from the end of a request to its proven answer, or to the moment none can be hoped for. */
import type { Clock, Timer } from '#kit/clock.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import type { ModbusReceiver } from './modbus-receiver.ts'
import type { ModbusSettings } from './modbus-settings.ts'

export interface ReplyWaitParts {
  clock: Clock
  settings: ModbusSettings
  baud: number
  receiver: ModbusReceiver
  /** The answer, proven; an exception is one. */
  onReply(reply: Uint8Array): void
  /** The time is over. */
  onNone(): void
}

export interface ReplyWait {
  /** More bytes have been fed to the receiver. */
  look(): void
  cancel(): void
}

/** Longest reply, for the time it takes on the wire. */
const LONGEST_BYTES = 256

/** @param sentAtMs when the last bit of the request is out; may lie ahead by its time on the wire */
export function waitForReply(parts: ReplyWaitParts, sentAtMs: number): ReplyWait {
  const { clock, settings, receiver } = parts
  const limitMs =
    sentAtMs + settings.response_timeout_ms + settings.reply_limit_ms + wireUs(parts, LONGEST_BYTES) / 1000
  let lastByteMs = sentAtMs
  let quietTimer: Timer | undefined
  let timer = clock.after(sentAtMs - clock.monotonicMs() + settings.response_timeout_ms, lastLook)

  function cancel(): void {
    timer.cancel()
    quietTimer?.cancel()
  }

  function take(isQuiet: boolean): boolean {
    quietTimer?.cancel()
    const reply = receiver.take(isQuiet)
    if (!reply) return false
    cancel()
    parts.onReply(reply)
    return true
  }

  /**
   * Input is read once more before a reply is called missing: after a stall of this process its timers run before its
   * input is read, and the reply may lie in the driver.
   */
  function lastLook(): void {
    timer = clock.soon(onDeadline)
  }

  /**
   * Bytes that are no frame yet are waited on, up to the limit: an answer that has begun may go on, and one behind
   * noise is not believed before silence has followed it.
   */
  function onDeadline(): void {
    const silentAtMs = lastByteMs + settings.byte_gap_ms
    const untilMs = receiver.pending > 0 ? Math.min(silentAtMs, limitMs) : 0
    if (untilMs > clock.monotonicMs()) {
      timer = clock.after(untilMs - clock.monotonicMs(), lastLook)
      return
    }
    if (take(clock.monotonicMs() >= silentAtMs)) return
    cancel()
    parts.onNone()
  }

  return {
    cancel,
    look() {
      lastByteMs = clock.monotonicMs()
      if (take(false) || receiver.pending === 0) return
      quietTimer = clock.after(settings.byte_gap_ms, () => void take(true))
    },
  }
}
