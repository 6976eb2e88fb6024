/** Line settings in the words of the serialport binding. */
import type { PlantroomOpenOptions } from '#native/serial/index.ts'
import type { LineSettings } from './line.ts'

/** @param line flow control of what the far end sends is that of the other direction, unless it has its own */
export function optionsOf(path: string, line: LineSettings & { flow_in?: LineSettings['flow'] }): PlantroomOpenOptions {
  const { rs485, flow, flow_in: flowIn = flow } = line
  return {
    path,
    baudRate: line.baud,
    dataBits: line.data_bits,
    parity: line.parity,
    stopBits: line.stop_bits,
    rtscts: flow === 'rtscts' || flowIn === 'rtscts',
    xon: flow === 'xonxoff',
    xoff: flowIn === 'xonxoff',
    lowLatency: line.low_latency,
    rs485: rs485
      ? {
          enabled: rs485.enabled,
          rtsOnSend: rs485.rts_on_send,
          rxDuringTx: rs485.rx_during_tx,
          delayBeforeMs: rs485.delay_before_send_ms,
          delayAfterMs: rs485.delay_after_send_ms,
        }
      : undefined,
  }
}
