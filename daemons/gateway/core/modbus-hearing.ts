/** A Modbus line as it is listened to: cut, paired, counted, told as `frame` events. Nothing here writes. */
import { hexOf } from '#kit/bytes/hex.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/fault.ts'
import { flawOfJunk } from '../wire/modbus-cut.ts'
import { type DecodedFrame, describeReply, describeRequest } from '../wire/modbus-describe.ts'
import { functionName } from '../wire/modbus-functions.ts'
import type { Heard } from '../wire/modbus-overheard.ts'
import { exceptionCode, flawFault } from '../wire/modbus-reply.ts'
import { openRequest } from '../wire/modbus-request.ts'
import { gapMsOf, ModbusTap } from '../wire/modbus-tap.ts'
import { countOfFlaw, type ModbusCounts, modbusCounts } from './modbus-counts.ts'
import { type ModbusSettings, quarantineMs } from './modbus-settings.ts'
import type { FramePayload } from './ports.ts'

export interface HearingParts {
  baud: number
  clock: Clock
  settings: ModbusSettings
  counts: HeardCounts
  publish(event: string, payload: unknown): void
  /** Units whose requests are answered here. */
  isOwn(unitId: number): boolean
  /** After its event was published. */
  onHeard(heard: Heard): void
  /** The silence between frames has passed since the last byte. */
  onPause(): void
}

/** Counts of what was heard; each is raised by one per event, `noiseBytes` per byte. */
export type HeardCounts = Pick<ModbusCounts, (typeof heardNames)[number]> & { unknownFrames: number }

const heardNames = [
  'rxFrames',
  'requests',
  'replies',
  'exceptions',
  'broadcasts',
  'timeouts',
  'badReplies',
  'lateReplies',
  'crcErrors',
  'wrongUnit',
  'wrongFunction',
  'shortFrames',
  'longFrames',
  'mismatchedReplies',
  'malformedFrames',
  'strayFrames',
  'noiseBytes',
] as const satisfies readonly (keyof ModbusCounts)[]

/** All at zero. */
export function heardCounts(): HeardCounts {
  const all = modbusCounts()
  return { ...(Object.fromEntries(heardNames.map((name) => [name, all[name]])) as HeardCounts), unknownFrames: 0 }
}

export class ModbusHearing {
  readonly #parts: HearingParts
  readonly #tap: ModbusTap
  readonly #gapMs: number
  /** Runs when the line has been silent for as long as between frames, then for longer than inside one. */
  #silence: Timer | undefined
  /** Runs when the reply to the request that is out must have begun. */
  #due: Timer | undefined

  constructor(parts: HearingParts) {
    const { baud, isOwn, settings } = parts
    this.#parts = parts
    this.#gapMs = gapMsOf(parts, settings.gap_us)
    this.#tap = new ModbusTap({
      baud,
      gapMs: this.#gapMs,
      replyMs: settings.response_timeout_ms,
      oweMs: quarantineMs(settings),
      isOwn,
    })
  }

  /** Bytes that are no frame yet. */
  get pending(): Uint8Array {
    return this.#tap.pending
  }

  /** The line was opened, or closed: what was heard of it is void. */
  reset(): void {
    this.#silence?.cancel()
    this.#due?.cancel()
    this.#due = undefined
    this.#tap.reset()
  }

  /** @param atUs when they were read */
  feed(bytes: Uint8Array, atUs: number): void {
    this.#tell(this.#tap.feed(bytes, atUs / 1000))
    this.#silence?.cancel()
    this.#silence = this.#afterSilence(this.#gapMs, () => this.#paused())
    this.#awaitReply()
  }

  #paused(): void {
    this.#tell(this.#tap.silence('pause'))
    this.#parts.onPause()
    this.#awaitReply()
    if (this.#tap.pending.length === 0) return
    const restMs = Math.max(1, this.#parts.settings.byte_gap_ms - this.#gapMs)
    this.#silence = this.#afterSilence(restMs, () => {
      this.#tell(this.#tap.silence('quiet'))
      this.#awaitReply()
    })
  }

  /** Node runs timers before it reads: one that comes late, after a stall, lets what lies in the driver be read first. */
  #afterSilence(delayMs: number, run: () => void): Timer {
    const { clock } = this.#parts
    const dueMs = clock.monotonicMs() + delayMs
    let timer = clock.after(delayMs, () => {
      if (clock.monotonicMs() - dueMs > 2) timer = clock.after(1, run)
      else run()
    })
    return { cancel: () => timer.cancel() }
  }

  #awaitReply(): void {
    if (this.#due) return
    const dueInMs = this.#tap.dueInMs(this.#parts.clock.monotonicMs())
    if (dueInMs === undefined) return
    this.#due = this.#afterSilence(Math.max(1, dueInMs + 1), () => {
      this.#due = undefined
      this.#tell(this.#tap.pass(this.#parts.clock.monotonicMs()))
      this.#awaitReply()
    })
  }

  #tell(heard: readonly Heard[]): void {
    for (const one of heard) {
      if (one.kind === 'unanswered') this.#parts.counts[one.isDisturbed ? 'badReplies' : 'timeouts']++
      else this.#tellFrame(one)
      this.#parts.onHeard(one)
    }
  }

  #tellFrame(heard: Exclude<Heard, { kind: 'unanswered' }>): void {
    const { counts, publish } = this.#parts
    const { frame } = heard
    const fault = flawOf(heard)
    counts.rxFrames++
    this.#count(heard)
    const monotonicUs = Math.round(heard.endMs * 1000)
    publish('frame', (): FramePayload => {
      const decoded = decodedOf(heard, fault)
      const payload: FramePayload = { direction: 'rx', monotonicUs, hex: hexOf(frame), length: frame.length, decoded }
      return fault ? { ...payload, decodeError: { code: fault.code, message: fault.message } } : payload
    })
  }

  #count(heard: Exclude<Heard, { kind: 'unanswered' }>): void {
    const { counts } = this.#parts
    switch (heard.kind) {
      case 'request':
        counts[heard.sent.request.unitId === 0 ? 'broadcasts' : 'requests']++
        return
      case 'reply':
        counts.replies++
        if (exceptionCode(heard.frame) !== null) counts.exceptions++
        return
      case 'late':
        counts.lateReplies++
        return
      case 'malformed':
        counts.malformedFrames++
        return
      case 'stray':
        counts.strayFrames++
        return
      case 'unknown':
        counts.unknownFrames++
        return
      default: {
        const flaw = flawOfJunk(heard.frame, heard.sent)
        if (flaw) counts[countOfFlaw[flaw] as keyof HeardCounts]++
        else counts.noiseBytes += heard.frame.length
      }
    }
  }
}

/** Why a frame does not decode. */
function flawOf(heard: Exclude<Heard, { kind: 'unanswered' }>): Fault | undefined {
  if (heard.kind === 'noise') {
    const flaw = flawOfJunk(heard.frame, heard.sent)
    return flaw && flawFault(flaw, heard.sent, heard.frame)
  }
  if (heard.kind !== 'malformed') return undefined
  try {
    openRequest(heard.frame)
    return undefined
  } catch (error) {
    return faultOf(error, 'modbus_malformed', 'the request contradicts itself')
  }
}

function decodedOf(heard: Exclude<Heard, { kind: 'unanswered' }>, fault: Fault | undefined): DecodedFrame | null {
  switch (heard.kind) {
    case 'request':
      return describeRequest(heard.sent.request)
    case 'reply':
      return {
        ...describeReply(heard.frame, 'reply', heard.sent),
        ...(heard.tookMs !== null && { tookMs: heard.tookMs }),
      }
    case 'late':
      return describeReply(heard.frame, 'late', heard.sent)
    case 'stray':
      return describeReply(heard.frame, 'stray')
    case 'unknown': {
      const [unitId = 0, fc = 0] = heard.frame
      return { kind: 'stray', unitId, fc: fc & 0x7f, name: functionName(fc) }
    }
    default:
      return fault ? null : { kind: 'noise' }
  }
}
