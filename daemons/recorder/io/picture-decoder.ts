/**
 * Begins the process that decodes pictures, hands it one after the other, and kills it where it takes too long: whatever
 * a camera sends, the recording goes on.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff } from '#kit/pure/pace.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import { DECODED_BYTES } from '../core/memory.ts'
import { neededForLast } from '../core/pictures/choice.ts'
import type { CodedGroup, DecoderHealth, FilmWish, PictureDecoder, PictureWish, Shades } from '../core/ports.ts'
import { type Look, type LookDecoder, type LookWish, MOTION_SIZE } from '../core/sight/sight.ts'
import { readUnits, writeUnits } from '../wire/annex-b.ts'
import { h264 } from '../wire/h264.ts'
import type { StreamFacts, UnitRole } from '../wire/pictures.ts'
import { createWorkerReader, type WorkerMessage, writeWorkerMessage } from '../wire/worker-message.ts'

/** Bounds, by the names of their settings. */
export interface DecoderLimits {
  /** A process that is not ready after this is given up. */
  startMs: number
  /** A picture that takes longer is given up, and the process with it. */
  answerMs: number
  /** Pictures that wait; one more is refused. */
  queue: number
  /** A picture of more pixels is not decoded. */
  pixels: number
  /** Of pictures of up to so many pixels the last decoder is kept for the next. */
  keptPixels: number
  /** What the process may hold. */
  memoryBytes: number
  /** It is ended where nobody asks for so long. */
  idleMs: number
}

interface DecoderParts {
  clock: Clock
  log: Log
  limits: DecoderLimits
  /** Why no pictures are made; undefined once they are. */
  onFault(fault: Fault | undefined): void
}

/** The decoder, and its end. */
export interface DecoderProcess extends PictureDecoder, LookDecoder {
  health(): DecoderHealth
  /** Of the process, while there is one. */
  pid(): number | undefined
  /** Begins the process and ends it once it is ready, so that what it lacks is known before somebody asks for a picture. */
  tryOut(): void
  close(): Promise<void>
}

const RETRY = { firstMs: 1000, maxMs: 60_000 }
/** How long a camera whose pictures broke the decoder is left alone: else it would keep it from the others. */
const APART_MS = 30_000

const PACKAGES = 'gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-libav'

interface Job {
  id: number
  camera: string
  group: CodedGroup
  /** Of the message. */
  head: { kind: 'picture' | 'film' | 'look' }
  answer: PromiseWithResolvers<WorkerMessage>
}

export function createDecoderProcess(parts: DecoderParts): DecoderProcess {
  return new Decoder(parts)
}

class Decoder implements DecoderProcess {
  readonly #parts: DecoderParts
  readonly #backoff = new Backoff(RETRY)
  readonly #apartUntilMs = new Map<string, number>()
  readonly #waiting: Job[] = []
  #child: { process: ChildProcess; pipe: Duplex; over: Promise<unknown> } | undefined
  /** Known once the process has said so. */
  #decoders: Readonly<Record<string, string>> | undefined
  #encoder: string | null = null
  #lastKind: Job['head']['kind'] | undefined
  #present: { job: Job; timer: Timer } | undefined
  #fault: Fault | undefined
  #retryMs = 0
  #crashes = 0
  #isClosed = false
  #isTrial = false
  #asked = 0
  /** Ends a process that does not say that it is ready, or one that nobody asks any more. */
  #watch: Timer | undefined

  constructor(parts: DecoderParts) {
    this.#parts = parts
  }

  health(): DecoderHealth {
    const state = this.#fault
      ? this.#fault.code === 'decoder_missing'
        ? 'missing'
        : 'failed'
      : this.#child
        ? 'ready'
        : 'idle'
    const fault = this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null
    return { state, decoders: this.#decoders ?? {}, encoder: this.#encoder, crashes: this.#crashes, fault }
  }

  pid(): number | undefined {
    return this.#child?.process.pid
  }

  async picture({ width, ...wish }: PictureWish, signal: AbortSignal): Promise<Uint8Array> {
    return (await this.#still({ ...wish, width, isGrey: false }, signal)).bytes
  }

  shades(wish: Parameters<PictureDecoder['shades']>[0], signal: AbortSignal): Promise<Shades> {
    // Rows of GStreamer's are as long as a multiple of four.
    return this.#still({ ...wish, width: wish.width & ~3, masks: [], isGrey: true }, signal)
  }

  async #still(wish: PictureWish & { isGrey: boolean }, signal: AbortSignal): Promise<Shades> {
    const { camera, group: whole, isGrey, masks, width: asked } = wish
    const group = { sets: whole.sets, pictures: neededForLast(whole) }
    const { height, width } = factsOf(group)
    // Even, since colours have half the width and height.
    const outWidth = Math.max(isGrey ? 4 : 2, Math.min(asked ?? width, width) & ~(isGrey ? 3 : 1))
    const outHeight = Math.max(2, Math.round((outWidth * height) / width) & ~1)
    const sets = Buffer.concat(group.sets.units).toString('base64')
    const isKept = width * height <= this.#parts.limits.keptPixels
    const head = { kind: 'picture' as const, outWidth, outHeight, masks, sets, isKept, isGrey }
    const { body } = await this.#ask({ camera, group, head }, signal)
    if (isGrey && body.length !== outWidth * outHeight) throw undecodable('its shades are not as many as its pixels')
    return { width: outWidth, height: outHeight, bytes: body }
  }

  async look({ camera, group: whole, masks, most }: LookWish, signal: AbortSignal): Promise<Look> {
    const group = { sets: whole.sets, pictures: neededForLast(whole) }
    const facts = factsOf(group)
    const scale = Math.min(1, most.width / facts.width, most.height / facts.height)
    // Rows of whole words, and even as colours are.
    const width = Math.max(4, Math.floor(facts.width * scale) & ~3)
    const height = Math.max(2, Math.floor(facts.height * scale) & ~1)
    const sets = Buffer.concat(group.sets.units).toString('base64')
    const greyStep = Math.max(1, Math.ceil(width / MOTION_SIZE.width), Math.ceil(height / MOTION_SIZE.height))
    const isKept = facts.width * facts.height <= this.#parts.limits.keptPixels
    const head = { kind: 'look' as const, outWidth: width, outHeight: height, masks, sets, isKept, greyStep }
    const { body } = await this.#ask({ camera, group, head }, signal)
    const [columns, rows] = [Math.floor(width / greyStep), Math.floor(height / greyStep)]
    const rgbBytes = width * height * 3
    if (body.length !== rgbBytes + columns * rows) throw undecodable('the picture has another size than was asked for')
    const shades = { width: columns, height: rows, bytes: body.subarray(rgbBytes) }
    return { width, height, rgb: body.subarray(0, rgbBytes), shades }
  }

  async film({ camera, fromMs, group, masks }: FilmWish, signal: AbortSignal): Promise<CodedGroup> {
    const firstMs = firstOf(group)
    const head = { kind: 'film' as const, fromNs: nsOf(fromMs - firstMs), masks }
    return readFilm(await this.#ask({ camera, group, head }, signal), firstMs)
  }

  async #ask(wish: Pick<Job, 'camera' | 'group' | 'head'>, signal: AbortSignal): Promise<WorkerMessage> {
    const { clock, limits } = this.#parts
    const { height, width } = factsOf(wish.group)
    if (width * height > limits.pixels)
      throw new Fault(
        'picture_too_large',
        `A picture has ${width} x ${height} pixels; pictures.pixels allows ${limits.pixels} in all.`,
      )
    if ((this.#apartUntilMs.get(wish.camera) ?? 0) > clock.monotonicMs())
      throw failed(`What this camera sends broke it less than ${durationText(APART_MS)} ago.`)
    if (this.#fault && clock.monotonicMs() < this.#retryMs) throw this.#fault
    if (this.#waiting.length >= limits.queue)
      throw new Fault(
        'decoder_busy',
        `${counted(this.#waiting.length, 'picture')} wait for the decoder already; pictures.queue allows ${limits.queue}.`,
      )
    this.#asked++
    const job = { id: this.#asked, ...wish, answer: Promise.withResolvers<WorkerMessage>() }
    this.#waiting.push(job)
    const leave = () => {
      const at = this.#waiting.indexOf(job)
      if (at >= 0) this.#waiting.splice(at, 1)
      job.answer.reject(new Fault('decoder_busy', 'Nobody waits for this picture any more.'))
    }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    if (!this.#child) this.#begin()
    this.#next()
    try {
      return await job.answer.promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  tryOut(): void {
    if (this.#child || this.#isClosed) return
    this.#isTrial = true
    this.#begin()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const job of this.#waiting.splice(0)) job.answer.reject(failed('The recorder ends.'))
    this.#child?.process.kill('SIGKILL')
    await this.#child?.over
  }

  #begin(): void {
    const { clock, limits, log } = this.#parts
    const child = startProcess(limits.memoryBytes)
    const pipe = child.stdio[3] as Duplex
    const over = Promise.withResolvers<void>()
    this.#child = { process: child, pipe, over: over.promise }
    const read = createWorkerReader(DECODED_BYTES)
    pipe.on('data', (chunk: Uint8Array) => {
      try {
        for (const message of read(chunk)) this.#heard(message)
      } catch (fault) {
        log.error('the picture decoder sends what nobody understands', { fault })
        child.kill('SIGKILL')
      }
    })
    pipe.on('error', () => {})
    child.once('error', (error) => {
      this.#fault ??= failed(`It does not start: ${error.message}.`)
      this.#ended()
      over.resolve()
    })
    child.once('close', (code, signal) => {
      if (this.#child?.process === child) this.#ended(`It ended by ${signal ?? `code ${code}`}.`)
      over.resolve()
    })
    this.#watch = clock.after(limits.startMs, () => child.kill('SIGKILL'))
  }

  #heard(message: WorkerMessage): void {
    const { head } = message
    if (head.kind === 'missing') this.#lacks(String(head.why))
    else if (head.kind === 'ready') this.#ready(head as unknown as Ready)
    else this.#answered(message)
  }

  #ready({ decoders, encoder }: Ready): void {
    this.#watch?.cancel()
    this.#decoders = decoders
    this.#encoder = encoder
    if (decoders.h264 === undefined) this.#lacks('no decoder of H.264 is installed')
    else if (this.#isTrial && !this.#present && this.#waiting.length === 0) this.#dismiss()
    else this.#next()
    this.#isTrial = false
  }

  /** Ends a process that has nothing to do, which is no crash. */
  #dismiss(): void {
    const child = this.#child
    this.#child = undefined
    child?.process.kill('SIGKILL')
  }

  #answered(message: WorkerMessage): void {
    const { head } = message
    const present = this.#present
    if (!present || head.id !== present.job.id) return
    this.#present = undefined
    present.timer.cancel()
    this.#works()
    if (head.kind === 'made') present.job.answer.resolve(message)
    else present.job.answer.reject(undecodable(String(head.why)))
    this.#next()
  }

  #works(): void {
    this.#backoff.reset()
    if (!this.#fault) return
    this.#fault = undefined
    this.#parts.onFault(undefined)
  }

  /** It stays away until the next question after a while: somebody may install what is missing. */
  #lacks(why: string): void {
    this.#fail(
      new Fault(
        'decoder_missing',
        `Pictures cannot be decoded: ${why}. Install ${PACKAGES}. The recording goes on without.`,
      ),
    )
    this.#child?.process.kill('SIGKILL')
  }

  #fail(fault: Fault): void {
    this.#fault = fault
    this.#retryMs = this.#parts.clock.monotonicMs() + this.#backoff.next()
    this.#parts.onFault(fault)
  }

  /** The process is gone. The picture it had is its ruin or its victim; the others wait no longer than for a new one. */
  #ended(how = ''): void {
    const { clock, log } = this.#parts
    this.#watch?.cancel()
    this.#child = undefined
    this.#isTrial = false
    if (!this.#isClosed && this.#fault?.code !== 'decoder_missing') {
      this.#crashes++
      const camera = this.#present?.job.camera
      if (camera !== undefined) this.#apartUntilMs.set(camera, clock.monotonicMs() + APART_MS)
      log.error('the picture decoder ended', { how, camera, crashes: this.#crashes })
      this.#fail(this.#fault ?? failed(how))
    }
    this.#giveUp(this.#fault ?? failed(how))
  }

  #giveUp(fault: Fault): void {
    const present = this.#present
    this.#present = undefined
    present?.timer.cancel()
    for (const job of [...(present ? [present.job] : []), ...this.#waiting.splice(0)]) job.answer.reject(fault)
  }

  #next(): void {
    const { clock, limits } = this.#parts
    const child = this.#child
    if (this.#present || !child || !this.#decoders) return
    // By turns: pictures do not wait for the films of all who play one, nor a film for all pictures.
    const other = this.#waiting.findIndex(({ head }) => head.kind !== this.#lastKind)
    const [job] = this.#waiting.splice(Math.max(0, other), 1)
    this.#watch?.cancel()
    if (!job) {
      this.#watch = clock.after(limits.idleMs, () => this.#dismiss())
      return
    }
    const timer = clock.after(limits.answerMs, () => child.process.kill('SIGKILL'))
    this.#lastKind = job.head.kind
    this.#present = { job, timer }
    for (const part of messageOf(job)) child.pipe.write(part)
  }
}

/** What V8 sets aside for compiled code counts as held from the start, and is hardly used. */
export const CODE_BYTES = process.arch === 'x64' ? 536_870_912 : 134_217_728

/** Bounded by the kernel: its memory, no files, no capability; and by Node: no other process, no writing. */
function startProcess(memoryBytes: number): ChildProcess {
  const file: URL | string = new URL('./picture-process.ts', import.meta.url)
  const isText = typeof file === 'string'
  // It may neither open privileged ports, as its unit may, nor write files. To the kernel a pipe is not a file.
  const bounds = [
    '--ambient-caps=-all',
    'prlimit',
    `--data=${memoryBytes + CODE_BYTES}`,
    '--fsize=0',
    '--core=0',
    // Counts as held for each of its threads.
    '--stack=2097152',
    '--nofile=128',
    '--',
  ]
  const node = [process.execPath, '--permission', '--allow-addons', '--allow-fs-read=*', '--no-warnings']
  const heap = ['--max-old-space-size=96', '--max-semi-space-size=1', '--v8-pool-size=1']
  const child = spawn('setpriv', [...bounds, ...node, ...heap, isText ? '-' : fileURLToPath(file)], {
    cwd: '/',
    // Where text looks for the addon: it has no place of its own.
    env: { THREAD_OF: import.meta.url, PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '1' },
    stdio: [isText ? 'pipe' : 'ignore', 'ignore', 'inherit', 'pipe'],
  })
  child.stdin?.on('error', () => {})
  child.stdin?.end(file)
  return child
}

/** What the process says of itself. */
interface Ready {
  decoders: Readonly<Record<string, string>>
  encoder: string | null
}

function firstOf({ pictures }: CodedGroup): number {
  return Math.min(...pictures.map(({ shownMs }) => shownMs))
}

function nsOf(ms: number): number {
  return Math.round(ms * 1e6)
}

function messageOf({ group, head, id }: Job): Uint8Array[] {
  const { pictures, sets } = group
  const { height, width } = factsOf(group)
  const firstMs = firstOf(group)
  const units = pictures.map((picture, at) => writeUnits([...(at === 0 ? sets.units : []), ...picture.units]))
  const about = {
    ...{ id, codec: sets.codec.encoding.toLowerCase(), width, height },
    lengths: units.map(({ length }) => length),
    ptsNs: pictures.map(({ shownMs }) => nsOf(shownMs - firstMs)),
  }
  return writeWorkerMessage({ ...about, ...head }, [joinBytes(units)])
}

/** What was coded anew: parameter sets stand before the first picture, as a decoder wants them. */
function readFilm({ body, head }: WorkerMessage, firstMs: number): CodedGroup {
  const { lengths, ptsNs } = head as { lengths: number[]; ptsNs: number[] }
  let at = 0
  const all = lengths.map((length, index) => {
    at += length
    return { units: readUnits(body.subarray(at - length, at)), shownMs: firstMs + (ptsNs[index] ?? 0) / 1e6 }
  })
  const isRole = (role: UnitRole) => (unit: Uint8Array) => h264.roleOf(unit) === role
  const sets = all[0]?.units.filter(isRole('set')) ?? []
  if (!h264.isEnough(sets.map((set) => h264.slotOf(set)))) throw undecodable('it was coded anew without parameter sets')
  const isPicture = (unit: Uint8Array) => !isRole('set')(unit) && !isRole('dropped')(unit)
  const pictures = all.map(({ shownMs, units }) => ({ units: units.filter(isPicture), shownMs }))
  return { sets: { codec: h264, units: sets }, pictures }
}

/** @throws Fault `bad_parameter_set` */
function factsOf({ sets }: CodedGroup): StreamFacts {
  return sets.codec.factsOf(sets.units)
}

function failed(why: string): Fault {
  return new Fault('decoder_failed', `The decoder of pictures failed. ${why} The recording goes on. Try again later.`)
}

function undecodable(why: string): Fault {
  return new Fault('picture_undecodable', `This picture cannot be decoded: ${why}.`)
}
