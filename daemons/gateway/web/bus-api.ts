/** Units, the scan for units, and registers of a Modbus line: what the gateway answers, and the calls. */
import { call } from '#kit/web/call.ts'
import { portRoute } from './api.ts'

/** How a unit is doing. `slow`: it answers, but replies came late; `silent`: it is asked again at `nextTryAt`. */
export type UnitState = 'unknown' | 'well' | 'slow' | 'failing' | 'silent' | 'probing'

/** One unit of a line. Instants are the gateway's epoch ms. */
export interface BusUnit {
  unitId: number
  state: UnitState
  stateSince: number | null
  requests: number
  replies: number
  exceptions: number
  timeouts: number
  crcErrors: number
  badReplies: number
  lateReplies: number
  lastReplyAt: number | null
  lastError: { code: string; message: string; at: number } | null
  latencyMs: { last: number; p50: number; p95: number; max: number } | null
  /** Replies within `leMs`, cumulative; the last has no bound. */
  histogram: { leMs: number | null; count: number }[]
  /** Asked nothing until then, so that a late reply is not taken for another. */
  heldUntil: number | null
  nextTryAt: number | null
}

/** A look for units over a range of ids. */
export interface ScanJob {
  state: 'running' | 'done' | 'cancelled' | 'failed'
  from: number
  to: number
  fc: number
  address: number
  asked: number
  total: number
  current: number | null
  found: { unitId: number; tookMs: number | null; exception: { code: number; name: string } | null }[]
  startedAt: number
  endedAt: number | null
  etaMs: number | null
  fault: { code: string; message: string } | null
}

export type RegisterTable = 'coils' | 'discrete_inputs' | 'holding_registers' | 'input_registers'

/** A piece of the register map a slave serves; null where nothing was written yet. */
export interface Registers {
  unitId: number
  table: RegisterTable
  address: number
  values: (number | null)[]
  writtenAt: number | null
}

/** Which registers are meant. */
export interface RegisterRange {
  unitId: number | string
  table: string
  address: number | string
  quantity: number | string
}

function query(facts: object): string {
  const words = Object.entries(facts).map(([name, value]) => [name, String(value)])
  return new URLSearchParams(words as [string, string][]).toString()
}

/** The calls. */
export const busApi = {
  units: (path: string) => call<BusUnit[]>(`GET ${portRoute(path, '/units')}`),
  scan: (path: string) => call<ScanJob>(`GET ${portRoute(path, '/rest/scan')}`),
  startScan: (path: string, body: object) => call<ScanJob>(`POST ${portRoute(path, '/rest/scan')}`, body),
  cancelScan: (path: string) => call<ScanJob>(`DELETE ${portRoute(path, '/rest/scan')}`),
  registers: (path: string, range: RegisterRange) =>
    call<Registers>(`GET ${portRoute(path, `/registers?${query(range)}`)}`),
  writeRegisters: (path: string, body: object) => call<Registers>(`PUT ${portRoute(path, '/registers')}`, body),
}
