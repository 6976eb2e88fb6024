/** A role that this version cannot fill: it says so, and the rest of the board works. */
import type { RoleHouse } from './role.ts'

/** @param text one sentence on what is missing */
export function silentRole(text: string): RoleHouse {
  return {
    verdict: () => ({ state: 'fault', text }),
    state: () => ({}),
    routes: [],
    measure() {},
  }
}
