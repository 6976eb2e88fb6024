/** The parts of a daemon: started in order, stopped in reverse, and started anew in place. */
import { argv, env, execArgv, execPath, execve } from 'node:process'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault, faultOf } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import { exitCodes } from './arguments.ts'

// A process that restarts in its own place: same id, same parent, same terminal, nothing else of before.

/** How a daemon restarts. */
export interface Restart {
  /** For the log, one word or two. */
  reason: string
  /** Further arguments, behind those there are; where an argument can stand once, the last one counts. */
  args?: readonly string[]
}

/** What a process is replaced by. */
interface NextProgram {
  file: string
  argv: string[]
  env: Record<string, string>
}

/**
 * The program that a restart runs: this one, as it lies on the disk now.
 * @param notifySocket what NOTIFY_SOCKET was before it was taken out of the environment; empty where there was none
 */
export function nextProgram(how: Restart, notifySocket: string): NextProgram {
  const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return {
    file: execPath,
    argv: [execPath, ...execArgv, ...argv.slice(1), ...(how.args ?? [])],
    env: { ...Object.fromEntries(known), ...(notifySocket === '' ? {} : { NOTIFY_SOCKET: notifySocket }) },
  }
}

/**
 * Replaces this process. Node opens every descriptor close-on-exec, so sockets, files and locks are let go by the kernel
 * in the same instant; what was written before is in its hands. Where execve(2) fails, Node ends by SIGABRT, and systemd
 * starts the daemon again. Measured with Node 24.21: docs/decisions/board-settings-and-restart.md.
 */
export function replaceProcess({ file, argv, env }: NextProgram): never {
  // Typed as absent for the sake of Windows.
  if (!execve) throw new Error('a process cannot be replaced on this system')
  return execve(file, argv, env)
}

// Why and how a daemon ends: signals, failed parts, what nobody caught, and the wish to restart.

/** How a daemon has ended. */
export interface Ending {
  /** See arguments.ts. */
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
    // Whoever stops a daemon that is just restarting wants it stopped.
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
