/**
 * MS/TP frames: their types by name, and a whole frame as bytes and back.
 * @source ANSI/ASHRAE 135-2016, 9.3
 */
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { dataCrc, decodeExtended, encodeExtended, headerCrc, RESIDUE } from './checks.ts'

/** Frame types by the standard's names. @source ANSI/ASHRAE 135-2020, 9.3 */
export const FRAME_TYPES = {
  TOKEN: 0,
  POLL_FOR_MASTER: 1,
  REPLY_TO_POLL_FOR_MASTER: 2,
  TEST_REQUEST: 3,
  TEST_RESPONSE: 4,
  BACNET_DATA_EXPECTING_REPLY: 5,
  BACNET_DATA_NOT_EXPECTING_REPLY: 6,
  REPLY_POSTPONED: 7,
  BACNET_EXTENDED_DATA_EXPECTING_REPLY: 32,
  BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY: 33,
  IPV6_OVER_MSTP_ENCAPSULATION: 34,
} as const

const names = new Map<number, string>(Object.entries(FRAME_TYPES).map(([name, type]) => [type, name]))

/** Types from here on are a vendor's own; the first two octets of their data name the vendor. */
const FIRST_PROPRIETARY = 128
/** Types between these are COBS-encoded. @source ANSI/ASHRAE 135-2016, 9.10 */
const EXTENDED = { first: 32, last: 127 } as const

/** `TOKEN`, `PROPRIETARY_200`, or `RESERVED_12`. @source ANSI/ASHRAE 135-2020, 9.3 */
export function frameTypeName(type: number): string {
  return names.get(type) ?? (type < FIRST_PROPRIETARY ? `RESERVED_${type}` : `PROPRIETARY_${type}`)
}

/** @returns undefined if there is no type of this name. @source ANSI/ASHRAE 135-2020, 9.3 */
export function frameTypeOf(name: string): number | undefined {
  if (Object.hasOwn(FRAME_TYPES, name)) return FRAME_TYPES[name as keyof typeof FRAME_TYPES]
  const number = Number(/^PROPRIETARY_(\d{3})$/.exec(name)?.[1])
  return number >= FIRST_PROPRIETARY && number <= 255 ? number : undefined
}

/** Whether its data are COBS-encoded, with a CRC-32K. @source ANSI/ASHRAE 135-2016, 9.10 */
export function isExtended(type: number): boolean {
  return type >= EXTENDED.first && type <= EXTENDED.last
}

/** The destination of what all nodes hear. @source ANSI/ASHRAE 135-2016, 9.3 */
export const BROADCAST = 255

/** One frame; `data` as the sender meant them, without COBS and checksums. */
export interface MstpFrame {
  /** One of `FRAME_TYPES`, or a proprietary type: 128 to 255. */
  frameType: number
  /** 0..127 a master, 128..254 a slave, 255 everybody. */
  destination: number
  source: number
  data: Uint8Array
}

export const PREAMBLE = [0x55, 0xff] as const
/** Preamble, type, destination, source, length, checksum. */
export const HEADER_BYTES = 8

/** The longest data of a plain frame. @source ANSI/ASHRAE 135-2016, 9.3 */
export const MOST_PLAIN = 501
/** The longest data of a BACnet extended frame. @source ANSI/ASHRAE 135-2016, 9.3 */
export const MOST_EXTENDED = 1497
/** The largest length field of an extended frame. @source ANSI/ASHRAE 135-2016, 9.10: Nmax_COBS_length */
export const MOST_LENGTH_FIELD = 2043
/** The longest frame in bytes. */
export const MOST_FRAME_BYTES = HEADER_BYTES + MOST_LENGTH_FIELD + 2

/**
 * @throws Fault `mstp_length` if it has more data than a frame of its type carries, or an extended frame has none
 * @source ANSI/ASHRAE 135-2016, 9.3 and 9.10
 */
export function encodeMstpFrame({ data, destination, frameType, source }: MstpFrame): Uint8Array {
  const most = isExtended(frameType) ? MOST_EXTENDED : MOST_PLAIN
  if (data.length > most || (isExtended(frameType) && data.length === 0))
    throw new Fault(
      'mstp_length',
      `${frameTypeName(frameType)} carries ${isExtended(frameType) ? 1 : 0} to ${most} bytes of data, and there are ${data.length}.`,
    )
  const body = isExtended(frameType) ? encodeExtended(data) : withDataCrc(data)
  const length = body.length === 0 ? 0 : body.length - 2
  const frame = new Uint8Array(HEADER_BYTES + body.length)
  frame.set([...PREAMBLE, frameType, destination, source, length >> 8, length & 0xff])
  frame[HEADER_BYTES - 1] = ~headerRegister(frame.subarray(0, HEADER_BYTES - 1)) & 0xff
  frame.set(body, HEADER_BYTES)
  return frame
}

function withDataCrc(data: Uint8Array): Uint8Array {
  if (data.length === 0) return data
  const body = new Uint8Array(data.length + 2)
  body.set(data)
  const check = ~dataRegister(data) & 0xffff
  // Low byte first.
  body.set([check & 0xff, check >> 8], data.length)
  return body
}

function headerRegister(head: Uint8Array): number {
  return head.subarray(PREAMBLE.length).reduce(headerCrc, 0xff)
}

function dataRegister(data: Uint8Array): number {
  return data.reduce(dataCrc, 0xffff)
}

/**
 * Opens a whole frame; octets 0xFF after it are padding.
 * @returns its data are a view of `bytes`, or new where they were COBS-encoded
 * @throws Fault `mstp_short`, `mstp_preamble`, `mstp_header_crc`, `mstp_length`, `mstp_data_crc`, `mstp_cobs`
 * @source ANSI/ASHRAE 135-2016, 9.3 and 9.10
 */
export function readMstpFrame(bytes: Uint8Array): MstpFrame {
  if (bytes.length < HEADER_BYTES)
    throw new Fault('mstp_short', `A frame has at least ${HEADER_BYTES} bytes, and these are ${bytes.length}.`)
  if (bytes[0] !== PREAMBLE[0] || bytes[1] !== PREAMBLE[1])
    throw new Fault('mstp_preamble', `A frame begins with 55 FF, and this one with ${hexOf(bytes.subarray(0, 2))}.`)
  const [, , frameType = 0, destination = 0, source = 0, high = 0, low = 0] = bytes
  if (headerRegister(bytes.subarray(0, HEADER_BYTES)) !== RESIDUE.header)
    throw new Fault('mstp_header_crc', headerSentence(bytes))
  const length = high * 256 + low
  const most = isExtended(frameType) ? MOST_LENGTH_FIELD : MOST_PLAIN
  const whole = HEADER_BYTES + (length === 0 ? 0 : length + 2)
  const rest = bytes.subarray(whole)
  if (length > most)
    throw new Fault(
      'mstp_length',
      `The header promises ${length} bytes; ${frameTypeName(frameType)} has at most ${most}.`,
    )
  if (bytes.length < whole)
    throw new Fault('mstp_short', `The header promises a frame of ${whole} bytes, and these are ${bytes.length}.`)
  if (rest.some((byte) => byte !== 0xff))
    throw new Fault('mstp_length', `The header promises a frame of ${whole} bytes, and these are ${bytes.length}.`)
  return { frameType, destination, source, data: dataOf(frameType, bytes.subarray(HEADER_BYTES, whole)) }
}

function headerSentence(bytes: Uint8Array): string {
  const expected = ~headerRegister(bytes.subarray(0, HEADER_BYTES - 1)) & 0xff
  const [was, wanted] = [bytes.subarray(HEADER_BYTES - 1, HEADER_BYTES), Uint8Array.of(expected)].map(hexOf)
  return `The header's checksum (CRC-8) is ${was}, expected ${wanted}.`
}

function dataOf(frameType: number, body: Uint8Array): Uint8Array {
  if (isExtended(frameType)) return decodeExtended(body)
  if (body.length === 0) return body
  const data = body.subarray(0, -2)
  if (dataRegister(body) === RESIDUE.data) return data
  const check = ~dataRegister(data) & 0xffff
  const [was, wanted] = [body.subarray(-2), Uint8Array.of(check & 0xff, check >> 8)].map(hexOf)
  throw new Fault('mstp_data_crc', `The checksum of the data (CRC-16) is ${was}, expected ${wanted}.`)
}

// What a caller asks to be sent.

/** Either the parts of a frame, or the whole frame. */
export interface MstpSend {
  /** A name of `FRAME_TYPES`, or `PROPRIETARY_128` to `PROPRIETARY_255`. */
  frameType?: string
  destination?: number
  /** The gateway's own address if omitted. */
  source?: number
  /** Pairs of hex digits, with spaces between all of them or none; no data if omitted. */
  dataHex?: string
  /** The same, of a whole frame, from its preamble to its checksum. */
  frameHex?: string
}

/** Frames that pass the token and look for nodes: the node sends them by itself, and only at their time. */
const OF_THE_RING: readonly number[] = [
  FRAME_TYPES.TOKEN,
  FRAME_TYPES.POLL_FOR_MASTER,
  FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER,
  FRAME_TYPES.REPLY_POSTPONED,
]

/**
 * The frame that a caller asks to be sent.
 * @param own the gateway's own address
 * @throws Fault `bad_send`, `bad_hex`, and those of `readMstpFrame`
 * @source interface document 2, part A, Protocol bodies: bacnet-mstp
 */
export function frameOfSend(body: MstpSend, own: number): MstpFrame {
  const frame = body.frameHex === undefined ? frameOfParts(body, own) : frameOfWhole(body)
  const { data, destination, frameType, source } = frame
  const name = frameTypeName(frameType)
  if (OF_THE_RING.includes(frameType))
    throw badSend(`${name} is sent by the node itself, when it is its time: by hand it would break the ring.`)
  if (source === BROADCAST) throw badSend('The source is 255, which is everybody; expected 0 to 254.')
  if (destination === source) throw badSend(`The frame goes from ${source} to itself; expected another destination.`)
  if (frameType >= FIRST_PROPRIETARY && data.length < 2)
    throw badSend(`${name} begins with the vendor's number, two bytes, and its data have ${data.length}.`)
  return frame
}

function frameOfWhole({ frameHex = '', ...others }: MstpSend): MstpFrame {
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other !== undefined)
    throw badSend(`The body has both frameHex and ${other}; frameHex is the whole frame. Send one of them.`)
  return readMstpFrame(bytesOfHex(spaced(frameHex)))
}

/** Digits that run together as pairs with a space between; what is no even number of digits stays as it is. */
function spaced(text: string): string {
  return text.length % 2 === 0 && /^[0-9A-Fa-f]+$/.test(text) ? text.replaceAll(/..(?!$)/g, '$& ') : text
}

function frameOfParts({ dataHex = '', destination, frameType: name, source }: MstpSend, own: number): MstpFrame {
  if (name === undefined || destination === undefined)
    throw badSend('The body has neither frameHex nor both of frameType and destination. Send one of the two.')
  const frameType = frameTypeOf(name)
  if (frameType === undefined)
    throw badSend(
      `There is no frame type ${JSON.stringify(name.slice(0, 64))}; there are ${Object.keys(FRAME_TYPES).join(', ')} and PROPRIETARY_128 to PROPRIETARY_255.`,
    )
  return { frameType, destination, source: source ?? own, data: bytesOfHex(spaced(dataHex)) }
}

function badSend(sentence: string): Fault {
  return new Fault('bad_send', sentence)
}

/** Whether the sender waits for a reply while it holds the token. @source ANSI/ASHRAE 135-2016, 9.5.6.3 SendAndWait */
export function expectsReply({ destination, frameType }: Pick<MstpFrame, 'destination' | 'frameType'>): boolean {
  const { BACNET_DATA_EXPECTING_REPLY, BACNET_EXTENDED_DATA_EXPECTING_REPLY, TEST_REQUEST } = FRAME_TYPES
  const types: readonly number[] = [BACNET_DATA_EXPECTING_REPLY, BACNET_EXTENDED_DATA_EXPECTING_REPLY, TEST_REQUEST]
  return destination !== BROADCAST && types.includes(frameType)
}

/** Whether it is an answer to one that expects it. @source ANSI/ASHRAE 135-2016, 9.5.6.4 ReceivedReply */
export function isReply({ frameType }: Pick<MstpFrame, 'frameType'>): boolean {
  const { BACNET_DATA_NOT_EXPECTING_REPLY, BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY, TEST_RESPONSE } = FRAME_TYPES
  return (
    frameType === BACNET_DATA_NOT_EXPECTING_REPLY ||
    frameType === BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY ||
    frameType === TEST_RESPONSE ||
    frameType >= FIRST_PROPRIETARY
  )
}
