/** The way of a command to its driver: through the overrides of zones, each re-checked, and by the rows it is for. */
import { Fault } from '#kit/fault.ts'
import type { Ack, DriverHost } from '../driver.ts'
import type { Book } from '../row.ts'
import { type Caller, createGates, type Gates, type Refusal } from './gates.ts'
import { isSame, type Order, overridden } from './overrides.ts'
import type { Args } from './reading.ts'
import { nameOf, type Resolved, resolveTarget, type Target, withoutTargets } from './target.ts'

export interface DispatcherParts {
  book: Book
  host: DriverHost
  limits: DispatchLimits
}

export interface DispatchLimits {
  /** Overrides that one command may pass through. */
  overrides: number
}

/** How macros and internal callers command; `command` of command.ts is made of it. */
export interface Dispatcher {
  gates: Gates
  /** As a body or the args of a step name it. */
  resolve(named: Readonly<Record<string, unknown>>): Resolved
  /** Elevation and scope of a session on a target that a request has chosen. @returns why not */
  checkTarget(caller: Caller, target: Target, verb?: string): Refusal | undefined
  /**
   * Does it, unchecked but for overrides: whoever chose the target has been asked before.
   * @param caller whom overrides are checked for, and whose args lose their targets; without one nobody is asked
   * @throws Fault `not_authorized` with `details.reason`, `override_broken`, `override_loop`, `zone_without_device`,
   * `device_disabled`, `command_disabled`, `args_invalid`, and those of DriverHost
   */
  dispatch(target: Target, verb: string, args: Args, caller?: Caller): Promise<Ack>
}

export function createDispatcher({ book, host, limits }: DispatcherParts): Dispatcher {
  const gates = createGates(book)

  /** The last order of the chain. One that names itself ends it: a zone may change the args of its own verb. */
  function followed(first: Order, caller: Caller | undefined): Order {
    let order = first
    for (let passed = 0; ; passed++) {
      const next = overridden(book, order)
      if (!next) return order
      if (passed === limits.overrides)
        throw new Fault('override_loop', `${nameOf(first.target)}: more than ${limits.overrides} overrides in a row`)
      const reason = caller && gates.refusal(caller, next.target, next.verb)
      if (reason)
        throw new Fault('not_authorized', 'an override leads to what this session may not command', {
          details: { reason, target: nameOf(next.target) },
        })
      if (isSame(order, next)) return next
      order = next
    }
  }

  function checkEnabled({ zone, device }: Target): void {
    if (!device) throw new Fault('zone_without_device', `zone ${zone?.id} has no device that could do it`)
    if (device.enabled === false) throw new Fault('device_disabled', `device ${device.id} is disabled`)
    for (const row of [device, zone]) {
      const subsystem = typeof row?.subsystem_id === 'number' && book.row('subsystem', row.subsystem_id)
      if (subsystem && subsystem.enabled === false)
        throw new Fault('device_disabled', `subsystem ${subsystem.id}, of which it is, is disabled`)
    }
  }

  return {
    gates,
    resolve: (named) => resolveTarget(book, named),
    checkTarget: (caller, target, verb) => gates.refusal(caller, target, verb),
    async dispatch(first, wish, given, caller) {
      const isOwn = caller?.by !== 'command'
      const { target, ...order } = followed({ target: first, verb: wish, args: given, isOwn }, caller)
      checkEnabled(target)
      const read = gates.verbs.read(target, order)
      const sent = { zone: target.zone, verb: read.verb, args: argsFor(target, read.args, caller) }
      return host.execute((target.device as { id: number }).id, sent)
    },
  }
}

/**
 * Args as the driver gets them. Those of a session that is not elevated name no target but the one that was found.
 * @source document 1, POST /api/control/:action: a zone_id inside args is dropped and replaced
 */
function argsFor(target: Target, args: Args, caller: Caller | undefined): Args {
  if (!caller || caller.session.isElevated) return args
  const clean = withoutTargets(args)
  if (target.zone && Object.hasOwn(args, 'zone_id')) clean.zone_id = target.zone.id
  return clean
}
