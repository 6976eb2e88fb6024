/** The Modbus RTU entry of the protocol list: on a line we are the master, a slave, or only listen. */

import type { ModbusRequest } from '../../wire/modbus-request.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import { createBusPoints, withPoints } from '../bus/points.ts'
import type { BusDebts } from '../bus/transactions.ts'
import type { Adapter, AdapterContext, Protocol } from '../lines/adapter.ts'
import type { PortRecord } from '../lines/ports.ts'
import { isRecordPoint, type PointTemplate } from '../points/definition.ts'
import { modbusHunt } from './hunt.ts'
import { createModbusListener } from './listener.ts'
import { createModbusMaster } from './master.ts'
import { registerPoints } from './points.ts'
import { createModbusRtu, type ModbusCodec } from './protocol.ts'
import {
  type ModbusLimits,
  type ModbusSettings,
  modbusSettings,
  servedValues,
  slaveSettingsFaults,
} from './settings.ts'
import { createModbusSlave } from './slave.ts'
import { type ModbusTcpWorld, tcpSettingsFaults, withModbusTcp } from './tcp.ts'

/** What a Modbus line needs from the outside. */
export interface ModbusWorld extends ModbusTcpWorld {
  modbusCodec: ModbusCodec
  /** Late replies that units still owe to the previous adapter of the line. */
  modbusDebts(path: string): BusDebts<ModbusRequest>
  /** The identification that our units report: vendor, product code, revision. */
  modbusIdentity: readonly [string, string, string]
  /** The bounds of what finds out about units; left out: their defaults. */
  modbusLimits?: ModbusLimits
  /** The devices that units are compared with; left out: none. */
  modbusTemplates?(): Promise<readonly PointTemplate[]>
}

export const modbusProtocol: Protocol<ModbusWorld> = {
  settings: modbusSettings,
  linkType: LINK_TYPES.modbusRtu,
  hunt: modbusHunt,
  faults: (settings) => [
    ...slaveSettingsFaults(settings as ModbusSettings),
    ...tcpSettingsFaults(settings as ModbusSettings),
  ],
  servedValues: (settings) => servedValues(settings as ModbusSettings),
  make: makeModbus,
}

function makeModbus(record: PortRecord, context: AdapterContext, world: ModbusWorld): Adapter {
  const settings = record.settings as ModbusSettings
  const protocol = createModbusRtu(world.modbusCodec)
  if (settings.mode === 'slave') return createModbusSlave(context, settings, protocol, world.modbusIdentity)
  const limits = { mergeGap: settings.merge_gap, mergeRegisters: settings.merge_registers }
  const own = record.points.filter((point) => !isRecordPoint(point))
  const points = createBusPoints(context, settings, registerPoints(limits), own)
  if (settings.mode === 'listen')
    return withPoints(createModbusListener(context, settings, protocol, points.hooks), points)
  const hooks = Object.assign(points.hooks, {
    debts: world.modbusDebts(record.path),
    limits: world.modbusLimits,
    templates: world.modbusTemplates,
  })
  const master = createModbusMaster(context, settings, protocol, hooks)
  return withModbusTcp(withPoints(master, points, master.asker), { ...world, ...context, settings })
}
