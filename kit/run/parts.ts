/** The parts of a daemon: started in order, stopped in reverse; and its end or restart in place. */
import { argv, env, execArgv, execPath, execve } from 'node:process'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault, faultOf } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import { exitCodes } from './arguments.ts'

// Restart in place: the same process id, parent and terminal, nothing else kept.

/** How a daemon restarts. */
export interface Restart {
  /** Reason for the log, one word or two. */
  reason: string
  /** Further arguments, appended to the present ones; where an argument may occur once, the last one counts. */
  args?: readonly string[]
}

/** The program that replaces a process. */
interface NextProgram {
  file: string
  argv: string[]
  env: Record<string, string>
}

/**
 * The program for a restart: this one, as it is on the disk now.
 * @param notifySocket what NOTIFY_SOCKET was before it was taken out of the environment; empty if there was none
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
 * Replaces this process. Node opens every descriptor close-on-exec, so the kernel closes sockets, files and locks at
 * the same instant; what was written before is safe with the kernel. If execve(2) fails, Node ends by SIGABRT, and
 * systemd starts the daemon again. Measured with Node 24.21: docs/decisions/board-settings-and-restart.md.
 */
export function replaceProcess({ file, argv, env }: NextProgram): never {
  // Its type is optional because of Windows.
  if (!execve) throw new Error('a process cannot be replaced on this system')
  return execve(file, argv, env)
}

// Why and how a daemon ends: signals, failed parts, uncaught errors, and restarts.

/** How a daemon has ended. */
export interface Ending {
  /** See arguments.ts. */
  code: number
  /** Set if the process goes on as a new program. */
  restart?: Restart
}

/** Collects the reasons to end. */
export interface End {
  /** Requests the end; only the first reason counts. */
  because(reason: string, code: number, fault?: unknown): void
  /** Requests a restart; a signal before the end turns it into a plain end. */
  restart(how: Restart): void
  isAsked(): boolean
  /** Sets what to do when the end is requested; runs at once if it already was. */
  whenAsked(stop: (ending: Ending) => Promise<void>): void
  /** Resolves once everything has stopped. */
  reached: Promise<Ending>
  close(): void
}

/** Listens for signals and uncaught errors, from now until `close`. */
export function createEnd(log: Log): End {
  let ending: Ending | undefined
  let stop: ((ending: Ending) => Promise<void>) | undefined
  const { promise: reached, resolve } = Promise.withResolvers<Ending>()
  // Keeps the process alive while parts start or stop: no server listens then, and the clock's timers do not count.
  const keepAlive = setInterval(() => {}, 3_600_000)

  async function finish(asked: Ending): Promise<void> {
    await stop?.(asked)
    // Not `asked`: a restart may have become an end meanwhile.
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
    // A signal during a restart means: stop.
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

/** Something that starts and stops: a server, a line, a store. */
export interface Part {
  name: string
  start(): Promise<void> | void
  stop(): Promise<void> | void
  /** Default 60 s. A start that takes longer fails. */
  startDeadlineMs?: number
  /** Default 5 s. A stop that takes longer is logged and abandoned. */
  stopDeadlineMs?: number
}

/** All parts of one daemon. */
export interface Parts {
  /** Adds a part behind the present ones; before `start` only. */
  add(part: Part): void
  /**
   * Starts all, in order. If one fails, starting ends and the started parts are stopped again.
   * @throws Fault of the part that failed, or `part_start_failed`; `stopped_early` if `stop` was called meanwhile
   */
  start(): Promise<void>
  /**
   * Stops what was started, in reverse. Never throws: failures and timeouts are logged. A second call does nothing
   * more.
   */
  stop(): Promise<void>
  /** Takes charge of a promise that nobody awaits: its rejection ends the daemon. */
  own(promise: Promise<unknown>, name: string): void
  /** One handler; runs at the first failure of an owned promise before `stop`. */
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
      // A start that threw has cleaned up; one that timed out may still hold what its stop releases.
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
    // A part that is just starting finishes first, within its deadline, and is then stopped like the others.
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

/** Runs something with a deadline; what it does after that is ignored. */
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
