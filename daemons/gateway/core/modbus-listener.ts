/** The protocol modbus-rtu as listener: others ask and answer, here it is only heard. Never writes a byte. */
import { Fault } from '#kit/fault.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import type { Adapter, AdapterContext } from './adapter.ts'
import type { MasterHooks } from './modbus-ask.ts'
import { flawOfHeard, type HeardFrame, heardCounts, ModbusHearing } from './modbus-hearing.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import type { Asking } from './modbus-transaction.ts'
import { ModbusUnits } from './modbus-units.ts'

/**
 * @param settings with every default filled in; a reply is believed that begins within `response_timeout_ms`
 * @param hooks `onReply` is told of each pair, as if it had been asked here
 */
export function createModbusListener(
  context: AdapterContext,
  settings: ModbusSettings,
  hooks: Pick<MasterHooks, 'onReply' | 'isPolled'> = {},
): Adapter {
  const { clock, lineSettings, port, publish } = context
  const counts = heardCounts()
  const units = new ModbusUnits({ ...hooks, clock, settings, publish, onSilent: () => {} })
  const hearing = new ModbusHearing({
    baud: lineSettings.baud,
    clock,
    settings,
    counts,
    publish,
    isOwn: () => false,
    onHeard: heard,
    onMissed: missed,
    onPause: () => {},
  })

  function heard(one: HeardFrame): void {
    if (one.kind === 'request') units.sent(overheard(one.sent))
    else if (one.kind === 'late') units.late(one.frame[0] ?? 0, { frame: one.frame, tookMs: null })
    else if (one.kind === 'reply') {
      units.replied(overheard(one.sent), one.frame, one.tookMs)
      hooks.onReply?.({ request: one.sent.request, reply: one.frame, tookMs: one.tookMs, atMs: one.endMs })
    } else if (one.kind === 'noise' && one.sent && flawOfHeard(one) === 'crc') units.damaged(one.sent.request.unitId)
  }

  function missed(sent: SentRequest, fault: Fault): void {
    units.missed(overheard(sent), fault)
    publish('error', { code: fault.code, message: fault.message, ...fault.details })
  }

  return {
    faces: {
      units: {
        // Nothing is held back here, and nothing tried: the master on the line does as it likes.
        list: () => units.list(() => undefined).map((unit) => ({ ...unit, nextTryAt: null })),
        states: () => units.states(),
        forget: (unitId) => units.forget(unitId),
      },
    },
    attach(line) {
      hearing.reset()
      line.onBytes((bytes, atUs) => hearing.feed(bytes, atUs))
    },
    detach() {
      hearing.reset()
      units.lineClosed()
    },
    act(action) {
      const sentence = `${port} only listens (settings.mode is listen), so rest/${action} is refused: nothing is ever sent.`
      return Promise.reject(new Fault('wrong_protocol', sentence))
    },
    counters: () => ({ ...counts }),
  }
}

/** Whoever asks it: each request counts, as one of an operator does. */
function overheard(sent: SentRequest): Asking {
  return { sent, how: { priority: 'operator' } }
}
