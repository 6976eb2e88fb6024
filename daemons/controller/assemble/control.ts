/** Commands and macros, put together: live state, drivers, the dispatcher between them, and the engine of macros. */
import { type Command, createCommand } from '../core/control/command.ts'
import { createDispatcher } from '../core/control/dispatcher.ts'
import { createScopes } from '../core/control/scope.ts'
import { Drivers } from '../core/driver-host.ts'
import { limitsOf } from '../core/limit.ts'
import { LiveState } from '../core/live-book.ts'
import { MacroEngine } from '../core/macros/engine.ts'
import { tellInterrupted } from '../core/macros/interrupted.ts'
import { createMacroBook } from '../core/macros/macro-book.ts'
import { createMacroCall, type RunMacro } from '../core/macros/macro-call.ts'
import type { MacroPorts } from '../core/macros/ports.ts'
import type { Session } from '../core/session.ts'
import { createDriverWorld } from '../io/driver-world.ts'
import { createDrivers } from './drivers.ts'
import type { Changed, House } from './house.ts'
import { type MacroNeeds, macroPorts, runKeeper } from './macro-ports.ts'

/** What the rest asks of it. */
export interface Control {
  live: LiveState
  command: Command
  runMacro: RunMacro
  /** Zones that a session may see and command, as the pages show them. */
  scope(session: Session): ReadonlySet<number> | 'all'
  /** Devices and zones of the site are others: their drivers follow. */
  refresh(): void
}

export function openControl(house: House, changed: Changed): Control {
  const { context, site } = house
  const { clock, config, parts } = context
  const live = new LiveState(clock, limitsOf(config.live))
  const drivers = openDrivers(house, live)
  const limits = limitsOf(config.drivers)
  const dispatcher = createDispatcher({ book: site.book, host: drivers, limits })
  const { engine, runMacro } = openMacros(house, { dispatcher, live, changed })
  parts.add({
    name: 'devices',
    start: () => drivers.refresh(),
    stop: () => drivers.close(),
    stopDeadlineMs: limits.closeMs + limits.graceMs + 1000,
  })
  parts.add({
    name: 'macros',
    start: async () => void (await tellInterrupted(runKeeper(house), clock.epochMs())),
    stop: () => engine.stop(),
  })
  const command = createCommand({
    dispatcher,
    runMacro: (session, { macro_id }, args) => runMacro(session, { macro_id, args }),
  })
  return { live, command, runMacro, scope: scopesOf(house), refresh: () => drivers.refresh() }
}

function openDrivers({ context, site }: House, live: LiveState): Drivers {
  const { clock, config, log } = context
  const limits = limitsOf(config.drivers)
  const world = createDriverWorld({ clock, log, chance: Math.random, limits })
  return new Drivers({ book: site.book, live, world, drivers: createDrivers(), limits })
}

function openMacros(house: House, needs: MacroNeeds): { engine: MacroEngine; runMacro: RunMacro } {
  const { context, site } = house
  const limits = limitsOf(context.config.macros)
  const ports: MacroPorts = macroPorts(house, needs)
  const book = createMacroBook(site.book, limits)
  const engine = new MacroEngine({ book, ports, limits })
  return { engine, runMacro: createMacroCall({ book, engine, clock: context.clock, limits }) }
}

function scopesOf({ site }: House): (session: Session) => ReadonlySet<number> | 'all' {
  const scopeOf = createScopes(site.book)
  return (session) => {
    if (session.isElevated) return 'all'
    const scope = scopeOf(session)
    if (scope === 'open') return 'all'
    return new Set(site.book.rows('zone').flatMap(({ id }) => (scope.has(id) ? [id] : [])))
  }
}
