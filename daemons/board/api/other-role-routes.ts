/** Paths of roles that this board does not have now: they exist, and answer why there is nothing. */

import type { Route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { RoleName } from '../wire/names.ts'

/** Paths of each role, beside those of every board. A test compares them with the routes of the roles. */
export const rolePaths: Readonly<Partial<Record<RoleName, readonly Pick<Route, 'method' | 'path' | 'who'>[]>>> = {
  encoder: [
    { method: 'GET', path: '/stream.sdp', who: 'anyone' },
    { method: 'GET', path: '/api/history', who: 'admin' },
    { method: 'POST', path: '/api/tone', who: 'admin' },
  ],
  decoder: [
    { method: 'GET', path: '/api/streams', who: 'admin' },
    { method: 'GET', path: '/api/route', who: 'admin' },
    { method: 'POST', path: '/api/route', who: 'admin' },
    { method: 'GET', path: '/api/volume', who: 'admin' },
    { method: 'POST', path: '/api/volume', who: 'admin' },
    { method: 'GET', path: '/api/volume_db', who: 'admin' },
    { method: 'POST', path: '/api/volume_db', who: 'admin' },
    { method: 'GET', path: '/api/mute', who: 'admin' },
    { method: 'POST', path: '/api/mute', who: 'admin' },
    { method: 'GET', path: '/api/history', who: 'admin' },
  ],
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
  const own = new Set((rolePaths[role] ?? []).map(nameOf))
  const others = new Map<string, Refused>()
  for (const [name, paths] of Object.entries(rolePaths))
    for (const at of paths)
      if (!own.has(nameOf(at)))
        others.set(nameOf(at), { at, needed: [...(others.get(nameOf(at))?.needed ?? []), name] })
  return [...others.values()].map(({ at, needed }) => refused(at, needed.join(' or '), role))
}

type Path = Pick<Route, 'method' | 'path' | 'who'>

/** A path, and the roles that have it; some are in several. */
interface Refused {
  at: Path
  needed: string[]
}

function nameOf({ method, path }: Path): string {
  return `${method} ${path}`
}

function refused(at: Path, needed: string, role: RoleName): Route {
  function handle(): never {
    throw new Fault(
      'other_role',
      `${at.path} is there in the role ${needed}, and this board is in the role ${role}: change it in the settings.`,
    )
  }
  return { ...at, summary: `Only in the role ${needed}`, refuses: 409, handle }
}
