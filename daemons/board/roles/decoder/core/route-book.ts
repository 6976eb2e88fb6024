/** The route as it is changed and kept: checked, saved, then applied, one change after the other. */
import { createTurn } from '#kit/turn.ts'
import { type RouteRecord, readRouteForm, routeOfSettings } from './route-form.ts'

/** The file: the route, and what the settings said when it was made. */
export interface SavedRoute {
  route: RouteRecord
  settings: { mcast: string; port: number }
}

/** What the book is made of. */
export interface RouteBookParts {
  /** As loaded; null where none was ever saved. */
  saved: SavedRoute | null
  /** Group and port of the settings. */
  settings: { mcast: string; port: number }
  /** @throws Fault `store_write_failed` */
  save(saved: SavedRoute): Promise<void>
  /** Plays it, at once. */
  apply(route: RouteRecord): void
}

export interface RouteBook {
  readonly route: RouteRecord
  /**
   * Saves, then plays: what cannot be saved is not played either, so that a restart goes on with what is heard.
   * @param given texts by name, see `readRouteForm`
   * @throws Fault `bad_fields`, `store_write_failed`
   */
  change(given: Readonly<Record<string, string>>): Promise<RouteRecord>
  /**
   * Once at the start: a route that other settings have put aside is forgotten, and does not come back with the old ones.
   * @throws Fault `store_write_failed`
   */
  settle(): Promise<void>
}

/**
 * A board plays the group of its settings from its first start on, and what it was routed to from then on. A group that
 * is set anew in the settings wins over an older route.
 * @source Interface 2, B, POST /api/route; Settings
 */
export function createRouteBook({ saved, settings, save, apply }: RouteBookParts): RouteBook {
  const inTurn = createTurn()
  const isOfTheseSettings = saved?.settings.mcast === settings.mcast && saved.settings.port === settings.port
  let route = saved !== null && isOfTheseSettings ? saved.route : routeOfSettings(settings)

  return {
    async settle() {
      if (saved !== null && !isOfTheseSettings) await inTurn(() => save({ route, settings }))
    },
    get route() {
      return route
    },
    change: (given) =>
      inTurn(async () => {
        const next = readRouteForm(given, route)
        await save({ route: next, settings })
        route = next
        apply(next)
        return next
      }),
  }
}
