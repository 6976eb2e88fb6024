/** A role that this version cannot fill: it says so, and the rest of the board works. */
import type { RoleName } from '../wire/role-name.ts'
import type { RoleHouse } from './role.ts'

/** @param role one that needs sound */
export function silentRole(role: RoleName): RoleHouse {
  const text = `This version has no sound, so a board in the role ${role} does nothing: choose another in the settings.`
  return {
    verdict: () => ({ state: 'fault', text }),
    state: () => ({}),
    routes: [],
    measure() {},
  }
}
