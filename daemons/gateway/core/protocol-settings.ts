/** The keys of `settings`, by protocol. */
import type { TSchema } from 'typebox'
import { type ModbusSettings, modbusSettings } from './modbus-settings.ts'
import { slaveSettingsFaults } from './modbus-slave-settings.ts'
import { tcpSettingsFaults } from './modbus-tcp.ts'
import type { Protocol } from './port-record.ts'
import { rawSettings } from './raw-settings.ts'

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
