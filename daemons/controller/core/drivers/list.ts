/** All drivers: each is a folder beside this file and a line here. */
import type { Driver } from './driver.ts'
import { createSimDriver } from './sim/sim.ts'
import { createTcpDriver } from './tcp/tcp.ts'

export function createDrivers(): Driver[] {
  return [createSimDriver(), createTcpDriver()]
}
