/** The adapter of a line on which we only listen. It pairs the requests and replies of another master. */
import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { type Heard, ModbusTap } from '../../wire/modbus-overheard.ts'
import {
  type DecodedFrame,
  describeReply,
  describeRequest,
  exceptionCode,
  flawFault,
  flawOfJunk,
  type ReplyFlaw,
  replyFlaw,
  type SentRequest,
} from '../../wire/modbus-reply.ts'
import { functionName, gapMsOf, type ModbusRequest, readModbusRequest } from '../../wire/modbus-request.ts'
import { type BusCounts, type BusFaults, busCounts, busFaultKind, countOfFlaw, createBusFaults } from '../bus/faults.ts'
import { quarantineMs } from '../bus/settings.ts'
import type { Asking } from '../bus/transactions.ts'
import { BusUnits } from '../bus/units.ts'
import type { Adapter, AdapterContext } from '../lines/adapter.ts'
import { decodeErrorOf, framePayload, type SeenFrame } from '../lines/events.ts'
import type { MasterHooks } from './master.ts'
import { heldBytesOf, type ModbusReply, type ModbusRtu } from './protocol.ts'
import type { ModbusSettings } from './settings.ts'

// Cuts the received bytes into frames, pairs and counts them, and publishes `frame` events. Nothing here writes.

/** Everything the tap reports except `unanswered`, which has no frame. */
type CutFrame = Exclude<Heard, { kind: 'unanswered' }>

/** A cut frame; a reply also carries its decoded contents. */
export type HeardFrame = OpenedFrame<CutFrame>
type OpenedFrame<Frame> = Frame extends { kind: 'reply' | 'late' } ? Frame & { reply: ModbusReply } : Frame

interface HearingParts {
  baud: number
  clock: Clock
  settings: ModbusSettings
  protocol: ModbusRtu
  counts: HeardCounts
  publish(event: string, payload: unknown, sizeBytes?: number): void
  /** Whether we serve this unit and answer its requests ourselves. */
  isOwn(unitId: number): boolean
  /** Called after the frame's event was published. */
  onHeard(heard: HeardFrame): void
  /** A request got no reply. @param fault `modbus_timeout`, or `modbus_bad_reply` if something else arrived */
  onMissed(sent: SentRequest, fault: Fault): void
  /** The silence between frames has passed since the last byte. */
  onPause(): void
}

/** Counters of received frames; each rises by one per event, `noiseBytes` by one per byte. */
type HeardCounts = Pick<BusCounts, (typeof heardNames)[number]> & { unknownFrames: number }

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
] as const satisfies readonly (keyof BusCounts)[]

/** All counters at zero. */
export function heardCounts(): HeardCounts {
  const all = busCounts()
  return { ...(Object.fromEntries(heardNames.map((name) => [name, all[name]])) as HeardCounts), unknownFrames: 0 }
}

export class ModbusHearing {
  readonly #parts: HearingParts
  readonly #faults: BusFaults<ModbusRequest>
  readonly #tap: ModbusTap
  readonly #gapMs: number
  /** Fires after the silence between frames, then again after a silence too long to be inside a frame. */
  #silence: Timer | undefined
  /** Fires when the reply to the pending request must have begun. */
  #due: Timer | undefined
  /** Counts, by counter name, of frames since the last request that were not its reply. */
  #meanwhile: Record<string, number> = {}

  constructor(parts: HearingParts) {
    const { baud, isOwn, settings } = parts
    this.#parts = parts
    this.#faults = createBusFaults(parts.protocol)
    this.#gapMs = gapMsOf(parts, settings.gap_us)
    this.#tap = new ModbusTap({
      baud,
      gapMs: this.#gapMs,
      replyMs: settings.response_timeout_ms,
      oweMs: quarantineMs(settings),
      isOwn,
    })
  }

  /** Bytes that do not make a frame yet. */
  get pending(): Uint8Array {
    return this.#tap.pending
  }

  /** The line was opened or closed: discards everything received so far. */
  reset(): void {
    this.#silence?.cancel()
    this.#due?.cancel()
    this.#due = undefined
    this.#tap.reset()
  }

  /** @param atUs when the bytes were read */
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

  /** Node runs timers before reads: a timer that is late after a stall waits until the driver's bytes were read. */
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
    const { counts, onHeard, onMissed, protocol } = this.#parts
    for (const one of heard) {
      if (one.kind === 'unanswered') {
        const fault = this.#faults.noReply(one.sent.request, one.waitedMs, this.#meanwhile)
        counts[busFaultKind(fault) === 'noReply' ? 'timeouts' : 'badReplies']++
        onMissed(one.sent, fault)
      } else {
        const opened = openedFrame(protocol, one)
        this.#tellFrame(opened)
        onHeard(opened)
      }
    }
  }

  #tellFrame(heard: HeardFrame): void {
    const { counts, publish } = this.#parts
    const fault = faultOfFrame(heard)
    counts.rxFrames++
    this.#count(heard)
    const seen: SeenFrame = { direction: 'rx', frame: heard.frame, atUs: heard.endMs * 1000 }
    const payload = () => framePayload(seen, { decoded: decodedOf(heard, fault), ...decodeErrorOf(fault) })
    publish('frame', payload, heldBytesOf(heard.frame))
  }

  #count(heard: HeardFrame): void {
    const { counts } = this.#parts
    if (heard.kind === 'request') {
      counts[heard.sent.request.unitId === 0 ? 'broadcasts' : 'requests']++
      this.#meanwhile = {}
    } else if (heard.kind === 'reply') {
      counts.replies++
      if (exceptionCode(heard.frame) !== null) counts.exceptions++
    } else {
      const name = countOf(heard)
      const by = name === 'noiseBytes' ? heard.frame.length : 1
      counts[name] += by
      this.#meanwhile[name] = (this.#meanwhile[name] ?? 0) + by
    }
  }
}

/** Decodes a reply once, for everyone who needs it. */
function openedFrame(protocol: ModbusRtu, heard: CutFrame): HeardFrame {
  if (heard.kind !== 'reply' && heard.kind !== 'late') return heard
  return { ...heard, reply: protocol.openReply(heard.sent, heard.frame) }
}

function countOf(heard: Exclude<HeardFrame, { kind: 'request' | 'reply' }>): keyof HeardCounts {
  if (heard.kind === 'late') return 'lateReplies'
  if (heard.kind === 'malformed') return 'malformedFrames'
  if (heard.kind === 'unknown') return 'unknownFrames'
  const flaw = flawOfHeard(heard)
  if (flaw) return countOfFlaw[flaw] as keyof HeardCounts
  return heard.kind === 'stray' ? 'strayFrames' : 'noiseBytes'
}

/** The flaw of a stray frame or junk, taken as a reply to the pending request. */
function flawOfHeard(heard: Extract<Heard, { kind: 'stray' | 'noise' }>): ReplyFlaw | undefined {
  if (heard.kind === 'noise') return flawOfJunk(heard.frame, heard.sent)
  return heard.sent && replyFlaw(heard.sent, heard.frame)
}

/** The reason a frame cannot be decoded, or what is wrong with it. */
function faultOfFrame(heard: HeardFrame): Fault | undefined {
  if (heard.kind === 'noise' || heard.kind === 'stray') {
    const flaw = flawOfHeard(heard)
    return flaw && flawFault(flaw, heard.sent, heard.frame)
  }
  if (heard.kind !== 'malformed') return undefined
  try {
    readModbusRequest(heard.frame)
    return undefined
  } catch (error) {
    return faultOf(error, 'modbus_malformed', 'the request contradicts itself')
  }
}

function decodedOf(heard: HeardFrame, fault: Fault | undefined): DecodedFrame | null {
  switch (heard.kind) {
    case 'request':
      return describeRequest(heard.sent.request)
    case 'reply':
      return {
        ...describeReply(heard.frame, 'reply', heard.sent, heard.reply),
        ...(heard.tookMs !== null && { tookMs: heard.tookMs }),
      }
    case 'late':
      return describeReply(heard.frame, 'late', heard.sent, heard.reply)
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

/**
 * @param settings with every default filled in; a reply is accepted if it begins within `response_timeout_ms`
 * @param hooks `onReply` receives each pair, as if we had sent the request
 */
export function createModbusListener(
  context: AdapterContext,
  settings: ModbusSettings,
  protocol: ModbusRtu,
  hooks: Pick<MasterHooks, 'onReply' | 'isPolled'> = {},
): Adapter {
  const { clock, lineSettings, port, publish } = context
  const counts = heardCounts()
  const units = new BusUnits<ModbusRequest, ModbusReply>({
    ...hooks,
    clock,
    faults: createBusFaults(protocol),
    settings,
    publish,
    onSilent: () => {},
  })
  const hearing = new ModbusHearing({
    baud: lineSettings.baud,
    clock,
    settings,
    protocol,
    counts,
    publish,
    isOwn: () => false,
    onHeard: heard,
    onMissed: missed,
    onPause: () => {},
  })

  function heard(one: HeardFrame): void {
    if (one.kind === 'request') {
      if (one.sent.request.unitId !== 0) units.sent(overheard(one.sent))
    } else if (one.kind === 'late') {
      units.late(one.frame[0] ?? 0, { reply: one.reply, tookMs: null })
    } else if (one.kind === 'reply') {
      const { endMs: atMs, reply, sent, tookMs } = one
      units.replied(overheard(sent), reply, tookMs)
      hooks.onReply?.({ request: sent.request, reply, tookMs, atMs })
    } else if (one.kind === 'noise' && one.sent && flawOfHeard(one) === 'crc') units.damaged(one.sent.request.unitId)
  }

  function missed(sent: SentRequest, fault: Fault): void {
    units.missed(overheard(sent), fault)
    publish('error', { code: fault.code, message: fault.message, ...fault.details })
  }

  return {
    faces: {
      units: {
        // We neither hold requests back nor retry: the master on the line decides.
        list: () => units.list(() => undefined).map((unit) => ({ ...unit, nextTryAt: null })),
        states: () => units.states(),
        forget: (unitId) => units.forget(unitId),
      },
    },
    attach(line) {
      hearing.reset()
      line.onBytes((bytes, atUs) => hearing.feed(bytes, atUs))
    },
    detach() {
      hearing.reset()
      units.lineClosed()
    },
    whyNoAction: (action) =>
      `${port} only listens (settings.mode is listen), so rest/${action} is refused: nothing is ever sent.`,
    counters: () => ({ ...counts }),
  }
}

/** Wraps an overheard request. Each one counts like an operator's request, whoever sent it. */
function overheard(sent: SentRequest): Asking<ModbusRequest> {
  return { sent, how: { priority: 'operator' } }
}
