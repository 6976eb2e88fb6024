/** The board put together: the only file that knows both io/ and api/. */
import { join } from 'node:path'
import { createMetrics } from '#kit/http/metrics.ts'
import { createHttpServer } from '#kit/http/server.ts'
import { createPresence } from '#kit/net/mdns/presence.ts'
import type { AssembleContext, Assembled } from '#kit/run/daemon.ts'
import { faultStatus } from './api/fault-status.ts'
import { otherRoleRoutes } from './api/other-role-routes.ts'
import { statusRoutes } from './api/status-routes.ts'
import type { BoardConfig } from './config.ts'
import type { RoleHouse, RoleWorld } from './core/role.ts'
import { silentRole } from './core/silent-role.ts'
import { machineName } from './io/machine-name.ts'
import type { RoleName } from './wire/role-name.ts'

type Context = AssembleContext<BoardConfig>

/** Adds the parts in the order they depend on each other. */
export async function assemble(context: Context): Promise<Assembled> {
  const { clock, config, log, parts, stateFolder, version } = context
  const role = config.board.role
  const house = await houseOf(role, { clock, log, stateFolder, parts, onChange() {} })
  const metrics = createMetrics({ process: true })
  house.measure(metrics)
  const server = createHttpServer({
    log,
    clock,
    config: config.http,
    identify: () => ({ name: 'admin', role: 'admin' }),
    routes: [...statusRoutes({ clock, version, role, house, machineName }), ...house.routes, ...otherRoleRoutes(role)],
    web: { folder: join(import.meta.dirname, 'web/board') },
    faultStatus,
    title: 'Plantroom board',
    version,
    metrics,
  })
  parts.add({ name: 'http', start: async () => void (await server.listen()), stop: () => server.close() })
  const says = () => ({ role, name: machineName() })
  parts.add(createPresence({ ...context, daemon: 'board', port: () => server.address().port, says }).part)
  return { status: () => house.verdict().text }
}

/** The role that the board has until its next start. */
async function houseOf(role: RoleName, _world: RoleWorld): Promise<RoleHouse> {
  return silentRole(`This version does not have the role ${role}.`)
}
