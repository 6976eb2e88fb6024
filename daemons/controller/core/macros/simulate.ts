/** Simulates a macro without a building: nothing is sent, time passes at once; returns what would be sent. */

import type { Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Json } from '../json.ts'
import { decide } from './decide.ts'
import { checkedArgs, failureOf, perform } from './perform.ts'
import type { MacroPlan } from './plan.ts'
import {
  type AttributeReading,
  type AttributeRef,
  answerOfCalled,
  type CallBook,
  type CallWish,
  calledPlan,
  type Doer,
  type Done,
  type MacroLive,
  type Secrets,
} from './ports.ts'
import { type Ask, chanceOf, MacroRun, type RunState, type Trace } from './run.ts'
import { showingOf } from './showing.ts'
import type { MacroArgs, MacroLimits } from './values.ts'

// Time of a simulation: it advances as soon as nothing else is left to do.

interface VirtualTime {
  /** Whole milliseconds since it began. */
  nowMs(): number
  after(delayMs: number, run: () => void): Timer
  /** Advances to the next due timer and runs it. @returns false if there is none */
  step(): boolean
}

function createVirtualTime(): VirtualTime {
  let nowMs = 0
  let order = 0
  const waiting = new Map<number, { dueMs: number; run: () => void }>()
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const key = order++
      waiting.set(key, { dueMs: nowMs + Math.max(0, Math.ceil(delayMs)), run })
      return { cancel: () => void waiting.delete(key) }
    },
    step() {
      // Timers that are due at once run in the order in which they were set.
      let next: [number, { dueMs: number; run: () => void }] | undefined
      for (const entry of waiting) if (!next || entry[1].dueMs < next[1].dueMs) next = entry
      if (!next) return false
      waiting.delete(next[0])
      nowMs = next[1].dueMs
      next[1].run()
      return true
    },
  }
}

// The simulation.
/** The assumed state of the building. */
export interface SimulatedWorld {
  /** Macros that the macro may call. */
  book: CallBook
  attributes: { read(ref: AttributeRef): AttributeReading | undefined }
  live: Pick<MacroLive, 'read'>
  secrets: Secrets
  limits: MacroLimits
  seed: number
  /** Assumed start, in epoch ms. */
  startedAt: number
  /** What to assume for a wait that is not met at once. */
  waits: 'met' | 'expired'
}

/** What would have been sent, without its secrets. `at` in milliseconds since the start. */
export interface Sent {
  at: number
  macro: string
  step: string
  type: 'command' | 'set' | 'notify'
  what: Json
}

export interface Simulation {
  state: RunState
  sent: readonly Sent[]
  /** The trace of the macro itself; runs it called appear only in `sent`. */
  trace: Trace
}

interface Scene {
  world: SimulatedWorld
  time: VirtualTime
  sent: Sent[]
  /** Values set by set steps. */
  values: Map<string, Json>
  calls: number
}

interface Actor {
  plan: MacroPlan
  args: MacroArgs
  /** The call chain, including its own macro. */
  within: readonly number[]
}

/**
 * Simulates a run by the building: no caller's scope is checked. Later steps read what a step sets; the effects of
 * commands are unknown, so live values do not change.
 * @throws Fault `macro_args`
 */
export function simulate(plan: MacroPlan, args: MacroArgs, world: SimulatedWorld): Simulation {
  const scene: Scene = { world, time: createVirtualTime(), sent: [], values: new Map(), calls: 0 }
  const checked = checkedArgs(plan, args, world.limits.valueChars)
  const { run, trace } = act(scene, { plan, args: checked, within: [plan.id] }, () => {})
  while (run.end === undefined && scene.time.step());
  return { state: run.state, sent: scene.sent, trace: trace() }
}

function act(scene: Scene, actor: Actor, onEnd: () => void) {
  const { world, time } = scene
  const { plan, args } = actor
  const start = showingOf({ plan, args, seed: world.seed }, world, world.limits)
  const begunMs = time.nowMs()
  const run: MacroRun = new MacroRun({
    steps: plan.steps,
    seed: world.seed,
    limits: world.limits,
    showing: start.showing,
    nowMs: () => time.nowMs() - begunMs,
    soon: (later) => void time.after(0, later),
    ask: (ask, done) => asked(scene, { ...actor, args: start.calledWith }, { ask, decided: shownOf(ask) }, done),
    onEnd() {
      timer.cancel()
      onEnd()
    },
  })
  const sentence = `the run did not end within ${durationText(plan.timeoutMs)}`
  const timer = time.after(plan.timeoutMs, () => run.stop('expired', 'macro_timed_out', sentence))
  run.begin()
  return { run, trace: traceOf }

  function shownOf(ask: Ask): Json {
    return ask.kind === 'do' ? start.showing.decided(ask.step, ask.n) : null
  }

  function traceOf(): Trace {
    return {
      version: 1,
      macro: { id: plan.id, name: plan.name },
      plan: start.plan,
      args: Object.fromEntries(start.args.values),
      seed: world.seed,
      depth: actor.within.length,
      started_at: world.startedAt + begunMs,
      limits: world.limits,
      entries: run.entries,
      end: run.end ?? { state: run.state, at: 0, turn: null },
    }
  }
}

function asked(
  scene: Scene,
  actor: Actor,
  { ask, decided: shown }: { ask: Ask; decided: Json },
  done: Done,
): () => void {
  const { world, time } = scene
  if (ask.kind === 'pause') {
    const timer = time.after(ask.waitMs, () => done({ state: 'done' }))
    return () => timer.cancel()
  }
  const { step, n } = ask
  try {
    const decided = decide(step, { args: actor.args, limits: world.limits, chance: () => chanceOf(world.seed, n) })
    if (decided.type === 'command' || decided.type === 'set' || decided.type === 'notify')
      scene.sent.push({ at: time.nowMs(), macro: actor.plan.name, step: step.label, type: decided.type, what: shown })
    return perform(decided, doerOf(scene, actor), done)
  } catch (thrown) {
    done(failureOf(thrown, true))
    return () => {}
  }
}

function doerOf(scene: Scene, actor: Actor): Doer {
  const { world, time, values } = scene
  return {
    clock: time,
    secrets: world.secrets,
    assumed: world.waits,
    isGated: () => false,
    refusal: () => undefined,
    send: (_, done) => done({ state: 'done' }),
    readAttribute(ref) {
      const real = world.attributes.read(ref)
      const value = values.get(keyOf(ref))
      return real && value !== undefined ? { ...real, value } : real
    },
    setAttribute(ref, value, done) {
      if (!world.attributes.read(ref)) throw new Fault('macro_not_there', 'the attribute is not there')
      values.set(keyOf(ref), value)
      done({ state: 'done' })
    },
    readLive: (target, field) => world.live.read(target, field),
    // Nothing changes except by the run's own steps, and a wait has read its values by then.
    onChange: () => () => {},
    notify: (_, done) => done({ state: 'done' }),
    call: (wish, done) => called(scene, actor, wish, done),
  }
}

function called(scene: Scene, actor: Actor, wish: CallWish, done: Done): () => void {
  const { book, limits } = scene.world
  const isWithin = (macroId: number) => actor.within.includes(macroId)
  const place = { depth: actor.within.length, calls: scene.calls, isWithin, isGated: false }
  const plan = calledPlan(wish, place, book, limits)
  const args = checkedArgs(plan, wish.args, limits.valueChars)
  scene.calls++
  let isIn = false
  const { run } = act(scene, { plan, args, within: [...actor.within, plan.id] }, () => {
    if (isIn) tell()
  })
  isIn = true
  const tell = () => done(answerOfCalled({ id: null, state: run.state, end: run.end }))
  // If no time passes, the run has ended by now.
  if (run.end) tell()
  return () => run.stop('cancel', 'macro_cancelled', 'the run that called it ended')
}

function keyOf({ name, target }: AttributeRef): string {
  return JSON.stringify([name, target.zone_id, target.zone, target.device_id, target.device])
}
