/**
 * Pictures as cameras send them: put together from packets, with the parameter sets that are in force. What differs from
 * codec to codec is a `VideoCodec`.
 * @source RFC 6184, 5 (H.264); RFC 7798, 4 (H.265)
 */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { RtpPacket } from './rtp.ts'

/** Facts about a stream. */
export interface StreamFacts {
  width: number
  height: number
  /** For a browser: `avc1.64001f`, `hvc1.1.6.L93.B0`. */
  codec: string
  /** Pictures per second as the camera declares them; undefined if it does not. */
  fps: number | undefined
}

/** What a unit is, as far as it matters here. `foreign` ones are not sent without being asked for. */
export type UnitRole = 'slice' | 'key' | 'set' | 'aggregate' | 'piece' | 'beside' | 'dropped' | 'foreign'

/** A codec: how its units are packed, what they are, and how a file describes them. */
export interface VideoCodec {
  /** As a session description names it. */
  encoding: string
  /** Parameters of a session description that bring parameter sets along. */
  setParameters: readonly string[]
  /** Bytes before the contents of a unit. */
  headBytes: 1 | 2
  /** @param unit or the payload of a packet; may be empty */
  roleOf(unit: Uint8Array): UnitRole
  /** The head of the unit whose first piece this is. @param payload of at least `headBytes` + 1 */
  pieceHead(payload: Uint8Array): readonly number[]
  /**
   * The place of a parameter set among the others, by its kind and number: one that has the same takes its place.
   * @throws Fault `bad_parameter_set`
   */
  slotOf(set: Uint8Array): number
  /** Whether a decoder can begin with the sets of these slots. */
  isEnough(slots: Iterable<number>): boolean
  /** @throws Fault `bad_parameter_set` */
  factsOf(units: readonly Uint8Array[]): StreamFacts
  /** Names of the sample entry of an MP4 file, and of the box inside of it that has the sets. */
  sampleEntry: string
  configBox: string
  /** Contents of that box. @throws Fault `bad_parameter_set` */
  writeConfig(units: readonly Uint8Array[]): Uint8Array
  /** @returns the sets; undefined if it is none of `writeConfig` */
  readConfig(config: Uint8Array): Uint8Array[] | undefined
}

/** What a decoder needs before the first picture. The same object as long as nothing changes. */
export interface ParameterSets {
  codec: VideoCodec
  /** NAL units without start codes, in the order in which a decoder takes them. */
  units: readonly Uint8Array[]
}

/** Whether a decoder can go from one to the other without being told. */
export function isSameSets(one: ParameterSets, other: ParameterSets): boolean {
  if (one.codec !== other.codec || one.units.length !== other.units.length) return false
  return one.units.every((unit, at) => isSameBytes(unit, other.units[at] ?? NOTHING))
}

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

const NOTHING = new Uint8Array(0)

/** A picture of more units than this is cut off: a stream of empty ones would take memory and no bytes. */
const MOST_UNITS = 1024

/** Parameter sets have some dozen bytes; with every table filled in some hundred. */
const MOST_SET_BYTES = 4096

/** Cameras have two or three; beyond, those that came first go. */
const MOST_SETS = 32

const FIRST_BYTES = 16_384

/** Flags of a piece, behind its head. */
const BEGIN = 0x80
const END = 0x40

/** Hears what becomes of pictures, in order. */
export interface PictureListener {
  onPicture(picture: Picture): void
  /** A picture of which a part is missing, makes no sense or is too large: what refers to it would be shown as grey blocks. */
  onDropped(): void
  /** Says how many bytes are held of a picture that is put together. @returns false if that is too much: it was given up */
  hold(bytes: number): boolean
}

/** Puts pictures together. */
export class PictureAssembler {
  readonly #codec: VideoCodec
  readonly #listener: PictureListener
  readonly #pictureBytes: number
  readonly #sets: ReturnType<typeof createSetKeeper>
  /** Bytes of the picture, unit behind unit; grows up to the largest picture, and is used again for each. */
  #bytes = new Uint8Array(FIRST_BYTES)
  #length = 0
  /** Where the units of the picture end; the one that is put together has no end yet. */
  readonly #ends: number[] = []
  #timestamp: number | undefined
  #hasSlice = false
  #isKey = false
  #isBroken = false
  /** Whether a unit that comes in pieces has begun and not ended. */
  #isOpen = false

  /**
   * @param known parameter sets of the session description
   * @param pictureBytes a picture of more bytes is dropped
   */
  constructor(codec: VideoCodec, known: readonly Uint8Array[], pictureBytes: number, listener: PictureListener) {
    this.#codec = codec
    this.#listener = listener
    this.#pictureBytes = pictureBytes
    this.#sets = createSetKeeper(codec, known)
  }

  /**
   * @param packet in order; its payload is copied
   * @throws Fault `rtp_broken`; the picture it belongs to is dropped
   */
  add({ isMarked, payload, timestamp }: RtpPacket): void {
    // Some cameras fill pauses with such packets.
    if (payload.length === 0) return
    if (this.#timestamp !== undefined && this.#timestamp !== timestamp) this.#finish()
    this.#timestamp = timestamp
    try {
      this.#unpack(payload)
    } catch (fault) {
      this.#isBroken = true
      throw fault
    } finally {
      if (isMarked) this.#finish()
    }
  }

  /** Packets before the next one are lost: of the picture in the middle of which it happened, or whole pictures. */
  gap(): void {
    this.#leaveUnit()
    if (this.#timestamp === undefined) this.#listener.onDropped()
    else this.#isBroken = true
  }

  #unpack(payload: Uint8Array): void {
    const { headBytes } = this.#codec
    const role = this.#codec.roleOf(payload)
    if (role === 'piece') {
      this.#piece(payload)
      return
    }
    // Pieces of a unit follow each other: its end is missing.
    if (this.#isOpen) {
      this.#isBroken = true
      this.#leaveUnit()
    }
    if (role === 'aggregate') for (let at: number = headBytes; at < payload.length; ) at = this.#part(payload, at)
    else if (this.#append(payload)) this.#endUnit()
  }

  /** A unit among others in one packet, with its length before it. @returns where the next begins */
  #part(payload: Uint8Array, at: number): number {
    const length = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0)
    const end = at + 2 + length
    if (length === 0 || end > payload.length)
      throw new Fault('rtp_broken', `a unit of ${length} bytes in a packet that has ${payload.length - at - 2} left`)
    if (this.#append(payload.subarray(at + 2, end))) this.#endUnit()
    return end
  }

  #piece(payload: Uint8Array): void {
    const { headBytes } = this.#codec
    const flags = payload[headBytes] ?? 0
    if (flags & BEGIN) {
      if (this.#isOpen) this.#isBroken = true
      this.#leaveUnit()
      this.#isOpen = this.#append(this.#codec.pieceHead(payload))
    }
    // Without its beginning, or too large.
    if (!this.#isOpen || !this.#append(payload.subarray(headBytes + 1))) this.#isBroken = true
    else if (flags & END) {
      this.#isOpen = false
      this.#endUnit()
    }
  }

  #leaveUnit(): void {
    this.#isOpen = false
    this.#length = this.#ends.at(-1) ?? 0
  }

  /** More bytes of a unit. @returns false if they are too many: then nothing of the picture is held any more */
  #append(bytes: ArrayLike<number>): boolean {
    const length = this.#length + bytes.length
    if (length > this.#pictureBytes) {
      this.#isBroken = true
      this.#ends.length = 0
      this.#leaveUnit()
      return false
    }
    if (length > this.#bytes.length) {
      if (!this.#listener.hold(this.#grownTo(length))) {
        this.give()
        return false
      }
      const grown = new Uint8Array(this.#grownTo(length))
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = length
    return true
  }

  #grownTo(length: number): number {
    return Math.min(this.#pictureBytes, Math.max(length, 2 * this.#bytes.length))
  }

  /** Holds nothing any more; the picture that was put together is dropped. */
  give(): void {
    if (this.#timestamp !== undefined) this.#isBroken = true
    this.#ends.length = 0
    this.#leaveUnit()
    this.#bytes = new Uint8Array(FIRST_BYTES)
    this.#listener.hold(0)
  }

  /** Parameter sets are kept although a part of the picture they came with is missing: the next may need them. */
  #endUnit(): void {
    const begin = this.#ends.at(-1) ?? 0
    const unit = this.#bytes.subarray(begin, this.#length)
    const role = this.#codec.roleOf(unit)
    if (role === 'slice' || role === 'key' || role === 'beside') this.#ends.push(this.#length)
    else this.#length = begin
    if (role === 'set') this.#sets.keep(unit)
    else if (role === 'slice' || role === 'key') this.#hasSlice = true
    else if (role !== 'beside' && role !== 'dropped')
      throw new Fault('rtp_broken', `a unit of kind ${unit[0]}, which is not sent without being asked for`)
    if (role === 'key') this.#isKey = true
    if (this.#ends.length > MOST_UNITS) this.#isBroken = true
  }

  #finish(): void {
    const timestamp = this.#timestamp
    const isWhole = !this.#isBroken && !this.#isOpen
    // Parameter sets alone are no picture.
    const picture = isWhole && this.#hasSlice && timestamp !== undefined ? this.#picture(timestamp) : undefined
    this.#timestamp = undefined
    this.#length = 0
    this.#ends.length = 0
    this.#hasSlice = this.#isKey = this.#isBroken = this.#isOpen = false
    if (picture) this.#listener.onPicture(picture)
    else if (!isWhole) this.#listener.onDropped()
  }

  /** With bytes of its own: it is held until its group is written. */
  #picture(timestamp: number): Picture {
    const bytes = this.#bytes.slice(0, this.#length)
    const units = this.#ends.map((end, at) => bytes.subarray(this.#ends[at - 1] ?? 0, end))
    return { timestamp, units, isKey: this.#isKey, sets: this.#sets.now() }
  }
}

/** The last parameter sets of each slot. */
function createSetKeeper(codec: VideoCodec, known: readonly Uint8Array[]) {
  const sets = new Map<number, Uint8Array>()
  let present: ParameterSets | undefined

  /** @throws Fault `rtp_broken` for one that is none */
  function keep(unit: Uint8Array): void {
    if (unit.length > MOST_SET_BYTES) throw brokenSet(`has ${unit.length} bytes; at most ${MOST_SET_BYTES} are taken`)
    const slot = slotOf(codec, unit)
    const old = sets.get(slot)
    if (old && isSameBytes(old, unit)) return
    sets.set(slot, unit.slice())
    for (const [first] of sets) if (sets.size > MOST_SETS) sets.delete(first)
    const units = [...sets].sort(([one], [other]) => one - other).map(([, set]) => set)
    present = codec.isEnough(sets.keys()) ? { codec, units } : undefined
  }

  for (const unit of known)
    try {
      if (codec.roleOf(unit) === 'set') keep(unit)
    } catch {
      // The stream itself mostly has them too.
    }
  return { keep, now: () => present }
}

function slotOf(codec: VideoCodec, unit: Uint8Array): number {
  try {
    return codec.slotOf(unit)
  } catch {
    throw brokenSet('has no number')
  }
}

function brokenSet(seen: string): Fault {
  return new Fault('rtp_broken', `a parameter set that ${seen}`)
}
