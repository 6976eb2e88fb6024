/** The adapter of a protocol, made from what is kept of a port. */
import type { Adapter, AdapterContext } from './adapter.ts'
import type { ModbusDebts } from './modbus-debts.ts'
import { createModbusListener } from './modbus-listener.ts'
import { createModbusMaster } from './modbus-master.ts'
import type { ModbusPdu } from './modbus-pdu.ts'
import { createModbusPoints, withPoints } from './modbus-points.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { createModbusSlave } from './modbus-slave.ts'
import { type ModbusTcpWorld, withModbusTcp } from './modbus-tcp.ts'
import type { PortRecord } from './port-record.ts'
import { RawAdapter, type RawWorld } from './raw-adapter.ts'
import type { RawSettings } from './raw-settings.ts'

/** What the protocols need of the world beside the line. */
export interface ProtocolWorld extends RawWorld, ModbusTcpWorld {
  modbusPdu: ModbusPdu
  /** What units of a line owe to the adapter it had before. */
  modbusDebts(path: string): ModbusDebts
  /** What our units say of themselves: vendor, product code, revision. */
  modbusIdentity: readonly [string, string, string]
}

/** @param record its settings are checked and have every default */
export function makeAdapter(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter {
  if (record.protocol === 'raw') return new RawAdapter(context, record.settings as RawSettings, world)
  const settings = record.settings as ModbusSettings
  if (settings.mode === 'slave') return createModbusSlave(context, settings, world.modbusIdentity)
  const points = createModbusPoints(context, settings, record.points)
  if (settings.mode === 'listen') return withPoints(createModbusListener(context, settings, points.hooks), points)
  const hooks = { ...points.hooks, debts: world.modbusDebts(record.path) }
  const master = createModbusMaster(context, settings, world.modbusPdu, hooks)
  return withModbusTcp(withPoints(master, points, master.asker), { ...world, ...context, settings })
}
