/**
 * An external detector: begins its process, hands it one picture at a time, and kills it where it takes too long or says
 * what nobody understands. Whatever it does, the recording goes on.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff, createSerialTurn } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import { checkedPlates } from '../core/recognition/plates.ts'
import {
  type RecognisedKind,
  type Recogniser,
  recognisedKinds,
  type ThingPicture,
} from '../core/recognition/recognised.ts'
import {
  checkedBoxes,
  type Detector,
  type DetectorHealth,
  isLabel,
  type Judgement,
  type SightPicture,
} from '../core/sight/detector.ts'
import { createDetectorReader, writeDetectorMessage } from '../wire/detector-message.ts'
import { CODE_BYTES } from './picture-decoder.ts'

interface ProcessParts {
  clock: Clock
  log: Log
  /** Program and arguments. */
  command: readonly string[]
  limits: {
    /** Key `detector.start_ms`. */
    startMs: number
    /** Key `detector.answer_ms`. */
    answerMs: number
    /** Key `detector.process_bytes`. */
    processBytes: number
  }
  /** Why it sees nothing; undefined once it does. */
  onFault(fault: Fault | undefined): void
}

const RETRY = { firstMs: 1000, maxMs: 60_000 }
/** How long it may take to end once nothing more is sent. */
const END_MS = 2000
/** Pictures one after the other that it could not judge. */
const FAILING = 3
const MOST_LABELS = 400
const MOST_WIDTH = 1920
const MOST_HEIGHT = 1080
/** Lines of what it says for people that are logged in a minute, and how long each. */
const LOG_LINES = 20
const LOG_MS = 60_000
const LOG_CHARS = 500

interface Announced {
  name: string
  labels: ReadonlySet<string>
  width: number
  height: number
  recognises: readonly RecognisedKind[]
}

type Head = Record<string, unknown>

export function createDetectorProcess(parts: ProcessParts): Detector & Recogniser {
  return new DetectorProcess(parts)
}

class DetectorProcess implements Detector, Recogniser {
  readonly #parts: ProcessParts
  readonly #backoff = new Backoff(RETRY)
  #child: { process: ChildProcess; over: Promise<void> } | undefined
  #announced: Announced | undefined
  #present: { id: number; timer: Timer; answer: PromiseWithResolvers<Head> } | undefined
  /** What it is asked by two, one after the other. */
  readonly #inTurn = createSerialTurn()
  #fault: Fault | undefined
  /** What it said itself before it ended. */
  #said: string | undefined
  #watch: Timer | undefined
  #isClosed = false
  #asked = 0
  readonly #counts = { pictures: 0, refusedBoxes: 0, crashes: 0 }
  #tookMs: number | null = null
  /** One after the other. */
  #failedPictures = 0
  readonly #logged = { sinceMs: 0, lines: 0 }

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.#begin()
  }

  wants(): { width: number; height: number } | undefined {
    return this.#announced && { width: this.#announced.width, height: this.#announced.height }
  }

  health(): DetectorHealth {
    const state = this.#fault ? 'failed' : this.#announced ? 'ready' : 'starting'
    const fault = this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null
    return { state, name: this.#announced?.name ?? null, ...this.#counts, tookMs: this.#tookMs, fault }
  }

  judge({ at, camera, height, rgb, width }: SightPicture): Promise<Judgement> {
    return this.#inTurn(async () => {
      const facts = { kind: 'picture', camera, at, width, height, format: 'rgb24' }
      const { boxes, took_ms: tookMs } = await this.#ask(facts, rgb).catch((fault: Fault) => this.#fails(fault))
      this.#failedPictures = 0
      this.#works()
      const checked = checkedBoxes(boxes, this.#announced?.labels ?? new Set())
      this.#counts.pictures++
      this.#counts.refusedBoxes += checked.refused
      this.#tookMs = typeof tookMs === 'number' && tookMs >= 0 && tookMs < 1e7 ? tookMs : null
      return { boxes: checked.boxes, tookMs: this.#tookMs ?? 0 }
    })
  }

  recognises(): readonly RecognisedKind[] {
    return this.#announced?.recognises ?? []
  }

  recognise({ height, rgb, width }: ThingPicture): ReturnType<Recogniser['recognise']> {
    return this.#inTurn(async () => {
      const { plates } = await this.#ask({ kind: 'recognise', width, height, format: 'rgb24' }, rgb)
      const checked = checkedPlates(plates)
      this.#counts.refusedBoxes += checked.refused
      return { plates: checked.plates }
    })
  }

  /** @returns the head of its answer */
  async #ask({ kind, ...facts }: { kind: string } & Head, rgb: Uint8Array): Promise<Head> {
    const { clock, limits } = this.#parts
    const child = this.#child?.process
    if (!child?.stdin || !this.#announced || this.#present) throw this.#fault ?? failed('It is not ready.')
    this.#asked++
    const id = this.#asked
    const answer = Promise.withResolvers<Head>()
    const timer = clock.after(limits.answerMs, () => {
      this.#said ??= `It has not answered for ${durationText(limits.answerMs)}.`
      child.kill('SIGKILL')
    })
    this.#present = { id, timer, answer }
    for (const part of writeDetectorMessage({ kind, id, ...facts }, rgb)) child.stdin.write(part)
    return await answer.promise
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#watch?.cancel()
    const child = this.#child
    if (!child) return
    child.process.stdin?.end()
    const kill = this.#parts.clock.after(END_MS, () => child.process.kill('SIGKILL'))
    await child.over
    kill.cancel()
  }

  #begin(): void {
    const { clock, command, limits, log } = this.#parts
    this.#said = undefined
    const child = startProcess(command, limits.processBytes)
    const over = Promise.withResolvers<void>()
    this.#child = { process: child, over: over.promise }
    const read = createDetectorReader()
    child.stdout?.on('data', (chunk: Uint8Array) => {
      try {
        for (const head of read(chunk)) this.#heard(head)
      } catch (fault) {
        this.#said ??= (fault as Fault).message
        child.kill('SIGKILL')
      }
    })
    child.stderr?.on('data', (chunk: Buffer) => this.#told(chunk))
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {})
    child.once('error', ({ message }) => {
      this.#said ??= `It does not start: ${message}.`
      if (child.pid === undefined) this.#ended('')
      over.resolve()
    })
    child.once('close', (code, signal) => {
      if (this.#child?.process === child) this.#ended(`It ended by ${signal ?? `code ${code}`}.`)
      over.resolve()
    })
    log.info('the detector begins', { command: command[0] })
    this.#watch = clock.after(limits.startMs, () => {
      this.#said ??= `It was not ready after ${durationText(limits.startMs)}.`
      child.kill('SIGKILL')
    })
  }

  #heard(head: Head): void {
    if (head.kind === 'ready') this.#ready(head)
    else if (head.kind === 'fault') this.#said ??= sentenceOf(head.why)
    else if (head.kind === 'boxes' || head.kind === 'recognised' || head.kind === 'failed') this.#answered(head)
  }

  #ready({ height, labels, name, protocol, recognises, width }: Head): void {
    if (this.#announced) return
    const isSize = (value: unknown, most: number): value is number =>
      Number.isInteger(value) && Number(value) >= 32 && Number(value) <= most
    const isNamed = typeof name === 'string' && name.length >= 1 && name.length <= 100
    const isLabelled =
      Array.isArray(labels) && labels.length >= 1 && labels.length <= MOST_LABELS && labels.every(isLabel)
    if (protocol !== 1) throw failed('It does not speak protocol 1.')
    if (!isNamed || !isLabelled || !isSize(width, MOST_WIDTH) || !isSize(height, MOST_HEIGHT))
      throw failed('It introduced itself with a name, labels or a size that the protocol does not allow.')
    this.#watch?.cancel()
    const can = recognisedKinds.filter((kind) => Array.isArray(recognises) && recognises.slice(0, 16).includes(kind))
    this.#announced = { name, labels: new Set(labels), width, height, recognises: can }
    this.#parts.log.notice('the detector is ready', { name })
    this.#works()
  }

  #answered(head: Head): void {
    const present = this.#present
    if (!present || present.id !== head.id || !this.#announced) return
    this.#present = undefined
    present.timer.cancel()
    this.#backoff.reset()
    if (head.kind === 'failed') present.answer.reject(failed(sentenceOf(head.why)))
    else present.answer.resolve(head)
  }

  /** One picture may be too much for it; one that judges none sees nothing, though it runs. */
  #fails(fault: Fault): never {
    this.#failedPictures++
    if (this.#announced && !this.#fault && this.#failedPictures >= FAILING) {
      this.#fault = fault
      this.#parts.onFault(fault)
    }
    throw fault
  }

  #works(): void {
    if (!this.#fault) return
    this.#fault = undefined
    this.#parts.onFault(undefined)
  }

  #ended(how: string): void {
    const { clock, log, onFault } = this.#parts
    this.#watch?.cancel()
    this.#child = undefined
    this.#announced = undefined
    const present = this.#present
    this.#present = undefined
    present?.timer.cancel()
    const fault = failed(this.#said ?? how)
    present?.answer.reject(fault)
    if (this.#isClosed) return
    this.#counts.crashes++
    this.#fault = fault
    log.error('the detector ended', { how, why: this.#said, crashes: this.#counts.crashes })
    onFault(fault)
    this.#watch = clock.after(this.#backoff.next(), () => this.#begin())
  }

  /** What it says for people, as far as a log is for that. */
  #told(chunk: Buffer): void {
    const { clock, log } = this.#parts
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#logged.sinceMs > LOG_MS) Object.assign(this.#logged, { sinceMs: nowMs, lines: 0 })
    for (const line of chunk.toString('utf8').split('\n', LOG_LINES)) {
      if (line.trim() === '' || this.#logged.lines >= LOG_LINES) continue
      this.#logged.lines++
      log.warning('the detector says', { line: line.slice(0, LOG_CHARS) })
    }
  }
}

/** Bounded by the kernel: its memory, no capability, no dump, a low priority. */
function startProcess(command: readonly string[], bytes: number): ChildProcess {
  const least = ['prlimit', `--data=${bytes + CODE_BYTES}`, '--core=0', '--']
  // Where the memory of all is used up it is the first to go.
  const bounds = ['-n', '10', 'choom', '-n', '1000', '--', 'setpriv', '--ambient-caps=-all', ...least]
  return spawn('nice', [...bounds, ...command], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** What it says of itself, as one short sentence. */
function sentenceOf(why: unknown): string {
  const text =
    typeof why === 'string'
      ? why
          .slice(0, 500)
          .replace(/\p{C}+/gu, ' ')
          .trim()
      : ''
  if (text === '') return 'It does not say why.'
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function failed(why: string): Fault {
  return new Fault('detector_failed', `The detector sees nothing. ${why} The recording goes on, and it is tried again.`)
}
