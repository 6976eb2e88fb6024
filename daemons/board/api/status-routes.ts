/** How the board is. */
import type { Clock } from '#kit/clock.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { RoleHouse } from '../core/role.ts'
import type { RoleName } from '../wire/role-name.ts'

/** What the status is made of. */
export interface StatusParts {
  clock: Clock
  version: string
  role: RoleName
  house: RoleHouse
  machineName(): string
}

export function statusRoutes({ clock, version, role, house, machineName }: StatusParts): Route[] {
  const startedAt = clock.epochMs()
  const startedMs = clock.monotonicMs()
  return [
    route({
      method: 'GET',
      path: '/api/status',
      who: 'admin',
      summary: 'Live state',
      handle: () => ({
        role,
        hostname: machineName(),
        version,
        verdict: house.verdict(),
        started_at: startedAt,
        uptime_s: Math.floor((clock.monotonicMs() - startedMs) / 1000),
        [role]: house.state(),
      }),
    }),
  ]
}
