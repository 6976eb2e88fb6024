/** Stops what the demo has started. */

type Step = () => unknown

export interface Undo {
  /** @param step stops what was started; is taken at once when all others were: it was still starting when the demo ended */
  push(step: Step): void
  /** Takes all steps, the last one first. */
  run(): Promise<void>
}

export function createUndo(): Undo {
  const steps: Step[] = []
  let isOver = false
  return {
    push(step) {
      if (isOver) void step()
      else steps.push(step)
    },
    async run() {
      for (let step = steps.pop(); step; step = steps.pop()) await step()
      isOver = true
    },
  }
}
