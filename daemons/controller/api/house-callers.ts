/** Who may call what the house serves beside the REST surface, such as `/metrics`: sessions of it that may read. */
import { bearerOf } from '#kit/auth/bearer.ts'
import type { Identify } from '#kit/http/who-may.ts'
import type { Rules } from '../core/rules.ts'

/** An elevated session is an administrator of the house. */
export function houseCallers(rules: Pick<Rules, 'origin' | 'resolve'>): Identify {
  return ({ authorization, remoteAddress }) => {
    const session = rules.resolve(bearerOf(authorization), rules.origin(remoteAddress, {}, false))
    if (session === 'invalid_session' || !session.may('query')) return undefined
    return { name: session.username, role: session.isElevated ? 'admin' : 'viewer' }
  }
}
