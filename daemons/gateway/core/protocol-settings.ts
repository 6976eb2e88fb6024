/** The keys of `settings`, by protocol. */
import type { TSchema } from 'typebox'
import { modbusSettings } from './modbus-settings.ts'
import type { Protocol } from './port-record.ts'
import { rawSettings } from './raw-settings.ts'

export const settingsOfProtocol: Readonly<Record<Protocol, TSchema>> = {
  raw: rawSettings,
  'modbus-rtu': modbusSettings,
}
