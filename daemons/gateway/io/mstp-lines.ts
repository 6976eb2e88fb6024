/** Starts and asks the thread that serves the lines of MS/TP. */
import type { Worker } from 'node:worker_threads'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { startThread } from '#kit/run/thread.ts'
import { MSTP_HEAP_MIB } from '../core/mstp/memory.ts'
import type { MstpHealth, MstpLine, MstpWorld } from '../core/mstp/mstp.ts'
import type { SendOutcome } from '../core/mstp/requests.ts'
import type { MstpTask, MstpThreadData, MstpWord } from './mstp-thread.ts'

interface MstpLinesParts {
  log: Pick<Log, 'info' | 'warning' | 'error'>
  /** @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  /** Frames of one line that may be on their way from the thread. */
  transitFrames: number
  /** Real-time priority of the thread; 0: none. */
  realtimePriority: number
}

type Opening = Parameters<MstpWorld['openMstp']>[0]

/** An open line, as the daemon's thread sees it. */
interface Opened {
  hooks: Opening
  onGone: (fault: Fault) => void
  gone: Fault | undefined
  driver: MstpHealth['driver']
}

const HEAP = { maxOldGenerationSizeMb: MSTP_HEAP_MIB.old, maxYoungGenerationSizeMb: MSTP_HEAP_MIB.young }

/** The thread starts with the first line, since most gateways have none, and ends with the last. */
export function createMstpOpener(parts: MstpLinesParts): MstpWorld['openMstp'] {
  let running: MstpThread | undefined

  function current(): MstpThread {
    if (running === undefined || running.isOver) running = new MstpThread(parts)
    return running
  }

  return async (hooks) => {
    parts.checkPath(hooks.path)
    return await current().open(hooks)
  }
}

/** One run of the thread. */
class MstpThread {
  readonly #worker: Worker
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #lines = new Map<number, Opened>()
  readonly #log: MstpLinesParts['log']
  #lastNumber = 0
  /** Lines that are open or being opened. */
  #uses = 0
  /** It has ended, or ends. */
  isOver = false

  constructor({ log, realtimePriority, transitFrames }: MstpLinesParts) {
    const workerData: MstpThreadData = { realtimePriority, transitFrames }
    this.#log = log
    this.#worker = startThread(new URL('./mstp-thread.ts', import.meta.url), { workerData, resourceLimits: HEAP })
    this.#worker.on('message', (word: MstpWord) => this.#hear(word))
    this.#worker.on('error', (error) => log.error('mstp_thread_failed', { error }))
    this.#worker.on('exit', () => this.#ended())
    this.#worker.unref()
  }

  async open(hooks: Opening): Promise<MstpLine> {
    this.#uses++
    const line = ++this.#lastNumber
    const opened: Opened = { hooks, onGone() {}, gone: undefined, driver: null }
    this.#lines.set(line, opened)
    try {
      const { line: settings, path, settings: node } = hooks
      const unsupported = (await this.#post({ kind: 'open', line, path, settings, node }).done) as string[]
      return this.#made(line, opened, unsupported)
    } catch (error) {
      await this.#release(line)
      throw error
    }
  }

  #made(line: number, opened: Opened, unsupported: string[]): MstpLine {
    let closing: Promise<void> | undefined
    return {
      unsupported,
      onGone(handler) {
        opened.onGone = handler
        if (opened.gone) handler(opened.gone)
      },
      driverCounts: () => opened.driver,
      settle() {},
      close: () => {
        closing ??= this.#close(line)
        return closing
      },
      send: (frame, signal) => this.#send({ kind: 'send', line, frame }, signal),
    }
  }

  async #close(line: number): Promise<void> {
    await this.#post({ kind: 'close', line }).done.catch(() => {}) // a thread that has ended has closed it
    await this.#release(line)
  }

  async #release(line: number): Promise<void> {
    this.#lines.delete(line)
    this.#uses--
    if (this.#uses > 0) return
    this.isOver = true
    await this.#worker.terminate()
  }

  async #send(task: Extract<MstpTask, { kind: 'send' }>, signal: AbortSignal): Promise<SendOutcome> {
    const { done, number } = this.#post(task)
    const leave = () => void this.#post({ kind: 'withdraw', send: number }).done.catch(() => {})
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    try {
      return (await done) as SendOutcome
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #post(task: MstpTask): { number: number; done: Promise<unknown> } {
    const number = ++this.#lastNumber
    const waiter = Promise.withResolvers<unknown>()
    if (this.isOver) waiter.reject(threadEnded())
    else {
      this.#asked.set(number, waiter)
      this.#worker.ref()
      this.#worker.postMessage({ number, task })
    }
    return { number, done: waiter.promise }
  }

  #hear(word: MstpWord): void {
    if (word.kind === 'log') this.#log[word.level](word.event, word.facts)
    else if (word.kind === 'done' || word.kind === 'failed') this.#settle(word)
    else this.#hearLine(word)
  }

  #hearLine(word: Extract<MstpWord, { line: number }>): void {
    // It goes on telling once these have arrived.
    if (word.kind === 'seen') this.#tell({ kind: 'heard', line: word.line })
    const opened = this.#lines.get(word.line)
    if (!opened) return
    if (word.kind === 'seen') opened.hooks.onSeen(word.list)
    else if (word.kind === 'health') {
      opened.driver = word.health.driver
      opened.hooks.onHealth(word.health)
    } else if (word.kind === 'fault') opened.hooks.onFault(new Fault(word.code, word.message))
    else lose(opened, new Fault(word.code, word.message))
  }

  /** Without an answer. */
  #tell(task: MstpTask): void {
    this.#worker.postMessage({ number: 0, task })
  }

  #settle(word: Extract<MstpWord, { kind: 'done' | 'failed' }>): void {
    const waiter = this.#asked.get(word.number)
    this.#asked.delete(word.number)
    if (word.kind === 'done') waiter?.resolve(word.value)
    else waiter?.reject(new Fault(word.code, word.message, word.details && { details: word.details }))
    // The thread keeps the process alive only while a caller waits for it.
    if (this.#asked.size === 0) this.#worker.unref()
  }

  #ended(): void {
    this.isOver = true
    for (const waiter of this.#asked.values()) waiter.reject(threadEnded())
    this.#asked.clear()
    for (const opened of this.#lines.values()) lose(opened, threadEnded())
    this.#lines.clear()
  }
}

function threadEnded(): Fault {
  return new Fault('mstp_thread_ended', 'The thread that serves MS/TP has ended; the line is opened again.')
}

function lose(opened: Opened, fault: Fault): void {
  if (opened.gone) return
  opened.gone = fault
  opened.onGone(fault)
}
