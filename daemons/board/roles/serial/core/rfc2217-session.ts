/** One client using Telnet with the Com Port Control Option: its requests are carried out in order, and answered. */

import type { ControlledSettings, ModemLines, Purge } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  CONTROL,
  type ComPortMessage,
  comPortFrame,
  MODEM_STATE,
  openComPort,
  PARITIES,
  PURGE,
  STOP_BITS,
} from '../wire/com-port.ts'
import { createCrNulReader, createTelnetReader, OPTION, optionFrame, TELNET, type TelnetEvent } from '../wire/telnet.ts'
import type { LineDesk, LineLook } from './line.ts'
import { MOST_BAUD } from './settings.ts'
import { createTelnetOptions, type OptionWord } from './telnet-options.ts'

// RFC 2217 requests: carried out, and answered with the settings then in effect.

/** A message with a code as its value. */
type Coded = Exclude<ComPortMessage, { command: 'signature' }>

/**
 * Answers one of SET-BAUDRATE, -DATASIZE, -PARITY, -STOPSIZE, SET-CONTROL and PURGE-DATA.
 * @param mayWrite called before a change: a client that may not write changes nothing, and gets the present state
 * @returns the server's message; undefined for an unknown purge
 * @source RFC 2217, 2 and 3
 */
async function answerOf(asked: Coded, desk: LineDesk, mayWrite: () => boolean): Promise<Coded | undefined> {
  const value = asked.value ?? 0
  const answer = (code: number): Coded => ({ from: 'server', command: asked.command, value: code })
  switch (asked.command) {
    case 'baud':
      if (value > 0 && value <= MOST_BAUD && mayWrite()) await desk.change({ baud: value })
      return answer(desk.settings.baud)
    case 'dataBits':
      if (value >= 5 && value <= 8 && mayWrite()) await changeSize(desk, value as ControlledSettings['data_bits'])
      return answer(desk.settings.data_bits)
    case 'parity': {
      const parity = PARITIES[value - 1]
      if (parity !== undefined && mayWrite()) await desk.change({ parity })
      return answer(PARITIES.indexOf(desk.settings.parity) + 1)
    }
    case 'stopBits': {
      const stopBits = STOP_BITS[value - 1]
      if (stopBits !== undefined && mayWrite()) await desk.change({ stop_bits: stopBits })
      return answer(STOP_BITS.indexOf(desk.settings.stop_bits) + 1)
    }
    case 'control':
      return answer(await control(value, desk, mayWrite))
    default:
      return (await purge(value, desk, mayWrite)) ? answer(value) : undefined
  }
}

/**
 * A client that changes from 8N2 to five bits sends two messages; between them the line gets the nearest valid setting.
 */
async function changeSize(desk: LineDesk, dataBits: ControlledSettings['data_bits']): Promise<void> {
  const { stop_bits: stopBits } = desk.settings
  if (dataBits === 5 && stopBits === 2) await desk.change({ data_bits: dataBits, stop_bits: 1.5 })
  else if (dataBits !== 5 && stopBits === 1.5) await desk.change({ data_bits: dataBits, stop_bits: 2 })
  else await desk.change({ data_bits: dataBits })
}

/**
 * Every SET-CONTROL is answered. Without modem lines, DTR, RTS and break are reported as requested; flow control is
 * reported as it is.
 */
async function control(code: number, desk: LineDesk, mayWrite: () => boolean): Promise<number> {
  if (!QUESTIONS.has(code) && mayWrite()) await setControl(code, desk)
  if (code >= CONTROL.askBreak && code <= CONTROL.breakOff) return desk.isBreak ? CONTROL.breakOn : CONTROL.breakOff
  if (code >= CONTROL.askDtr && code <= CONTROL.dtrOff)
    return (await desk.modemLines()).dtr ? CONTROL.dtrOn : CONTROL.dtrOff
  if (code >= CONTROL.askRts && code <= CONTROL.rtsOff)
    return (await desk.modemLines()).rts ? CONTROL.rtsOn : CONTROL.rtsOff
  const isInbound = (code >= CONTROL.askFlowIn && code <= CONTROL.flowInHardware) || code === CONTROL.flowInDtr
  return isInbound ? FLOW_IN[desk.settings.flow_in] : FLOW[desk.settings.flow]
}

const QUESTIONS: ReadonlySet<number> = new Set([
  CONTROL.askFlow,
  CONTROL.askBreak,
  CONTROL.askDtr,
  CONTROL.askRts,
  CONTROL.askFlowIn,
])
const FLOW = { none: CONTROL.flowNone, xonxoff: CONTROL.flowXonXoff, rtscts: CONTROL.flowHardware } as const
const FLOW_IN = { none: CONTROL.flowInNone, xonxoff: CONTROL.flowInXonXoff, rtscts: CONTROL.flowInHardware } as const

/** No Linux driver supports DCD, DSR and DTR flow control (17, 18, 19): those change nothing. */
async function setControl(code: number, desk: LineDesk): Promise<void> {
  const { flow, flow_in: flowIn } = desk.settings
  switch (code) {
    case CONTROL.flowNone:
      return void (await desk.change({ flow: 'none', flow_in: 'none' }))
    case CONTROL.flowXonXoff:
      return void (await desk.change({ flow: 'xonxoff', flow_in: 'xonxoff' }))
    case CONTROL.flowHardware:
      return void (await desk.change({ flow: 'rtscts', flow_in: 'rtscts' }))
    case CONTROL.flowInNone:
      // Hardware flow control applies to both directions or none.
      return void (await desk.change({ flow_in: 'none', flow: flow === 'rtscts' ? 'none' : flow }))
    case CONTROL.flowInXonXoff:
      return void (await desk.change({ flow_in: 'xonxoff' }))
    case CONTROL.flowInHardware:
      return void (await desk.change({ flow_in: 'rtscts', flow: flowIn === 'rtscts' ? flow : 'rtscts' }))
    default:
      return await setSignal(code, desk)
  }
}

async function setSignal(code: number, desk: LineDesk): Promise<void> {
  if (code === CONTROL.breakOn || code === CONTROL.breakOff) await desk.setBreak(code === CONTROL.breakOn)
  else if (code === CONTROL.dtrOn || code === CONTROL.dtrOff) await desk.setModemLines({ dtr: code === CONTROL.dtrOn })
  else if (code === CONTROL.rtsOn || code === CONTROL.rtsOff) await desk.setModemLines({ rts: code === CONTROL.rtsOn })
}

const PURGES: ReadonlyMap<number, Purge> = new Map([
  [PURGE.received, 'received'],
  [PURGE.toSend, 'toSend'],
  [PURGE.both, 'both'],
])

async function purge(code: number, desk: LineDesk, mayWrite: () => boolean): Promise<boolean> {
  const what = PURGES.get(code)
  if (what !== undefined && mayWrite()) await desk.purge(what)
  return what !== undefined
}

// The session.

interface SessionParts {
  desk: LineDesk
  /** Longest suboption. */
  suboptionBytes: number
  /** Our name for clients. */
  signature: string
  /** Length of the break for a Telnet BRK. */
  breakMs: number
  wait(delayMs: number): Promise<void>
  mayWrite(): boolean
  /** Sends to the client. */
  tell(bytes: Uint8Array): void
  /** Writes to the line. */
  write(bytes: Uint8Array): void
  /** True: nothing is sent to the client; false: sends all that was held. */
  setHeld(isHeld: boolean): void
  /** Drops the line's bytes that wait for the client. */
  dropWaiting(): void
  /** True: it waits for the line, so stop reading from it; false: go on. */
  onBusy(isBusy: boolean): void
  /** It has agreed to the option. */
  onComPort(): void
  /** A message could not be parsed, or something failed that should not. */
  onTrouble(fault: unknown): void
  /** Its stream can no longer be parsed: Fault `telnet_suboption_too_long`. */
  onLost(fault: unknown): void
}

export class Rfc2217Session {
  readonly #parts: SessionParts
  readonly #reader: ReturnType<typeof createTelnetReader>
  readonly #options = createTelnetOptions()
  readonly #withoutCrNul = createCrNulReader()
  /** Bytes read from the client and not processed yet. */
  #unread: Uint8Array[] = []
  /** Remaining events of the first of them. */
  #events: IterableIterator<TelnetEvent> | undefined
  #isBusy = false
  #isOver = false
  #isComPort = false
  #isSuspended = false
  /** Defaults of the standard: all modem lines are reported, and no line state. */
  #modemMask = 255
  #lineMask = 0
  #modem = 0
  #levels = 0
  #errors = 0

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#reader = createTelnetReader(parts.suboptionBytes)
  }

  start(): void {
    for (const word of this.#options.offers()) this.#say(word)
  }

  /** Whether its bytes may go to the line unparsed up to the next FF. */
  get isPlain(): boolean {
    return this.#reader.isBetween && !this.#isBusy && this.#options.theirs(OPTION.binary) !== 'refused'
  }

  get isComPort(): boolean {
    return this.#isComPort
  }

  /** Whether the line's bytes need a NUL after each CR. */
  get isNvt(): boolean {
    return this.#options.ours(OPTION.binary) === 'refused'
  }

  get wantsModem(): boolean {
    return this.#isComPort && this.#modemMask !== 0
  }

  get wantsLook(): boolean {
    return this.#lineMask !== 0
  }

  feed(bytes: Uint8Array): void {
    this.#unread.push(bytes)
    this.#goOn()
  }

  /** @returns how many bytes for the line were still waiting behind a change */
  end(): number {
    this.#isOver = true
    let dataBytes = 0
    for (let event = this.#next(); event; event = this.#next())
      if (event.kind === 'data') dataBytes += event.bytes.length
    return dataBytes
  }

  /** @param lines present state; the client is notified of those it asked for */
  modemChanged(lines: ModemLines): void {
    const state = modemBits(lines)
    const deltas = (state ^ this.#modem) >> 4
    // RFC 2217, 4: the ring's delta is its trailing edge alone.
    const told = deltas & MODEM_STATE.riTrailed && state & MODEM_STATE.ri ? deltas & ~MODEM_STATE.riTrailed : deltas
    this.#modem = state
    const value = (state | told) & this.#modemMask
    if (this.#isComPort && ((deltas << 4) | told) & this.#modemMask) this.#notify('modemState', value)
  }

  looked({ events, levels }: LineLook): void {
    const isNew = (events | (levels ^ this.#levels)) & this.#lineMask
    this.#errors |= events
    this.#levels = levels
    if (!isNew) return
    this.#notify('lineState', (this.#errors | levels) & this.#lineMask)
    this.#errors &= ~this.#lineMask
  }

  /** Tells the client to stop or resume sending. @source RFC 2217, 5 */
  setFlow(isSuspended: boolean): void {
    if (this.#isComPort) this.#notify(isSuspended ? 'suspend' : 'resume', null)
  }

  /** Processes events until one has to be waited for. */
  #goOn(): void {
    while (!this.#isBusy && !this.#isOver) {
      const event = this.#next()
      if (event === undefined) return
      const work = this.#carryOut(event)
      if (work !== undefined) this.#await(work)
    }
  }

  /** Undefined if nothing is left, or the rest cannot be parsed. */
  #next(): TelnetEvent | undefined {
    try {
      for (;;) {
        const event = this.#events?.next()
        if (event?.done === false) return event.value
        const bytes = this.#unread.shift()
        if (bytes === undefined) return undefined
        this.#events = this.#reader.feed(bytes)
      }
    } catch (fault) {
      this.#unread = []
      this.#events = undefined
      if (!this.#isOver) this.#parts.onLost(fault)
      this.#isOver = true
      return undefined
    }
  }

  #await(work: Promise<void>): void {
    this.#isBusy = true
    this.#parts.onBusy(true)
    void work
      .catch((error) => this.#parts.onTrouble(error))
      .then(() => {
        this.#isBusy = false
        this.#goOn()
        if (!this.#isBusy && !this.#isOver) this.#parts.onBusy(false)
      })
  }

  #carryOut(event: TelnetEvent): Promise<void> | undefined {
    switch (event.kind) {
      case 'data':
        return this.#data(event.bytes)
      case 'option':
        return this.#option(event)
      case 'command':
        return this.#command(event.command)
      case 'suboption':
        return event.option === OPTION.comPort ? this.#comPort(event.payload) : undefined
      case 'broken':
        this.#parts.onTrouble(new Fault('telnet_broken', 'a Telnet suboption was broken off'))
        return undefined
    }
  }

  #data(bytes: Uint8Array): undefined {
    const isNvt = this.#options.theirs(OPTION.binary) === 'refused'
    this.#parts.write(isNvt ? this.#withoutCrNul(bytes) : bytes)
  }

  #option(word: OptionWord): Promise<void> | undefined {
    const answer = this.#options.hear(word)
    if (answer) this.#say(answer)
    const has = this.#options.theirs(OPTION.comPort) === 'on' || this.#options.ours(OPTION.comPort) === 'on'
    if (!has || this.#isComPort) return undefined
    this.#isComPort = true
    this.#parts.onComPort()
    return this.#tellModem()
  }

  #command(command: number): Promise<void> | undefined {
    // RFC 854: evidence that somebody is there. BSD's server answers the same.
    if (command === TELNET.ayt) this.#parts.tell(new TextEncoder().encode('\r\n[Yes]\r\n'))
    if (command === TELNET.brk && this.#parts.mayWrite()) return this.#break()
    return undefined
  }

  async #break(): Promise<void> {
    const { breakMs, desk, wait } = this.#parts
    await desk.setBreak(true)
    await wait(breakMs)
    await desk.setBreak(false)
  }

  #comPort(payload: Uint8Array): Promise<void> | undefined {
    let message: ComPortMessage
    try {
      message = openComPort(payload)
    } catch (fault) {
      this.#parts.onTrouble(fault)
      return undefined
    }
    // A message that only servers send needs no answer; answering could start a loop.
    if (message.from === 'server') return undefined
    if (message.command === 'signature') {
      const text = new TextEncoder().encode(this.#parts.signature)
      if (message.text.length === 0) this.#send({ from: 'server', command: 'signature', text })
      return undefined
    }
    return this.#ask(message)
  }

  #ask(message: Exclude<ComPortMessage, { command: 'signature' }>): Promise<void> | undefined {
    const { command, value } = message
    if (command === 'modemState') return this.#tellModem()
    if (command === 'lineState') return this.#tellLine()
    if (command === 'suspend' || command === 'resume') this.#suspend(command === 'suspend')
    else if (command === 'lineStateMask') this.#setLineMask(value ?? 0)
    else if (command === 'modemStateMask') {
      this.#modemMask = value ?? 0
      this.#notify('modemStateMask', this.#modemMask)
    } else return this.#change(message)
    return undefined
  }

  async #change(message: Exclude<ComPortMessage, { command: 'signature' }>): Promise<void> {
    const { desk, dropWaiting, mayWrite } = this.#parts
    if (message.command === 'purge' && message.value !== null && message.value & 1) dropWaiting()
    const answer = await answerOf(message, desk, mayWrite)
    if (answer) this.#send(answer)
  }

  #setLineMask(mask: number): void {
    this.#lineMask = mask
    this.#notify('lineStateMask', mask)
    if (mask !== 0) this.#parts.desk.lookOn()
  }

  async #tellModem(): Promise<void> {
    this.#modem = modemBits(await this.#parts.desk.modemLines())
    this.#notify('modemState', this.#modem)
  }

  async #tellLine(): Promise<void> {
    const { levels } = await this.#parts.desk.look()
    this.#notify('lineState', this.#errors | levels)
    this.#errors = 0
  }

  /** While suspended neither data nor answers are sent. @source RFC 2217, 5 */
  #suspend(isSuspended: boolean): void {
    if (isSuspended === this.#isSuspended) return
    this.#isSuspended = isSuspended
    this.#parts.setHeld(isSuspended)
  }

  #say({ verb, option }: OptionWord): void {
    this.#parts.tell(optionFrame(verb, option))
  }

  #notify(command: Exclude<ComPortMessage['command'], 'signature'>, value: number | null): void {
    this.#send({ from: 'server', command, value })
  }

  #send(message: ComPortMessage): void {
    if (!this.#isOver) this.#parts.tell(comPortFrame(message))
  }
}

function modemBits({ cts, dsr, dcd, ring }: ModemLines): number {
  return (
    (cts ? MODEM_STATE.cts : 0) |
    (dsr ? MODEM_STATE.dsr : 0) |
    (ring ? MODEM_STATE.ri : 0) |
    (dcd ? MODEM_STATE.dcd : 0)
  )
}
