/** What an administrator does with macros, over the site, the building as it is now, and the runs that are kept. */
import { resolveTarget, type Target } from '../control/reading.ts'
import type { Json } from '../json.ts'
import { rowsAfter } from '../site/changes.ts'
import type { UiMacros } from '../surfaces.ts'
import { draftMacro, type EditedSite, listMacros, openMacro, tryMacro } from './editing.ts'
import { listRuns, openRun, replayRun, trialOf } from './past-runs.ts'
import { readAttribute, secretsOf } from './perform.ts'
import type { LiveRun } from './ports.ts'
import type { MacroLimits } from './values.ts'

interface DeskParts {
  site(): EditedSite
  limits: MacroLimits
  /** Runs that are kept in memory. */
  mostRuns: number
  nowMs(): number
  /** A value of a zone or a device, as it is now. */
  liveField(target: Target, field: string): Json
  living(): readonly LiveRun[]
  knownVerbs: (target: Target) => ReturnType<UiMacros['verbs']>
}

export function createMacroDesk(parts: DeskParts): UiMacros {
  const { limits } = parts
  const seen = () => parts.site().book

  /** The newest run of each macro. */
  function lastRuns() {
    const lines = listRuns(seen(), { macro: undefined, before: Number.MAX_SAFE_INTEGER, limit: parts.mostRuns })
    return new Map(lines.toReversed().map((line) => [line.macro_id, line]))
  }

  return {
    list() {
      const last = lastRuns()
      return listMacros(parts.site(), limits).map((macro) => ({ ...macro, last: last.get(macro.id) ?? null }))
    },
    open: (id) => openMacro(parts.site(), id),
    draft: (wish) => draftMacro(parts.site(), wish, limits),
    tryOut(draft, wish) {
      const site = parts.site()
      const { book } = site
      const simulation = tryMacro(site, draft, wish, {
        attributes: { read: (ref) => readAttribute(book, ref) },
        live: {
          read(named, field) {
            const resolved = resolveTarget(book, named)
            return 'fault' in resolved ? undefined : parts.liveField(resolved.target, field)
          },
        },
        ...{ secrets: secretsOf(book), limits, seed: 1, startedAt: parts.nowMs() },
      })
      return trialOf(simulation, rowsAfter(book, site.waiting).rows)
    },
    runs: (ask) => listRuns(seen(), ask),
    run: (id) => openRun(seen(), rowsAfter(seen(), []).rows, id, parts.living()),
    replay: (id) => replayRun(seen().row('macro_run', id), secretsOf(seen())),
    verbs(named) {
      const resolved = resolveTarget(seen(), named)
      return 'fault' in resolved ? undefined : parts.knownVerbs(resolved.target)
    },
  }
}
