/** Modbus RTU for the bus: frames, replies, which replies can be mistaken for others, and faults. */
import { Fault, faultOf } from '#kit/pure/fault.ts'
import {
  anyReplyLength,
  describeReply,
  describeRequest,
  exceptionCode,
  expectedReply,
  flawFault,
  flawOfJunk,
  isMistakable,
  isMistakableRead,
  knownReply,
  type OpenedReply,
  openReply,
  openRequestOrNull,
  replyFlaw,
  replyLength,
} from '../../wire/modbus-reply.ts'
import {
  functionName,
  hasGoodCrc,
  identifyRequestFrame,
  MAX_RTU_BYTES,
  type ModbusRequest,
  modbusFunctions,
  readModbusRequest,
  writtenPlace,
} from '../../wire/modbus-request.ts'
import type { BusFaultKind, BusProtocol, BusReply, Outstanding, Sent } from '../bus/protocol.ts'
import type { BusAsker } from '../bus/transactions.ts'

/** A proven reply. `values`: what was read or written; none for 22. */
export interface ModbusReply extends BusReply, OpenedReply {
  readonly sent: Sent<ModbusRequest>
}

/** The interface for sending requests to the units of a Modbus line. */
export type ModbusAsker = BusAsker<ModbusRequest, ModbusReply>

/** The unit answered with an exception. `details`: unitId, fc, exception {code, name}. */
function exceptionFault({ unitId, fc }: ModbusRequest, exception: { code: number; name: string }): Fault {
  const { code, name } = exception
  const sentence = `Unit ${unitId} answered ${functionName(fc)} with exception ${code}, ${name}.`
  return new Fault('modbus_exception', sentence, { details: { unitId, fc, exception } })
}

/**
 * Builds requests and reads values. It keeps no state between calls and is not trusted: the frames it builds are
 * compared with the request, and the replies it reads were validated before.
 */
export interface ModbusCodec {
  /** @param request of functions 1 to 6, 15, 16, 22 and 23, its limits checked. @throws Fault `modbus_codec` */
  frameOf(request: ModbusRequest): Uint8Array
  /**
   * @param reply proven to answer the request, which is a read (functions 1 to 4, and 23); no exception
   * @returns exactly `quantity` values: 0 or 1 per bit, 0..65535 per register
   * @throws Fault `modbus_codec`
   */
  valuesOf(request: ModbusRequest, reply: Uint8Array): readonly number[]
}

/** Checks that the codec's frame is exactly the request. 43/14 is built here: docs/decisions/modbus-frames.md. */
function seal(codec: ModbusCodec, request: ModbusRequest): Sent<ModbusRequest> {
  if (request.fc === 43) return { frame: identifyRequestFrame(request), request }
  const frame = codec.frameOf(request)
  const built = openRequestOrNull(frame)
  if (built && isSame(built, request)) return { frame, request }
  throw new Fault('modbus_codec', `the frame built for function ${request.fc} asks something else than the request`)
}

function isSame(built: ModbusRequest, asked: ModbusRequest): boolean {
  const keys = ['unitId', 'fc', 'address', 'quantity', 'andMask', 'orMask', 'writeAddress'] as const
  if (keys.some((key) => built[key] !== asked[key])) return false
  const values = asked.values ?? []
  return values.length === (built.values ?? []).length && values.every((value, at) => value === built.values?.[at])
}

/**
 * A validated reply. Most go to programs that take its bytes, so it is decoded when its values are first asked for, once
 * for everyone. If the codec cannot read it, the fault is the requester's `refusal`: where else it is read, nobody could
 * catch an error.
 */
class ValidReply implements ModbusReply {
  readonly frame: Uint8Array
  readonly sent: Sent<ModbusRequest>
  readonly isRefusal: boolean
  readonly #codec: ModbusCodec
  #opened: (OpenedReply & Pick<BusReply, 'refusal'>) | undefined

  constructor(codec: ModbusCodec, sent: Sent<ModbusRequest>, frame: Uint8Array) {
    this.#codec = codec
    this.sent = sent
    this.frame = frame
    this.isRefusal = exceptionCode(frame) !== null
  }

  get exception(): OpenedReply['exception'] {
    return this.#open().exception
  }

  get values(): OpenedReply['values'] {
    return this.#open().values
  }

  get nextObjectId(): OpenedReply['nextObjectId'] {
    return this.#open().nextObjectId
  }

  get refusal(): Fault | null {
    return this.#open().refusal
  }

  #open() {
    this.#opened ??= openedOrRefused(this.#codec, this.sent, this.frame)
    return this.#opened
  }
}

function openedOrRefused(codec: ModbusCodec, { request }: Sent<ModbusRequest>, frame: Uint8Array) {
  try {
    const opened = openReply(frame, request, (asked, reply) => codec.valuesOf(asked, reply))
    return { ...opened, refusal: opened.exception && exceptionFault(request, opened.exception) }
  } catch (error) {
    return { exception: null, refusal: faultOf(error, 'modbus_codec', 'a proven reply is not understood') }
  }
}

/** Functions whose frames hold bits: read coils, read discrete inputs, write multiple coils. */
const OF_BITS: ReadonlySet<number> = new Set([1, 2, 15])

/** Each bit is a value of 8 bytes in the event, so 64 bytes per byte of the frame; as text it would be three. */
const BITS_FACTOR = 21

/** The size of a Modbus frame's event when kept, as `publish` counts it. */
export function heldBytesOf(frame: Uint8Array): number {
  return OF_BITS.has(frame[1] ?? 0) ? BITS_FACTOR * frame.length : frame.length
}

/**
 * Exceptions up to this code mean that the unit itself read and refused the request, so it answers in order. Higher
 * codes, above all 0B, may come from a gateway before the unit while the unit's reply is still on its way.
 * @source MODBUS Application Protocol Specification V1.1b3, 7
 */
const OWN_REFUSAL = 3

const faults: Readonly<Record<BusFaultKind, (...words: FaultWords) => Fault>> = {
  noReply: (...words) => new Fault('modbus_timeout', ...words),
  badReply: (...words) => new Fault('modbus_bad_reply', ...words),
  unitSilent: (...words) => new Fault('modbus_unit_silent', ...words),
  expired: (...words) => new Fault('modbus_expired', ...words),
  withdrawn: (...words) => new Fault('modbus_withdrawn', ...words),
  lineBusy: (...words) => new Fault('modbus_line_busy', ...words),
  sendTimeout: (...words) => new Fault('modbus_send_timeout', ...words),
}

type FaultWords = [sentence: string, options?: ConstructorParameters<typeof Fault>[2]]

/** Modbus RTU as the bus of a line uses it. */
export type ModbusRtu = BusProtocol<ModbusRequest, ModbusReply>

export function createModbusRtu(codec: ModbusCodec): ModbusRtu {
  const sealed = (request: ModbusRequest) => seal(codec, request)
  return {
    ...withoutCodec,
    seal: sealed,
    openReply: (sent, frame) => new ValidReply(codec, sent, frame),
    fenceFor(...asked) {
      const fence = fenceFor(...asked)
      return fence && ('request' in fence ? fence : sealed(fence))
    },
    echoCheck: ({ request }) =>
      sealed({ unitId: request.unitId, fc: readAt(request), address: request.address, quantity: 1 }),
  }
}

const withoutCodec: Omit<ModbusRtu, 'seal' | 'openReply' | 'fenceFor' | 'echoCheck'> = {
  fault: (kind, ...words) => faults[kind](...words),

  reopen: ({ frame }) => readModbusRequest(frame),
  withoutValues({ values: _, ...request }) {
    return request
  },
  isBroadcast: ({ unitId }) => unitId === 0,
  isWrite: ({ fc }) => modbusFunctions.get(fc)?.isWrite === true,
  isRepeatable: ({ fc }) => [5, 6, 15, 16].includes(fc),
  nameOf: ({ fc }) => functionName(fc),
  detailsOf: ({ unitId, fc }) => ({ unitId, fc }),
  describeRequest,

  longestBytes: MAX_RTU_BYTES,
  // Unit, function and checksum.
  shortestBytes: 4,
  unitOf: ([unitId = 0]) => unitId,
  replyLength,
  frameLength: anyReplyLength,
  isWhole: hasGoodCrc,
  isFrameAlone: (bytes) => (bytes[0] ?? 0) >= 1 && (bytes[0] ?? 0) <= 247 && hasGoodCrc(bytes),
  replyFlaw,
  junkFlaw: flawOfJunk,
  flawFault,
  isRefusal: (frame) => exceptionCode(frame) !== null,
  isOwnRefusal: (frame) => (exceptionCode(frame) ?? OWN_REFUSAL + 1) <= OWN_REFUSAL,
  describeReply: (reply, role) => describeReply(reply.frame, role, reply.sent, reply),
  describeStray: (frame) => describeReply(frame, 'stray'),
  heldBytesOf,

  isMistakable,
  isFence: ({ fc }) => modbusFunctions.get(fc)?.isWrite === false && fc !== 43,
  expectedReply,
  knownReply,
  denies,
}

/** Whether a read returns a value that differs from the one written there. */
function denies({ values = [] }: ModbusReply, { request }: Sent<ModbusRequest>, write: ModbusRequest): boolean {
  const place = writtenPlace(write)
  const reads = request.fc === 23 ? 3 : request.fc
  if (reads !== place?.fc) return false
  return (values as readonly number[]).some((value, at) => {
    const written = request.address + at - place.address
    return written >= 0 && written < place.quantity && write.values?.[written] !== value
  })
}

// Fences: harmless reads whose replies cannot be mistaken for a reply that a unit still owes.
// @see docs/decisions/late-replies.md

/** Functions to try when reads with the request's function are no use: a unit refuses those it does not have. */
const READS = [3, 4, 1, 2] as const

/** The function that reads the table which a function reads or writes. */
const readBehind: Readonly<Record<number, number>> = { 1: 1, 2: 2, 4: 4, 5: 1, 15: 1 }

/**
 * Chooses the read that clears the replies a unit owes, before a request that could be mistaken for one of them:
 * a read that the unit has answered before; else a part of one, which it has too; else another length at such a place;
 * else another function there. Never a write.
 * @returns undefined if every read could be mistaken for an owed one; a read that was never sent has no frame yet
 */
function fenceFor(
  asked: Sent<ModbusRequest>,
  owed: readonly Outstanding<ModbusRequest>[],
  known: readonly Sent<ModbusRequest>[],
): Sent<ModbusRequest> | ModbusRequest | undefined {
  const isClear = (one: Sent<ModbusRequest>) => !owed.some((other) => isMistakable(one, other))
  const isClearRead = (read: ModbusRequest) => !owed.some(({ request }) => isMistakableRead(read, request))
  const isRefusable = ({ request }: Sent<ModbusRequest>) =>
    !owed.some((one) => one.mayRefuse && one.request.fc === request.fc)
  const clear = known.filter(isClear)
  const best = clear.find(isRefusable) ?? clear[0]
  if (best) return best
  for (const one of known) for (const part of partsOf(one)) if (isClearRead(part)) return part
  const place = known.find(({ request }) => request.fc === asked.request.fc) ?? known[0] ?? asked
  const { unitId, address } = place.request
  const fc = readAt(place.request)
  const isOf = (code: number) => (one: Outstanding<ModbusRequest>) => one.request.fc === code
  const triedOf = (code: number) => owed.filter((one) => one.isFence && isOf(code)(one)).length
  // A function whose exception could belong to an owed request is tried last: that exception would settle nothing.
  const isDimOf = (code: number) => Number(owed.some((one) => one.mayRefuse && isOf(code)(one)))
  const codes = [fc, ...READS.filter((one) => one !== fc)].sort(
    (one, other) => isDimOf(one) - isDimOf(other) || triedOf(one) - triedOf(other),
  )
  for (const code of codes)
    for (const quantity of quantitiesOf(code, place)) {
      if (address + quantity > 65_536) continue
      const fence = { unitId, fc: code, address, quantity }
      if (isClearRead(fence)) return fence
    }
  return undefined
}

/** The function that reads the place of a request. */
function readAt({ fc }: ModbusRequest): number {
  return readBehind[fc] ?? 3
}

/** Shorter versions of an answered read: a unit that has the whole range also has its beginning. */
function* partsOf({ request: { unitId, fc, address, quantity } }: Sent<ModbusRequest>): Iterable<ModbusRequest> {
  const shape = modbusFunctions.get(fc)?.shape
  if (shape !== 'readBits' && shape !== 'readWords') return
  const step = shape === 'readBits' ? 8 : 1
  for (let fewer = quantity - step; fewer > 0; fewer -= step) yield { unitId, fc, address, quantity: fewer }
}

/** Lengths to try: for registers half of the answered length, then 1, 2, 3, ...; for bits one byte more each time. */
function* quantitiesOf(code: number, { request }: Sent<ModbusRequest>): Iterable<number> {
  const isBits = modbusFunctions.get(code)?.shape === 'readBits'
  const most = modbusFunctions.get(code)?.maxQuantity ?? 1
  if (!isBits && request.fc === code && request.quantity > 3) yield request.quantity >> 1
  for (let quantity = 1; quantity <= most; quantity += isBits ? 8 : 1) yield quantity
}
