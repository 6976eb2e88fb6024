/** Whether a machine has what a role needs, for whoever is to choose one. */
import { type RoleName, roleNames } from '../wire/role-name.ts'

/** What the roles need of a machine, as it is now. */
export interface RoleFacts {
  /** Serial lines that the system has. */
  serialLines: number
  hasUsb: boolean
  /** The kernel's side of USB/IP is loaded. */
  hasUsbipHost: boolean
}

/** One role on this machine. Nobody is kept from choosing it: what is missing may come later. */
export interface RoleFitness {
  role: RoleName
  can: boolean
  /** Why not, in one sentence; empty where it can. */
  text: string
}

/** Each role in the order in which they are offered. */
export function roleFitness(facts: RoleFacts): RoleFitness[] {
  return roleNames.map((role) => {
    const text = WHY_NOT[role](facts)
    return { role, can: text === '', text }
  })
}

const NO_SOUND = 'This version plays and sends no sound; the board serves everything else.'

const WHY_NOT: Readonly<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: () => NO_SOUND,
  decoder: () => NO_SOUND,
  serial: ({ serialLines }) => (serialLines === 0 ? 'No serial line is there yet: plug an adapter in.' : ''),
  usbip({ hasUsb, hasUsbipHost }) {
    if (!hasUsb) return 'This system has no USB.'
    return hasUsbipHost ? '' : 'The kernel of this system has no usbip-host, so it cannot share USB.'
  },
}
