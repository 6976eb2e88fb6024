/**
 * H.264 as cameras send it: pictures put together from packets.
 * @source RFC 6184, 5 (packets); ITU-T H.264, 7.3 and 7.4.1 (NAL units)
 */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { RtpPacket } from './rtp.ts'

/** One picture with everything that belongs to it. */
export interface Picture {
  /** Of the packets it came in. */
  timestamp: number
  /** Its NAL units without start codes; parameter sets and delimiters are taken out. */
  units: Uint8Array[]
  /** Whether decoding can begin here. */
  isKey: boolean
  /** In force for this picture; undefined while the camera has not sent them. */
  sets: ParameterSets | undefined
}

/** What a decoder needs before the first picture. */
export interface ParameterSets {
  sps: Uint8Array
  pps: Uint8Array
}

const SLICE = 1
const IDR = 5
const SPS = 7
const PPS = 8
const DELIMITER = 9
const STAP_A = 24
const FU_A = 28

/** A picture of more units than this is cut off: a stream of empty ones would take memory and no bytes. */
const MOST_UNITS = 1024

/** Likewise for packets of one unit; 16 MiB in packets of 1400 bytes have 12,000. */
const MOST_PIECES = 16_384

/** What is put together now. */
interface Building {
  timestamp: number
  units: Uint8Array[]
  bytes: number
  isKey: boolean
  isBroken: boolean
}

/** Puts pictures together. A picture of which a part is missing or makes no sense is dropped, and counted. */
export class H264Assembler {
  readonly #pictureBytes: number
  readonly #sets: SetKeeper
  #building: Building | undefined
  /** Pieces of a unit that comes in several packets. */
  #pieces: Uint8Array[] | undefined
  #pieceBytes = 0
  #dropped = 0

  /**
   * @param known parameter sets of the session description
   * @param pictureBytes a picture of more bytes is dropped
   */
  constructor(known: readonly Uint8Array[], pictureBytes: number) {
    this.#pictureBytes = pictureBytes
    this.#sets = createSetKeeper(known)
  }

  /**
   * @param packet in order; its payload is copied where it is kept
   * @returns the pictures that are whole now: at most two
   * @throws Fault `rtp_broken`; the picture it belongs to is dropped
   */
  add({ isMarked, payload, timestamp }: RtpPacket): Picture[] {
    const done = this.#building && this.#building.timestamp !== timestamp ? this.#finish() : []
    this.#building ??= { timestamp, units: [], bytes: 0, isKey: false, isBroken: false }
    const into = this.#building
    const kind = kindOf(payload)
    try {
      if (kind === FU_A) this.#piece(payload, into)
      else if (kind === STAP_A) for (const part of aggregated(payload)) this.#unit(part.slice(), into)
      else if (kind > 0 && kind < STAP_A) this.#unit(payload.slice(), into)
      else throw new Fault('rtp_broken', `a packet of kind ${kind}, which is not sent without being asked for`)
    } catch (fault) {
      into.isBroken = true
      throw fault
    }
    return isMarked ? [...done, ...this.#finish()] : done
  }

  /** Packets before the next one are lost: the picture in the middle of which it happened is not whole. */
  gap(): void {
    this.#pieces = undefined
    if (this.#building) this.#building.isBroken = true
  }

  /** Pictures dropped so far. */
  dropped(): number {
    return this.#dropped
  }

  #unit(bytes: Uint8Array, into: Building): void {
    const kind = kindOf(bytes)
    if (this.#sets.keep(bytes) || kind === DELIMITER || kind === 0) return
    into.bytes += bytes.length
    if (into.bytes > this.#pictureBytes || into.units.length >= MOST_UNITS) {
      into.isBroken = true
      into.units = []
      return
    }
    if (kind === IDR) into.isKey = true
    into.units.push(bytes)
  }

  #piece(payload: Uint8Array, into: Building): void {
    const [indicator = 0, header = 0] = payload
    const body = payload.subarray(2)
    if (header & 0x80) {
      this.#pieces = [Uint8Array.of((indicator & 0xe0) | (header & 0x1f))]
      this.#pieceBytes = 0
    }
    this.#pieceBytes += body.length
    // Without its beginning, or too large to be a picture.
    if (!this.#pieces || this.#pieceBytes > this.#pictureBytes || this.#pieces.length > MOST_PIECES) {
      this.#pieces = undefined
      into.isBroken = true
      return
    }
    this.#pieces.push(body.slice())
    if (!(header & 0x40)) return
    const whole = joined(this.#pieces)
    this.#pieces = undefined
    this.#unit(whole, into)
  }

  #finish(): Picture[] {
    const done = this.#building
    const isCut = this.#pieces !== undefined
    this.#building = undefined
    this.#pieces = undefined
    if (!done) return []
    if (done.isBroken || isCut) {
      this.#dropped++
      return []
    }
    const { timestamp, units, isKey } = done
    // Parameter sets alone are no picture.
    if (!units.some((bytes) => isSlice(bytes))) return []
    return [{ timestamp, units, isKey, sets: this.#sets.now() }]
  }
}

function kindOf(bytes: Uint8Array): number {
  return (bytes[0] ?? 0) & 0x1f
}

function isSlice(bytes: Uint8Array): boolean {
  const kind = kindOf(bytes)
  return kind >= SLICE && kind <= IDR
}

/** The units of a STAP-A, each with its length before it. */
function aggregated(payload: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 1; at < payload.length; ) {
    const length = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0)
    const end = at + 2 + length
    if (length === 0 || end > payload.length)
      throw new Fault('rtp_broken', `a unit of ${length} bytes in a packet that has ${payload.length - at - 2} left`)
    parts.push(payload.subarray(at + 2, end))
    at = end
  }
  return parts
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

type SetKeeper = ReturnType<typeof createSetKeeper>

/** The last parameter sets, the same object as long as they are the same bytes. */
function createSetKeeper(known: readonly Uint8Array[]) {
  let sps: Uint8Array | undefined
  let pps: Uint8Array | undefined
  let both: ParameterSets | undefined

  /** @returns whether it was one */
  function keep(bytes: Uint8Array): boolean {
    const kind = kindOf(bytes)
    if (kind !== SPS && kind !== PPS) return false
    const old = kind === SPS ? sps : pps
    if (old && isSameBytes(old, bytes)) return true
    if (kind === SPS) sps = bytes
    else pps = bytes
    both = sps && pps ? { sps, pps } : undefined
    return true
  }

  for (const bytes of known) keep(bytes)
  return { keep, now: () => both }
}
