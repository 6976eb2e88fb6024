/** The protocols a port may speak, one line each: settings, and the adapter that speaks it. */
import type { TSchema } from 'typebox'
import type { Adapter, AdapterContext } from './lines/adapter.ts'
import type { PortRecord, Protocol } from './lines/ports.ts'
import { createModbusListener } from './modbus/listener.ts'
import { createModbusMaster, type ModbusPdu } from './modbus/master.ts'
import { createModbusPoints, withPoints } from './modbus/points.ts'
import { type ModbusSettings, modbusSettings, slaveSettingsFaults } from './modbus/settings.ts'
import { createModbusSlave } from './modbus/slave.ts'
import { type ModbusTcpWorld, tcpSettingsFaults, withModbusTcp } from './modbus/tcp.ts'
import type { ModbusDebts } from './modbus/transactions.ts'
import { RawAdapter, type RawSettings, type RawWorld, rawSettings } from './raw/raw.ts'

// The keys of `settings`, by protocol.

export const settingsOfProtocol: Readonly<Record<Protocol, TSchema>> = {
  raw: rawSettings,
  'modbus-rtu': modbusSettings,
}

/** What no schema says of settings that fit theirs: a fault for each field, none where all is well. */
export const settingsFaults: Readonly<Record<Protocol, (settings: unknown) => { field: string; message: string }[]>> = {
  raw: () => [],
  'modbus-rtu': (settings) => [
    ...slaveSettingsFaults(settings as ModbusSettings),
    ...tcpSettingsFaults(settings as ModbusSettings),
  ],
}

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
