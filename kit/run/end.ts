/** Why and how a daemon ends: signals, failed parts, what nobody caught, and the wish to begin anew. */
import type { Log } from '#kit/log.ts'
import { exitCodes } from './exit-codes.ts'
import type { Restart } from './restart.ts'

/** How a daemon has ended. */
export interface Ending {
  /** See exit-codes.ts. */
  code: number
  /** The process goes on as a new program. */
  restart?: Restart
}

/** Gathers the reasons to end. */
export interface End {
  /** Asks for the end; only the first reason counts. */
  because(reason: string, code: number, fault?: unknown): void
  /** Asks for the end and a new beginning; a signal that comes before the end makes it an end alone. */
  restart(how: Restart): void
  isAsked(): boolean
  /** What is done when the end is asked for; done at once when it already was. */
  whenAsked(stop: (ending: Ending) => Promise<void>): void
  /** Resolves once everything has stopped. */
  reached: Promise<Ending>
  close(): void
}

/** Listens for signals and for what nobody caught, from now until `close`. */
export function createEnd(log: Log): End {
  let ending: Ending | undefined
  let stop: ((ending: Ending) => Promise<void>) | undefined
  const { promise: reached, resolve } = Promise.withResolvers<Ending>()
  // Timers of the clock do not keep a process alive; a daemon without connections must stay all the same.
  const keepAlive = setInterval(() => {}, 3_600_000)

  async function finish(asked: Ending): Promise<void> {
    await stop?.(asked)
    // Not what was asked: a restart may have become an end meanwhile.
    resolve(ending ?? asked)
  }
  function ask(asked: Ending): void {
    if (ending) return
    ending = asked
    if (stop) void finish(asked)
  }
  function because(why: string, code: number, fault?: unknown): void {
    if (fault !== undefined) log.error(why, { fault })
    else log.notice(why)
    ask({ code })
  }
  function onSignal(signal: NodeJS.Signals): void {
    if (ending && !ending.restart) process.exit(exitCodes.failed)
    because(`told to stop by ${signal}`, exitCodes.fine)
    // Whoever stops a daemon that is just beginning anew wants it stopped.
    ending = { code: exitCodes.fine }
  }
  const onUncaught = (error: unknown) => because('nobody caught an error', exitCodes.crashed, error)

  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
  return {
    because,
    restart(how) {
      if (!ending) log.notice('starting anew', { reason: how.reason })
      ask({ code: exitCodes.fine, restart: how })
    },
    isAsked: () => ending !== undefined,
    whenAsked(handler) {
      stop = handler
      if (ending) void finish(ending)
    },
    reached,
    close() {
      clearInterval(keepAlive)
      process.off('SIGTERM', onSignal)
      process.off('SIGINT', onSignal)
      process.off('uncaughtException', onUncaught)
      process.off('unhandledRejection', onUncaught)
    },
  }
}
