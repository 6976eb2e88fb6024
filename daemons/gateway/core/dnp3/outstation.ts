/** A DNP3 outstation towards one master: answers its requests, and tells it of events by itself; fragments in, fragments out. */
import type { Clock, Timer } from '#kit/clock.ts'
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type Control,
  FC,
  IIN,
  type ObjectHeader,
  openRequest,
  type Request,
  readHeaders,
  responseOf,
} from '../../wire/dnp3/application.ts'
import { timeBytes, timeOfBytes } from '../../wire/dnp3/objects.ts'
import { type AnsweredCommand, CommandDesk, type commandAnswers } from './commands.ts'
import {
  assignClasses,
  type EventBuffer,
  type EventClass,
  eventClasses,
  type OutstationDatabase,
  type PointRange,
  rangesWithin,
} from './database.ts'
import { type Block, Blocks, readObjects, tellEvents } from './reading.ts'

// The states of an outstation towards its master: state x event -> next state.

/**
 * - `idle` nothing is owed by the master
 * - `solicited` a response with events, or one that goes on, waits for its confirmation
 * - `unsolicited` events that were sent unasked wait for their confirmation
 */
export type OutstationState = 'idle' | 'solicited' | 'unsolicited'

/**
 * - `asked` a response was sent that wants a confirmation; `told`: events were sent unasked
 * - `confirmed` the confirmation came that was waited for
 * - `gaveUp` it did not come, as often as it was waited for
 * - `interrupted` the master asks something else instead
 * - `lost` the connection is gone
 */
export type OutstationEvent = 'asked' | 'told' | 'confirmed' | 'gaveUp' | 'interrupted' | 'lost'

/** A pair that is not listed does not change the state. */
export const outstationStateTable: Readonly<
  Record<OutstationState, Partial<Record<OutstationEvent, OutstationState>>>
> = {
  idle: { asked: 'solicited', told: 'unsolicited' },
  solicited: { asked: 'solicited', confirmed: 'idle', gaveUp: 'idle', interrupted: 'idle', lost: 'idle' },
  unsolicited: { confirmed: 'idle', gaveUp: 'idle', lost: 'idle' },
}

export function nextOutstationState(state: OutstationState, event: OutstationEvent): OutstationState {
  return outstationStateTable[state][event] ?? state
}

export interface OutstationSettings {
  /** The longest fragment that is sent, and that is taken. */
  fragmentBytes: number
  confirmTimeoutMs: number
  /** How often events that were not confirmed are sent again before the next pause; they are kept all the same. */
  unsolicitedRetries: number
  /** How long changes are gathered before they are told unasked. */
  unsolicitedDelayMs: number
  /** How long after the last retry it begins anew. */
  unsolicitedPauseMs: number
  isUnsolicitedAllowed: boolean
  selectTimeoutMs: number
  commandAnswer: (typeof commandAnswers)[number]
  restartAnswer: 'no_function' | 'already_executing' | 'delay'
  /** With `delay`: when the master may ask again. */
  restartDelayMs: number
}

/** What all masters of one outstation share: its clock, and the indications that it does not compute itself. */
export interface StationFacts {
  /** The indications that were set by hand, and that the time is needed. */
  iin(): number
  /** The time of the outstation, epoch milliseconds. */
  epochMs(): number
  /** A master sets the time. */
  setTime(epochMs: number): void
}

export interface OutstationParts {
  clock: Clock
  settings: OutstationSettings
  database: OutstationDatabase
  events: EventBuffer
  facts: StationFacts
  /** Sends a fragment to the master. @param isUnasked the master has not asked for it */
  send(fragment: Uint8Array, isUnasked: boolean): void
  onCommand(command: AnsweredCommand): void
  onRestart(kind: 'cold' | 'warm'): void
  /** Whether events that were told unasked were confirmed. */
  onTold(isConfirmed: boolean): void
}

const CLASS_BITS: Readonly<Record<EventClass, number>> = { 1: IIN.class1, 2: IIN.class2, 3: IIN.class3 }

/** What is answered. */
interface Answer {
  blocks: Iterable<Block>
  iin: number
}

const HEADER_BYTES = 4

export class Outstation {
  readonly #parts: OutstationParts
  readonly #commands: CommandDesk
  #state: OutstationState = 'idle'
  #timer: Timer | undefined
  #isConnected = false
  #isRestarted = true
  /** A request came to all outstations: the next response says so. */
  #isAddressedToAll = false
  #recordedMs: number | undefined
  #enabled = new Set<EventClass>()
  /** The null response that announces a start has been confirmed. */
  #isAnnounced = false
  #unsolicitedSequence = 0
  /** After events that nobody confirmed there is a pause. */
  #pauseUntilMs = 0
  #told: { serials: ReadonlySet<number>; sequence: number; fragment: Uint8Array; left: number } | undefined
  /** What is still to be sent of a response, and what its last fragment told. */
  #going: { sequence: number; serials: ReadonlySet<number>; rest: Blocks; iin: number } | undefined
  /** A read that came while events were unconfirmed. */
  #deferred: Request | undefined
  /** The last request and its answer: one that is repeated is answered, and not carried out, again. */
  #last: { request: Uint8Array; fragment: Uint8Array | undefined } | undefined

  constructor(parts: OutstationParts) {
    const { clock, onCommand, settings } = parts
    this.#parts = parts
    const { commandAnswer: answer, selectTimeoutMs } = settings
    this.#commands = new CommandDesk({ clock, answer, selectTimeoutMs, onCommand })
  }

  get state(): OutstationState {
    return this.#state
  }

  /** The classes that the master has asked to be told of by itself. */
  get enabled(): EventClass[] {
    return eventClasses.filter((one) => this.#enabled.has(one))
  }

  /** The master can be reached: the outstation announces itself if events may be told unasked. */
  connected(): void {
    this.#isConnected = true
    this.#later(0)
  }

  /** The connection is gone; events stay, and so does what was enabled. */
  lost(): void {
    this.#isConnected = false
    this.#move('lost')
    this.#stopTimer()
    this.#going = undefined
    this.#told = undefined
    this.#deferred = undefined
    this.#last = undefined
    this.#pauseUntilMs = 0
    this.#commands.forget()
  }

  /** A point was changed: its events may be told unasked. */
  changed(): void {
    this.#later(this.#parts.settings.unsolicitedDelayMs)
  }

  /** The internal indications as they are now; a class has events if there are others than those being told. */
  iin(): number {
    const { events, facts } = this.#parts
    const told = new Set([...(this.#told?.serials ?? []), ...(this.#going?.serials ?? [])])
    const classes = eventClasses.reduce((bits, one) => bits | (events.hasOther(one, told) ? CLASS_BITS[one] : 0), 0)
    const restart = this.#isRestarted ? IIN.deviceRestart : 0
    const overflow = events.isOverflown ? IIN.overflow : 0
    return facts.iin() | classes | restart | overflow | (this.#isAddressedToAll ? IIN.broadcast : 0)
  }

  /** Takes a fragment of the master. @param isBroadcast is carried out and not answered */
  receive(fragment: Uint8Array, isBroadcast: boolean): void {
    const request = openRequest(fragment)
    // A request is one fragment.
    if (!request?.control.isFirst || !request.control.isFinal) return
    if (request.function === FC.confirm) {
      if (!isBroadcast) this.#confirmed(request.control)
      return
    }
    if (isBroadcast) {
      this.#isAddressedToAll = true
      this.#answerTo(request)
      return
    }
    if (this.#last && request.function !== FC.read && isSameBytes(this.#last.request, fragment)) {
      if (this.#last.fragment) this.#parts.send(this.#last.fragment, false)
      return
    }
    this.#deferred = undefined
    this.#last = { request: fragment, fragment: undefined }
    if (this.#state === 'unsolicited' && request.function === FC.read) {
      this.#deferred = request
      return
    }
    if (this.#state === 'solicited') {
      this.#move('interrupted')
      this.#going = undefined
      this.#stopTimer()
    }
    this.#carryOut(request)
  }

  // Requests.

  #carryOut(request: Request): void {
    const answer = this.#answerTo(request)
    if (!answer) return
    const { iin } = answer
    this.#respond({ sequence: request.control.sequence, rest: new Blocks(answer.blocks), iin }, true)
  }

  /** @returns null where the request is not answered */
  #answerTo(request: Request): Answer | null {
    try {
      return this.#dispatch(request)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return { blocks: [], iin: IIN.parameterError }
    }
  }

  #dispatch(request: Request): Answer | null {
    const { clock, settings } = this.#parts
    switch (request.function) {
      case FC.read:
        return this.#read(request)
      case FC.write:
        return this.#write(readHeaders(request.objects, sizeOfWritten))
      case FC.select:
      case FC.operate:
      case FC.directOperate:
      case FC.directOperateNoReply:
        // The answer repeats the objects, behind a header that is longer.
        if (request.objects.length > settings.fragmentBytes - HEADER_BYTES) return flaw(IIN.parameterError)
        return this.#commands.take(request)
      case FC.freeze:
      case FC.freezeNoReply:
      case FC.freezeAndClear:
      case FC.freezeAndClearNoReply:
        return this.#freeze(request)
      case FC.coldRestart:
      case FC.warmRestart:
        return this.#restart(request.function === FC.coldRestart ? 'cold' : 'warm')
      case FC.enableUnsolicited:
      case FC.disableUnsolicited:
        return this.#enable(request)
      case FC.assignClass:
        return this.#assign(request)
      case FC.delayMeasure:
        return { blocks: [{ bytes: [52, 2, 0x07, 1, 0, 0], serials: [] }], iin: 0 }
      case FC.recordTime:
        this.#recordedMs = clock.monotonicMs()
        return flaw(0)
      default:
        return flaw(IIN.noFunction)
    }
  }

  #read({ objects }: Request): Answer {
    const { database, events, facts } = this.#parts
    const timeObject = () => [50, 1, 0x07, 1, ...timeBytes(facts.epochMs())]
    return readObjects(
      readHeaders(objects, () => undefined),
      { database, events, timeObject },
    )
  }

  /** The time, and the indication of a restart, which a master takes back; nothing else may be written. */
  #write(headers: readonly ObjectHeader[]): Answer {
    let iin = 0
    for (const header of headers) {
      if (header.group === 80) iin |= this.#writeIndication(header)
      else if (header.group === 50 && sizeOfWritten(header.group, header.variation)) iin |= this.#writeTime(header)
      else iin |= IIN.objectUnknown
    }
    return flaw(iin)
  }

  #writeIndication({ objects, range }: ObjectHeader): number {
    const isRestart = range.kind === 'indices' && range.start === RESTART_BIT && range.stop === RESTART_BIT
    if (!isRestart || (objects[0]?.[0] ?? 0) !== 0) return IIN.parameterError
    this.#isRestarted = false
    return 0
  }

  /** Over a network the master tells the time of the moment that it asked to be recorded. @source IEEE 1815-2012, 10.3 */
  #writeTime({ objects, variation }: ObjectHeader): number {
    const { clock, facts } = this.#parts
    const [object] = objects
    if (objects.length !== 1 || !object) return IIN.parameterError
    if (variation === AT_RECORDED && this.#recordedMs === undefined) return IIN.parameterError
    const sinceMs = variation === AT_RECORDED ? clock.monotonicMs() - (this.#recordedMs ?? 0) : 0
    facts.setTime(timeOfBytes(object) + Math.round(sinceMs))
    this.#recordedMs = undefined
    return 0
  }

  #freeze(request: Request): Answer | null {
    const { database, facts } = this.#parts
    const isCleared = request.function === FC.freezeAndClear || request.function === FC.freezeAndClearNoReply
    const ranges: PointRange[] = []
    let iin = 0
    for (const { group, range } of readHeaders(request.objects, () => undefined)) {
      const within = group === 20 ? rangesWithin(range, database.size('counter') - 1) : undefined
      iin |= within?.iin ?? IIN.objectUnknown
      ranges.push(...(within?.ranges ?? []))
    }
    database.freeze(ranges, { isCleared, timeMs: facts.epochMs() })
    this.changed()
    return request.function === FC.freeze || request.function === FC.freezeAndClear ? flaw(iin) : null
  }

  #assign(request: Request): Answer {
    const { database, events } = this.#parts
    const headers = readHeaders(request.objects, () => undefined)
    return flaw(assignClasses(headers, events, (kind) => database.size(kind)))
  }

  #restart(kind: 'cold' | 'warm'): Answer {
    const { onRestart, settings } = this.#parts
    onRestart(kind)
    if (settings.restartAnswer === 'no_function') return flaw(IIN.noFunction)
    if (settings.restartAnswer === 'already_executing') return flaw(IIN.alreadyExecuting)
    const { restartDelayMs: ms } = settings
    return { blocks: [{ bytes: [52, 2, 0x07, 1, ms & 0xff, ms >> 8], serials: [] }], iin: 0 }
  }

  #enable(request: Request): Answer {
    const { settings } = this.#parts
    if (!settings.isUnsolicitedAllowed) return flaw(IIN.noFunction)
    let iin = 0
    for (const { group, variation } of readHeaders(request.objects, () => undefined)) {
      if (group !== 60 || variation < 2 || variation > 4) iin |= IIN.objectUnknown
      else if (request.function === FC.enableUnsolicited) this.#enabled.add((variation - 1) as EventClass)
      else this.#enabled.delete((variation - 1) as EventClass)
    }
    this.#pauseUntilMs = 0
    return flaw(iin)
  }

  // Responses: in as many fragments as they need, each but the last confirmed before the next.

  #respond(answer: { sequence: number; rest: Blocks; iin: number }, isFirst: boolean): void {
    const { clock, send, settings } = this.#parts
    const { iin, rest, sequence } = answer
    const { bytes, serials } = rest.next(settings.fragmentBytes - HEADER_BYTES)
    const wantsConfirm = serials.size > 0 || !rest.isDone
    if (wantsConfirm) {
      this.#move('asked')
      this.#going = { sequence, serials, rest, iin }
    }
    const control = { isFirst, isFinal: rest.isDone, wantsConfirm, isUnsolicited: false, sequence }
    const fragment = responseOf(control, this.iin() | iin, bytes)
    this.#isAddressedToAll = false
    if (this.#last) this.#last.fragment = fragment
    send(fragment, false)
    if (!wantsConfirm) {
      this.#later(settings.unsolicitedDelayMs)
      return
    }
    this.#stopTimer()
    this.#timer = clock.after(settings.confirmTimeoutMs, () => {
      this.#timer = undefined
      this.#going = undefined
      this.#move('gaveUp')
      this.#later(settings.unsolicitedDelayMs)
    })
  }

  #confirmed({ isUnsolicited, sequence }: Control): void {
    const { events, onTold, settings } = this.#parts
    if (isUnsolicited) {
      if (this.#state !== 'unsolicited' || this.#told?.sequence !== sequence) return
      events.confirm(this.#told.serials)
      this.#isAnnounced = true
      this.#settleUnsolicited('confirmed')
      onTold(true)
      return
    }
    const going = this.#going
    if (this.#state !== 'solicited' || going?.sequence !== sequence) return
    events.confirm(going.serials)
    this.#stopTimer()
    this.#going = undefined
    this.#move('confirmed')
    const { iin, rest } = going
    if (rest.isDone) this.#later(settings.unsolicitedDelayMs)
    else this.#respond({ sequence: (sequence + 1) & 0x0f, rest, iin }, false)
  }

  // Events that are told unasked.

  /** Nothing is told sooner than was planned, however many changes there are. */
  #later(delayMs: number): void {
    const { clock, settings } = this.#parts
    if (this.#state !== 'idle' || this.#timer || !this.#isConnected || !settings.isUnsolicitedAllowed) return
    this.#timer = clock.after(Math.max(delayMs, this.#pauseUntilMs - clock.monotonicMs()), () => {
      this.#timer = undefined
      this.#tellUnasked()
    })
  }

  /** The first says only that the outstation has started; events follow in those classes that the master enables. */
  #tellUnasked(): void {
    const { events, settings } = this.#parts
    const waiting = this.#isAnnounced ? events.events(this.enabled) : []
    if (this.#state !== 'idle' || (this.#isAnnounced && waiting.length === 0)) return
    const all = new Blocks(
      tellEvents({ events: waiting, at: 0 }, { variation: 0, told: new Set(), most: waiting.length }),
    )
    const { bytes, serials } = all.next(settings.fragmentBytes - HEADER_BYTES)
    const sequence = this.#unsolicitedSequence
    this.#unsolicitedSequence = (sequence + 1) & 0x0f
    this.#move('told')
    const told = { serials, sequence, fragment: bytes, left: settings.unsolicitedRetries }
    this.#told = told
    const control = { isFirst: true, isFinal: true, wantsConfirm: true, isUnsolicited: true, sequence }
    told.fragment = responseOf(control, this.iin(), bytes)
    this.#sendUnasked()
  }

  #sendUnasked(): void {
    const { clock, onTold, send, settings } = this.#parts
    const told = this.#told
    if (!told) return
    send(told.fragment, true)
    this.#stopTimer()
    this.#timer = clock.after(settings.confirmTimeoutMs, () => {
      this.#timer = undefined
      // A master that waits for its answer has not heard it, or does not care.
      if (told.left-- > 0 && !this.#deferred) return this.#sendUnasked()
      this.#settleUnsolicited('gaveUp')
      onTold(false)
    })
  }

  #settleUnsolicited(event: 'confirmed' | 'gaveUp'): void {
    const { clock, settings } = this.#parts
    this.#stopTimer()
    this.#told = undefined
    this.#move(event)
    this.#pauseUntilMs = event === 'gaveUp' ? clock.monotonicMs() + settings.unsolicitedPauseMs : 0
    const deferred = this.#deferred
    this.#deferred = undefined
    if (deferred) this.#carryOut(deferred)
    else this.#later(settings.unsolicitedDelayMs)
  }

  #stopTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #move(event: OutstationEvent): void {
    this.#state = nextOutstationState(this.#state, event)
  }
}

function flaw(iin: number): Answer {
  return { blocks: [], iin }
}

/** The indication of a restart in group 80. */
const RESTART_BIT = 7
/** The variation of a time that is that of the recorded moment. */
const AT_RECORDED = 3

function sizeOfWritten(group: number, variation: number): number | undefined {
  if (group === 50 && (variation === 1 || variation === AT_RECORDED)) return 6
  return group === 80 ? 1 : undefined
}
