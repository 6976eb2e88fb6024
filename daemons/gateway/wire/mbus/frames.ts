/** The link layer of M-Bus: frames of one byte, of five, and long ones, with their checksum. @source EN 13757-2 */

/** The frame of one byte with which a meter acknowledges. @source EN 13757-2, 5.5.2 */
export const ACKNOWLEDGE = 0xe5
/** The first byte of a short frame, and of a long one. @source EN 13757-2, 5.5 */
const SHORT_START = 0x10
const LONG_START = 0x68
const STOP = 0x16

/** The head `68 L L 68`, the checksum and the stop byte around the L bytes of a long frame. */
const LONG_FRAME_AROUND = 6
const SHORT_BYTES = 5
/** The least L of a long frame: control, address and control information. */
const LEAST_LENGTH = 3
/** The longest frame: L is one byte. @source EN 13757-2, 5.5.4 */
export const LONGEST_FRAME = LONG_FRAME_AROUND + 255

/**
 * Addresses with a meaning of their own: the meter that was selected by its secondary address, and all meters, which
 * then do not answer.
 * @source EN 13757-2, 5.7.5
 */
export const SELECTED = 253
export const EVERYBODY = 255
/** The highest primary address of a single meter; 0 is that of one which has none yet. @source EN 13757-2, 5.7.5 */
export const LAST_ADDRESS = 250

/** Control fields of a master. @source EN 13757-2, 5.7.4 */
const SND_NKE = 0x40
const SND_UD = 0x53
const REQ_UD2 = 0x5b
/** The frame count bit; a meter that gets the same one again repeats its last telegram. @source EN 13757-2, 5.7.4.2 */
const FRAME_COUNT_BIT = 0x20
/** RSP_UD, and the bits beside it that a meter may set: access demand, data flow control. */
const RSP_UD = 0x08
const RSP_UD_MASK = 0xcf

/** Control information: selection of a meter by its secondary address. @source EN 13757-3, 11.3 */
const CI_SELECT = 0x52

/** The length of a frame that begins like this; `more`: it takes more bytes to tell. @source EN 13757-2, 5.5 */
export function frameLength(head: Uint8Array): number | 'more' | 'impossible' {
  const [start, length, again, second] = head
  if (start === ACKNOWLEDGE) return 1
  if (start === SHORT_START) return SHORT_BYTES
  if (start !== LONG_START) return 'impossible'
  if (length === undefined) return 'more'
  if (length < LEAST_LENGTH || (again !== undefined && again !== length)) return 'impossible'
  if (again === undefined || second === undefined) return 'more'
  return second === LONG_START ? length + LONG_FRAME_AROUND : 'impossible'
}

/** Whether these bytes are one frame, with its checksum and its stop byte. @source EN 13757-2, 5.5 */
export function isWholeFrame(frame: Uint8Array): boolean {
  if (frameLength(frame) !== frame.length) return false
  if (frame.length === 1) return true
  const from = frame[0] === SHORT_START ? 1 : 4
  return frame.at(-1) === STOP && frame.at(-2) === checksum(frame.subarray(from, -2))
}

/** What a long frame holds. */
export interface LongFrame {
  control: number
  address: number
  /** Control information: what the data is. */
  ci: number
  data: Uint8Array
}

/** Opens a long frame that is whole; undefined for another frame. @source EN 13757-2, 5.5.4 */
export function openLongFrame(frame: Uint8Array): LongFrame | undefined {
  if (frame[0] !== LONG_START) return undefined
  const [control = 0, address = 0, ci = 0] = frame.subarray(4)
  return { control, address, ci, data: frame.subarray(7, -2) }
}

/** Whether a control field is that of a meter's data, RSP_UD. @source EN 13757-2, 5.7.4 */
export function isRespondingUserData(control: number): boolean {
  return (control & RSP_UD_MASK) === RSP_UD
}

/** SND_NKE: the meter resets its link, so that the next frame count bit is new to it. @source EN 13757-2, 5.7.4 */
export function initFrame(address: number): Uint8Array {
  return shortFrame(SND_NKE, address)
}

/** REQ_UD2: the meter sends a telegram of its data. @source EN 13757-2, 5.7.4 */
export function readFrame(address: number, frameCountBit: boolean): Uint8Array {
  return shortFrame(REQ_UD2 | (frameCountBit ? FRAME_COUNT_BIT : 0), address)
}

/**
 * Selects the meters whose secondary address is this one, or fits its wildcards; they answer at address 253 from then
 * on, and all others no longer.
 * @param secondary 8 bytes as on the wire
 * @source EN 13757-3, 11.3
 */
export function selectFrame(secondary: Uint8Array): Uint8Array {
  return longFrame({ control: SND_UD, address: SELECTED, ci: CI_SELECT, data: secondary })
}

/** RSP_UD: a telegram of a meter's data. @source EN 13757-2, 5.5.4 */
export function responseFrame(address: number, ci: number, data: Uint8Array): Uint8Array {
  return longFrame({ control: RSP_UD, address, ci, data })
}

/** What a master asks. `secondary`: that of a selection. */
export type MasterFrame =
  | { kind: 'init' | 'read'; address: number; frameCountBit: boolean }
  | { kind: 'select'; secondary: Uint8Array }

/** Reads a master's frame that is whole; undefined for any other frame. @source EN 13757-2, 5.7.4 */
export function openMasterFrame(frame: Uint8Array): MasterFrame | undefined {
  const [start, control = 0, address = 0] = frame
  if (start === SHORT_START) {
    const frameCountBit = (control & FRAME_COUNT_BIT) !== 0
    if (control === SND_NKE) return { kind: 'init', address, frameCountBit }
    return (control & ~FRAME_COUNT_BIT) === REQ_UD2 ? { kind: 'read', address, frameCountBit } : undefined
  }
  const opened = openLongFrame(frame)
  if (!opened || (opened.control & ~FRAME_COUNT_BIT) !== SND_UD) return undefined
  const isSelection = opened.ci === CI_SELECT && opened.address === SELECTED && opened.data.length === 8
  return isSelection ? { kind: 'select', secondary: opened.data } : undefined
}

function shortFrame(control: number, address: number): Uint8Array {
  return Uint8Array.of(SHORT_START, control, address, (control + address) & 0xff, STOP)
}

function longFrame({ control, address, ci, data }: LongFrame): Uint8Array {
  const body = Uint8Array.of(control, address, ci, ...data)
  return Uint8Array.of(LONG_START, body.length, body.length, LONG_START, ...body, checksum(body), STOP)
}

function checksum(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0)
}
