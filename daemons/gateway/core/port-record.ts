/** What is kept of a port: its protocol, line, settings, points and webhooks. */

import type { FoundLine, LineSettings } from '#kit/line/line.ts'
import { revisionOf } from '#kit/revision.ts'
import type { PointDefinition } from './point-record.ts'
import type { WebhookRecord } from './webhook-list.ts'

/** Protocols this gateway speaks. */
export const protocols = ['raw', 'modbus-rtu'] as const
export type Protocol = (typeof protocols)[number]

/** One entry of ports.json. */
export interface PortRecord {
  path: string
  protocol: Protocol
  line: LineSettings
  /** Keys of the protocol, every default filled in. */
  settings: Record<string, unknown>
  /** Whether it is opened at start. */
  enabled: boolean
  /** Of modbus-rtu; they rest while the port speaks another protocol. */
  points: PointDefinition[]
  webhooks: WebhookRecord[]
}

/** What a change of the settings may be made from: points and webhooks are changed by themselves. */
export function portRevision({ protocol, line, settings }: Pick<PortRecord, 'protocol' | 'line' | 'settings'>): string {
  return revisionOf({ protocol, line, settings })
}

/** Whether a configured path means this line, by device path or by stable name. */
export function sameLine(path: string, line: FoundLine): boolean {
  return path === line.path || path === line.byId
}
