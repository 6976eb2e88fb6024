/** Points and templates: what the gateway answers, and the calls. */
import { call } from '#kit/web/call.ts'
import { portRoute } from './api.ts'

export type Quality = 'good' | 'stale' | 'bad' | 'unknown'

/** What is kept of a point. The gateway has more keys than the page knows; they go back as they came. */
export interface PointDefinition {
  name: string
  unitId: number
  fc: number
  address: number
  type: string
  wordOrder: string
  byteOrder: string
  bit: number | null
  length: number | null
  scale: number
  offset: number
  unit: string | null
  decimals: number | null
  pollMs: number
  deadband: number
  template: string | null
}

/** A point with its last value. */
export interface Point extends PointDefinition {
  value: number | string | boolean | null
  /** The value for people, without its unit. */
  text: string | null
  quality: Quality
  ageMs: number | null
  changedAt: number | null
  readAt: number | null
  fault: { code: string; message: string } | null
}

/** How the polling of a line goes. */
export interface Polling {
  reads: number
  pointsPerRead: number | null
  periodSlipMs: number | null
  /** Reads that were due while the one before was still out. */
  overruns: number
}

/** Answer of `GET /api/ports/:path/points`. */
export interface Points {
  points: Point[]
  polling: Polling
}

/** Payload of the event `value`. */
export interface ValueTold {
  name: string
  unitId: number
  value: Point['value']
  text: string | null
  quality: Quality
  readAt: number | null
}

/** A device the gateway knows by heart. */
export interface Template {
  id: string
  maker: string
  model: string
  kind: string
  title: string
  source: { title: string; revision?: string | null; note?: string | null; url?: string | null }
  line: { baud?: number; parity?: string; stop_bits?: number }
  unitId: number
  points: Omit<PointDefinition, 'unitId' | 'template'>[]
}

function point(path: string, name: string): `/${string}` {
  return portRoute(path, `/points/${encodeURIComponent(name)}`)
}

/** The calls. */
export const pointsApi = {
  points: (path: string) => call<Points>(`GET ${portRoute(path, '/points')}`),
  replace: (path: string, points: readonly object[]) => call<Points>(`PUT ${portRoute(path, '/points')}`, { points }),
  addTemplate: (path: string, body: object) => call<Points>(`POST ${portRoute(path, '/points')}`, body),
  change: (path: string, name: string, body: object) => call<Points>(`PATCH ${point(path, name)}`, body),
  remove: (path: string, name: string) => call<Points>(`DELETE ${point(path, name)}`),
  templates: () => call<Template[]>('GET /api/templates/modbus'),
}
