/** A role that this machine cannot fill: it says so, and the rest of the board works. */
import type { RoleHouse } from './role.ts'

/** @param why in a sentence */
export function silentRole(why: string): RoleHouse {
  return {
    verdict: () => ({ state: 'fault', text: why }),
    state: () => null,
    routes: [],
    measure() {},
  }
}
