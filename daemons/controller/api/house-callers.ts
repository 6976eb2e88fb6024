/** Who may call what the house serves beside the REST surface, such as `/metrics`: sessions of it that may read. */
import { bearerOf } from '#kit/auth/bearer.ts'
import type { Identify } from '#kit/http/who-may.ts'
import type { CallHeaders, Rules } from '../core/rules.ts'

/**
 * An elevated session is an administrator of the house. Where a call comes from is judged as on the REST surface, by the
 * chain of trusted proxies and the mark of the tunnel: who keeps to the building reads nothing here from outside.
 * @source document 1, Authentication 5
 */
export function houseCallers({
  rules,
  isTunnel,
}: {
  rules: Pick<Rules, 'origin' | 'resolve'>
  isTunnel(peer: string, headers: CallHeaders): boolean
}): Identify {
  return ({ authorization, remoteAddress, headers }) => {
    const origin = rules.origin(remoteAddress, headers, isTunnel(remoteAddress, headers))
    const session = rules.resolve(bearerOf(authorization), origin)
    if (session === 'invalid_session' || !session.may('query')) return undefined
    return { name: session.username, role: session.isElevated ? 'admin' : 'viewer' }
  }
}
