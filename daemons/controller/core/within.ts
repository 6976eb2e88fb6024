/** A wait with an end. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'

export interface End {
  clock: Clock
  limitMs: number
  /** What is said of a task that takes longer. */
  late(): Fault
  /** Ends the wait early, with its reason. */
  stop?: AbortSignal
}

/** Settles as `task` does, or rejects at the end; what comes of the task then is nobody's. */
export function within<Result>(task: Promise<Result>, { clock, limitMs, late, stop }: End): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stopped = () => done(() => reject(stop?.reason))
    const timer = clock.after(limitMs, () => done(() => reject(late())))
    const done = (settle: () => void) => {
      timer.cancel()
      stop?.removeEventListener('abort', stopped)
      settle()
    }
    stop?.addEventListener('abort', stopped, { once: true })
    task.then(
      (result) => done(() => resolve(result)),
      (error) => done(() => reject(error)),
    )
    if (stop?.aborted) stopped()
  })
}
