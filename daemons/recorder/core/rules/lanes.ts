/** One queue for each target of rules: a target that hangs holds up nobody but itself. */
import { Fault } from '#kit/pure/fault.ts'

/** Bounds, by the names of their settings. */
export interface LaneLimits {
  /** Tasks for one target, with the one under way. */
  perTarget: number
  /** Of all targets. */
  inAll: number
}

export interface Lanes {
  /** Tasks of a target one after another, in the order of the calls. @throws Fault `target_busy`, and what the task does */
  run<Result>(target: string, task: () => Promise<Result>): Promise<Result>
}

export function createLanes({ inAll, perTarget }: LaneLimits): Lanes {
  const lanes = new Map<string, { last: Promise<unknown>; count: number }>()
  let total = 0

  async function begin<Result>(target: string, task: () => Promise<Result>): Promise<Result> {
    const lane = lanes.get(target) ?? { last: Promise.resolve(), count: 0 }
    if (lane.count >= perTarget)
      throw new Fault('target_busy', `${lane.count} actions wait for this target already: this one is left out.`)
    if (total >= inAll) throw new Fault('target_busy', `${total} actions of rules wait already: this one is left out.`)
    lanes.set(target, lane)
    lane.count++
    total++
    const run = lane.last.then(task)
    // One that fails holds up none that comes after it.
    lane.last = run.catch(() => {})
    try {
      return await run
    } finally {
      lane.count--
      total--
      if (lane.count === 0) lanes.delete(target)
    }
  }

  return { run: begin }
}
