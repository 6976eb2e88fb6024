/** The one thing the first run must know before anybody can sign in: which lines there are. */
import { Fault } from '#kit/fault.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import type { Users } from '../core/users.ts'
import { linesAnswer } from './answers.ts'
import { portAnswer } from './port-body.ts'

/**
 * Only until there is an administrator. Without it the first run would have to make one before its last step, to be
 * able to list the lines, and going back would no longer be possible.
 */
export function firstRunRoute({ users, registry }: { users: Users; registry: PortRegistry }): Route {
  return route({
    method: 'GET',
    path: '/api/setup',
    who: 'anyone',
    reply: linesAnswer,
    ownHostOnly: true,
    directOnly: true,
    summary: 'Lines found, for the first run; only until there is an administrator',
    async handle() {
      if (users.isSetUp())
        throw new Fault('already_set_up', 'This gateway has its administrator already. Sign in instead.')
      return { lines: (await registry.list()).map(portAnswer) }
    },
  })
}
