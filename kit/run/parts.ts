/** The parts of a daemon: started in order, stopped in reverse, each within its deadline. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'

/** Something with a life: a server, a line, a store. */
export interface Part {
  name: string
  start(): Promise<void> | void
  stop(): Promise<void> | void
  /** Default 60 s. A start that takes longer fails. */
  startDeadlineMs?: number
  /** Default 5 s. A stop that takes longer is logged and left behind. */
  stopDeadlineMs?: number
}

/** All parts of one daemon. */
export interface Parts {
  /** Adds a part behind those there are; before `start` only. */
  add(part: Part): void
  /**
   * Starts all, in order. One that fails ends it, and what was started is stopped again.
   * @throws Fault of the part that failed, or `part_start_failed`; `stopped_early` when `stop` was called meanwhile
   */
  start(): Promise<void>
  /** Stops what was started, in reverse. Never throws: what fails or takes too long is logged. Twice is once. */
  stop(): Promise<void>
  /** Takes over a promise nobody awaits: its rejection ends the daemon. */
  own(promise: Promise<unknown>, name: string): void
  /** One handler; runs at the first failure of an owned promise that happens before `stop`. */
  onFailure(handler: (fault: Fault) => void): void
}

const START_DEADLINE_MS = 60_000
const STOP_DEADLINE_MS = 5000

export function createParts({ log, clock }: { log: Log; clock: Clock }): Parts {
  const parts: Part[] = []
  const started: Part[] = []
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined
  let isStopping = false
  let failure: Fault | undefined
  let handleFailure: ((fault: Fault) => void) | undefined

  async function start(): Promise<void> {
    starting = startAll()
    try {
      await starting
    } catch (fault) {
      await stop()
      throw fault
    }
  }

  async function startAll(): Promise<void> {
    for (const part of parts) {
      if (isStopping) throw new Fault('stopped_early', 'the daemon was told to stop before it had started')
      await startOne(part)
    }
  }

  async function startOne(part: Part): Promise<void> {
    try {
      await within(clock, part.startDeadlineMs ?? START_DEADLINE_MS, () => part.start())
      started.push(part)
      log.debug('part started', { part: part.name })
    } catch (error) {
      // A start that threw has cleaned up; one that ran out of time may still hold what its stop lets go.
      if (error instanceof Fault && error.code === 'deadline_passed') started.push(part)
      throw faultOf(error, 'part_start_failed', `${part.name} did not start: ${messageOf(error)}`)
    }
  }

  function stop(): Promise<void> {
    isStopping = true
    stopping ??= stopAll()
    return stopping
  }

  async function stopAll(): Promise<void> {
    // The part that starts right now ends its start first, within its deadline, and is then stopped like the others.
    await starting?.catch(() => {})
    for (let part = started.pop(); part; part = started.pop()) {
      try {
        await within(clock, part.stopDeadlineMs ?? STOP_DEADLINE_MS, part.stop.bind(part))
        log.debug('part stopped', { part: part.name })
      } catch (error) {
        log.warning('part did not stop', { part: part.name, fault: error })
      }
    }
  }

  function fail(fault: Fault): void {
    if (failure || isStopping) return
    failure = fault
    handleFailure?.(fault)
  }

  return {
    add: (part) => void parts.push(part),
    start,
    stop,
    own(promise, name) {
      promise.catch((error) => fail(faultOf(error, 'part_failed', `${name} failed: ${messageOf(error)}`)))
    },
    onFailure(handler) {
      handleFailure = handler
      if (failure) handler(failure)
    },
  }
}

/** Runs something that may take `deadlineMs` and no longer; what it does afterwards is nobody's business. */
async function within(clock: Clock, deadlineMs: number, run: () => Promise<void> | void): Promise<void> {
  const running = Promise.resolve().then(run)
  let timer: { cancel(): void } | undefined
  const late = new Promise<never>((_, reject) => {
    timer = clock.after(deadlineMs, () =>
      reject(new Fault('deadline_passed', `took longer than the ${durationText(deadlineMs)} it has`)),
    )
  })
  try {
    await Promise.race([running, late])
  } finally {
    timer?.cancel()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
