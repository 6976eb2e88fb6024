/**
 * What a step of a macro is, once its row was read. What its args hold, by type; `*` marks values in which `${args.NAME}`
 * is substituted, and everything else is structure, which stands in the macro alone:
 *
 * - `command` every key but the four of a target is an argument of the verb*; the verb is the column `command`. The target
 *   stands in the columns zone_id, device_id, or in args as zone_id*, zone*, device_id*, device*: not in both.
 * - `delay` {ms*, spread_ms*}: waits ms, and up to spread_ms more, by the run's seed.
 * - `condition` {left, op, right, else}: goes on where it holds; else `"stop"` (left out: the same) ends the run as done,
 *   and {"skip": n*} leaves out the n steps that follow.
 * - `wait` {left, op, right, timeout_ms*}: goes on once it holds; fails when it does not in time.
 *   A side is a value*, {"attribute": name*} (the controller's own; with one of the four keys of a target: that zone's or
 *   device's) or {"field": name*} with a target: what a zone or device does now, as its driver reported. In place of `left`
 *   and `right` the keys of a reading and `value`* may stand beside `op`; `op` left out is `eq`.
 * - `set` {attribute*, value*} and, where it is not the controller's own, a target.
 * - `macro` {macro_id* or macro*, args: {name: value*}}: runs it and waits for its end; it fails where that fails.
 * - `notify` {text*}
 * - `parallel` {steps: [...]} or {macros: [...]}: each entry is a branch. Of `steps` it is a step, or a list of steps; of
 *   `macros` it is what a macro step's args are. Goes on when all have ended; fails where one failed.
 * - `stop` {reason*, failed}: ends the run, as done, or as failed where `failed` is true.
 */
import type { TargetKey } from '../control/target.ts'
import type { Json } from '../row.ts'
import type { Op } from './compare.ts'
import type { Template } from './substitute.ts'

export type StepType = Step['type']

/** What to do about a step that failed: end the run, go on, or try again and end the run when that does not help. */
export type OnError = 'stop' | 'continue' | 'retry'

/** Where the keys of a target stand, and what they are made of; columns are numbers. */
export type TargetTemplate = Readonly<Partial<Record<TargetKey, Template>>>

/** One side of a condition: a value, or what is looked up when it is needed. */
export type SideTemplate =
  | { readonly kind: 'value'; readonly value: Template }
  | { readonly kind: 'attribute'; readonly name: Template; readonly target: TargetTemplate }
  | { readonly kind: 'field'; readonly name: Template; readonly target: TargetTemplate }

export interface TestTemplate {
  readonly left: SideTemplate
  readonly op: Op
  readonly right: SideTemplate
}

interface CommonOfSteps {
  /** Where it stands: its position; in a branch `3.1`, in a branch of several steps `3.1.2`. */
  readonly label: string
  readonly onError: OnError
  readonly retries: number
  /** As it stands in the table, or in the step around it. */
  readonly raw: { readonly [key: string]: Json }
}

/** A step that asks something of the world. */
export type DoingStep = CommonOfSteps &
  (
    | { readonly type: 'command'; readonly target: TargetTemplate; readonly verb: string; readonly args: Template }
    | { readonly type: 'delay'; readonly ms: Template; readonly spreadMs: Template }
    | { readonly type: 'wait'; readonly test: TestTemplate; readonly timeoutMs: Template }
    | { readonly type: 'condition'; readonly test: TestTemplate; readonly skip: Template | 'stop' }
    | { readonly type: 'set'; readonly name: Template; readonly target: TargetTemplate; readonly value: Template }
    | { readonly type: 'macro'; readonly id: Template; readonly name: Template; readonly args: Template }
    | { readonly type: 'notify'; readonly text: Template }
    | { readonly type: 'stop'; readonly reason: Template; readonly isFailure: boolean }
  )

/** Several lists of steps at once. */
export type ParallelStep = CommonOfSteps & {
  readonly type: 'parallel'
  readonly branches: readonly (readonly Step[])[]
}

export type Step = DoingStep | ParallelStep
