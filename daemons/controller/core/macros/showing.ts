/** How a run is shown in its trace: the same decisions, computed from steps and args without their secrets. */
import { isObject, type Json, objectOf } from '../json.ts'
import { type Decided, decide, type Side, type Test } from './decide.ts'
import { type DoingStep, type MacroPlan, readSteps, type Step } from './plan.ts'
import type { CallBook, Secrets } from './ports.ts'
import { chanceOf, type Showing } from './run.ts'
import { type MacroArgs, type MacroLimits, makeArgs, referencesOf, refersTo } from './values.ts'

// Keeps secrets out of traces: values under a sensitive name, values written to or compared with a secret attribute,
// and each arg that a step uses in such a place, whatever the arg is called.

type Fields = { readonly [key: string]: Json }

/**
 * A step as in its table, with null for secrets; its structure stays.
 * @param names args that are secret although their names are not sensitive
 */
export function hideStep(raw: Json, secrets: Secrets, names: ReadonlySet<string> = new Set()): Json {
  if (!isObject(raw) || !isObject(raw.args)) return raw
  const { args, type } = raw
  if (type === 'parallel') return { ...raw, args: hideBranches(args, secrets, names) }
  const open = secrets.withoutSecrets(args) as Fields
  if (type === 'set' && isSecret(args.attribute, secrets)) return { ...raw, args: { ...open, value: null } }
  if (type !== 'wait' && type !== 'condition') return { ...raw, args: open }
  // The result of a test against a secret reveals it, if the other side can be read.
  const isSecretTest =
    [args, args.left, args.right].some((side) => isObject(side) && isSecretReading(side, secrets)) ||
    [args.left, args.right, args.value].some((side) => side !== undefined && isSecretValue(side, secrets, names))
  return { ...raw, args: isSecretTest ? withoutValues(open) : open }
}

/** The names of args used where `hidden` has null. */
export function secretArgsOf(raw: Json, hidden: Json): Set<string> {
  const names = new Set<string>()
  const open: [Json, Json][] = [[raw, hidden]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [one, other] = next
    if (other === null && one !== null) for (const name of referencesOf(one)) names.add(name)
    if (Array.isArray(one) && Array.isArray(other))
      one.forEach((entry, at) => void open.push([entry, other[at] ?? null]))
    else if (isObject(one) && isObject(other))
      for (const key of Object.keys(one))
        open.push([one[key] as Json, Object.hasOwn(other, key) ? (other[key] as Json) : null])
  }
  return names
}

/** The args of a run as its trace has them; those in `secret` are null whatever their names. */
export function hideArgs(
  args: ReadonlyMap<string, Json>,
  secret: ReadonlySet<string>,
  secrets: Pick<Secrets, 'isSensitiveName' | 'withoutSecrets'>,
): Map<string, Json> {
  const hidden = new Map<string, Json>()
  for (const [name, value] of args) {
    const isHidden = secrets.isSensitiveName(name) || secret.has(name)
    hidden.set(name, isHidden ? null : secrets.withoutSecrets(value))
  }
  return hidden
}

function hideBranches(args: Fields, secrets: Secrets, names: ReadonlySet<string>): Json {
  if (!Array.isArray(args.steps)) return secrets.withoutSecrets(args)
  const steps = args.steps.map((branch: Json) =>
    Array.isArray(branch)
      ? branch.map((step: Json) => hideStep(step, secrets, names))
      : hideStep(branch, secrets, names),
  )
  const hidden = objectOf(Object.entries(args))
  hidden.steps = steps
  return hidden
}

function isSecretReading(side: Fields, secrets: Secrets): boolean {
  const name = side.attribute ?? side.field
  return name !== undefined && isSecret(name, secrets)
}

function isSecretValue(side: Json, secrets: Secrets, names: ReadonlySet<string>): boolean {
  for (const name of referencesOf(side)) if (names.has(name) || secrets.isSensitiveName(name)) return true
  return false
}

/** An attribute whose name comes from an arg may be any attribute. */
function isSecret(name: Json | undefined, secrets: Secrets): boolean {
  return typeof name !== 'string' || name.includes('${args.') || secrets.isSecretAttribute(name)
}

/** A test without the compared values; its readings stay. */
function withoutValues(args: Fields): Fields {
  const hidden = objectOf(Object.entries(args))
  for (const key of ['left', 'right']) if (hidden[key] !== undefined && !isObject(hidden[key])) hidden[key] = null
  if (hidden.value !== undefined) hidden.value = null
  return hidden
}

// Finds the args of a macro that reach a secret place, in its own steps or in those of the macros it calls.

/** Most macros searched for one run; beyond them, all args count as secret. */
const MOST_MACROS = 256

/** What the search needs: the macros, the rules for secrets, and the greatest depth of macro calls. */
interface SecretSearch {
  book: CallBook
  secrets: Secrets
  limits: { depth: number }
}

interface Looking extends SecretSearch {
  /** By macro and remaining depth. */
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
  // Stored before it is complete: a macro that leads to itself is refused when it runs.
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

/** The args that a call passes on as an arg that is secret there. If the called macro is not known yet: all of them. */
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
    // It cannot be run, so its steps are unknown.
    return undefined
  }
}

// A decision, as a trace stores it and a simulation prints it.

/** Plain JSON; uses the keys of a step's args where they exist. */
function shownOf(decided: Decided): { [key: string]: Json } {
  switch (decided.type) {
    case 'command':
      return { ...decided.target.what, command: decided.verb, args: decided.args }
    case 'delay':
      return { wait_ms: decided.waitMs }
    case 'wait':
      return { ...shownTest(decided.test), timeout_ms: decided.timeoutMs }
    case 'condition':
      return { ...shownTest(decided.test), else: decided.skip === 'stop' ? 'stop' : { skip: decided.skip } }
    case 'set':
      return { ...decided.target.what, attribute: decided.name.what, value: decided.value }
    case 'macro': {
      const { what } = decided.macro
      const args = objectOf(decided.args.values)
      return 'id' in what ? { macro_id: what.id, args } : { macro: what.name, args }
    }
    case 'notify':
      return {
        text: decided.text,
        ...(decided.to.length === 0 ? {} : { to: decided.to }),
        ...(decided.subject === null ? {} : { subject: decided.subject }),
      }
    case 'stop':
      return { reason: decided.reason, failed: decided.isFailure }
  }
}

function shownTest(test: Test): { [key: string]: Json } {
  return { left: shownSide(test.left), op: test.op, right: shownSide(test.right) }
}

function shownSide(side: Side): Json {
  if (side.kind === 'value') return side.value
  return { ...side.target.what, [side.kind]: side.name.what }
}

// The run as its trace shows it.
/** What a trace contains about the start of its run. */
export interface ShownStart {
  /** The args of the call, with the secret ones marked. */
  readonly calledWith: MacroArgs
  readonly plan: readonly Json[]
  readonly args: MacroArgs
  readonly showing: Showing
}

/**
 * @param args the args of the call
 * @param search finds out which of them are secret
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
  // Hidden values may be slightly longer than the originals.
  const shownArgs = makeArgs(shownValues, Number.MAX_SAFE_INTEGER, { supplied: args.supplied })
  // So may hidden steps, and the originals were measured when their macro was read.
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
interface Shown {
  args: MacroArgs
  n: number
  seed: number
  limits: MacroLimits
  secrets: Pick<Secrets, 'withoutSecrets'>
}

/** A step as its trace shows it; null if its values do not fit together. */
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
