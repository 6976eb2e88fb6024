/** Who may command what: role, elevation and scope, in this order, for a first target and for each one after it. */
import type { AuditReason } from '../audit.ts'
import { zonesByDevice } from '../derived.ts'
import type { Book } from '../row.ts'
import type { ApiFunction, Session } from '../session.ts'
import { createScopes } from './scope.ts'
import type { Target } from './target.ts'
import { createVerbs, type Verbs } from './verbs.ts'

/** Who is behind a command, and the function of the API that brought it: a macro's steps come by `macro`. */
export interface Caller {
  session: Session
  by: ApiFunction
}

/** Why a target is refused. */
export type Refusal = Extract<AuditReason, 'role_denied' | 'elevation_denied' | 'scope_denied'>

export interface Gates {
  verbs: Verbs
  /** @param verb without one, what the table `command` says is left out */
  refusal(caller: Caller, target: Target, verb?: string): Refusal | undefined
  /** Whether something is out of reach for this session, so that it is not told what exists. */
  isScoped(session: Session): boolean
  /** Whether something is within the zones of the session, elevated or not. */
  isReached(target: Target, session: Session): boolean
}

/**
 * Elevation: the device's own flag, that of the zone, that of the command. A device commanded as a whole is elevated
 * where one of its zones is: the command reaches that one too. Scope: a device is reached by any of its zones.
 * @source document 1, POST /api/control/:action, elevated gates
 */
export function createGates(book: Book): Gates {
  const zonesOf = zonesByDevice(book)
  const scopeOf = createScopes(book)
  const verbs = createVerbs(book, zonesOf)

  function isElevated({ zone, device }: Target, verb: string | undefined): boolean {
    if (device?.elevated === true) return true
    const zones = zone ? [zone] : device ? zonesOf(device.id) : []
    if (zones.some(({ elevated }) => elevated === true)) return true
    return verb !== undefined && verbs.isElevated({ zone, device }, verb)
  }

  function isReached({ zone, device }: Target, session: Session): boolean {
    const scope = scopeOf(session)
    if (scope === 'open') return true
    if (zone) return scope.has(zone.id)
    return device !== undefined && zonesOf(device.id).some(({ id }) => scope.has(id))
  }

  return {
    verbs,
    refusal({ session, by }, target, verb) {
      if (!session.may(by)) return 'role_denied'
      if (session.isElevated) return undefined
      if (isElevated(target, verb)) return 'elevation_denied'
      return isReached(target, session) ? undefined : 'scope_denied'
    },
    isScoped: (session) => scopeOf(session) !== 'open',
    isReached,
  }
}
