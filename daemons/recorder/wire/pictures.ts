/**
 * Pictures as cameras send them: put together from packets, with the parameter sets that are in force. What differs from
 * codec to codec is a `VideoCodec`.
 * @source RFC 6184, 5 (H.264); RFC 7798, 4 (H.265)
 */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { BLOCK_BYTES, type BlockPool, type PictureBlock } from './picture-blocks.ts'
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
  /** What a slice that is no key frame is for: its temporal layer, and whether others of this layer may refer to it. */
  useOf(slice: Uint8Array): { layer: number; isReferredTo: boolean }
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
  /** Its NAL units as a file has them, each with its length before it; parameter sets and delimiters are taken out. */
  data: Uint8Array
  /**
   * What the data lies in: whoever keeps the picture for longer than the call that brought it holds the block, and
   * releases it afterwards. Undefined if the data is its own.
   */
  block?: PictureBlock | undefined
  /** What it takes of blocks, with what stays empty beside it; as long as the data if that is its own. */
  heldBytes?: number
  /** Whether decoding can begin here. */
  isKey: boolean
  /** In force for this picture; undefined while the camera has not sent them. */
  sets: ParameterSets | undefined
}

const NOTHING = new Uint8Array(0)

/** Units as a file has them, each with its length before it. */
export function withLengths(units: readonly Uint8Array[]): Uint8Array {
  const data = new Uint8Array(units.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0))
  let at = 0
  for (const unit of units) {
    writeLength(data, at, unit.length)
    data.set(unit, at + LENGTH_BYTES)
    at += LENGTH_BYTES + unit.length
  }
  return data
}

function writeLength(bytes: Uint8Array, at: number, length: number): void {
  bytes[at] = length >>> 24
  bytes[at + 1] = length >>> 16
  bytes[at + 2] = length >>> 8
  bytes[at + 3] = length
}

/** A picture of more units than this is cut off: a stream of empty ones would take memory and no bytes. */
const MOST_UNITS = 1024

/** Parameter sets have some dozen bytes; with every table filled in some hundred. */
const MOST_SET_BYTES = 4096

/** Cameras have two or three; beyond, those that came first go. */
const MOST_SETS = 32

/** Of the length before a unit. */
export const LENGTH_BYTES = 4

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

interface AssemblerParts {
  blocks: BlockPool
  /** A picture of more bytes is dropped. */
  pictureBytes: number
  listener: PictureListener
}

/** Puts pictures together, one behind the other in blocks. */
export class PictureAssembler {
  readonly #codec: VideoCodec
  readonly #listener: PictureListener
  readonly #pictureBytes: number
  readonly #blocks: BlockPool
  readonly #sets: ReturnType<typeof createSetKeeper>
  #block: PictureBlock | undefined
  /** Where in the block the picture begins, and how long it is so far. */
  #begin = 0
  #length = 0
  /** What of the blocks before stays empty, as the picture did not fit. */
  #emptyBytes = 0
  /** Where in the picture its last whole unit ends, and how many are whole. */
  #end = 0
  #units = 0
  #timestamp: number | undefined
  #hasSlice = false
  #isKey = false
  #isBroken = false
  /** Whether a unit that comes in pieces has begun and not ended. */
  #isOpen = false

  /** @param known parameter sets of the session description */
  constructor(codec: VideoCodec, known: readonly Uint8Array[], parts: AssemblerParts) {
    this.#codec = codec
    this.#listener = parts.listener
    this.#pictureBytes = parts.pictureBytes
    this.#blocks = parts.blocks
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

  #leaveAll(): void {
    this.#end = this.#units = 0
    this.#leaveUnit()
  }

  #leaveUnit(): void {
    this.#isOpen = false
    this.#length = this.#end
  }

  /** More bytes of a unit. @returns false if they are too many: then nothing of the picture is held any more */
  #append(bytes: ArrayLike<number>): boolean {
    const isFirst = this.#length === this.#end
    const at = this.#length + (isFirst ? LENGTH_BYTES : 0)
    const length = at + bytes.length
    if (length > this.#pictureBytes) {
      this.#isBroken = true
      this.#leaveAll()
      return false
    }
    const block = this.#blockFor(length)
    if (!block) {
      this.give()
      return false
    }
    block.bytes.set(bytes, this.#begin + at)
    this.#length = length
    return true
  }

  /** The block of the picture, with room for so many bytes of it. @returns undefined if that is too much */
  #blockFor(length: number): PictureBlock | undefined {
    const full = this.#block
    if (full && this.#begin + length <= full.bytes.length) return full
    if (length > BLOCK_BYTES && !this.#listener.hold(2 * length)) return undefined
    const block = this.#blocks.take(length)
    if (full) {
      block.bytes.set(full.bytes.subarray(this.#begin, this.#begin + this.#length))
      if (this.#begin > 0) this.#emptyBytes += full.bytes.length - this.#begin
      full.release()
    }
    this.#block = block
    this.#begin = 0
    return block
  }

  /** Holds nothing any more; the picture that was put together is dropped. */
  give(): void {
    if (this.#timestamp !== undefined) this.#isBroken = true
    this.#leaveAll()
    this.#leaveBlock()
    this.#listener.hold(0)
  }

  #leaveBlock(): void {
    this.#block?.release()
    this.#block = undefined
    this.#begin = 0
  }

  /** Parameter sets are kept although a part of the picture they came with is missing: the next may need them. */
  #endUnit(): void {
    const begin = this.#end
    const bytes = this.#block?.bytes ?? NOTHING
    const unit = bytes.subarray(this.#begin + begin + LENGTH_BYTES, this.#begin + this.#length)
    writeLength(bytes, this.#begin + begin, unit.length)
    const role = this.#codec.roleOf(unit)
    if (role === 'slice' || role === 'key' || role === 'beside') {
      this.#end = this.#length
      this.#units++
    } else this.#length = begin
    if (role === 'set') this.#sets.keep(unit)
    else if (role === 'slice' || role === 'key') this.#hasSlice = true
    else if (role !== 'beside' && role !== 'dropped')
      throw new Fault('rtp_broken', `a unit of kind ${unit[0]}, which is not sent without being asked for`)
    if (role === 'key') this.#isKey = true
    if (this.#units > MOST_UNITS) this.#isBroken = true
  }

  #finish(): void {
    const timestamp = this.#timestamp
    const isWhole = !this.#isBroken && !this.#isOpen
    // Parameter sets alone are no picture.
    const picture = isWhole && this.#hasSlice && timestamp !== undefined ? this.#picture(timestamp) : undefined
    this.#timestamp = undefined
    this.#length = this.#end = this.#units = 0
    this.#hasSlice = this.#isKey = this.#isBroken = this.#isOpen = false
    if (picture) this.#tell(picture)
    else if (!isWhole) this.#listener.onDropped()
    if (this.#hasOwnBlock()) {
      this.#leaveBlock()
      this.#listener.hold(0)
    }
  }

  #picture(timestamp: number): Picture {
    const block = this.#block
    const end = this.#begin + this.#length
    const data = block?.bytes.subarray(this.#begin, end) ?? NOTHING
    const heldBytes = this.#emptyBytes + (this.#hasOwnBlock() ? (block?.bytes.length ?? 0) : data.length)
    this.#begin = end
    this.#emptyBytes = 0
    return { timestamp, data, block, heldBytes, isKey: this.#isKey, sets: this.#sets.now() }
  }

  /** Whoever hears of it may have all memory given up, the picture's among it. */
  #tell(picture: Picture): void {
    picture.block?.hold()
    this.#listener.onPicture(picture)
    picture.block?.release()
  }

  /** Whether the block is for one picture alone. */
  #hasOwnBlock(): boolean {
    return (this.#block?.bytes.length ?? 0) > BLOCK_BYTES
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
