/** Runs ptp4l and pmc: starts and polls them, and restarts them when they end. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { PtpListener, PtpProgram } from '../core/ptp/clock.ts'
import { dscpOf, type PtpConfig } from '../core/ptp/keys.ts'
import { createPmcReader, type PmcAnswer, ptp4lConfig } from '../wire/linuxptp.ts'
import { isInterfaceThere } from './interfaces.ts'

// A child program that never outlives the daemon.

/** A running child. */
interface Child {
  /** Writes to its standard input; what it does not take is lost. */
  write(text: string): void
  /** Sends SIGTERM, and kills it unless it ends within `KILL_MS`. Resolves once it has ended. */
  end(): Promise<void>
}

interface ChildOptions {
  /** Memory limit; allocations beyond it fail. */
  memoryBytes: number
  /** Its standard output, as it comes. */
  onText?(text: string): void
  /** A line of its log: standard error, and standard output if `onText` is not given. */
  onLine?(line: string): void
  /**
   * Called once, whether it ended by itself or on request. @param how for people: `ended with 1`, `was ended by
   * SIGKILL`, ...
   */
  onEnd(how: string): void
}

const KILL_MS = 1000
const LONGEST_LINE = 300

/** Folders in PATH, and those of system programs. */
function programFolders(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, '/usr/sbin', '/sbin', '/usr/local/sbin']
}

/** @returns the program's path; undefined if it is not on this machine */
export function findProgram(name: string, folders: readonly string[] = programFolders()): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Starts a program with a memory limit that the kernel kills when this process dies in any way. Both need util-linux
 * (setpriv, prlimit), as Node cannot do it; without these it runs without. As the main process of a unit, setpriv is
 * left out: systemd ends what is left of a unit, and its rules break setpriv (capset).
 */
function startChild(program: string, words: readonly string[], options: ChildOptions): Child {
  const before = [
    ['prlimit', `--data=${options.memoryBytes}`, '--'],
    ['setpriv', '--pdeathsig', 'KILL', '--'],
  ].filter(([keeper = '']) => findProgram(keeper) !== undefined && !(keeper === 'setpriv' && isUnit()))
  const [command = program, ...all] = [...before.flat(), program, ...words]
  const child = spawn(command, all, { stdio: ['pipe', 'pipe', 'pipe'] })
  const { onLine = () => {}, onText } = options
  const ended = endOf(child, options.onEnd)
  // Without free descriptors the child has no streams, and `error` comes in the next turn.
  child.stderr?.setEncoding('utf8').on('data', linesOf(onLine))
  child.stdout?.setEncoding('utf8').on('data', onText ?? linesOf(onLine))
  // The reader of the pipe is gone: `exit` reports that.
  child.stdin?.on('error', () => {})
  return {
    write: (text) => void (child.stdin?.writable && child.stdin.write(text)),
    end: () => endNow(child, ended),
  }
}

/** @source systemd.exec(5), SYSTEMD_EXEC_PID: a process that inherits the variable has another id */
function isUnit(): boolean {
  return process.env.SYSTEMD_EXEC_PID === String(process.pid)
}

function endOf(child: ChildProcess, onEnd: (how: string) => void): Promise<void> {
  return new Promise((resolve) => {
    function end(how: string): void {
      resolve()
      onEnd(how)
    }
    child.once('exit', (code, signal) => end(code === null ? `was ended by ${signal}` : `ended with ${code}`))
    child.on('error', (cause) => {
      // For a running child, such as one that may not be signalled, `exit` comes later.
      if (child.pid === undefined) end(`could not be run: ${cause.message}`)
    })
  })
}

async function endNow(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), KILL_MS)
  await ended
  clearTimeout(late)
}

/** @returns a function that splits text into lines of at most `LONGEST_LINE` */
function linesOf(onLine: (line: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
    for (const line of lines) if (line.trim() !== '') onLine(line.trim().slice(0, LONGEST_LINE))
  }
}

// Polls the state of ptp4l through one pmc that keeps running.

interface PmcOptions {
  clock: Clock
  /** Path of the program. */
  program: string
  /** Socket of ptp4l. */
  socket: string
  domain: number
  pollMs: number
  memoryBytes: number
  /** Time within which something must be answered. */
  answerMs: number
  onAnswer(answer: PmcAnswer): void
  /** Called once, when it is no longer usable. */
  onEnd(sentence: string): void
}

interface PmcDialog {
  end(): Promise<void>
}

/** Asked in turn, alternating with the time. */
const SLOWER_QUESTIONS = [
  'PORT_DATA_SET',
  'PARENT_DATA_SET',
  'TIME_PROPERTIES_DATA_SET',
  'GRANDMASTER_SETTINGS_NP',
  'DEFAULT_DATA_SET',
  'CURRENT_DATA_SET',
]
/** A missing answer may be lost after this: datagrams can be. */
const ASK_AGAIN_MS = 250

/**
 * Asks for the time every `pollMs`, and right after its answer for one of the others, in turn. Sends one question at a
 * time, since pmc reads its input through a buffer that it does not check again.
 * @source linuxptp 3.1.1 pmc.c, main: poll and fgets on the same descriptor
 */
function openPmcDialog(options: PmcOptions): PmcDialog {
  const { answerMs, clock, onAnswer, onEnd, pollMs } = options
  const reader = createPmcReader()
  let asked: { name: string; atMs: number } | undefined
  let answeredMs = clock.monotonicMs()
  let turn = 0
  let isOver = false
  let timer: Timer | undefined

  const child: Child = startChild(
    options.program,
    ['-u', '-b', '0', '-d', String(options.domain), '-s', options.socket, '-i', `${options.socket}.pmc`],
    {
      memoryBytes: options.memoryBytes,
      onText: (text) => reader.push(text).forEach(take),
      onEnd: (how) => over(`pmc ${how}`),
    },
  )

  function over(sentence: string): void {
    timer?.cancel()
    if (isOver) return
    isOver = true
    onEnd(sentence)
  }

  function ask(name: string): void {
    asked = { name, atMs: clock.monotonicMs() }
    child.write(`GET ${name}\n`)
  }

  function take(answer: PmcAnswer): void {
    if (isOver) return
    answeredMs = clock.monotonicMs()
    const wasTime = asked?.name === 'TIME_STATUS_NP'
    asked = undefined
    onAnswer(answer)
    if (wasTime) ask(SLOWER_QUESTIONS[turn++ % SLOWER_QUESTIONS.length] ?? 'PORT_DATA_SET')
  }

  function poll(): void {
    const nowMs = clock.monotonicMs()
    if (nowMs - answeredMs > answerMs) over(`ptp4l has not answered for ${durationText(answerMs)}.`)
    else if (asked === undefined || nowMs - asked.atMs > ASK_AGAIN_MS) ask('TIME_STATUS_NP')
  }

  timer = clock.every(pollMs, poll)
  poll()
  return {
    end() {
      timer?.cancel()
      isOver = true
      return child.end()
    },
  }
}

// Both programs, as the clock needs them.

interface PtpProgramOptions {
  clock: Clock
  log: Log
  config: PtpConfig
  priority1: number
  /** A folder of this daemon alone, for settings and sockets of ptp4l. */
  folder: string
  /** Looked up at each start; undefined if there is none. */
  interface(): string | undefined
  /** Folders to look for programs; default: the system's. */
  folders?: readonly string[]
}

/** Longest path of a Unix socket, minus the suffixes of pmc and ptp4l. @source unix(7) */
const LONGEST_SOCKET = 100
/** Interval of checks for the socket of a starting ptp4l. */
const LOOK_MS = 20
const VERSION_MS = 5000

/** Restarts are limited in rate, not in number: a network that returns after a day is used again. */
export function createPtpProgram(options: PtpProgramOptions): PtpProgram {
  return new WatchedProgram(options)
}

class WatchedProgram implements PtpProgram {
  readonly #options: PtpProgramOptions
  readonly #backoff
  readonly #socket: string
  #listener: PtpListener | undefined
  #failures = 0
  #startedMs = 0
  #isStopped = false
  #retry: Timer | undefined
  #ptp4l: Child | undefined
  #pmc: PmcDialog | undefined
  #lastLine = ''
  #running: Promise<void> = Promise.resolve()
  /** Shutdown of failed programs. */
  #ending: Promise<void> = Promise.resolve()

  constructor(options: PtpProgramOptions) {
    const { restart_most_ms: maxMs, restart_ms: firstMs } = options.config
    this.#options = options
    this.#backoff = new Backoff({ firstMs, maxMs })
    this.#socket = join(options.folder, 'ptp4l.sock')
  }

  start(listener: PtpListener): void {
    this.#listener = listener
    this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#retry?.cancel()
    await this.#running
    await this.#ending
    await this.#endBoth()
  }

  #run(): void {
    this.#running = this.#begin().catch((error: unknown) => this.#failed(error))
  }

  async #begin(): Promise<void> {
    const { clock, config, folder, folders, priority1 } = this.#options
    const { pmc, ptp4l } = this.#programs(folders)
    const on = this.#interface()
    const { stdout: version } = await promisify(execFile)(ptp4l, ['-v'], { timeout: VERSION_MS })
    const dscp = dscpOf(config)
    const file = join(folder, 'ptp4l.conf')
    const text = ptp4lConfig({
      interface: on,
      domain: config.domain,
      priority1,
      dscpEvent: dscp.event,
      dscpGeneral: dscp.general,
      socket: this.#socket,
      version: version.trim(),
    })
    await writeFile(file, text)
    await this.#removeSockets()
    if (this.#isStopped) return
    this.#startedMs = clock.monotonicMs()
    this.#lastLine = ''
    const memoryBytes = config.memory_mb * 1_048_576
    this.#ptp4l = startChild(ptp4l, ['-f', file], {
      memoryBytes,
      onLine: (line) => this.#said(line),
      onEnd: (how) => this.#ended(`ptp4l ${how}${this.#lastLine === '' ? '.' : `: ${this.#lastLine}`}`),
    })
    await this.#socketThere()
    if (this.#isStopped || this.#ptp4l === undefined) return
    this.#pmc = openPmcDialog({
      clock,
      program: pmc,
      socket: this.#socket,
      domain: config.domain,
      memoryBytes,
      pollMs: config.poll_ms,
      answerMs: config.answer_ms,
      onAnswer: (answer) => this.#listener?.answer(answer),
      onEnd: (sentence) => this.#ended(sentence),
    })
  }

  #programs(folders: readonly string[] | undefined): { ptp4l: string; pmc: string } {
    const [ptp4l, pmc] = ['ptp4l', 'pmc'].map((name) => findProgram(name, folders))
    if (ptp4l === undefined || pmc === undefined)
      throw new Fault(
        'ptp_absent',
        `${ptp4l === undefined ? 'ptp4l' : 'pmc'} is not installed; it is in the package linuxptp.`,
      )
    if (Buffer.byteLength(this.#socket) > LONGEST_SOCKET)
      throw new Fault('ptp_absent', `the path of its socket, ${this.#socket}, is longer than ${LONGEST_SOCKET} bytes.`)
    return { ptp4l, pmc }
  }

  #interface(): string {
    const on = this.#options.interface()
    if (on === undefined) throw new Fault('no_interface', 'there is no network interface.')
    if (!isInterfaceThere(on)) throw new Fault('no_interface', `there is no network interface ${on}.`)
    return on
  }

  #said(line: string): void {
    // Each line begins with the program and its uptime, which the log has already.
    this.#lastLine = line.replace(/^ptp4l\[[\d.]+\]: /, '')
    this.#options.log.debug('ptp4l', { line: this.#lastLine })
  }

  async #socketThere(): Promise<void> {
    const { clock, config } = this.#options
    const untilMs = clock.monotonicMs() + config.answer_ms
    while (!existsSync(this.#socket) && this.#ptp4l !== undefined && !this.#isStopped) {
      if (clock.monotonicMs() > untilMs)
        throw new Fault('ptp_ended', `ptp4l did not begin within ${durationText(config.answer_ms)}.`)
      // Not the clock's timer, which does not keep the process alive: a stop waits for this.
      await sleep(LOOK_MS)
    }
  }

  /** One of the two ended or does not answer, so both are restarted. */
  #ended(sentence: string): void {
    if (this.#isStopped || this.#ptp4l === undefined) return
    this.#failed(new Fault('ptp_ended', sentence))
  }

  #failed(error: unknown): void {
    if (this.#isStopped) return
    const { clock, config } = this.#options
    const fault = faultOf(error, 'ptp_ended', `ptp4l could not be started: ${messageOf(error)}`)
    const isAbsent = fault.code === 'ptp_absent'
    this.#listener?.[isAbsent ? 'missing' : this.#countFailure()](fault.message)
    const waitMs = isAbsent ? config.restart_most_ms : this.#backoff.next()
    // What cannot be removed now blocks the next start, which reports it.
    this.#ending = this.#endBoth().catch(() => {})
    this.#retry = clock.after(waitMs, () => {
      void this.#ending.then(() => this.#isStopped || this.#run())
    })
  }

  /** The end of a program that ran for long starts a new series of failures. */
  #countFailure(): 'ended' | 'gaveUp' {
    const { clock, config } = this.#options
    const isFresh = this.#startedMs > 0 && clock.monotonicMs() - this.#startedMs > config.restart_most_ms
    if (isFresh) {
      this.#failures = 0
      this.#backoff.reset()
    }
    this.#startedMs = 0
    this.#failures++
    return this.#failures >= config.restarts ? 'gaveUp' : 'ended'
  }

  async #endBoth(): Promise<void> {
    const [pmc, ptp4l] = [this.#pmc, this.#ptp4l]
    this.#pmc = undefined
    this.#ptp4l = undefined
    await pmc?.end()
    await ptp4l?.end()
    await this.#removeSockets()
  }

  async #removeSockets(): Promise<void> {
    for (const end of ['', '.ro', '.pmc']) await rm(`${this.#socket}${end}`, { force: true })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
