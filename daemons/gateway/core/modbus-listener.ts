/** The protocol modbus-rtu as listener: others ask and answer, here it is only heard. Never writes a byte. */
import { Fault } from '#kit/fault.ts'
import type { Heard } from '../wire/modbus-overheard.ts'
import type { Adapter, AdapterContext } from './adapter.ts'
import type { MasterHooks } from './modbus-ask.ts'
import { heardCounts, ModbusHearing } from './modbus-hearing.ts'
import type { ModbusSettings } from './modbus-settings.ts'

/**
 * @param settings with every default filled in; a reply is believed that begins within `response_timeout_ms`
 * @param hooks `onReply` is told of each pair, as if it had been asked here
 */
export function createModbusListener(
  context: AdapterContext,
  settings: ModbusSettings,
  hooks: Pick<MasterHooks, 'onReply'> = {},
): Adapter {
  const { clock, lineSettings, port, publish } = context
  const counts = heardCounts()

  function heard(one: Heard): void {
    if (one.kind === 'reply')
      hooks.onReply?.({ request: one.sent.request, reply: one.frame, tookMs: one.tookMs, atMs: one.endMs })
  }

  const hearing = new ModbusHearing({
    baud: lineSettings.baud,
    clock,
    settings,
    counts,
    publish,
    isOwn: () => false,
    onHeard: heard,
    onPause: () => {},
  })

  return {
    attach(line) {
      hearing.reset()
      line.onBytes((bytes, atUs) => hearing.feed(bytes, atUs))
    },
    detach: () => hearing.reset(),
    act(action) {
      const sentence = `${port} only listens (settings.mode is listen), so rest/${action} is refused: nothing is ever sent.`
      return Promise.reject(new Fault('wrong_protocol', sentence))
    },
    counters: () => ({ ...counts }),
  }
}
