/** The protocols a port may speak, one line each: settings, and the adapter that speaks it. */
import type { TSchema } from 'typebox'
import type { Adapter, AdapterContext } from './lines/adapter.ts'
import { type PortRecord, type Protocol, protocols } from './lines/ports.ts'
import { createModbusListener } from './modbus/listener.ts'
import { createModbusMaster, type ModbusPdu } from './modbus/master.ts'
import { createModbusPoints, withPoints } from './modbus/points.ts'
import { type ModbusSettings, modbusSettings, slaveSettingsFaults } from './modbus/settings.ts'
import { createModbusSlave } from './modbus/slave.ts'
import { type ModbusTcpWorld, tcpSettingsFaults, withModbusTcp } from './modbus/tcp.ts'
import type { ModbusDebts } from './modbus/transactions.ts'
import { RawAdapter, type RawSettings, type RawWorld, rawSettings } from './raw/raw.ts'

/** What the protocols need of the world beside the line. */
export interface ProtocolWorld extends RawWorld, ModbusTcpWorld {
  modbusPdu: ModbusPdu
  /** What units of a line owe to the adapter it had before. */
  modbusDebts(path: string): ModbusDebts
  /** What our units say of themselves: vendor, product code, revision. */
  modbusIdentity: readonly [string, string, string]
}

/** A protocol: the keys of `settings`, what no schema says of them, and the adapter that speaks it. */
interface ProtocolEntry {
  settings: TSchema
  /** Of settings that fit their schema: a fault for each field, none where all is well. */
  faults(settings: unknown): { field: string; message: string }[]
  /** @param record its settings are checked and have every default */
  make(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter
}

/** The list of protocols: a new one is a folder of its own, and an entry here. */
const entries: Readonly<Record<Protocol, ProtocolEntry>> = {
  raw: {
    settings: rawSettings,
    faults: () => [],
    make: ({ settings }, context, world) => new RawAdapter(context, settings as RawSettings, world),
  },
  'modbus-rtu': {
    settings: modbusSettings,
    faults: (settings) => [
      ...slaveSettingsFaults(settings as ModbusSettings),
      ...tcpSettingsFaults(settings as ModbusSettings),
    ],
    make: makeModbus,
  },
}

export const settingsOfProtocol = ofEach(({ settings }) => settings)
export const settingsFaults = ofEach(({ faults }) => faults)

/** @param record its settings are checked and have every default */
export function makeAdapter(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter {
  return entries[record.protocol].make(record, context, world)
}

function ofEach<Part>(partOf: (entry: ProtocolEntry) => Part): Readonly<Record<Protocol, Part>> {
  return Object.fromEntries(protocols.map((name) => [name, partOf(entries[name])])) as Record<Protocol, Part>
}

function makeModbus(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter {
  const settings = record.settings as ModbusSettings
  if (settings.mode === 'slave') return createModbusSlave(context, settings, world.modbusIdentity)
  const points = createModbusPoints(context, settings, record.points)
  if (settings.mode === 'listen') return withPoints(createModbusListener(context, settings, points.hooks), points)
  const hooks = { ...points.hooks, debts: world.modbusDebts(record.path) }
  const master = createModbusMaster(context, settings, world.modbusPdu, hooks)
  return withModbusTcp(withPoints(master, points, master.asker), { ...world, ...context, settings })
}
