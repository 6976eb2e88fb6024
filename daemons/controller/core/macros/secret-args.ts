/** Which args of a macro come to stand where secrets stand, in its own steps or in those of macros that it calls. */
import { isObject } from '../json-kind.ts'
import type { CallBook } from './call-step.ts'
import { hideStep, secretArgsOf } from './hide.ts'
import type { MacroPlan } from './plan.ts'
import type { Secrets } from './ports.ts'
import type { DoingStep, Step } from './step.ts'
import { referencesOf } from './substitute.ts'

/** Macros that are looked through for one run; of what lies beyond them all is taken for secret. */
const MOST_MACROS = 256

/** Where it is looked: the macros, what counts as secret, and how deep macros can call macros at all. */
export interface SecretSearch {
  book: CallBook
  secrets: Secrets
  limits: { depth: number }
}

interface Looking extends SecretSearch {
  /** By macro and by how deep it was looked from there. */
  known: Map<string, ReadonlySet<string>>
}

export function secretArgsIn(plan: MacroPlan, search: SecretSearch): ReadonlySet<string> {
  return secretIn(plan, search.limits.depth, { ...search, known: new Map() })
}

function secretIn(plan: MacroPlan, depthLeft: number, looking: Looking): ReadonlySet<string> {
  const key = `${plan.id} ${depthLeft}`
  const known = looking.known.get(key)
  if (known) return known
  const names = new Set<string>()
  // Known before it is whole: a macro that leads to itself is refused when it runs.
  looking.known.set(key, names)
  for (const step of plan.steps) {
    for (const name of secretArgsOf(step.raw, hideStep(step.raw, looking.secrets))) names.add(name)
    if (depthLeft > 1)
      for (const call of callsIn(step)) for (const name of passedOn(call, depthLeft - 1, looking)) names.add(name)
  }
  return names
}

type CallStep = DoingStep & { type: 'macro' }

function callsIn(step: Step): CallStep[] {
  if (step.type === 'macro') return [step]
  return step.type === 'parallel' ? step.branches.flatMap((branch) => branch.flatMap(callsIn)) : []
}

/** Those that a call hands on as an arg that is secret there. Which macro is meant may not be known yet: then all of them. */
function passedOn(call: CallStep, depthLeft: number, looking: Looking): Set<string> {
  const called = looking.known.size < MOST_MACROS ? calledBy(call, looking.book) : undefined
  if (!called || !isObject(call.args)) return referencesOf(call.args)
  const names = new Set<string>()
  for (const key of secretIn(called, depthLeft, looking))
    if (Object.hasOwn(call.args, key)) for (const name of referencesOf(call.args[key] ?? null)) names.add(name)
  return names
}

function calledBy({ id, name }: CallStep, book: CallBook): MacroPlan | undefined {
  const row = book.find(id === null ? { name } : { id })
  try {
    return row && book.plan(row)
  } catch {
    // It cannot be run, so it is not known what it would do.
    return undefined
  }
}
