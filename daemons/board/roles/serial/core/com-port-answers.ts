/** What a client asks of the line by RFC 2217, carried out and answered with what is then in effect. */
import type { ControlledSettings, Purge } from '#kit/line/controlled-line.ts'
import { CONTROL, type ComPortMessage, PARITIES, PURGE, STOP_BITS } from '../wire/com-port.ts'
import type { LineDesk } from './line-desk.ts'
import { MOST_BAUD } from './serial-settings.ts'

/** A message with a code as its value. */
type Coded = Exclude<ComPortMessage, { command: 'signature' }>

/**
 * Answers one of SET-BAUDRATE, -DATASIZE, -PARITY, -STOPSIZE, SET-CONTROL and PURGE-DATA.
 * @param mayWrite asked before a change: a client that may not write changes nothing, and is told how things are
 * @returns the server's message; undefined for a purge of nothing known
 * @source RFC 2217, 2 and 3
 */
export async function answerOf(asked: Coded, desk: LineDesk, mayWrite: () => boolean): Promise<Coded | undefined> {
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

/** A client that goes from 8N2 to five bits says so in two messages; between them the line has what it can have. */
async function changeSize(desk: LineDesk, dataBits: ControlledSettings['data_bits']): Promise<void> {
  const { stop_bits: stopBits } = desk.settings
  if (dataBits === 5 && stopBits === 2) await desk.change({ data_bits: dataBits, stop_bits: 1.5 })
  else if (dataBits !== 5 && stopBits === 1.5) await desk.change({ data_bits: dataBits, stop_bits: 2 })
  else await desk.change({ data_bits: dataBits })
}

/**
 * Every SET-CONTROL is answered. DTR, RTS and break are so as they were wished where the line has none; flow control is
 * told as it is.
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

/** DCD, DSR and DTR flow control (17, 18, 19) is in no driver of Linux: those change nothing. */
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
      // Hardware flow control has both directions or none.
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
