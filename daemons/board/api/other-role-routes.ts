/** Paths of the roles that this board does not have at the moment: they exist, and say why there is nothing. */
import { Fault } from '#kit/fault.ts'
import type { Route } from '#kit/http/route.ts'
import type { RoleName } from '../wire/role-name.ts'

/** What each role answers under, beside what every board answers. A test holds it to the routes that the roles have. */
export const rolePaths: Readonly<Partial<Record<RoleName, readonly Pick<Route, 'method' | 'path' | 'who'>[]>>> = {
  encoder: [{ method: 'GET', path: '/stream.sdp', who: 'anyone' }],
  serial: [
    { method: 'GET', path: '/api/serial', who: 'admin' },
    { method: 'POST', path: '/api/serial', who: 'admin' },
    { method: 'POST', path: '/api/serial/drop', who: 'admin' },
  ],
  usbip: [
    { method: 'GET', path: '/api/usbip', who: 'admin' },
    { method: 'POST', path: '/api/usbip', who: 'admin' },
    { method: 'GET', path: '/usbip.sh', who: 'anyone' },
    { method: 'GET', path: '/usbip.ps1', who: 'anyone' },
  ],
}

/** @returns the paths of every role but `role`, for the same callers, each answered by Fault `other_role` */
export function otherRoleRoutes(role: RoleName): Route[] {
  const others = (Object.keys(rolePaths) as RoleName[]).filter((name) => name !== role)
  return others.flatMap((needed) => (rolePaths[needed] ?? []).map((path) => refused(path, needed, role)))
}

function refused(at: Pick<Route, 'method' | 'path' | 'who'>, needed: RoleName, role: RoleName): Route {
  function handle(): never {
    throw new Fault(
      'other_role',
      `${at.path} is there in the role ${needed}, and this board is in the role ${role}: change it in the settings.`,
    )
  }
  return { ...at, summary: `Only in the role ${needed}`, handle }
}
