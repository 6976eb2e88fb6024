/** ptp4l and pmc, started, asked, and started again when they end. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createBackoff } from '#kit/backoff.ts'
import { durationText } from '#kit/bytes/words.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import type { PtpListener, PtpProgram } from '../../core/ptp/ports.ts'
import { dscpOf, type PtpConfig } from '../../core/ptp/ptp-keys.ts'
import { ptp4lConfig } from '../../wire/ptp/ptp4l-config.ts'
import { type Child, findProgram, startChild } from './child.ts'
import { openPmcDialog, type PmcDialog } from './pmc-dialog.ts'
import { isInterfaceThere } from './ptp-interface.ts'

export interface PtpProgramOptions {
  clock: Clock
  log: Log
  config: PtpConfig
  priority1: number
  /** Belongs to this daemon alone: settings and sockets of ptp4l are in it. */
  folder: string
  /** Looked up at each start; undefined where there is none. */
  interface(): string | undefined
  /** Where programs are looked for; default where the system has them. */
  folders?: readonly string[]
}

/** What a Unix socket's path may have, less what pmc and ptp4l put behind it. @source unix(7) */
const LONGEST_SOCKET = 100
/** Between two looks for the socket of a ptp4l that starts. */
const LOOK_MS = 20
const VERSION_MS = 5000

/** Restarts are bounded in pace, not in number: a network that comes back after a day is used again. */
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
  /** Of programs that failed. */
  #ending: Promise<void> = Promise.resolve()

  constructor(options: PtpProgramOptions) {
    const { restart_most_ms: maxMs, restart_ms: firstMs } = options.config
    this.#options = options
    this.#backoff = createBackoff({ firstMs, maxMs })
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
      // Not the clock's timer, which keeps no process alive: a stop waits for this.
      await sleep(LOOK_MS)
    }
  }

  /** One of the two ended, or does not answer: both begin anew. */
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
    // What cannot be removed now stands in the way of the next start, which tells it.
    this.#ending = this.#endBoth().catch(() => {})
    this.#retry = clock.after(waitMs, () => {
      void this.#ending.then(() => this.#isStopped || this.#run())
    })
  }

  /** One that ran for long begins anew; its end is no part of a row. */
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
