/** What a frame of DNP3 says, in words. @source IEEE 1815-2012, 4.2.2 and 9.2 */
import { FC, IIN, openRequest } from './application.ts'
import { type LinkFrame, PRIMARY, SECONDARY } from './link.ts'
import { isFirstSegment } from './transport.ts'

const PRIMARY_NAMES: Readonly<Record<number, string>> = {
  [PRIMARY.resetLink]: 'reset link',
  [PRIMARY.testLink]: 'test link',
  [PRIMARY.requestStatus]: 'ask for link status',
}

const SECONDARY_NAMES: Readonly<Record<number, string>> = {
  [SECONDARY.ack]: 'acknowledged',
  [SECONDARY.nack]: 'not acknowledged',
  [SECONDARY.linkStatus]: 'link status',
  [SECONDARY.notSupported]: 'link function not supported',
}

const FUNCTION_NAMES = new Map<number, string>(Object.entries(FC).map(([name, code]) => [code, words(name)]))

/** The names of internal indications, by their bits. @source IEEE 1815-2012, Table 4-5 */
const IIN_NAMES = Object.entries(IIN).map(
  ([name, bit]) => [name.replaceAll(/[A-Z]|(?<=\D)(?=\d)/g, '_$&').toLowerCase(), bit] as const,
)

/** The names of these indications, such as `need_time`. */
export function namesOfIin(iin: number): string[] {
  return IIN_NAMES.filter(([, bit]) => (iin & bit) !== 0).map(([name]) => name)
}

/** `direct operate no reply` */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** One frame as it is shown. */
export interface FrameWords {
  kind: 'request' | 'reply'
  /** Address of the master. */
  unitId: number
  function: string
  sequence?: number
  /** What a response says of the outstation. */
  indications?: string[]
}

/** A frame that was whole. Of a fragment in several frames only the first says what it is. */
export function describeFrame(frame: LinkFrame): FrameWords {
  const { data, destination, function: code, isFromMaster, isPrimary, source } = frame
  const head = { kind: isFromMaster ? 'request' : 'reply', unitId: isFromMaster ? source : destination } as const
  if (!isPrimary) return { ...head, function: SECONDARY_NAMES[code] ?? `link function ${code}` }
  if (code !== PRIMARY.unconfirmedData && code !== PRIMARY.confirmedData)
    return { ...head, function: PRIMARY_NAMES[code] ?? `link function ${code}` }
  if (!isFirstSegment(data)) return { ...head, function: 'further data' }
  const fragment = data.subarray(1)
  const opened = openRequest(fragment)
  if (!opened) return { ...head, function: 'no data' }
  const name = FUNCTION_NAMES.get(opened.function) ?? `function ${opened.function}`
  const said = { ...head, function: name, sequence: opened.control.sequence }
  const [, , low, high] = fragment
  const isResponse = opened.function === FC.response || opened.function === FC.unsolicited
  if (!isResponse || low === undefined || high === undefined) return said
  return { ...said, indications: namesOfIin(low | (high << 8)) }
}
