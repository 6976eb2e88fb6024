/** The building of the demo: the controller with the sample site, its devices simulated. */
import { join } from 'node:path'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { LOOPBACK } from './free-port.ts'
import type { Undo } from './undo.ts'

const PAGE_PORT = 3130

/** Accounts of the sample site: all three use the demo's common password. */
export const buildingPeople = { admin: 'admin', operator: 'operator', program: 'integrator' } as const

/** @param stateFolder holds the controller's folder */
export async function startBuilding(stateFolder: string, undo: Undo): Promise<DaemonProcess> {
  const controller = await startDaemon({
    name: 'controller',
    stateFolder: join(stateFolder, 'controller'),
    listen: `${LOOPBACK}:${PAGE_PORT}`,
    sets: [],
    args: ['--import', join(import.meta.dirname, 'templates/controller/sample-building.json')],
  })
  undo.push(() => controller.stop())
  return controller
}
