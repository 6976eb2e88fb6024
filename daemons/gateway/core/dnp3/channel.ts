/** The link between a DNP3 outstation and its masters, over a line or a connection: bytes in, fragments out, and back. */
import { joinBytes } from '#kit/pure/bytes.ts'
import { cutFrame, type LinkFrame, PRIMARY, SECONDARY, sealFrame } from '../../wire/dnp3/link.ts'
import { type Assembly, assemble, segmentsOf } from '../../wire/dnp3/transport.ts'

/** Addresses that mean every outstation. @source IEEE 1815-2012, 9.2.4.1.3 */
const FIRST_BROADCAST = 0xfffd

/** What came and went on all links of a port. */
export function linkCounts() {
  return { rxFrames: 0, txFrames: 0, damagedFrames: 0, noiseBytes: 0, otherStations: 0, lostFragments: 0 }
}

export interface ChannelParts {
  /** Our address, and those of the masters that are heard. */
  address: number
  masters: readonly number[]
  /** The longest fragment that is taken. */
  fragmentBytes: number
  /** How long the rest of a frame may take to come. */
  frameTimeoutMs: number
  counts: ReturnType<typeof linkCounts>
  write(bytes: Uint8Array, frame: LinkFrame, isUnasked: boolean): void
  /** A frame came, of whomever and for whomever. */
  onFrame(bytes: Uint8Array, frame: LinkFrame): void
  /** Bytes came that belong to no frame. @param isDamaged some of them were a frame */
  onNoise(bytes: Uint8Array, isDamaged: boolean): void
  /** One of the masters has said something to this outstation. */
  onHeard(master: number): void
  onFragment(master: number, fragment: Uint8Array, isBroadcast: boolean): void
}

/** What is known of the link to one master. */
interface MasterLink {
  assembly: Assembly | undefined
  sequence: number
  /** The frame count bit of the next confirmed frame; undefined until the master has reset the link. */
  nextBit: boolean | undefined
}

const empty = new Uint8Array(0)

export class OutstationChannel {
  readonly #parts: ChannelParts
  readonly #links: ReadonlyMap<number, MasterLink>
  /** The beginning of a frame. */
  #held: Uint8Array = empty
  #heldAtMs = 0

  constructor(parts: ChannelParts) {
    this.#parts = parts
    this.#links = new Map(
      parts.masters.map((master) => [master, { assembly: undefined, sequence: 0, nextBit: undefined }]),
    )
  }

  /** Takes bytes as they come, in pieces of any size. @param atMs when they came */
  feed(bytes: Uint8Array, atMs: number): void {
    const { counts, frameTimeoutMs, onFrame, onNoise } = this.#parts
    if (this.#held.length > 0 && atMs - this.#heldAtMs > frameTimeoutMs) {
      counts.damagedFrames++
      onNoise(this.#held, true)
      this.#held = empty
    }
    let rest = this.#held.length === 0 ? bytes : joinBytes([this.#held, bytes])
    let noise = { bytes: 0, isDamaged: false }
    const tellNoise = () => {
      if (noise.bytes > 0) onNoise(rest.subarray(0, noise.bytes), noise.isDamaged)
      rest = rest.subarray(noise.bytes)
      noise = { bytes: 0, isDamaged: false }
    }
    for (let cut = cutFrame(rest); cut; cut = cutFrame(rest.subarray(noise.bytes))) {
      if (cut.kind === 'frame') {
        tellNoise()
        const whole = rest.subarray(0, cut.bytes)
        rest = rest.subarray(cut.bytes)
        onFrame(whole, cut.frame)
        this.#hear(cut.frame)
      } else {
        if (cut.kind === 'damaged') counts.damagedFrames++
        else counts.noiseBytes += cut.bytes
        noise = { bytes: noise.bytes + cut.bytes, isDamaged: noise.isDamaged || cut.kind === 'damaged' }
      }
    }
    tellNoise()
    // What is left is less than one frame; the bytes of the read buffer are not kept alive by it.
    this.#held = rest.slice()
    this.#heldAtMs = atMs
  }

  /** Sends a fragment to a master, unconfirmed, in as many frames as it needs. @param isUnasked it has not asked */
  send(master: number, fragment: Uint8Array, isUnasked: boolean): void {
    const link = this.#links.get(master)
    if (!link) return
    const segments = segmentsOf(fragment, link.sequence)
    link.sequence = (link.sequence + segments.length) & 0x3f
    for (const data of segments)
      this.#write(master, { isPrimary: true, function: PRIMARY.unconfirmedData, data }, isUnasked)
  }

  #write(destination: number, said: Pick<LinkFrame, 'isPrimary' | 'function' | 'data'>, isUnasked = false): void {
    const { address: source, counts, write } = this.#parts
    const frame = { ...said, isFromMaster: false, frameCountBit: null, destination, source }
    counts.txFrames++
    write(sealFrame(frame), frame, isUnasked)
  }

  #say(master: number, code: number): void {
    this.#write(master, { isPrimary: false, function: code, data: empty })
  }

  #hear(frame: LinkFrame): void {
    const { address, counts, onHeard } = this.#parts
    const isBroadcast = frame.destination >= FIRST_BROADCAST
    const isMine = frame.isFromMaster && (isBroadcast || frame.destination === address)
    const link = isMine ? this.#links.get(frame.source) : undefined
    counts.rxFrames++
    if (!link) {
      counts.otherStations++
      return
    }
    onHeard(frame.source)
    if (frame.isPrimary && (!isBroadcast || frame.function === PRIMARY.unconfirmedData))
      this.#answer(link, frame, isBroadcast)
  }

  /** @source IEEE 1815-2012, Table 9-3 */
  #answer(link: MasterLink, frame: LinkFrame, isBroadcast: boolean): void {
    const { source: master } = frame
    switch (frame.function) {
      case PRIMARY.unconfirmedData:
        this.#take(link, frame, isBroadcast)
        return
      case PRIMARY.resetLink:
        link.nextBit = true
        this.#say(master, SECONDARY.ack)
        return
      case PRIMARY.requestStatus:
        this.#say(master, SECONDARY.linkStatus)
        return
      case PRIMARY.testLink:
      case PRIMARY.confirmedData:
        this.#confirmed(link, frame)
        return
      default:
        this.#say(master, SECONDARY.notSupported)
    }
  }

  /** A frame that comes again, as its acknowledgement was lost, is acknowledged again and not taken twice. */
  #confirmed(link: MasterLink, frame: LinkFrame): void {
    const { frameCountBit, function: code, source: master } = frame
    if (link.nextBit === undefined || frameCountBit === null) {
      this.#say(master, SECONDARY.nack)
      return
    }
    const isNew = frameCountBit === link.nextBit
    if (isNew) link.nextBit = !frameCountBit
    this.#say(master, SECONDARY.ack)
    if (isNew && code === PRIMARY.confirmedData) this.#take(link, frame, false)
  }

  #take(link: MasterLink, { data, source: master }: LinkFrame, isBroadcast: boolean): void {
    const { counts, fragmentBytes, onFragment } = this.#parts
    const before = link.assembly
    const { assembly, fragment } = assemble(before, data, fragmentBytes)
    link.assembly = assembly
    if (fragment) onFragment(master, fragment, isBroadcast)
    else if (before && !assembly) counts.lostFragments++
  }
}
