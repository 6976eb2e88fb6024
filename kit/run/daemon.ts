/** One daemon from its arguments to its end: readiness, watchdog, and memory sweeps. */
import { getHeapStatistics } from 'node:v8'
import type { Static, TObject } from 'typebox'
import { notify, trimMemory } from '#native/process/index.ts'
import { type Clock, systemClock, type Timer } from '../clock.ts'
import { loadConfig } from '../config/load.ts'
import type { LogConfig } from '../config/tables.ts'
import { createLog, isJournal, type Log } from '../log.ts'
import { Fault, faultOf } from '../pure/fault.ts'
import type { MemoryPlan } from '../pure/memory-plan.ts'
import { escapeControls, escapeLines } from '../pure/text.ts'
import { makeFolder } from '../store/store.ts'
import { type DaemonArguments, exitCodes, helpOf, readArguments, version } from './arguments.ts'
import { type DaemonCommand, runCommand, stateUseOf } from './daemon-command.ts'
import {
  createEnd,
  createParts,
  type End,
  type Ending,
  nextProgram,
  type Parts,
  type Restart,
  replaceProcess,
} from './parts.ts'
import { becomeOwner, lockState, ownerOfFolder, type StateUse } from './state-folder.ts'

// Memory sweeps: return memory left over from the start or a busy time; V8 by itself does so only when it needs more.

/** Measurements and actions of a sweep. */
interface MemorySweepOptions {
  clock: Clock
  /** Processor time of the process so far, in microseconds. */
  cpuUs: () => number
  /** Heap memory taken from the system, in bytes. */
  heapBytes: () => number
  /** Collects garbage, and returns empty pages. Stops the program meanwhile: 17 to 30 ms measured for a gateway. */
  collect: () => void
}

/** How often to check whether the daemon is idle. */
const PERIOD_MS = 3000
/** Using less than 2 % of a processor counts as idle: the pause then hits no traffic. */
const QUIET_US = PERIOD_MS * 1000 * 0.02
/** What the start used is left alone for so long: whoever opens a page now would have it compiled again. */
const FIRST_MS = 30_000
/** Sweeps after that: V8 discards code that only the start used once it has seen it unused a few times. */
const FIRST_SWEEPS = 3
/** Later sweeps are at least this far apart, and only if the heap has grown by this much since. */
const PAUSE_MS = 600_000
const GROWTH_BYTES = 4_000_000

/**
 * Sweeps three times when the daemon is idle half a minute after its start, and again when it is idle after it has grown.
 * @returns a handle that ends it
 */
export function startMemorySweep(options: MemorySweepOptions): Timer {
  const { clock, cpuUs, heapBytes, collect } = options
  const beganMs = clock.monotonicMs()
  let lastUs = cpuUs()
  let sweeps = 0
  let sweptAtMs = 0
  let leftBytes = 0

  function isDue(): boolean {
    if (sweeps < FIRST_SWEEPS) return clock.monotonicMs() - beganMs >= FIRST_MS
    return clock.monotonicMs() - sweptAtMs >= PAUSE_MS && heapBytes() - leftBytes >= GROWTH_BYTES
  }

  return clock.every(PERIOD_MS, () => {
    const nowUs = cpuUs()
    const isQuiet = nowUs - lastUs < QUIET_US
    lastUs = nowUs
    if (!isQuiet || !isDue()) return
    collect()
    sweeps++
    sweptAtMs = clock.monotonicMs()
    leftBytes = heapBytes()
    // The cost of collecting is not traffic.
    lastUs = cpuUs()
  })
}

/** The sweep of this process; does nothing if Node was started without `--expose-gc`, as when run from sources. */
export function sweepMemory(clock: Clock): Timer {
  const { gc } = globalThis
  if (!gc) return { cancel: () => {} }
  return startMemorySweep({
    clock,
    cpuUs() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    // Not process.memoryUsage(), which opens a file and throws if no more may be opened.
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect() {
      gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      trimMemory()
    },
  })
}

// Reports a daemon to systemd: ready, stopping, its status, and that its event loop runs.

/** What the supervisor needs. */
interface SupervisorOptions {
  clock: Clock
  log: Log
  /** Sends one state text; false if nobody listens; throws if the socket refuses. */
  notify: (state: string) => boolean
  /** WATCHDOG_USEC and WATCHDOG_PID are read from here. */
  env: NodeJS.ProcessEnv
  pid: number
  /** One line for `systemctl status`. */
  status: () => string
  /** Whether to send watchdog pings; a daemon that knows it is stuck returns false and is restarted. */
  isHealthy: () => boolean
}

/** Reports a daemon's state to systemd. */
interface Supervisor {
  ready(): void
  stopping(): void
  /** Call before the process restarts: systemd then waits for it to be ready again, as at a start. */
  restarting(): void
}

/** The status line is checked this often. */
const STATUS_PERIOD_MS = 10_000

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { clock, log } = options
  const watchdogMs = watchdogOf(options.env, options.pid)
  let lastStatus = ''
  let timers: Timer[] = []
  let isRefused = false

  /** A refusing socket is logged once: without pings systemd restarts the daemon, which is the remedy. */
  function notify(state: string): void {
    try {
      options.notify(state)
      isRefused = false
    } catch (fault) {
      if (!isRefused) log.warning('systemd does not take our state', { fault })
      isRefused = true
    }
  }

  function sendStatus(): void {
    // One line by protocol: a line break would begin another assignment.
    const status = options.status().replaceAll(/[\r\n]+/g, ' ')
    if (status !== lastStatus) notify(`STATUS=${status}`)
    lastStatus = status
  }

  function last(state: string): void {
    for (const timer of timers) timer.cancel()
    timers = []
    notify(state)
  }

  return {
    ready() {
      notify('READY=1')
      sendStatus()
      timers = [clock.every(STATUS_PERIOD_MS, sendStatus)]
      if (watchdogMs === undefined) return
      // Timers only run while the event loop does, so a hung loop stops the pings by itself.
      timers.push(
        clock.every(watchdogMs / 2, () => {
          if (options.isHealthy()) notify('WATCHDOG=1')
        }),
      )
    },
    stopping: () => last('STOPPING=1\nSTATUS=stopping'),
    restarting: () =>
      last(`RELOADING=1\nMONOTONIC_USEC=${Math.floor(clock.monotonicMs() * 1000)}\nSTATUS=starting anew`),
  }
}

/** The period in which systemd expects pings, undefined if it expects none. @source sd_watchdog_enabled(3) */
function watchdogOf(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const periodUs = Number(env.WATCHDOG_USEC)
  if (!Number.isSafeInteger(periodUs) || periodUs <= 0) return undefined
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== pid) return undefined
  return Math.max(2, periodUs / 1000)
}

/** What a daemon is assembled from. */
export interface AssembleContext<Config> {
  config: Config
  /** Exists, is writable, and is locked by this process. */
  stateFolder: string
  log: Log
  clock: Clock
  parts: Parts
  version: string
  configFile: string
  /** The file of `--import`: to be imported if there is no state yet. */
  importFile?: string
  /**
   * Stops all parts and restarts as the same process: its id, its terminal and its place under systemd stay. A signal
   * that comes meanwhile wins. Returns at once; only the first call counts.
   */
  restart(how: Restart): void
}

/** What an assembled daemon provides. */
export interface Assembled {
  /** One line about its state, for `systemctl status`. */
  status(): string
  /** Default: healthy while the event loop runs. */
  isHealthy?(): boolean
}

/** Access to the accounts of a stopped daemon, for a user who is locked out. */
export interface KeptAccounts {
  usernames: readonly string[]
  /**
   * Sets the password of an account; if there are none, creates the first one, an administrator. On the disk when it
   * resolves.
   */
  setPassword(username: string, password: string): Promise<void>
  close(): Promise<void>
}

/** What a daemon's `main.ts` defines. */
interface DaemonOptions<Schema extends TObject> {
  /** Name of its folder, unit, bundle, TOML file and command. */
  name: string
  title: string
  defaultPort: number
  config: Schema
  /** Its memory plan, which depends on its settings. */
  memory?: () => MemoryPlan
  /** The name of its only user, if it has just one. */
  onlyUser?: string
  /** Path at which it reports its version. Default `/api/status`. */
  statusPath?: string
  /** Whether it takes `--import FILE`. */
  takesImport?: boolean
  /** Commands of its program beside running: `plantroom <name> <command>`. */
  commands?: readonly DaemonCommand<Static<Schema>>[]
  /** Fault codes that mean bad input, with nothing started or changed: it then exits with 2. */
  refusals?: readonly string[]
  /** Opens the accounts of a stopped daemon that does not keep them in users.json. */
  openAccounts?(stateFolder: string): Promise<KeptAccounts>
  /**
   * Checks whether the daemon could start with the files of a folder, which are whole: used on a backup before it is
   * restored.
   * @throws Fault `bad_backup`, which names the file below the folder and not the folder
   */
  checkState?(folder: string): Promise<void> | void
  /** What belongs to its state and is in no backup: each in words that say where it is, and how it is copied. */
  keptElsewhere?(config: Static<Schema>, stateFolder: string): string[]
  /** Adds the parts; starts nothing itself. */
  assemble(context: AssembleContext<Static<Schema>>): Promise<Assembled>
}

/** A daemon that can be run. */
export interface Daemon {
  name: string
  title: string
  defaultPort: number
  config: TObject
  memory: (() => MemoryPlan) | undefined
  onlyUser: string | undefined
  statusPath: string
  /** As in DaemonOptions. */
  openAccounts?(stateFolder: string): Promise<KeptAccounts>
  checkState?(folder: string): Promise<void> | void
  keptElsewhere?(config: unknown, stateFolder: string): string[]
  /** What one of its commands will do with files; undefined if the call is to run the daemon or shows help. */
  stateUse(argv: readonly string[]): StateUse | undefined
  /** Names of its own commands. */
  commands: readonly string[]
  /** Runs until told to stop. @returns the exit code; see arguments.ts */
  run(argv: readonly string[]): Promise<number>
}

/** Creates a daemon from its settings and its parts. */
export function daemon<Schema extends TObject>(options: DaemonOptions<Schema>): Daemon {
  return {
    name: options.name,
    title: options.title,
    defaultPort: options.defaultPort,
    config: options.config,
    memory: options.memory,
    onlyUser: options.onlyUser,
    statusPath: options.statusPath ?? '/api/status',
    openAccounts: options.openAccounts,
    checkState: options.checkState,
    keptElsewhere: options.keptElsewhere,
    commands: (options.commands ?? []).map((command) => command.name),
    stateUse: (argv) => stateUseOf(argv, { name: options.name, env: process.env, commands: options.commands ?? [] }),
    run: (argv) => run(options, argv),
  }
}

async function run<Schema extends TObject>(options: DaemonOptions<Schema>, argv: readonly string[]): Promise<number> {
  try {
    const { name, takesImport = false, commands = [], config: schema } = options
    const out = (text: string) => void process.stdout.write(escapeLines(text))
    const code = await runCommand(argv, { name, env: process.env, schema, commands, out })
    if (code !== undefined) return code
    const given = readArguments(argv, { name, env: process.env, takesImport })
    if (given.wants !== 'run') {
      out(given.wants === 'help' ? helpOf(options) : `${version}\n`)
      return exitCodes.fine
    }
    return await runDaemon(options, given)
  } catch (error) {
    const fault = faultOf(error, 'start_failed', `could not start: ${error instanceof Error ? error.message : error}`)
    // Without its priority the journal would file this important line as information.
    const priority = isJournal(2) ? '<3>' : ''
    for (const line of linesOf(fault))
      process.stderr.write(`${priority}plantroom ${options.name}: ${escapeControls(line)}\n`)
    const refusals = ['config_refused', 'bad_usage', ...(options.refusals ?? [])]
    return refusals.includes(fault.code) ? exitCodes.refused : exitCodes.failed
  }
}

/** The sentence, and the faults of a document with their places. */
function linesOf({ message, details = {} }: Fault): string[] {
  const faults = Array.isArray(details.faults) ? details.faults : []
  const placed = faults.filter((one): one is { path: string; sentence: string } => typeof one?.path === 'string')
  const more = typeof details.more === 'number' && details.more > 0 ? [`and ${details.more} more`] : []
  const lines = placed.map(({ path, sentence }) => (path === '' ? sentence : `${path}: ${sentence}`))
  return [...message.split('\n'), ...lines, ...more]
}

/** Loads the settings and runs to the end. */
async function runDaemon<Schema extends TObject>(
  options: DaemonOptions<Schema>,
  given: DaemonArguments,
): Promise<number> {
  const { value: config } = await loadConfig({
    schema: options.config,
    file: given.configFile,
    mustExist: given.isConfigNamed,
    sets: given.sets,
  })
  const log = createLog({ level: (config as { log: LogConfig }).log.level })
  const notifySocket = takeNotifySocket()
  const { code, restart } = await live(options, { ...given, notifySocket }, config, log)
  if (restart) replaceProcess(nextProgram(restart, notifySocket))
  return code
}

/** Runs a daemon whose settings are valid. */
async function live<Schema extends TObject>(
  options: DaemonOptions<Schema>,
  given: DaemonArguments & { notifySocket: string },
  config: Static<Schema>,
  log: Log,
): Promise<Ending> {
  const end = createEnd(log)
  const clock = systemClock
  const parts = createParts({ log, clock })
  parts.onFailure((fault) => end.because('a part failed', exitCodes.failed, fault))
  const lock = await lockFolder(given.stateFolder, log)
  try {
    const { stateFolder, configFile, importFile } = given
    const { restart } = end
    const place = { stateFolder, configFile, importFile }
    const assembled = await options.assemble({ ...place, config, log, clock, parts, version, restart })
    const supervisor = createSupervisor({
      clock,
      log,
      notify: (state) => notify(state, given.notifySocket),
      env: process.env,
      pid: process.pid,
      status: () => assembled.status(),
      isHealthy: () => assembled.isHealthy?.() ?? true,
    })
    log.notice('starting', { daemon: options.name, version, state: stateFolder, pid: process.pid })
    end.whenAsked((ending) => {
      if (ending.restart) supervisor.restarting()
      else supervisor.stopping()
      return parts.stop()
    })
    await startUnlessAsked(parts, end)
    if (!end.isAsked()) supervisor.ready()
    const sweep = sweepMemory(clock)
    const ending = await end.reached
    sweep.cancel()
    if (!ending.restart) log.notice('stopped', { daemon: options.name, code: ending.code })
    return ending
  } finally {
    end.close()
    lock.release()
  }
}

/** The socket is only for this process: a child that inherited it could answer in our place. */
function takeNotifySocket(): string {
  const socket = process.env.NOTIFY_SOCKET
  delete process.env.NOTIFY_SOCKET
  // Empty, not undefined: undefined would be looked up in the environment again.
  return socket ?? ''
}

async function lockFolder(folder: string, log: Log) {
  actAsOwner(folder, log)
  try {
    await makeFolder(folder)
  } catch (cause) {
    throw new Fault('state_unusable', `the state folder ${folder} cannot be made`, { cause })
  }
  return lockState(folder)
}

/**
 * If root starts a daemon on another user's folder, the daemon becomes that user. @throws Fault `state_foreign`,
 * `state_unreachable`
 */
function actAsOwner(folder: string, log: Log): void {
  if (process.geteuid?.() !== 0) return
  const { owner, barrier } = ownerOfFolder(folder)
  if (owner === undefined) return
  if (barrier !== undefined)
    throw new Fault(
      'state_unreachable',
      `${folder} belongs to user ${owner.uid}, who may not pass through ${barrier}: start the service (systemctl start)`,
    )
  becomeOwner(owner)
  log.notice('the state folder belongs to another user, who this daemon is from now on', { folder, ...owner })
}

/** A stop requested during the start is not a failure of the start. */
async function startUnlessAsked(parts: Parts, end: End): Promise<void> {
  try {
    await parts.start()
  } catch (fault) {
    if (!end.isAsked()) throw fault
  }
}
