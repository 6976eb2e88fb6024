/** One camera's stream, from packets to files, and what is counted on the way. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Picture, PictureAssembler, type StreamFacts } from '../../wire/pictures.ts'
import { type RtpPacket, readRtp } from '../../wire/rtp.ts'
import { createSoundReader, MOST_SOUND_PACKET_BYTES, type SoundFormat, type SoundFrame } from '../../wire/sound.ts'
import type { FootageStore, OpenedStream, StreamListener } from '../ports.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import { Reorder } from './reorder.ts'
import type { StreamMemory } from './stream-memory.ts'
import { createSoundTimeline, createTimeline, type Place, type Wall } from './timeline.ts'

/** Bounds of one stream, by the names of their settings. */
export interface StreamLimits extends GroupLimits {
  reorderPackets: number
  reorderBytes: number
  reorderMs: number
  pictureBytes: number
  slewPpm: number
  toleranceMs: number
}

/** Hears the pictures and the sound of a stream as they come, in the order of decoding, recorded or not: for who watches live. */
export interface StreamTap {
  picture(picture: Picture, place: { positionMs: number; isBreak: boolean }): void
  /** A session begins; undefined: none of its sound comes. */
  hear(format: SoundFormat | undefined): void
  sound(frame: SoundFrame, positionMs: number): void
  /** Pictures are missing here. */
  lost(): void
}

interface StreamParts {
  camera: string
  clock: Clock
  wall: Wall
  /** Undefined for a stream that is only watched. */
  store: FootageStore | undefined
  tap: StreamTap
  memory: StreamMemory
  limits: StreamLimits
  /** Called with each picture that is recorded, or could be, of one that is only watched. */
  onPicture(): void
}

/** Since the start of the daemon. */
export interface StreamCounts {
  bytes: number
  pictures: number
  lostPackets: number
  /** Packets that make no sense, and pictures of which a part was missing. */
  brokenPackets: number
  droppedPictures: number
  /** Groups that were not written. */
  lostGroups: number
}

/** The stream of one camera; it outlives sessions, so that footage of one does not overlap that of the next. */
export interface Stream extends StreamListener {
  /** The session is over. */
  onEnded(): void
  counts(): StreamCounts
  facts(): StreamFacts | undefined
  /** Of the session; undefined where none is sent. */
  sound(): SoundFormat | undefined
}

export function createStream(parts: StreamParts): Stream {
  const { camera, clock, limits, memory, onPicture, store, tap, wall } = parts
  const counts: StreamCounts = {
    ...{ bytes: 0, pictures: 0, lostPackets: 0, brokenPackets: 0, droppedPictures: 0, lostGroups: 0 },
  }
  let facts: StreamFacts | undefined
  let session: Session | undefined

  const groups =
    store &&
    createGroups({
      ...{ camera, store, wall, memory, limits },
      onFacts(seen) {
        facts = seen
      },
      onWritten(isTaken) {
        if (!isTaken) counts.lostGroups++
      },
    })
  /** What is only watched has to be as good as what is recorded. */
  function isUnderstood({ isKey, sets }: Picture): boolean {
    if (isKey && sets) facts = sets.codec.factsOf(sets.units)
    return facts !== undefined
  }

  const sinks: SessionSinks = {
    ...{ clock, memory, limits },
    onLost(count) {
      counts.lostPackets += count
    },
    onPicture(picture, place) {
      counts.pictures++
      if (groups ? groups.add(picture, place) : isUnderstood(picture)) onPicture()
      tap.picture(picture, place)
    },
    onDropped() {
      counts.droppedPictures++
      groups?.lost()
      tap.lost()
    },
    onSound(frame, positionMs) {
      groups?.addSound(frame, positionMs)
      tap.sound(frame, positionMs)
    },
  }

  return {
    onOpened(stream) {
      session = createSession(stream, sinks)
      groups?.hear(stream.sound?.format)
      tap.hear(stream.sound?.format)
    },
    onPacket(bytes, medium) {
      counts.bytes += bytes.length
      const track = session?.[medium]
      try {
        const packet = readRtp(bytes)
        if (packet.payloadType === track?.payloadType) track.take(packet)
      } catch (error) {
        // One packet is counted and left; a parameter set that nobody understands ends the session.
        if (!(error instanceof Fault) || error.code !== 'rtp_broken') throw error
        counts.brokenPackets++
      }
    },
    onReport: (report, medium) => session?.onReport(report, medium),
    onEnded() {
      session?.end()
      groups?.end()
      tap.lost()
      session = undefined
    },
    counts: () => ({ ...counts }),
    facts: () => facts,
    sound: () => session?.format,
  }
}

/** What becomes of the packets of a session. */
interface SessionSinks extends Pick<StreamParts, 'clock' | 'memory' | 'limits'> {
  onLost(packets: number): void
  onPicture(picture: Picture, place: Place): void
  onDropped(): void
  onSound(frame: SoundFrame, positionMs: number): void
}

interface Track {
  payloadType: number
  take: Reorder['take']
}

/** From packets of one session to pictures and sound, each at its place in time. */
interface Session {
  pictures: Track
  sound: Track | undefined
  format: SoundFormat | undefined
  onReport: Stream['onReport']
  /** Nothing follows. */
  end(): void
}

function createSession(stream: OpenedStream, sinks: SessionSinks): Session {
  const { clock, limits, memory, onDropped, onLost, onPicture, onSound } = sinks
  const { codec, known, payloadType, sound } = stream
  const pictureTime = createTimeline({ ...limits, ticksPerS: stream.clockRate })
  /** Of the packet that is handled, if it had to wait for its turn. */
  let waitedMs: number | undefined
  /** When it came. Not asked for each packet: a picture has a dozen. */
  const cameMs = () => waitedMs ?? clock.monotonicMs()
  const assembler = new PictureAssembler(codec, known, {
    ...{ blocks: memory.blocks, pictureBytes: limits.pictureBytes },
    listener: {
      onPicture: (picture) => onPicture(picture, pictureTime.place(picture.timestamp, cameMs())),
      onDropped,
      hold: (bytes) => assembly.hold(bytes),
    },
  })
  const assembly = memory.holder(() => assembler.give())
  const reordered = (onPacket: (packet: RtpPacket) => void, onGap: () => void) =>
    new Reorder({
      ...{ clock, most: limits.reorderPackets, mostBytes: limits.reorderBytes, mostMs: limits.reorderMs },
      onPacket(packet) {
        waitedMs = packet.cameMs
        onPacket(packet)
      },
      onGap(count) {
        onLost(count)
        onGap()
      },
    })
  const inOrder = reordered(
    (packet) => assembler.add(packet),
    () => assembler.gap(),
  )
  const pictures = { payloadType, take: (packet: RtpPacket) => inOrder.take(packet) }
  const end = () => {
    inOrder.end()
    assembler.give()
  }
  if (!sound) return { pictures, sound: undefined, format: undefined, onReport() {}, end }

  const { format } = sound
  const soundTime = createSoundTimeline({ ...limits, ticksPerS: format.rate, pictures: pictureTime })
  const reader = createSoundReader(format)
  const onFrame = (frame: SoundFrame) => onSound(frame, soundTime.place(frame.timestamp, cameMs()).positionMs)
  const soundInOrder = reordered(
    (packet) => reader.add(packet, onFrame),
    () => reader.gap(),
  )
  return {
    ...{ pictures, format },
    sound: {
      payloadType: sound.payloadType,
      take(packet) {
        if (packet.payload.length > MOST_SOUND_PACKET_BYTES) throw tooLarge(packet.payload.length)
        soundInOrder.take(packet)
      },
    },
    onReport(report, medium) {
      if (medium === 'pictures') soundTime.pictureReported(report)
      else soundTime.soundReported(report)
    },
    end() {
      soundInOrder.end()
      end()
    },
  }
}

function tooLarge(bytes: number): Fault {
  return new Fault('rtp_broken', `a packet of sound has ${bytes} bytes; at most ${MOST_SOUND_PACKET_BYTES} are taken`)
}
