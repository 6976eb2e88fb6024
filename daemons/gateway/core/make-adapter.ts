/** The adapter of a protocol, made from what is kept of a port. */
import type { Adapter, AdapterContext } from './adapter.ts'
import { createModbusMaster } from './modbus-master.ts'
import type { ModbusPdu } from './modbus-pdu.ts'
import { createModbusPoints, withPoints } from './modbus-points.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { type ModbusTcpWorld, withModbusTcp } from './modbus-tcp.ts'
import type { PortRecord } from './port-record.ts'
import { RawAdapter, type RawWorld } from './raw-adapter.ts'
import type { RawSettings } from './raw-settings.ts'

/** What the protocols need of the world beside the line. */
export interface ProtocolWorld extends RawWorld, ModbusTcpWorld {
  modbusPdu: ModbusPdu
}

/** @param record its settings are checked and have every default */
export function makeAdapter(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter {
  if (record.protocol === 'raw') return new RawAdapter(context, record.settings as RawSettings, world)
  const settings = record.settings as ModbusSettings
  const points = createModbusPoints(context, settings, record.points)
  const master = createModbusMaster(context, settings, world.modbusPdu, points.hooks)
  return withModbusTcp(withPoints(master, points, master.asker), { ...world, ...context, settings })
}
