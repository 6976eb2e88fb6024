/**
 * Cuts what a line says after a request into frames: the reply, an echo of the request, late replies, strays, noise.
 *
 * The end of a frame is told by its own length fields, not by silence: a pty, a USB adapter or a terminal server
 * splits and joins bytes as it likes. Silence only decides where bytes stand before a frame that are none.
 * @source Modbus Application Protocol V1.1b3, 6 (lengths); Modbus over Serial Line V1.02, 2.5.1
 */

import { anyReplyLength, isPrefixOf, type ReplyFlaw, replyFlaw, replyLength, type SentRequest } from './modbus-reply.ts'
import { hasGoodCrc } from './modbus-request.ts'

/** Whether the line gives our own bytes back, as RS-485 adapters with a receiver that is always on do. */
export type LocalEcho = 'unknown' | 'present' | 'absent'

/** What may arrive now. */
export interface Expecting {
  /** The request that is out, if one is. */
  sent: SentRequest | undefined
  /** Requests to a unit without an answer, whose replies may still come. */
  owed(unitId: number): readonly SentRequest[]
  /** What would do as the reply may be owed to an earlier request: it is late, whatever it is for. */
  mayBeOwed(sent: SentRequest, frame: Uint8Array): boolean
  echo: LocalEcho
  /** The echo of the request that is out has been taken already. */
  isEchoSeen: boolean
  /** Bytes were skipped that may have been a damaged frame, which may go on: a reply must be the last thing said. */
  isAmidJunk: boolean
}

/**
 * What stands at the head of the bytes.
 * - `reply` answers the request; proven by length, checksum, unit, function, byte count or echoed fields
 * - `twin` would do as the reply, and equals what was sent: the reply, or an echo, where the line is not known
 * - `echo` our own request
 * - `late` answers a request that was given up
 * - `stray` a whole frame with a right checksum that answers nothing; `flaw` says why not the request that is out
 * - `noise` bytes that begin no frame
 */
export type CutKind = 'reply' | 'twin' | 'echo' | 'late' | 'stray' | 'noise'

/** A piece: `skipped` junk bytes first, then the frame (of `noise`: nothing skipped, the frame is the junk). */
export interface Cut {
  kind: CutKind
  skipped: Uint8Array
  frame: Uint8Array
  flaw?: ReplyFlaw
}

const nothing = new Uint8Array(0)

/**
 * Takes the next piece.
 * @param isQuiet the line has been silent long enough that what is there stands alone
 * @returns undefined where more bytes or silence must come first
 */
export function nextCut(bytes: Uint8Array, expecting: Expecting, isQuiet: boolean): Cut | undefined {
  if (bytes.length === 0) return undefined
  const atHead = headCut(bytes, expecting)
  if (expecting.isAmidJunk && typeof atHead === 'object' && (atHead.kind === 'reply' || atHead.kind === 'twin'))
    return isQuiet ? quietCut(bytes, expecting) : undefined
  if (atHead === 'junk') return noiseCut(bytes, expecting)
  if (atHead !== 'wait') return { ...atHead, skipped: nothing }
  return isQuiet ? quietCut(bytes, expecting) : undefined
}

type HeadCut = Omit<Cut, 'skipped'> | 'wait' | 'junk'

/** What the bytes begin with: a whole frame, the beginning of one, or neither. */
function headCut(bytes: Uint8Array, expecting: Expecting): HeadCut {
  const own = expecting.sent ? ownCut(bytes, expecting.sent, expecting) : 'junk'
  if (typeof own === 'object') return own
  let mayGrow = own === 'wait'
  for (const owed of expecting.owed(bytes[0] ?? 0)) {
    const need = replyLength(owed, bytes)
    if (typeof need === 'number' && bytes.length >= need) {
      const frame = bytes.subarray(0, need)
      if (!replyFlaw(owed, frame)) return { kind: 'late', frame }
    }
    if (need !== 'impossible') mayGrow = true
  }
  // A frame of our own that may still grow is not taken for a stray that ends earlier.
  const stray = strayAt(bytes, expecting)
  if (stray && own !== 'wait') return stray
  return mayGrow || anyReplyLength(bytes) !== 'impossible' ? 'wait' : 'junk'
}

/** The reply to, or the echo of, the request that is out. */
function ownCut(bytes: Uint8Array, sent: SentRequest, expecting: Expecting): HeadCut {
  const need = replyLength(sent, bytes)
  // Where the line is known to be without echo, only what cannot be a reply is still looked at as one.
  const mayEcho = !expecting.isEchoSeen && (expecting.echo !== 'absent' || need === 'impossible')
  const isEcho = mayEcho && isPrefixOf(sent.frame, bytes)
  const isPartOfEcho = mayEcho && bytes.length < sent.frame.length && isPrefixOf(bytes, sent.frame)
  // The echo first: with a zero behind it, as turning transmitters leave, it has a right checksum as a longer reply too.
  if (isEcho) return { kind: isTwin(sent, expecting) ? 'twin' : 'echo', frame: bytes.subarray(0, sent.frame.length) }
  if (typeof need === 'number' && bytes.length >= need) {
    const frame = bytes.subarray(0, need)
    if (!replyFlaw(sent, frame) && !isPartOfEcho)
      return { kind: expecting.mayBeOwed(sent, frame) ? 'late' : 'reply', frame }
  }
  return isPartOfEcho || need === 'more' || (typeof need === 'number' && bytes.length < need) ? 'wait' : 'junk'
}

/** A request that would do as its own reply, on a line that may or may not have an echo. */
function isTwin(sent: SentRequest, { echo }: Expecting): boolean {
  return echo === 'unknown' && sent.request.unitId !== 0 && !replyFlaw(sent, sent.frame)
}

/** A whole frame with a right checksum that nobody asked for. */
function strayAt(bytes: Uint8Array, { sent }: Expecting): Omit<Cut, 'skipped'> | undefined {
  const need = anyReplyLength(bytes)
  if (typeof need !== 'number' || bytes.length < need) return undefined
  const frame = bytes.subarray(0, need)
  return hasGoodCrc(frame) ? { kind: 'stray', frame, flaw: sent && replyFlaw(sent, frame) } : undefined
}

/** Bytes up to the first that may begin a frame. */
function noiseCut(bytes: Uint8Array, expecting: Expecting): Cut {
  let end = 1
  while (end < bytes.length && headCut(bytes.subarray(end), expecting) === 'junk') end++
  return { kind: 'noise', skipped: nothing, frame: bytes.subarray(0, end) }
}

/**
 * After silence: the first whole frame behind bytes that are none. A reply is taken there only where it is the last
 * thing said: one inside a longer frame (a gateway that carries frames as data, with a bit fallen over) is not.
 */
function quietCut(bytes: Uint8Array, expecting: Expecting): Cut | undefined {
  for (let at = 0; at + 4 <= bytes.length; at++) {
    const rest = bytes.subarray(at)
    const found = quietAt(rest, expecting)
    if (found) return { ...found, skipped: bytes.subarray(0, at) }
  }
  return undefined
}

function quietAt(rest: Uint8Array, expecting: Expecting): Omit<Cut, 'skipped'> | undefined {
  const { sent } = expecting
  if (sent) {
    const mayEcho = !expecting.isEchoSeen && expecting.echo !== 'absent'
    if (mayEcho && isPrefixOf(sent.frame, rest))
      return { kind: isTwin(sent, expecting) ? 'twin' : 'echo', frame: rest.subarray(0, sent.frame.length) }
    if (sent.request.unitId !== 0 && !replyFlaw(sent, rest)) {
      if (!mayEcho || !isPrefixOf(rest, sent.frame))
        return { kind: expecting.mayBeOwed(sent, rest) ? 'late' : 'reply', frame: rest }
      // The beginning of an echo would do as the reply: believed only once the line is known to have no echo.
      if (expecting.echo === 'unknown') return { kind: 'twin', frame: rest }
    }
  }
  for (const one of expecting.owed(rest[0] ?? 0)) {
    const need = replyLength(one, rest)
    if (typeof need !== 'number' || rest.length < need) continue
    const frame = rest.subarray(0, need)
    if (!replyFlaw(one, frame)) return { kind: 'late', frame }
  }
  const stray = strayAt(rest, expecting)
  // What would do as the reply but is not the last thing said stays junk: see quietCut.
  if (stray) return stray.flaw || !sent ? stray : undefined
  const isUnit = (rest[0] ?? 0) >= 1 && (rest[0] ?? 0) <= 247
  return isUnit && hasGoodCrc(rest) ? { kind: 'stray', frame: rest, flaw: sent && replyFlaw(sent, rest) } : undefined
}

/**
 * What bytes were that came to nothing: the flaw they have as a reply to the request, or plain noise.
 * Used when a transaction ends, and for bytes outside of one.
 */
export function flawOfJunk(bytes: Uint8Array, sent: SentRequest | undefined): ReplyFlaw | undefined {
  if (sent && bytes.length >= 2 && bytes[0] === sent.request.unitId && ((bytes[1] ?? 0) & 0x7f) === sent.request.fc)
    return replyFlaw(sent, bytes)
  const need = anyReplyLength(bytes)
  return typeof need === 'number' && need === bytes.length ? 'crc' : undefined
}
