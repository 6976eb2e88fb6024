/** M-Bus for the bus: frames, which bytes answer which request, and faults. */

import { hexOf, isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  ACKNOWLEDGE,
  EVERYBODY,
  frameLength,
  initFrame,
  isRespondingUserData,
  isWholeFrame,
  LONGEST_FRAME,
  openLongFrame,
  readFrame,
  SELECTED,
  selectFrame,
} from '../../wire/mbus/frames.ts'
import { isMeantBy, secondaryBytes, secondaryOf } from '../../wire/mbus/identity.ts'
import { applicationError, meterOfFrame, openTelegram, type Telegram } from '../../wire/mbus/telegram.ts'
import { unitOfId } from '../../wire/meter-number.ts'
import type { BusFaultKind, BusProtocol, BusReply, ReplyFlaw, Sent } from '../bus/protocol.ts'

/** One request. `link` is the address in its frame; `secondary` that of the meter where it is asked by that. */
export interface MbusRequest {
  unitId: number
  kind: 'init' | 'select' | 'read'
  link: number
  secondary: string | null
  /** Of a read: the telegrams of the meter that came before, and the reading that all of them belong to. */
  part?: ReadPart
}

/** Where a read stands in the reading of a whole meter. */
export interface ReadPart {
  /** The same object in all reads of one reading. */
  reading: object
  before: readonly MbusReply[]
  /** No further telegram will be asked for, even if the meter has one. */
  isLast: boolean
}

/** A proven reply. `telegram` is null where the meter acknowledged, and where it told an error. */
export interface MbusReply extends BusReply {
  telegram: Telegram | null
}

export type Mbus = BusProtocol<MbusRequest, MbusReply>

/** The number of no unit: an acknowledgement does not say who sent it. */
const NOBODY = -1

const faults: Readonly<Record<BusFaultKind, (...words: FaultWords) => Fault>> = {
  noReply: (...words) => new Fault('mbus_timeout', ...words),
  badReply: (...words) => new Fault('mbus_bad_reply', ...words),
  unitSilent: (...words) => new Fault('mbus_unit_silent', ...words),
  expired: (...words) => new Fault('mbus_expired', ...words),
  withdrawn: (...words) => new Fault('mbus_withdrawn', ...words),
  lineBusy: (...words) => new Fault('mbus_line_busy', ...words),
  sendTimeout: (...words) => new Fault('mbus_send_timeout', ...words),
}

type FaultWords = [sentence: string, options?: ConstructorParameters<typeof Fault>[2]]

/**
 * The frame count bit starts with 1 after a reset or a selection, and changes with each telegram that came. A read that
 * is repeated has the same one again, so the meter repeats its telegram.
 */
function seal(request: MbusRequest): Sent<MbusRequest> {
  const { kind, link, part, secondary } = request
  if (kind === 'init') return { frame: initFrame(link), request }
  if (kind === 'select') return { frame: selectFrame(secondaryBytes(secondary ?? '')), request }
  return { frame: readFrame(link, (part?.before.length ?? 0) % 2 === 0), request }
}

/** Who sent a frame: at the address of the selected meter it is whoever the data names. */
function unitOf(frame: Uint8Array): number {
  const address = frame.length > 6 ? openLongFrame(frame)?.address : undefined
  if (address !== SELECTED) return address ?? NOBODY
  const meter = isWholeFrame(frame) ? meterOfFrame(frame) : null
  return meter ? unitOfId(meter.id) : SELECTED
}

function replyLength({ request }: Sent<MbusRequest>, head: Uint8Array): number | 'more' | 'impossible' {
  const isAcknowledged = request.kind !== 'read'
  if (head.length > 0 && (head[0] === ACKNOWLEDGE) !== isAcknowledged) return 'impossible'
  return head[0] === ACKNOWLEDGE || head[0] === 0x68 ? frameLength(head) : 'impossible'
}

/** Why a frame is not the reply to a request. A meter that was selected is known by what its data says. */
function replyFlaw({ request }: Sent<MbusRequest>, frame: Uint8Array): ReplyFlaw | undefined {
  if (!isWholeFrame(frame)) return 'crc'
  const opened = openLongFrame(frame)
  if (request.kind !== 'read') return frame[0] === ACKNOWLEDGE ? undefined : 'wrong_function'
  if (!opened || !isRespondingUserData(opened.control)) return 'wrong_function'
  const { link, part, secondary } = request
  if (link !== SELECTED && opened.address !== link) return 'wrong_unit'
  if (link === SELECTED && applicationError(frame) === null) {
    const meter = meterOfFrame(frame)
    if (!meter || !isMeantBy(secondary ?? '', meter)) return 'wrong_unit'
  }
  // A meter that repeats its last telegram has not got the request for the next one.
  const last = part?.before.at(-1)?.frame
  return last && isSameBytes(last, frame) ? 'mismatch' : undefined
}

/** Bytes that formed no frame: where a meter was asked for data, they are its damaged answer, or that of two at once. */
function junkFlaw(bytes: Uint8Array, sent: Sent<MbusRequest> | undefined): ReplyFlaw | undefined {
  return sent?.request.kind === 'read' && bytes.length >= LEAST_DAMAGED ? 'crc' : undefined
}

/** Fewer bytes than these are noise. */
const LEAST_DAMAGED = 4

const FLAWS: Readonly<Record<ReplyFlaw, string>> = {
  crc: 'their checksum or their shape is wrong: the answer was damaged, or several meters answered at once',
  wrong_unit: 'they are from another meter than the one that was asked',
  wrong_function: 'they are no data of a meter',
  short: 'they are too few',
  long: 'they are too many',
  mismatch: 'they are the telegram before once more',
  malformed: 'their fields contradict each other',
}

function openReply(sent: Sent<MbusRequest>, frame: Uint8Array): MbusReply {
  if (sent.request.kind !== 'read') return { frame, isRefusal: false, refusal: null, telegram: null }
  const error = applicationError(frame)
  if (error) return { frame, isRefusal: true, refusal: refusalOf(sent.request, error), telegram: null }
  return { frame, isRefusal: false, refusal: null, telegram: openTelegram(frame) }
}

function refusalOf({ unitId }: MbusRequest, error: { code: number; name: string }): Fault {
  const sentence = `Meter ${unitId} answered with an error instead of data: ${error.name}.`
  return new Fault('mbus_refused', sentence, { details: { unitId, error } })
}

const NAMES: Readonly<Record<MbusRequest['kind'], string>> = {
  init: 'SND_NKE',
  select: 'its selection',
  read: 'REQ_UD2',
}

/** Of the telegrams before only what the last one was: decoded they are large. */
function withoutValues({ part, ...request }: MbusRequest): MbusRequest {
  if (!part) return request
  const last = part.before.at(-1)
  return {
    ...request,
    part: { ...part, before: last ? [{ frame: last.frame, isRefusal: false, refusal: null, telegram: null }] : [] },
  }
}

/** What a frame says, for the log of the page. */
function describeRequest({ kind, link, part, secondary, unitId }: MbusRequest, role: string): object {
  const at = link === SELECTED ? 'selected' : link
  const more = kind === 'select' ? { secondary } : kind === 'read' ? { telegram: (part?.before.length ?? 0) + 1 } : {}
  return { kind: role, unitId, asks: kind === 'select' ? 'selection' : kind === 'init' ? 'reset' : 'data', at, ...more }
}

function describeReply({ frame, refusal, telegram }: MbusReply, role: string): object {
  if (refusal) return { kind: role, says: refusal.message }
  return telegram ? { kind: role, ...saidBy(telegram, frame) } : { kind: role, says: 'acknowledged' }
}

/** Few facts: the records are in the bytes, and in the answer to whoever asked. */
function saidBy({ accessNumber, meter, records }: Telegram, frame: Uint8Array): object {
  const address = openLongFrame(frame)?.address
  const who = meter ? { meter: secondaryOf(meter), medium: meter.medium.name } : {}
  return {
    unitId: address === SELECTED && meter ? unitOfId(meter.id) : address,
    ...who,
    accessNumber,
    records: records.length,
  }
}

function describeStray(frame: Uint8Array): object {
  if (frame[0] === ACKNOWLEDGE) return { kind: 'stray', says: 'acknowledged' }
  const opened = openLongFrame(frame)
  return opened && isRespondingUserData(opened.control)
    ? { kind: 'stray', ...saidBy(openTelegram(frame), frame) }
    : { kind: 'stray', says: hexOf(frame.subarray(0, 8)) }
}

const isAcknowledged = ({ request }: Sent<MbusRequest>) => request.kind !== 'read'

/** Whether both are reads of one reading, or both are acknowledged alike. */
function isRepeat(one: Sent<MbusRequest>, other: Sent<MbusRequest>): boolean {
  if (isAcknowledged(one) || isAcknowledged(other)) return isAcknowledged(one) && isAcknowledged(other)
  return one.request.part?.reading === other.request.part?.reading
}

export const mbus: Mbus = {
  fault: (kind, ...words) => faults[kind](...words),
  seal,
  reopen: ({ request }) => request,
  withoutValues,
  isBroadcast: ({ link }) => link === EVERYBODY,
  isWrite: () => false,
  isRepeatable: () => false,
  nameOf: ({ kind }) => NAMES[kind],
  detailsOf: ({ secondary, unitId }) => ({ unitId, ...(secondary !== null && { secondary }) }),
  describeRequest,

  longestBytes: LONGEST_FRAME,
  shortestBytes: 1,
  unitOf,
  replyLength,
  frameLength,
  isWhole: isWholeFrame,
  isFrameAlone: () => false,
  replyFlaw,
  junkFlaw,
  flawFault: (flaw, sent, frame) =>
    new Fault(
      'mbus_unproven',
      `${frame.length} bytes are not the answer${sent ? ` of meter ${sent.request.unitId}` : ''}: ${FLAWS[flaw]}.`,
    ),
  isRefusal: (frame) => applicationError(frame) !== null,
  isOwnRefusal: () => true,
  openReply,
  describeReply,
  describeStray,
  heldBytesOf: (frame) => frame.length,

  isMistakable: (one, other) =>
    one.request.unitId === other.request.unitId &&
    !isAcknowledged(one) &&
    !isAcknowledged(other) &&
    !isRepeat(one, other),
  isRepeat,
  isFence: () => false,
  // A reset and a selection are answered otherwise than a read, and one of them precedes every reading.
  fenceFor: () => undefined,
  echoCheck: (sent) => sent,
  knownReply: () => undefined,
  denies: () => false,
}
