/**
 * An invented protocol that shows what a protocol needs: lines of ASCII with an XOR checksum.
 *
 *     >05R12*1A\r    unit 5, read value 12          <05R12=0230*5C\r     its value
 *     >05W12=77*..\r write it                       <05W12=0077*..\r     done
 *                                                   <05!12?02*..\r       refused, reason 02
 *
 * Numbers are decimal with two digits, values with four. Unit 00 means all units. Nothing in core/bus or core/points
 * knows this protocol.
 */
import { Fault } from '#kit/pure/fault.ts'
import type {
  BusFaultKind,
  BusProtocol,
  BusReply,
  Need,
  Outstanding,
  ReplyFlaw,
  Sent,
} from '../../../core/bus/protocol.ts'
import type { PointBase, PointProtocol } from '../../../core/points/definition.ts'

/** `value` is what is written; left out for a read. */
export interface AsciiRequest {
  unitId: number
  item: number
  value?: number
}

export interface AsciiReply extends BusReply {
  item: number
  value: number
}

/** A point: one value of its unit. */
export interface AsciiPoint extends PointBase {
  item: number
}

const two = (number: number) => String(number).padStart(2, '0')
const four = (number: number) => String(number).padStart(4, '0')
const encode = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => String.fromCharCode(...bytes)

/** A frame: the text and its checksum. */
export function asciiFrame(text: string): Uint8Array {
  const sum = encode(text).reduce((all, byte) => all ^ byte, 0)
  return encode(`${text}*${sum.toString(16).toUpperCase().padStart(2, '0')}\r`)
}

function isWhole(frame: Uint8Array): boolean {
  return frame.length > 4 && textOf(asciiFrame(textOf(frame.subarray(0, -4)))) === textOf(frame)
}

/** The length of the reply that begins with these bytes. */
function frameLength(head: Uint8Array): Need {
  const text = textOf(head)
  if (!'<'.startsWith(text.slice(0, 1))) return 'impossible'
  const kind = text[3]
  if (kind === undefined) return 'more'
  if (kind === 'R' || kind === 'W') return 15
  return kind === '!' ? 13 : 'impossible'
}

function replyFlaw({ request }: Sent<AsciiRequest>, frame: Uint8Array): ReplyFlaw | undefined {
  if (!isWhole(frame)) return 'crc'
  const text = textOf(frame)
  if (text.slice(1, 3) !== two(request.unitId)) return 'wrong_unit'
  const kind = text[3]
  if (kind !== '!' && kind !== (request.value === undefined ? 'R' : 'W')) return 'wrong_function'
  return kind !== '!' && text.slice(4, 6) !== two(request.item) ? 'mismatch' : undefined
}

function openReply({ request }: Sent<AsciiRequest>, frame: Uint8Array): AsciiReply {
  const text = textOf(frame)
  const isRefusal = text[3] === '!'
  const sentence = `Unit ${request.unitId} refused with ${text.slice(7, 9)}.`
  const refusal = isRefusal ? new Fault('ascii_refused', sentence) : null
  return { frame, isRefusal, refusal, item: Number(text.slice(4, 6)), value: Number(text.slice(7, 11)) }
}

function seal(request: AsciiRequest): Sent<AsciiRequest> {
  const { unitId, item, value } = request
  const what = value === undefined ? `R${two(item)}` : `W${two(item)}=${four(value)}`
  return { frame: asciiFrame(`>${two(unitId)}${what}`), request }
}

/** Replies to reads differ by item, so a read of any other item can be a fence. */
function fenceFor(
  asked: Sent<AsciiRequest>,
  owed: readonly Outstanding<AsciiRequest>[],
  known: readonly Sent<AsciiRequest>[],
): Sent<AsciiRequest> | undefined {
  const taken = new Set([asked, ...owed].map(({ request }) => request.item))
  return known.find(({ request }) => !taken.has(request.item))
}

const codes: Readonly<Record<BusFaultKind, string>> = {
  noReply: 'ascii_timeout',
  badReply: 'ascii_bad_reply',
  unitSilent: 'ascii_unit_silent',
  expired: 'ascii_expired',
  withdrawn: 'ascii_withdrawn',
  lineBusy: 'ascii_line_busy',
  sendTimeout: 'ascii_send_timeout',
}

export const asciiProtocol: BusProtocol<AsciiRequest, AsciiReply> = {
  fault: (kind, ...words) => new Fault(codes[kind], ...words),
  seal,
  reopen({ frame }) {
    const text = textOf(frame)
    const value = text[3] === 'W' ? { value: Number(text.slice(7, 11)) } : {}
    return { unitId: Number(text.slice(1, 3)), item: Number(text.slice(4, 6)), ...value }
  },
  withoutValues: (request) => request,
  isBroadcast: ({ unitId }) => unitId === 0,
  isWrite: ({ value }) => value !== undefined,
  isRepeatable: ({ value }) => value !== undefined,
  nameOf: ({ item, value }) => `${value === undefined ? 'read' : 'write'} of ${item}`,
  detailsOf: ({ unitId, item }) => ({ unitId, item }),
  describeRequest: (request, kind) => ({ kind, ...request }),

  longestBytes: 15,
  shortestBytes: 10,
  unitOf: (frame) => Number(textOf(frame.subarray(1, 3))) || 0,
  replyLength: (_sent, head) => frameLength(head),
  frameLength,
  isWhole,
  isFrameAlone: () => false,
  replyFlaw,
  junkFlaw: (bytes, sent) => (sent && frameLength(bytes) === bytes.length ? replyFlaw(sent, bytes) : undefined),
  flawFault: (flaw, _sent, frame) => new Fault(`ascii_${flaw}`, `${frame.length} bytes are no answer: ${flaw}.`),
  isRefusal: (frame) => textOf(frame)[3] === '!',
  isOwnRefusal: () => true,
  openReply,
  describeReply: ({ item, value, refusal }, kind) => ({ kind, item, ...(refusal ? {} : { value }) }),
  describeStray: () => ({ kind: 'stray' }),
  heldBytesOf: (frame) => frame.length,

  isMistakable: (one, other) =>
    one.request.unitId === other.request.unitId &&
    one.request.item === other.request.item &&
    (one.request.value === undefined) === (other.request.value === undefined),
  isFence: ({ value }) => value === undefined,
  fenceFor,
  echoCheck: ({ request }) => seal({ unitId: request.unitId, item: request.item }),
  knownReply: ({ request: { unitId, item, value } }) =>
    value === undefined ? undefined : asciiFrame(`<${two(unitId)}W${two(item)}=${four(value)}`),
  denies: ({ item, value }, _sent, write) => item === write.item && value !== write.value,
}

/** Each point has its own read; the reading is the reply itself. */
export const asciiPoints: PointProtocol<AsciiPoint, AsciiRequest, AsciiReply, AsciiReply & { unitId: number }> = {
  takes: 'registers',
  planner: () => ({
    plan: (points) =>
      points.map((point) => {
        const { unitId, item, pollMs: periodMs } = point
        return { key: `${unitId} ${item} ${periodMs}`, request: { unitId, item }, periodMs, points: [point] }
      }),
    learn: () => false,
    keep() {},
    forget() {},
  }),
  verdict: ({ code }) => (code === 'ascii_refused' ? 'refused' : 'unanswered'),
  readingOf: ({ unitId, value }, reply) => (value === undefined ? { ...reply, unitId } : undefined),
  groupOf: ({ unitId, item }) => 100 * unitId + item,
  groupOfReading: ({ unitId, item }) => 100 * unitId + item,
  reader:
    () =>
    ({ value }) => {
      if (value === 9999) throw new Fault('point_no_value', 'The device sent 9999, which means that it has no value.')
      return value / 10
    },
  isReadAlike: (one, other) => one.unitId === other.unitId && one.item === other.item,
  isTouchedBy: (point, write) =>
    write.value !== undefined && point.unitId === write.unitId && point.item === write.item,
}
