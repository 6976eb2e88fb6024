/** The order in which a camera gets its commands: one after the other, the newest of those that wait, and a stop before all. */
import { atMost, type Clock } from '#kit/clock.ts'

export interface Lane {
  /** @returns whether it was sent: false if a newer one or a stop took its place */
  command(send: () => Promise<void>): Promise<boolean>
  /** Sends a stop once the command under way is answered, or has taken too long: then once more when it is. */
  stop(send: () => Promise<void>): Promise<void>
}

interface Waiting {
  send: () => Promise<void>
  outcome: PromiseWithResolvers<boolean>
}

/** @param overtakeMs how long a stop waits for a command under way; key `ptz.overtake_ms` */
export function createLane(clock: Clock, overtakeMs: number): Lane {
  let present: Promise<unknown> | undefined
  let waiting: Waiting | undefined

  function next(): void {
    const taken = waiting
    waiting = undefined
    if (!taken) return
    const sent = taken.send()
    const mine = sent.then(
      () => taken.outcome.resolve(true),
      (error: unknown) => taken.outcome.reject(error),
    )
    begin(mine)
  }

  function begin(mine: Promise<unknown>): void {
    present = mine
    void mine.finally(() => {
      if (present !== mine) return
      present = undefined
      next()
    })
  }

  return {
    command(send) {
      waiting?.outcome.resolve(false)
      waiting = { send, outcome: Promise.withResolvers<boolean>() }
      const { promise } = waiting.outcome
      if (!present) next()
      return promise
    },
    async stop(send) {
      waiting?.outcome.resolve(false)
      waiting = undefined
      const before = present
      const isClear = !before || (await atMost(clock, overtakeMs, before))
      if (isClear) return await send()
      // It may reach the camera behind the stop.
      void before.then(send).catch(() => {})
      await send()
    },
  }
}
