/** Units, the scan for units, and registers of a Modbus line: the calls. */
import { call } from '#kit/web/call.ts'
import type { RegisterView } from '../core/modbus/slave-registers.ts'
import type { ScanJob } from '../core/modbus/unit-scan.ts'
import type { UnitView } from '../core/modbus/units.ts'
import { portRoute } from './api.ts'

/** Which registers are meant, as typed. */
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
  units: (path: string) => call<UnitView[]>(`GET ${portRoute(path, '/units')}`),
  forgetUnit: (path: string, unitId: number) => call(`DELETE ${portRoute(path, `/units/${unitId}`)}`),
  scan: (path: string) => call<ScanJob>(`GET ${portRoute(path, '/rest/scan')}`),
  startScan: (path: string, body: object) => call<ScanJob>(`POST ${portRoute(path, '/rest/scan')}`, body),
  cancelScan: (path: string) => call<ScanJob>(`DELETE ${portRoute(path, '/rest/scan')}`),
  registers: (path: string, range: RegisterRange) =>
    call<RegisterView>(`GET ${portRoute(path, `/registers?${query(range)}`)}`),
  writeRegisters: (path: string, body: object) => call<RegisterView>(`PUT ${portRoute(path, '/registers')}`, body),
}
