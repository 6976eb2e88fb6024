/** Settings of an open serial line: defaults, what is refused, and their form for the addon. */
import { type CallError, callError, type NativeSettings, PARITY } from './addon.ts'
import type * as Interface from './bindings-interface.cjs'

/** RS-485 direction control by the driver. Delays in milliseconds. */
interface Rs485Options {
  enabled: boolean
  rtsOnSend: boolean
  rxDuringTx: boolean
  delayBeforeMs: number
  delayAfterMs: number
}

/** serialport's open options and this binding's additions. */
export interface PlantroomOpenOptions extends Interface.OpenOptions {
  parity?: keyof typeof PARITY
  /** undefined leaves the driver's setting (a device tree may have turned RS-485 on). */
  rs485?: Rs485Options | undefined
  lowLatency?: boolean
  /** PARMRK: a byte with a parity or framing error reads as FF 00 <byte>, a break as FF 00 00, an FF as FF FF. */
  markErrors?: boolean
  /** Folder of UUCP lock files; default /run/lock. Ignored without `lock`. */
  lockFolder?: string
}

/** What `open` takes for what it is not given. */
export const DEFAULTS = {
  dataBits: 8,
  lock: true,
  stopBits: 1,
  parity: 'none',
  rtscts: false,
  xon: false,
  xoff: false,
  xany: false,
  hupcl: true,
  rs485: undefined,
  lowLatency: false,
  markErrors: false,
  lockFolder: '/run/lock',
} as const

/** All settings of an open line. */
export type FullOptions = Required<Omit<PlantroomOpenOptions, 'rs485'>> & Pick<PlantroomOpenOptions, 'rs485'>

function refused(sentence: string): CallError {
  return callError(sentence, { code: 'EINVAL', errno: 22, syscall: 'TCSETS2' })
}

/** @throws CallError EINVAL for what no driver can do */
export function check(options: FullOptions): void {
  const { baudRate, stopBits, dataBits, parity } = options
  if (!Number.isInteger(baudRate) || baudRate < 1 || baudRate > 0xffff_ffff)
    throw refused(`baud rate is ${baudRate}, needs a whole number of at least 1`)
  if (PARITY[parity] === undefined) throw refused(`parity is ${parity}, needs ${Object.keys(PARITY).join(', ')}`)
  // A UART's stop bit means two bits, or one and a half with five data bits; there is no third setting.
  if (stopBits === 1.5 && dataBits !== 5)
    throw refused(`1.5 stop bits exist with 5 data bits only, wanted with ${dataBits}`)
}

/** The same as the addon takes them. */
export function nativeOf(options: FullOptions): NativeSettings {
  const rs485 = options.rs485
  return {
    baud: options.baudRate,
    dataBits: options.dataBits,
    parity: PARITY[options.parity],
    twoStops: options.stopBits !== 1,
    rtscts: options.rtscts,
    xon: options.xon,
    xoff: options.xoff,
    xany: options.xany,
    hupcl: options.hupcl,
    markErrors: options.markErrors,
    lowLatency: options.lowLatency,
    rs485Given: rs485 !== undefined,
    rs485Enabled: rs485?.enabled ?? false,
    rtsOnSend: rs485?.rtsOnSend ?? false,
    rxDuringTx: rs485?.rxDuringTx ?? false,
    delayBeforeMs: rs485?.delayBeforeMs ?? 0,
    delayAfterMs: rs485?.delayAfterMs ?? 0,
  }
}
