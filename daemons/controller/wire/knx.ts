/**
 * KNXnet/IP tunnelling: its messages, group telegrams in them, and values of datapoint types.
 * @source KNX Standard 3/8/2 Core, 3/8/4 Tunnelling, 3/6/3 cEMI, 3/7/2 Datapoint Types
 */
import { Fault } from '#kit/pure/fault.ts'

// Messages.

export const CONNECT_REQUEST = 0x0205
export const CONNECT_RESPONSE = 0x0206
export const STATE_REQUEST = 0x0207
export const STATE_RESPONSE = 0x0208
export const DISCONNECT_REQUEST = 0x0209
export const DISCONNECT_RESPONSE = 0x020a
export const TUNNEL_REQUEST = 0x0420
export const TUNNEL_ACK = 0x0421

const HEAD_BYTES = 6
const VERSION = 0x10

/** Where answers go: all zeros mean where the request came from, which works behind address translation too. */
const ANY_ENDPOINT = [8, 1, 0, 0, 0, 0, 0, 0]
/** A tunnel to the link layer. */
const TUNNEL_KIND = [4, 4, 2, 0]

/** One message; `channel`, `sequence` and `status` are 0 where it has none. */
export interface KnxMessage {
  service: number
  channel: number
  sequence: number
  status: number
  /** Of a tunnelling request: the telegram as cEMI. Of a connect response: the port for data, 0 for the same. */
  cemi: Uint8Array
  dataPort: number
}

export function connectRequest(): Uint8Array {
  return message(CONNECT_REQUEST, [...ANY_ENDPOINT, ...ANY_ENDPOINT, ...TUNNEL_KIND])
}

/** @param service STATE_REQUEST or DISCONNECT_REQUEST */
export function channelRequest(service: number, channel: number): Uint8Array {
  return message(service, [channel, 0, ...ANY_ENDPOINT])
}

export function disconnectResponse(channel: number): Uint8Array {
  return message(DISCONNECT_RESPONSE, [channel, 0])
}

/** @param sequence 0..255, counted up with each request */
export function tunnelRequest(channel: number, sequence: number, cemi: Uint8Array): Uint8Array {
  return message(TUNNEL_REQUEST, [4, channel, sequence, 0, ...cemi])
}

export function tunnelAck(channel: number, sequence: number): Uint8Array {
  return message(TUNNEL_ACK, [4, channel, sequence, 0])
}

function message(service: number, body: readonly number[]): Uint8Array {
  return Uint8Array.from([HEAD_BYTES, VERSION, ...word(service), ...word(HEAD_BYTES + body.length), ...body])
}

/** @returns undefined for what is no message of a tunnel */
export function readKnxMessage(bytes: Uint8Array): KnxMessage | undefined {
  if (bytes[0] !== HEAD_BYTES || bytes[1] !== VERSION || wordAt(bytes, 4) !== bytes.length) return undefined
  const service = wordAt(bytes, 2)
  const body = bytes.subarray(HEAD_BYTES)
  const none = { sequence: 0, status: 0, cemi: new Uint8Array(0), dataPort: 0 }
  const isTunnel = service === TUNNEL_REQUEST || service === TUNNEL_ACK
  if (isTunnel) {
    if (body.length < 4 || body[0] !== 4) return undefined
    const [, channel = 0, sequence = 0, status = 0] = body
    return { ...none, service, channel, sequence, status, cemi: body.subarray(4) }
  }
  if (service < CONNECT_RESPONSE || service > DISCONNECT_RESPONSE || body.length < 2) return undefined
  const [channel = 0, status = 0] = body
  const hasEndpoint = service === CONNECT_RESPONSE && body.length >= 10
  return { ...none, service, channel, status, dataPort: hasEndpoint ? wordAt(body, 8) : 0 }
}

/** @source KNX Standard 3/8/2, 7.8.2 and 3/8/4, 4.4.3 */
const STATUSES: Readonly<Record<number, string>> = {
  33: 'it knows the tunnel no more',
  34: 'it does not tunnel',
  35: 'it does not tunnel like this',
  36: 'all its tunnels are taken',
  37: 'its addresses are taken',
  38: 'its tunnel is broken',
  39: 'it has lost the bus',
  41: 'it does not tunnel to the link layer',
}

export function statusWords(status: number): string {
  return STATUSES[status] ?? `it answers with error ${status}`
}

// Telegrams.

/** `confirm`: the interface has sent ours on the bus, or failed to. */
export interface Telegram {
  kind: 'request' | 'indication' | 'confirm'
  isFailed: boolean
  service: 'read' | 'response' | 'write'
  /** A group address: 0..65535. */
  group: number
  /** One byte below 64 for types of up to six bits. */
  data: Uint8Array
}

const KINDS: readonly [Telegram['kind'], number][] = [
  ['request', 0x11],
  ['indication', 0x29],
  ['confirm', 0x2e],
]
const SERVICES: readonly [Telegram['service'], number][] = [
  ['read', 0x000],
  ['response', 0x040],
  ['write', 0x080],
]
/** Standard frame, no repetition, low priority; group address, six hops. */
const CONTROL = [0xbc, 0xe0]

/** The most bytes of data that fit: those of a standard frame. */
const MOST_DATA = 14

/**
 * @param data of a write: six bits in one byte if `isShort`
 * @source KNX Standard 3/6/3, 4.1.5.3
 */
export function groupTelegram(
  service: 'read' | 'write',
  group: number,
  data: Uint8Array = new Uint8Array(1),
  isShort = true,
): Uint8Array {
  const code = service === 'write' ? 0x80 : 0
  const [first = 0] = data
  const rest = isShort ? [code | (first & 0x3f)] : [code, ...data]
  return Uint8Array.from([0x11, 0, ...CONTROL, 0, 0, ...word(group), rest.length, 0, ...rest])
}

/** @returns undefined for what is no telegram to a group */
export function readTelegram(cemi: Uint8Array): Telegram | undefined {
  const kind = KINDS.find(([, code]) => code === cemi[0])?.[0]
  const at = 2 + (cemi[1] ?? 0)
  const length = cemi[at + 6] ?? 0
  const isToGroup = ((cemi[at + 1] ?? 0) & 0x80) !== 0
  if (!kind || !isToGroup || length < 1 || length > MOST_DATA + 1 || cemi.length !== at + 8 + length) return undefined
  const code = ((cemi[at + 7] ?? 0) & 0x03) * 256 + (cemi[at + 8] ?? 0)
  const service = SERVICES.find(([, one]) => one === (code & 0x3c0))?.[0]
  if (!service) return undefined
  const data = length === 1 ? Uint8Array.of(code & 0x3f) : cemi.slice(at + 9)
  return { kind, service, data, group: wordAt(cemi, at + 4), isFailed: ((cemi[at] ?? 0) & 1) !== 0 }
}

// Group addresses.

/** `1/2/3` or `1/515`; undefined for anything else. */
export function readGroup(text: string): number | undefined {
  const numbers = /^\d{1,2}(?:\/\d{1,4}){1,2}$/.test(text) ? text.split('/').map(Number) : []
  const [main = 99, middle = 0, sub] = numbers
  const isThree = sub !== undefined
  if (main > 31 || (isThree ? middle > 7 || sub > 255 : middle > 2047)) return undefined
  const group = main * 2048 + (isThree ? middle * 256 + sub : middle)
  return group === 0 ? undefined : group
}

/** Three levels. */
export function groupText(group: number): string {
  return `${group >> 11}/${(group >> 8) & 7}/${group & 0xff}`
}

// Datapoint types.

interface Codec {
  /** Bytes; 0 for six bits or less, which go along with the service. */
  size: number
  read(data: Uint8Array): number | boolean
  range: readonly [number, number]
  write(value: number): number[]
}

function integer(size: 1 | 2 | 4, isSigned: boolean, factor = 1): Codec {
  const span = 2 ** (8 * size)
  const [least, most] = isSigned ? [-span / 2, span / 2 - 1] : [0, span - 1]
  return {
    size,
    range: [least * factor, most * factor],
    read(data) {
      const raw = data.reduce((value, byte) => value * 256 + byte, 0)
      return Number(((isSigned && raw >= span / 2 ? raw - span : raw) * factor).toPrecision(10))
    },
    write(value) {
      const raw = (Math.round(value / factor) + span) % span
      return Array.from({ length: size }, (_, at) => Math.floor(raw / 256 ** (size - 1 - at)) % 256)
    },
  }
}

const SWITCH: Codec = { size: 0, range: [0, 1], read: ([bit = 0]) => bit !== 0, write: (value) => [value] }

/** 0.01 times a mantissa of 11 bits and sign, times a power of two. @source KNX Standard 3/7/2, 3.10 */
const SHORT_FLOAT: Codec = {
  size: 2,
  range: [-671_088.64, 670_433.28],
  read([high = 0, low = 0]) {
    // What a device sends that has no value.
    if (high === 0x7f && low === 0xff) return Number.NaN
    const mantissa = (high & 0x07) * 256 + low - (high & 0x80 ? 2048 : 0)
    return Number((mantissa * 2 ** ((high >> 3) & 15) * 0.01).toPrecision(9))
  },
  write(value) {
    let exponent = 0
    let mantissa = Math.round(value * 100)
    while (mantissa < -2048 || mantissa > 2047) mantissa = Math.round((value * 100) / 2 ** ++exponent)
    const bits = (mantissa + 2048) % 2048
    return [(mantissa < 0 ? 0x80 : 0) | (exponent << 3) | (bits >> 8), bits & 0xff]
  },
}

const FLOAT: Codec = {
  size: 4,
  range: [-3.4028234e38, 3.4028234e38],
  read: (data) => Number(new DataView(data.slice().buffer).getFloat32(0).toPrecision(7)),
  write(value) {
    const view = new DataView(new ArrayBuffer(4))
    view.setFloat32(0, value)
    return [...new Uint8Array(view.buffer)]
  },
}

/** By main number, with its own entries for some subtypes. */
const CODECS: Readonly<Record<string, Codec>> = {
  1: SWITCH,
  5: integer(1, false),
  '5.001': { ...integer(1, false, 100 / 255), range: [0, 100] },
  '5.003': { ...integer(1, false, 360 / 255), range: [0, 360] },
  6: integer(1, true),
  7: integer(2, false),
  8: integer(2, true),
  9: SHORT_FLOAT,
  12: integer(4, false),
  13: integer(4, true),
  14: FLOAT,
  17: { ...integer(1, false), range: [0, 63] },
  20: integer(1, false),
}

export const KNX_TYPES = '1, 5, 6, 7, 8, 9, 12, 13, 14, 17, 20'

export function isKnxType(type: string): boolean {
  return codecOf(type) !== undefined
}

function codecOf(type: string): Codec | undefined {
  if (!/^\d{1,2}(?:\.\d{1,3})?$/.test(type)) return undefined
  return CODECS[type] ?? CODECS[type.split('.')[0] ?? '']
}

/** @returns undefined if the data is not of this type, or says that there is no value */
export function readKnxValue(type: string, data: Uint8Array): number | boolean | undefined {
  const codec = codecOf(type)
  if (!codec || data.length !== Math.max(1, codec.size)) return undefined
  const value = codec.read(data)
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value
}

/**
 * @returns the data of a telegram, and whether it goes in six bits
 * @throws Fault `driver_value` if the type does not hold the value
 */
export function knxValue(type: string, value: number | boolean): { data: Uint8Array; isShort: boolean } {
  const codec = codecOf(type)
  const number = Number(value)
  const [least, most] = codec?.range ?? [1, 0]
  if (!codec || !(number >= least && number <= most))
    throw new Fault('driver_value', `${number} is not what a datapoint of type ${type} holds: ${least} to ${most}`)
  return { data: Uint8Array.from(codec.write(number)), isShort: codec.size === 0 }
}

function word(value: number): number[] {
  return [value >> 8, value & 0xff]
}

function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}
