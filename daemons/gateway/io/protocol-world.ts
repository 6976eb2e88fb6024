/** What the protocols need of the world beside their lines, as this machine gives it. */

import type { BackoffLimits } from '#kit/backoff.ts'
import type { Clock } from '#kit/clock.ts'
import { createRawSocketOpener, type RawSocketLimits } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import type { ShareOf } from '#kit/net/address.ts'
import type { ProtocolWorld } from '../core/make-adapter.ts'
import { createModbusDebts } from '../core/modbus-debts.ts'
import type { ModbusTcpLimits } from '../core/modbus-tcp-keys.ts'
import { createModbusSerialPdu } from './modbus-serial-pdu.ts'
import { createModbusTcpOpener } from './modbus-tcp-server.ts'
import { createSilenceFramer } from './silence-framer.ts'

export interface ProtocolWorldParts {
  clock: Clock
  log: Log
  rawTcp: RawSocketLimits
  /** Bytes of `rest/tx` that wait for one line. */
  queueBytes: number
  modbusTcp: ModbusTcpLimits
  /** What TCP clients are counted by. */
  shareOf: ShareOf
  /** Waits between tries to open a TCP port that is taken. */
  retry: BackoffLimits
  /** Of this program; what a unit of ours answers as its revision. */
  version: string
}

export function createProtocolWorld({
  clock,
  log,
  rawTcp,
  queueBytes,
  modbusTcp,
  shareOf,
  retry,
  version,
}: ProtocolWorldParts): ProtocolWorld {
  return {
    silenceFramer: createSilenceFramer,
    queueBytes,
    openSockets: createRawSocketOpener({ limits: rawTcp, shareOf, clock, log }),
    modbusPdu: createModbusSerialPdu(),
    openModbusTcp: createModbusTcpOpener({ limits: modbusTcp, shareOf, clock, log }),
    retry,
    modbusDebts: createModbusDebts(clock),
    modbusIdentity: ['Plantroom', 'gateway', version],
  }
}
