/** The list of protocols that a port may use. Each is a folder of its own, and has one line here. */
import type { LinkType } from '../wire/pcap.ts'
import { type Dnp3World, dnp3Protocol } from './dnp3/dnp3.ts'
import { type EquipmentWorld, equipmentProtocol } from './equipment/equipment.ts'
import type { HuntProtocol } from './hunt/hunted.ts'
import type { Adapter, AdapterContext, Protocol } from './lines/adapter.ts'
import type { PortRecord } from './lines/ports.ts'
import { type MbusWorld, mbusProtocol } from './mbus/mbus.ts'
import { type ModbusWorld, modbusProtocol } from './modbus/modbus.ts'
import { type MstpWorld, mstpProtocol } from './mstp/mstp.ts'
import { type RawWorld, rawProtocol } from './raw/raw.ts'

const list = {
  raw: rawProtocol,
  'modbus-rtu': modbusProtocol,
  mbus: mbusProtocol,
  'bacnet-mstp': mstpProtocol,
  dnp3: dnp3Protocol,
  equipment: equipmentProtocol,
} as const

/** What the protocols need beside the line. */
export type ProtocolWorld = RawWorld & ModbusWorld & MbusWorld & MstpWorld & Dnp3World & EquipmentWorld

/** The names of the protocols, as in `protocol` of a port. */
export const protocols = Object.keys(list) as (keyof typeof list)[]

const entries: Readonly<Record<string, Protocol<ProtocolWorld>>> = list

export const settingsOfProtocol = ofEach(({ settings }) => settings)
export const settingsFaults = ofEach(({ faults = () => [] }) => faults)

/** The link type of the protocol's captures. */
export function linkTypeOf(protocol: string): LinkType {
  return entryOf(protocol).linkType
}

/** The number of values that the port serves to others on its line, by its settings. */
export function servedValues({ protocol, settings }: PortRecord): number {
  return entryOf(protocol).servedValues?.(settings) ?? 0
}

/** The protocols that a hunt recognises, by name. */
export const huntedProtocols: Readonly<Record<string, HuntProtocol>> = Object.fromEntries(
  Object.entries(entries).flatMap(([name, { hunt }]) => (hunt ? [[name, hunt]] : [])),
)

/** @param record its settings have been checked and have every default */
export function makeAdapter(record: PortRecord, context: AdapterContext, world: ProtocolWorld): Adapter {
  return entryOf(record.protocol).make(record, context, world)
}

function entryOf(protocol: string): Protocol<ProtocolWorld> {
  const entry = entries[protocol]
  if (!entry) throw new RangeError(`no protocol is called ${protocol}`)
  return entry
}

function ofEach<Part>(partOf: (entry: Protocol<ProtocolWorld>) => Part) {
  return Object.fromEntries(protocols.map((name) => [name, partOf(list[name])])) as Record<keyof typeof list, Part>
}
