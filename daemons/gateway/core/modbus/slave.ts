/** The adapter of a line on which we are one or more units: receives requests and answers them. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import { isPrefixOf } from '#kit/pure/bytes.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { type LineRate, sendWithin, wireUs } from '#kit/pure/line.ts'
import { durationText } from '#kit/pure/text.ts'
import { isGlitch } from '../../wire/modbus-overheard.ts'
import { type DecodedFrame, describeReply, exceptionCode } from '../../wire/modbus-reply.ts'
import { type ModbusRequest, modbusFunctions } from '../../wire/modbus-request.ts'
import type { LocalEcho } from '../bus/receiver.ts'
import type { Adapter, AdapterContext } from '../lines/adapter.ts'
import { framePayload } from '../lines/events.ts'
import { type HeardFrame, heardCounts, ModbusHearing } from './listener.ts'
import { heldBytesOf, type ModbusRtu } from './protocol.ts'
import type { ModbusSettings } from './settings.ts'
import { carryOut, exceptionFor, type OwnUnit, RegisterMap, registersFace, type Written } from './slave-registers.ts'

// Removes the echo of our own answers, on a line whose transceiver receives while it sends, before anything else.

interface OwnEchoParts {
  clock: Clock
  /** `auto`: learned from the first answers. */
  localEcho: 'auto' | 'present' | 'absent'
  /** How long after an answer its echo may come, or pause, ms. */
  limitMs: number
  onEcho(frame: Uint8Array, atUs: number): void
  /** Receives all bytes that are no echo. */
  onBytes(bytes: Uint8Array, atUs: number): void
}

/**
 * A line is `unknown` when opened. An echo that equals no request makes it `present`, and so it stays; an answer
 * followed by nothing, or by a request before any echo, makes it `absent`. While it is unknown a copy of an answer that
 * equals its request (functions 5, 6, 22) is taken for an echo: to answer our own echo would never end.
 */
class OwnEcho {
  readonly #parts: OwnEchoParts
  #echo: LocalEcho = 'unknown'
  /** The answer that was sent, and how much of its echo was received. */
  #awaited: { frame: Uint8Array; isTwin: boolean; heardBytes: number; atUs: number } | undefined
  #limit: Timer | undefined
  #isAnythingHeard = false
  /** An answer went out, and neither its echo nor anything else was heard since. */
  #isUnechoed = false

  constructor(parts: OwnEchoParts) {
    this.#parts = parts
    this.reset()
  }

  /** The line was opened, perhaps with another adapter behind the same name. */
  reset(): void {
    const { localEcho } = this.#parts
    this.#limit?.cancel()
    this.#awaited = undefined
    this.#isUnechoed = false
    this.#echo = localEcho === 'auto' ? 'unknown' : localEcho
  }

  /**
   * Called when an answer is sent.
   * @param onWireMs how long its bytes take
   * @param isTwin it equals the request
   */
  expect(frame: Uint8Array, onWireMs: number, isTwin: boolean): void {
    if (this.#echo === 'absent') return
    this.#release()
    this.#awaited = { frame, isTwin, heardBytes: 0, atUs: 0 }
    this.#isAnythingHeard = false
    this.#isUnechoed = true
    this.#limit = this.#parts.clock.after(onWireMs + this.#parts.limitMs, () => this.#over())
  }

  /** Called for a frame that is no echo. If a request is the first thing after an answer, the line has no echo. */
  heard(isRequest: boolean): void {
    if (isRequest && this.#isUnechoed) this.#learn('absent')
    this.#isUnechoed = false
  }

  feed(bytes: Uint8Array, atUs: number): void {
    this.#isAnythingHeard = true
    const awaited = this.#awaited
    if (!awaited) {
      this.#parts.onBytes(bytes, atUs)
      return
    }
    const rest = awaited.frame.subarray(awaited.heardBytes)
    const same = Math.min(rest.length, bytes.length)
    if (!bytes.subarray(0, same).every((byte, at) => byte === rest[at])) {
      this.#release()
      this.#parts.onBytes(bytes, atUs)
      return
    }
    awaited.heardBytes += same
    awaited.atUs = atUs
    if (same < rest.length) return
    this.#end()
    this.#isUnechoed = false
    if (!awaited.isTwin) this.#learn('present')
    this.#parts.onEcho(awaited.frame, atUs)
    if (bytes.length > same) this.#parts.onBytes(bytes.subarray(same), atUs)
  }

  /** Passes on the bytes that were held as the beginning of an echo, as they are none. */
  #release(): void {
    const awaited = this.#awaited
    this.#end()
    if (awaited && awaited.heardBytes > 0) this.#parts.onBytes(awaited.frame.slice(0, awaited.heardBytes), awaited.atUs)
  }

  #over(): void {
    if (!this.#isAnythingHeard) this.#learn('absent')
    this.#release()
  }

  #end(): void {
    this.#limit?.cancel()
    this.#awaited = undefined
  }

  #learn(echo: 'present' | 'absent'): void {
    if (this.#parts.localEcho === 'auto' && this.#echo !== 'present') this.#echo = echo
  }
}

/** A request to one of our units, to be answered once the line is silent. */
interface Asked {
  frame: Uint8Array
  endMs: number
  /** Undefined where the frame is no request known here; `kind` says why. */
  request: ModbusRequest | undefined
  kind: 'request' | 'malformed' | 'unknown'
}

/** Payload of `control`: a master wrote. */
interface ControlPayload extends Written {
  unitId: number
  fc: number
}

/** The counters of received frames, and those of a slave. */
function slaveCounts() {
  return {
    ...heardCounts(),
    txFrames: 0,
    /** Requests to our own units, including broadcasts. */
    asked: 0,
    /** Answers sent, including exceptions. */
    answers: 0,
    exceptionAnswers: 0,
    /** Answers not sent, because the master went on or it was too late. */
    droppedAnswers: 0,
    sendFailures: 0,
    echoes: 0,
  }
}

/**
 * @param settings with every default filled in
 * @param identity texts of the basic identification: vendor, product code, revision
 */
export function createModbusSlave(
  context: AdapterContext,
  settings: ModbusSettings,
  protocol: ModbusRtu,
  identity: readonly [string, string, string],
): Adapter {
  const slave = new ModbusSlave(context, settings, protocol, identity)
  return {
    faces: { registers: registersFace(slave.units) },
    attach: (line) => slave.attach(line),
    detach: () => slave.detach(),
    whyNoAction: (action) =>
      `${context.port} is a slave (settings.mode is slave), so rest/${action} is refused: it asks nobody.`,
    counters: () => ({ ...slave.counts }),
  }
}

class ModbusSlave {
  readonly counts = slaveCounts()
  readonly units: ReadonlyMap<number, OwnUnit>
  readonly #context: AdapterContext
  readonly #settings: ModbusSettings
  readonly #hearing: ModbusHearing
  readonly #echo: OwnEcho
  #line: Line | undefined
  #asked: Asked | undefined
  #isSending = false

  constructor(
    context: AdapterContext,
    settings: ModbusSettings,
    protocol: ModbusRtu,
    identity: readonly [string, string, string],
  ) {
    const { clock, lineSettings, publish } = context
    this.#context = context
    this.#settings = settings
    const objects = identity.map((value, id) => ({ id, value }))
    this.units = new Map(
      settings.slave_units.map((unitId) => [
        unitId,
        { map: new RegisterMap(settings.slave_blocks, clock), identity: objects },
      ]),
    )
    this.#hearing = new ModbusHearing({
      baud: lineSettings.baud,
      clock,
      settings,
      protocol,
      counts: this.counts,
      publish,
      isOwn: (unitId) => this.units.has(unitId),
      onHeard: (heard) => this.#heard(heard),
      // Other units are their master's business.
      onMissed: () => {},
      onPause: () => this.#paused(),
    })
    this.#echo = new OwnEcho({
      clock,
      localEcho: settings.local_echo,
      limitMs: settings.byte_gap_ms,
      onEcho: (frame, atUs) => this.#echoed(frame, atUs),
      onBytes: (bytes, atUs) => this.#hearing.feed(bytes, atUs),
    })
  }

  attach(line: Line): void {
    this.#line = line
    this.#hearing.reset()
    this.#echo.reset()
    line.onBytes((bytes, atUs) => {
      if (line === this.#line) this.#echo.feed(bytes, atUs)
    })
  }

  detach(): void {
    this.#line = undefined
    this.#asked = undefined
    this.#isSending = false
    this.#hearing.reset()
    this.#echo.reset()
  }

  /** A frame after a request shows that the master no longer waits for the answer. */
  #heard(heard: HeardFrame): void {
    this.#echo.heard(heard.kind === 'request')
    const isSpoken = heard.kind !== 'noise' || !heard.frame.every(isGlitch)
    if (isSpoken) this.#drop()
    if (heard.kind === 'request') {
      if (heard.sent.request.unitId === 0) this.#toAll(heard.sent.request)
      else this.#ask({ kind: heard.kind, frame: heard.frame, endMs: heard.endMs, request: heard.sent.request })
    } else if (heard.kind === 'malformed' || heard.kind === 'unknown') {
      this.#ask({ kind: heard.kind, frame: heard.frame, endMs: heard.endMs, request: undefined })
    }
  }

  #ask(asked: Asked): void {
    const [unitId = 0, fc = 0] = asked.frame
    if (!this.units.has(unitId) || fc > 0x7f) return
    this.counts.asked++
    this.#asked = asked
  }

  #drop(): void {
    if (this.#asked) this.counts.droppedAnswers++
    this.#asked = undefined
  }

  /** Every unit carries it out, none answers. @source Modbus over Serial Line V1.02, 2.1 */
  #toAll(request: ModbusRequest): void {
    this.counts.asked++
    for (const [unitId, unit] of this.units) {
      const { written } = carryOut(unit, { ...request, unitId })
      if (written) this.#control(unitId, request.fc, written)
    }
  }

  /** The silence after the request has passed: the answer is sent now or never. */
  #paused(): void {
    const asked = this.#asked
    const line = this.#line
    if (!asked || !line) return
    const isTalking = !this.#hearing.pending.every(isGlitch)
    const waitedMs = this.#context.clock.monotonicMs() - asked.endMs
    if (isTalking || this.#isSending || waitedMs > this.#settings.response_timeout_ms) {
      this.#drop()
      return
    }
    this.#asked = undefined
    this.#answer(line, asked, this.#carriedOut(asked))
  }

  #carriedOut({ frame, kind, request }: Asked): Uint8Array {
    const unit = this.units.get(frame[0] ?? 0)
    if (!request || !unit) return exceptionFor(frame, kind === 'malformed' ? 'malformed' : 'unknown')
    const { reply, written } = carryOut(unit, request)
    if (written) this.#control(request.unitId, request.fc, written)
    return reply
  }

  #control(unitId: number, fc: number, written: Written): void {
    this.#context.publish('control', { unitId, fc, ...written } satisfies ControlPayload)
  }

  #answer(line: Line, { frame, request }: Asked, reply: Uint8Array): void {
    const { clock, lineSettings, port } = this.#context
    const isTwin = reply.length === frame.length && isPrefixOf(frame, reply)
    this.#echo.expect(reply, wireUs(lineSettings, reply.length) / 1000, isTwin)
    this.#isSending = true
    const onTaken = () => {
      if (line === this.#line) this.#isSending = false
      this.counts.txFrames++
      this.counts.answers++
      if (exceptionCode(reply) !== null) this.counts.exceptionAnswers++
      this.#tellSent(reply, describedAnswer(reply, frame, request))
    }
    const limitMs = this.#settings.send_limit_ms
    sendAnswer({ clock, line, limitMs, onTaken, port, rate: lineSettings }, reply).catch((fault: Fault) => {
      if (line !== this.#line) return
      this.#isSending = false
      this.counts.sendFailures++
      this.#context.publish('error', { code: fault.code, message: fault.message })
    })
  }

  #tellSent(reply: Uint8Array, decoded: DecodedFrame): void {
    const atUs = this.#context.clock.monotonicMs() * 1000
    const payload = () => framePayload({ direction: 'tx', frame: reply, atUs }, { decoded })
    this.#context.publish('frame', payload, heldBytesOf(reply))
  }

  #echoed(frame: Uint8Array, atUs: number): void {
    this.counts.echoes++
    this.counts.rxFrames++
    const payload = () => {
      const decoded: DecodedFrame = { ...describeReply(frame, 'stray'), kind: 'echo' }
      return framePayload({ direction: 'rx', frame, atUs }, { decoded })
    }
    this.#context.publish('frame', payload, heldBytesOf(frame))
  }
}

function describedAnswer(reply: Uint8Array, frame: Uint8Array, request: ModbusRequest | undefined): DecodedFrame {
  const isKnown = request !== undefined && modbusFunctions.has(request.fc)
  return describeReply(reply, 'reply', isKnown ? { frame, request } : undefined)
}

// Sends one answer: hands it to the driver, and discards it if the driver does not send it in time.

interface SendAnswerParts {
  port: string
  clock: Clock
  line: Line
  rate: LineRate
  /** Beyond twice its time on the wire. */
  limitMs: number
  /** The driver has all of it. */
  onTaken(): void
}

/**
 * Resolves when the driver has sent it.
 * @throws Fault `modbus_send_timeout`, and what the line throws
 */
async function sendAnswer(parts: SendAnswerParts, reply: Uint8Array): Promise<void> {
  const { clock, limitMs, line, onTaken, port, rate } = parts
  function late(waitedMs: number): Fault {
    const sentence = `The driver did not send the answer of unit ${reply[0]} within ${durationText(waitedMs)}; flow control may hold it back.`
    return new Fault('modbus_send_timeout', sentence, { details: { unitId: reply[0], waitedMs } })
  }
  async function send(): Promise<void> {
    await line.write(reply)
    onTaken()
    await line.drain()
  }
  const onWireMs = wireUs(rate, reply.length) / 1000
  await sendWithin({ clock, line, limitMs: 2 * onWireMs + limitMs, late }, send).catch((error) => {
    throw faultOf(error, 'line_write_failed', `${port} took no bytes.`)
  })
}
