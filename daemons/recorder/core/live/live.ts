/** Who watches which camera, and which of its streams. */
import type { Clock } from '#kit/clock.ts'
import type { ChosenPicture } from '../pictures/choice.ts'
import type { StreamPlace } from '../ports.ts'
import type { StreamTap } from '../recording/stream.ts'
import type { StreamMemory } from '../recording/stream-memory.ts'
import type { Wall } from '../recording/timeline.ts'
import type { Looker } from '../sight/sight.ts'
import { type Channel, createChannel, type LiveViewer } from './channel.ts'
import { type PlaySub, type SubLimits, SubStream } from './sub-stream.ts'

/** The recorded stream, or the small one for walls. */
export type LiveProfile = 'main' | 'sub'

interface LiveParts {
  clock: Clock
  wall: Pick<Wall, 'at' | 'epoch'>
  memory: StreamMemory
  /** Key `live.group_bytes`. */
  groupBytes: number
  play: PlaySub
  limits: SubLimits
}

/** A camera that is there. */
interface WatchedCamera {
  id: string
  /** Where its sub stream is; undefined if it has none, or is switched off. */
  sub: StreamPlace | undefined
}

export interface Live {
  /** What the recorded stream of a camera tells. */
  tapOf(camera: string): StreamTap
  /** What the recorded stream of a camera shows now; undefined while it does not send. */
  newest(camera: string): ChosenPicture | undefined
  /** Shows a camera to a viewer; where its sub stream does not play, the main one. @returns ends it */
  watch(camera: string, profile: LiveProfile, viewer: LiveViewer): () => void
  /** Looks at single pictures of a camera, of its sub stream where that plays. */
  look(camera: string): Looker
  /** Only these cameras are there now: ends all who watch another. */
  keep(cameras: readonly WatchedCamera[]): void
  /** Ends all who watch a camera, since it has masks from now on. */
  hide(camera: string): void
  /** Ends the sub streams. */
  close(): void
}

export function createLive({ clock, groupBytes, limits, memory, play, wall }: LiveParts): Live {
  const cameras = new Map<string, { main: Channel; own: Channel; sub: SubStream }>()

  function made() {
    const [main, own] = [createChannel({ wall, memory, groupBytes }), createChannel({ wall, memory, groupBytes })]
    return { main, own, sub: new SubStream({ clock, limits, main, own, play }) }
  }

  function streamsOf(camera: string) {
    const streams = cameras.get(camera) ?? made()
    cameras.set(camera, streams)
    return streams
  }

  return {
    tapOf: (camera) => streamsOf(camera).main,
    newest: (camera) => cameras.get(camera)?.main.newest(),
    watch(camera, profile, viewer) {
      const { main, sub } = streamsOf(camera)
      return profile === 'sub' ? sub.watch(viewer) : main.watch(viewer)
    },
    look: (camera) => streamsOf(camera).sub.look(),
    keep(present) {
      for (const { id, sub } of present) streamsOf(id).sub.moveTo(sub)
      for (const [camera, { main, own, sub }] of cameras) {
        if (present.some(({ id }) => id === camera)) continue
        cameras.delete(camera)
        sub.close()
        for (const viewer of [...main.viewers(), ...own.viewers()]) viewer.end('removed')
      }
    },
    hide(camera) {
      const { main, own } = streamsOf(camera)
      for (const viewer of [...main.viewers(), ...own.viewers()]) viewer.end('masked')
    },
    close() {
      for (const { sub } of cameras.values()) sub.close()
    },
  }
}
