/** How a run is shown in its trace: the same decisions, made of steps and args without their secrets. */
import type { Json } from '../row.ts'
import { type MacroArgs, makeArgs } from './args.ts'
import { chanceOf } from './chance.ts'
import { type Decided, decide } from './decide.ts'
import { hideArgs, hideStep } from './hide.ts'
import type { MacroLimits } from './limits.ts'
import { type MacroPlan, readSteps } from './plan.ts'
import type { Secrets } from './ports.ts'
import type { Showing } from './run.ts'
import { type SecretSearch, secretArgsIn } from './secret-args.ts'
import { shownOf } from './show.ts'
import type { DoingStep, Step } from './step.ts'
import { refersTo } from './substitute.ts'

/** What a trace holds of how its run was started. */
export interface ShownStart {
  /** As it is called with, what is secret marked. */
  readonly calledWith: MacroArgs
  readonly plan: readonly Json[]
  readonly args: MacroArgs
  readonly showing: Showing
}

/**
 * @param args as it was called with
 * @param search where it is looked for what of them is secret
 */
export function showingOf(
  { plan: macro, args, seed }: { plan: MacroPlan; args: MacroArgs; seed: number },
  search: SecretSearch,
  limits: MacroLimits,
): ShownStart {
  const { steps } = macro
  const { secrets } = search
  const names = new Set([...secretArgsIn(macro, search), ...args.secret])
  const plan = steps.map((step) => hideStep(step.raw, secrets, names))
  const shownValues = hideArgs(args.values, names, secrets)
  // What is hidden may be a little longer than what it stands for.
  const shownArgs = makeArgs(shownValues, Number.MAX_SAFE_INTEGER, { supplied: args.supplied })
  // So may steps, and those were measured when their macro was read.
  const twins = twinsOf(steps, readSteps(plan, { ...limits, planChars: Number.MAX_SAFE_INTEGER }))
  const secret = new Set(args.values.keys().filter((name) => !isEqual(args.values.get(name), shownValues.get(name))))
  const isWithheld = memoized((step) => {
    const twin = twins.get(step) as Step
    return !isEqual(step.raw, twin.raw) || refersTo(step.raw, secret)
  })
  return {
    plan,
    calledWith: { ...args, secret },
    args: shownArgs,
    showing: {
      decided: (step, n) => decidedAs(twins.get(step) as DoingStep, { args: shownArgs, n, seed, limits, secrets }),
      isWithheld,
    },
  }
}

/** What is needed to show one entry. */
export interface Shown {
  args: MacroArgs
  n: number
  seed: number
  limits: MacroLimits
  secrets: Pick<Secrets, 'withoutSecrets'>
}

/** A step as its trace shows it; null where its values do not fit together. */
export function decidedAs(step: DoingStep, shown: Shown): Json {
  const { args, limits } = shown
  let decided: Decided
  try {
    decided = decide(step, { args, limits, chance: () => chanceOf(shown.seed, shown.n) })
  } catch {
    return null
  }
  return shown.secrets.withoutSecrets(shownOf(decided))
}

function twinsOf(steps: readonly Step[], others: readonly Step[], twins = new Map<Step, Step>()): Map<Step, Step> {
  steps.forEach((step, at) => {
    const twin = others[at] as Step
    twins.set(step, twin)
    if (step.type !== 'parallel' || twin.type !== 'parallel') return
    const { branches } = twin
    step.branches.forEach((branch, index) => void twinsOf(branch, branches[index] as readonly Step[], twins))
  })
  return twins
}

function memoized(find: (step: Step) => boolean): (step: Step) => boolean {
  const found = new Map<Step, boolean>()
  return (step) => {
    const known = found.get(step) ?? find(step)
    found.set(step, known)
    return known
  }
}

function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
