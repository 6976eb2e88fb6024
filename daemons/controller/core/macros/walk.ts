/** The order of steps: what is next after an answer, what a failure means, when a step is tried again. No clock, no world. */
import type { DoingStep, ParallelStep, Step } from './step.ts'
import type { Answer } from './trace.ts'

/** What a list of steps wants done before it goes on. `tries` counts from 1. */
export type Wish =
  | { readonly kind: 'do'; readonly step: DoingStep }
  | { readonly kind: 'pause'; readonly step: Step; readonly tries: number }
  | { readonly kind: 'fork'; readonly step: ParallelStep }

/** How a list of steps ended; `stop` ends the run around it. */
export type Ending =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: Answer & { state: 'failed' } }
  | { readonly kind: 'stop'; readonly as: 'done' | 'failed' }

/** A list of steps on its way: is given the answer to each wish. */
export type Walk = Generator<Wish, Ending, Answer>

export function* walk(steps: readonly Step[]): Walk {
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as Step
    const answer = yield* tried(step)
    if (answer.state === 'failed') {
      if (step.onError !== 'continue') return { kind: 'failed', failure: answer }
    } else {
      if (answer.stop) return { kind: 'stop', as: answer.stop }
      index += answer.skip ?? 0
    }
  }
  return { kind: 'done' }
}

function* tried(step: Step): Generator<Wish, Answer, Answer> {
  for (let tries = 1; ; tries++) {
    const answer = yield step.type === 'parallel' ? { kind: 'fork', step } : { kind: 'do', step }
    const isOver = answer.state === 'done' || answer.final || step.onError !== 'retry' || tries > step.retries
    if (isOver) return answer
    yield { kind: 'pause', step, tries }
  }
}
