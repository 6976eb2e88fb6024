/** One daemon as a process: arguments, settings, lock, parts, signals, exit code. */
import type { Static, TObject } from 'typebox'
import { type Clock, systemClock } from '#kit/clock.ts'
import type { LogConfig } from '#kit/config/common.ts'
import { loadConfig } from '#kit/config/load.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import { createLog, isJournal, type Log } from '#kit/log.ts'
import { makeFolder } from '#kit/store/whole-file.ts'
import { notify } from '#native/notify/index.ts'
import { type DaemonArguments, helpOf, readArguments } from './arguments.ts'
import { exitCodes } from './exit-codes.ts'
import { sweepMemory } from './memory-sweep.ts'
import { createParts, type Parts } from './parts.ts'
import { lockState } from './state-lock.ts'
import { createSupervisor } from './supervisor.ts'
import { version } from './version.ts'

/** What a daemon is put together from. */
export interface AssembleContext<Config> {
  config: Config
  /** Exists, is writable, and belongs to this process alone. */
  stateFolder: string
  log: Log
  clock: Clock
  parts: Parts
  version: string
  configFile: string
}

/** What a daemon answers once it is put together. */
export interface Assembled {
  /** One line on how it is, for `systemctl status`. */
  status(): string
  /** Default: healthy while the event loop turns. */
  isHealthy?(): boolean
}

/** What a daemon's `main.ts` says of it. */
export interface DaemonOptions<Schema extends TObject> {
  /** Folder, unit, bundle, TOML file and command are called this. */
  name: string
  title: string
  defaultPort: number
  config: Schema
  /** Adds the parts; starts nothing itself. */
  assemble(context: AssembleContext<Static<Schema>>): Promise<Assembled>
}

/** A daemon that can be run. */
export interface Daemon {
  name: string
  title: string
  defaultPort: number
  config: TObject
  /** Runs until told to stop. @returns the exit code; see exit-codes.ts */
  run(argv: readonly string[]): Promise<number>
}

/** Makes a daemon out of its settings and its parts. */
export function daemon<Schema extends TObject>(options: DaemonOptions<Schema>): Daemon {
  return {
    name: options.name,
    title: options.title,
    defaultPort: options.defaultPort,
    config: options.config,
    run: (argv) => run(options, argv),
  }
}

async function run<Schema extends TObject>(options: DaemonOptions<Schema>, argv: readonly string[]): Promise<number> {
  try {
    const given = readArguments(argv, { name: options.name, env: process.env })
    if (given.wants !== 'run') {
      const text = given.wants === 'help' ? helpOf(options.name, options.title, options.defaultPort) : `${version}\n`
      process.stdout.write(text)
      return exitCodes.fine
    }
    const { value: config } = await loadConfig({
      schema: options.config,
      file: given.configFile,
      mustExist: given.isConfigNamed,
      sets: given.sets,
    })
    const log = createLog({ level: (config as { log: LogConfig }).log.level })
    return await live(options, given, config, log)
  } catch (error) {
    const fault = faultOf(error, 'start_failed', `could not start: ${error instanceof Error ? error.message : error}`)
    // Without its priority the journal would file the one line that matters under information.
    const priority = isJournal(2) ? '<3>' : ''
    for (const line of fault.message.split('\n'))
      process.stderr.write(`${priority}plantroom ${options.name}: ${line}\n`)
    return fault.code === 'config_refused' || fault.code === 'bad_usage' ? exitCodes.refused : exitCodes.failed
  }
}

/** The life of a daemon whose settings are good. */
async function live<Schema extends TObject>(
  options: DaemonOptions<Schema>,
  given: DaemonArguments,
  config: Static<Schema>,
  log: Log,
): Promise<number> {
  const notifySocket = takeNotifySocket()
  const end = createEnd(log)
  const clock = systemClock
  const parts = createParts({ log, clock })
  parts.onFailure((fault) => end.because('a part failed', exitCodes.failed, fault))
  const lock = await lockFolder(given.stateFolder)
  try {
    const { stateFolder, configFile } = given
    const assembled = await options.assemble({ config, stateFolder, log, clock, parts, version, configFile })
    const supervisor = createSupervisor({
      clock,
      log,
      notify: (state) => notify(state, notifySocket),
      env: process.env,
      pid: process.pid,
      status: () => assembled.status(),
      isHealthy: () => assembled.isHealthy?.() ?? true,
    })
    log.notice('starting', { daemon: options.name, version, state: stateFolder, pid: process.pid })
    end.whenAsked(() => {
      supervisor.stopping()
      return parts.stop()
    })
    await startUnlessAsked(parts, end)
    if (!end.isAsked()) supervisor.ready()
    const sweep = sweepMemory(clock)
    const code = await end.reached
    sweep.cancel()
    log.notice('stopped', { daemon: options.name, code })
    return code
  } finally {
    end.close()
    lock.release()
  }
}

/** The socket is this process's own: a child that inherited its name could answer in our place. */
function takeNotifySocket(): string {
  const socket = process.env.NOTIFY_SOCKET
  delete process.env.NOTIFY_SOCKET
  // An empty name, not undefined: that one would be looked up in the environment again.
  return socket ?? ''
}

async function lockFolder(folder: string) {
  try {
    await makeFolder(folder)
  } catch (cause) {
    throw new Fault('state_unusable', `the state folder ${folder} cannot be made`, { cause })
  }
  return lockState(folder)
}

/** A stop that was asked for in the middle of the start is no failure of the start. */
async function startUnlessAsked(parts: Parts, end: End): Promise<void> {
  try {
    await parts.start()
  } catch (fault) {
    if (!end.isAsked()) throw fault
  }
}

interface End {
  /** Asks for the end; only the first reason counts. */
  because(reason: string, code: number, fault?: unknown): void
  isAsked(): boolean
  /** What is done when the end is asked for; done at once when it already was. */
  whenAsked(stop: () => Promise<void>): void
  /** Resolves with the exit code once everything has stopped. */
  reached: Promise<number>
  close(): void
}

/** Gathers the reasons to end: signals, failed parts, and what nobody caught. */
function createEnd(log: Log): End {
  let reason: { code: number } | undefined
  let stop: (() => Promise<void>) | undefined
  const { promise: reached, resolve } = Promise.withResolvers<number>()
  // Timers of the clock do not keep a process alive; a daemon without connections must stay all the same.
  const keepAlive = setInterval(() => {}, 3_600_000)

  async function finish(code: number): Promise<void> {
    await stop?.()
    resolve(code)
  }
  function because(why: string, code: number, fault?: unknown): void {
    if (fault !== undefined) log.error(why, { fault })
    else log.notice(why)
    if (reason) return
    reason = { code }
    if (stop) void finish(code)
  }
  function onSignal(signal: NodeJS.Signals): void {
    if (reason) process.exit(exitCodes.failed)
    because(`told to stop by ${signal}`, exitCodes.fine)
  }
  const onUncaught = (error: unknown) => because('nobody caught an error', exitCodes.crashed, error)

  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
  return {
    because,
    isAsked: () => reason !== undefined,
    whenAsked(handler) {
      stop = handler
      if (reason) void finish(reason.code)
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
