/** Finds macros by id and name, and keeps the plans that were asked for last until their rows change. */
import type { Book, Row } from '../row.ts'
import type { MacroLimits } from './limits.ts'
import { type MacroPlan, readPlan } from './plan.ts'

/** Plans that are kept; to read one takes less than a millisecond. */
export const KEPT_PLANS = 16

export interface MacroBook {
  /** The row a macro is asked for by; undefined where no such macro is, or it is disabled. */
  find(by: { id: unknown } | { name: unknown }): Row | undefined
  /** @throws as readPlan */
  plan(row: Row): MacroPlan
}

export function createMacroBook(book: Book, limits: MacroLimits): MacroBook {
  let seen = ''
  let stepsOf = new Map<unknown, Row[]>()
  const plans = new Map<number, MacroPlan>()

  function refresh(): void {
    const now = `${book.revision('macro')} ${book.revision('macro_step')}`
    if (now === seen) return
    seen = now
    plans.clear()
    stepsOf = Map.groupBy(book.rows('macro_step'), (step) => step.macro_id)
  }

  function find(by: { id: unknown } | { name: unknown }): Row | undefined {
    const row = 'id' in by ? rowOfId(by.id) : rowOfName(by.name)
    return row === undefined || row.enabled === false ? undefined : row
  }

  function rowOfId(id: unknown): Row | undefined {
    return typeof id === 'number' && Number.isSafeInteger(id) ? book.row('macro', id) : undefined
  }

  function rowOfName(name: unknown): Row | undefined {
    return typeof name === 'string' ? book.named('macro', name)[0] : undefined
  }

  return {
    find,
    plan(row) {
      refresh()
      const plan = plans.get(row.id) ?? readPlan(row, stepsOf.get(row.id) ?? [], limits)
      plans.delete(row.id)
      plans.set(row.id, plan)
      const [oldest] = plans.keys()
      if (plans.size > KEPT_PLANS && oldest !== undefined) plans.delete(oldest)
      return plan
    },
  }
}
