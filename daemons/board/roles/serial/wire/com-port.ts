/** Encodes and decodes RFC 2217, the Telnet Com Port Control Option. */
import { Fault } from '#kit/pure/fault.ts'
import { OPTION, suboptionFrame } from './telnet.ts'

/** Commands by their number; the server's are 100 higher. @source RFC 2217, 2 and 3 */
export const COMMAND = {
  signature: 0,
  baud: 1,
  dataBits: 2,
  parity: 3,
  stopBits: 4,
  control: 5,
  lineState: 6,
  modemState: 7,
  suspend: 8,
  resume: 9,
  lineStateMask: 10,
  modemStateMask: 11,
  purge: 12,
} as const

export type ComPortCommand = keyof typeof COMMAND

/** Values of SET-CONTROL. `out` is "outbound/both" of the standard. @source RFC 2217, 3 */
export const CONTROL = {
  askFlow: 0,
  flowNone: 1,
  flowXonXoff: 2,
  flowHardware: 3,
  askBreak: 4,
  breakOn: 5,
  breakOff: 6,
  askDtr: 7,
  dtrOn: 8,
  dtrOff: 9,
  askRts: 10,
  rtsOn: 11,
  rtsOff: 12,
  askFlowIn: 13,
  flowInNone: 14,
  flowInXonXoff: 15,
  flowInHardware: 16,
  flowDcd: 17,
  flowInDtr: 18,
  flowDsr: 19,
} as const

/** Bits of NOTIFY-LINESTATE. @source RFC 2217, 4 */
export const LINE_STATE = {
  dataReady: 1,
  overrun: 2,
  parity: 4,
  framing: 8,
  break: 16,
  holdingEmpty: 32,
  shiftEmpty: 64,
  timeout: 128,
} as const

/** Bits of NOTIFY-MODEMSTATE; a delta is the state's bit four places lower. @source RFC 2217, 4 */
export const MODEM_STATE = {
  ctsChanged: 1,
  dsrChanged: 2,
  riTrailed: 4,
  dcdChanged: 8,
  cts: 16,
  dsr: 32,
  ri: 64,
  dcd: 128,
} as const

/** Values of PURGE-DATA. @source RFC 2217, 3 */
export const PURGE = { received: 1, toSend: 2, both: 3 } as const

/** Parities in the order of their codes, 1 to 5. @source RFC 2217, 2 */
export const PARITIES = ['none', 'odd', 'even', 'mark', 'space'] as const

/** Stop bits in the order of their codes, 1 to 3. @source RFC 2217, 2 */
export const STOP_BITS = [1, 2, 1.5] as const

/**
 * One message. `value` is a rate (0..4294967295), a code or a mask (0..255); null if the message has none: `suspend`,
 * `resume`, and a client that asks for the line or modem state. `text` is a signature; an empty one asks for the
 * other's.
 */
export type ComPortMessage =
  | { from: 'client' | 'server'; command: 'signature'; text: Uint8Array }
  | { from: 'client' | 'server'; command: Exclude<ComPortCommand, 'signature'>; value: number | null }

const SERVER = 100
const names = new Map(Object.entries(COMMAND).map(([name, code]) => [code as number, name as ComPortCommand]))

/** Commands that may come without a value. */
const VALUELESS: ReadonlySet<ComPortCommand> = new Set(['suspend', 'resume', 'lineState', 'modemState'])

/**
 * Decodes what was between `IAC SB 44` and `IAC SE`. Bytes after a message's value are ignored: sredird sends four
 * after a rate.
 * @throws Fault `com_port_short`, `com_port_unknown`
 * @source RFC 2217
 */
export function openComPort(payload: Uint8Array): ComPortMessage {
  const [code] = payload
  if (code === undefined) throw new Fault('com_port_short', 'a com port message has no command')
  const from = code >= SERVER ? 'server' : 'client'
  const command = names.get(code % SERVER)
  if (command === undefined || code >= 2 * SERVER)
    throw new Fault('com_port_unknown', `com port command ${code} is none of RFC 2217`)
  if (command === 'signature') return { from, command, text: payload.slice(1) }
  if (command === 'suspend' || command === 'resume') return { from, command, value: null }
  const needed = command === 'baud' ? 4 : 1
  if (payload.length === 1 && VALUELESS.has(command)) return { from, command, value: null }
  if (payload.length < 1 + needed)
    throw new Fault(
      'com_port_short',
      `com port command ${code} has ${payload.length - 1} bytes behind it, needs ${needed}`,
    )
  return { from, command, value: numberOf(payload, needed) }
}

/** The whole frame, from IAC SB to IAC SE. @source RFC 2217 */
export function comPortFrame(message: ComPortMessage): Uint8Array {
  const code = COMMAND[message.command] + (message.from === 'server' ? SERVER : 0)
  const inner = message.command === 'signature' ? message.text : bytesOf(message.command, message.value)
  return suboptionFrame(OPTION.comPort, Uint8Array.of(code, ...inner))
}

/** Big-endian. */
function numberOf(payload: Uint8Array, length: number): number {
  let value = 0
  for (let at = 1; at <= length; at++) value = value * 256 + (payload[at] ?? 0)
  return value
}

function bytesOf(command: ComPortCommand, value: number | null): number[] {
  if (value === null) return []
  if (command !== 'baud') return [value & 0xff]
  return [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
}
