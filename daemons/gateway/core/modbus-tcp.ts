/** A Modbus RTU line that Modbus TCP clients may ask too. */

import type { BackoffLimits } from '#kit/backoff.ts'
import type { Clock } from '#kit/clock.ts'
import { createListening } from '#kit/line/tcp-listening.ts'
import type { Adapter } from './adapter.ts'
import type { ModbusMaster } from './modbus-master.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import type { LetGo, TcpServerOpener } from './modbus-tcp-ports.ts'
import { ModbusTcpSession, modbusTcpCounts } from './modbus-tcp-session.ts'
import { clientPlacesOf } from './queue-places.ts'

/** What the server needs of the world. */
export interface ModbusTcpWorld {
  openModbusTcp: TcpServerOpener
  /** Waits between tries to open a TCP port that is taken. */
  retry: BackoffLimits
}

export interface ModbusTcpParts extends ModbusTcpWorld {
  clock: Clock
  settings: Pick<ModbusSettings, 'tcp_port' | 'tcp_clients' | 'tcp_pipeline' | 'queue' | 'queue_reserve'>
  publish(event: string, payload: unknown): void
}

/** Only a master has units that a client could ask. @returns a fault for `tcp_port` in any other mode */
export function tcpSettingsFaults({
  mode,
  tcp_port: port,
}: Pick<ModbusSettings, 'mode' | 'tcp_port'>): { field: string; message: string }[] {
  if (mode === 'master' || port === 0) return []
  return [{ field: 'tcp_port', message: `is ${port}; Modbus TCP needs mode master and not ${mode}; 0 turns it off` }]
}

const countOfLetGo = {
  full: 'tcpRefused',
  evicted: 'tcpEvicted',
  malformed: 'tcpMalformed',
  slow: 'tcpCutOff',
  idle: 'tcpIdle',
} as const satisfies Record<LetGo, string>

/** @returns the master with a TCP port that is open while its line is; the master itself where `tcp_port` is 0 */
export function withModbusTcp(master: ModbusMaster, parts: ModbusTcpParts): Adapter {
  const { clock, publish, retry, settings } = parts
  if (settings.tcp_port === 0) return master
  const counts = { tcpRefused: 0, tcpEvicted: 0, tcpMalformed: 0, tcpCutOff: 0, tcpIdle: 0, ...modbusTcpCounts() }
  const listening = createListening({
    clock,
    retry,
    onFault: ({ code, message }) => publish('error', { code, message }),
    open: () =>
      parts.openModbusTcp(
        { port: settings.tcp_port, maxClients: settings.tcp_clients },
        {
          onLetGo(why) {
            counts[countOfLetGo[why]]++
          },
          onClient: (peer) =>
            new ModbusTcpSession({
              asker: master.asker,
              peer,
              counts,
              pipeline: settings.tcp_pipeline,
              places: clientPlacesOf(settings),
              publish,
            }),
        },
      ),
  })
  return {
    ...master,
    attach(line) {
      master.attach(line)
      listening.start()
    },
    /** The line first: clients are told that it is closed before they are let go. */
    async detach(fault) {
      try {
        await master.detach(fault)
      } finally {
        await listening.stop()
      }
    },
    counters: () => ({ ...master.counters(), ...counts }),
    fault: () => listening.fault,
  }
}
