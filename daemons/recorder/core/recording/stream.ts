/** One camera's stream, from packets to files, and what is counted on the way. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Picture, PictureAssembler, type StreamFacts } from '../../wire/pictures.ts'
import { readRtp } from '../../wire/rtp.ts'
import type { FootageStore, StreamListener } from '../ports.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import { createReorder } from './reorder.ts'
import { createTimeline, type Wall } from './timeline.ts'

/** Bounds of one stream, by the names of their settings. */
export interface StreamLimits extends GroupLimits {
  reorderPackets: number
  pictureBytes: number
  slewPpm: number
  toleranceMs: number
}

/** Hears the pictures of a stream as they come, in the order of decoding, recorded or not: for who watches live. */
export interface PictureTap {
  picture(picture: Picture, place: { positionMs: number; isBreak: boolean }): void
  /** Pictures are missing here. */
  lost(): void
}

interface StreamParts {
  camera: string
  clock: Clock
  wall: Wall
  store: FootageStore
  tap: PictureTap
  limits: StreamLimits
  /** Called with each picture that is recorded. */
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
}

export function createStream({ camera, clock, limits, onPicture, store, tap, wall }: StreamParts): Stream {
  const counts: StreamCounts = {
    ...{ bytes: 0, pictures: 0, lostPackets: 0, brokenPackets: 0, droppedPictures: 0, lostGroups: 0 },
  }
  let facts: StreamFacts | undefined
  let reorder: ReturnType<typeof createReorder> | undefined
  let payloadType = -1

  const groups = createGroups({
    ...{ camera, store, wall, limits },
    onFacts(seen) {
      facts = seen
    },
    onWritten(isTaken) {
      if (!isTaken) counts.lostGroups++
    },
  })

  return {
    onOpened({ clockRate, codec, known, payloadType: type }) {
      payloadType = type
      const place = createTimeline({ ...limits, ticksPerS: clockRate })
      const assembler = new PictureAssembler(codec, known, limits.pictureBytes, {
        onPicture(picture) {
          counts.pictures++
          const at = place(picture.timestamp, clock.monotonicMs())
          if (groups.add(picture, at)) onPicture()
          tap.picture(picture, at)
        },
        onDropped() {
          counts.droppedPictures++
          groups.lost()
          tap.lost()
        },
      })
      reorder = createReorder({
        most: limits.reorderPackets,
        onPacket: (packet) => assembler.add(packet),
        onGap(count) {
          counts.lostPackets += count
          assembler.gap()
        },
      })
    },
    onPacket(bytes) {
      counts.bytes += bytes.length
      try {
        const packet = readRtp(bytes)
        if (packet.payloadType === payloadType) reorder?.(packet)
      } catch (error) {
        // One packet is counted and left; a parameter set that nobody understands ends the session.
        if (!(error instanceof Fault) || error.code !== 'rtp_broken') throw error
        counts.brokenPackets++
      }
    },
    onEnded() {
      groups.end()
      tap.lost()
      reorder = undefined
    },
    counts: () => ({ ...counts }),
    facts: () => facts,
  }
}
