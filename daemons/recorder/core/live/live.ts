/** Who watches which camera. */
import type { PictureTap } from '../recording/stream.ts'
import type { Wall } from '../recording/timeline.ts'
import { type Channel, createChannel, type LiveViewer } from './channel.ts'

/** The recorded stream, or the small one for walls. */
export type LiveProfile = 'main' | 'sub'

interface LiveParts {
  wall: Pick<Wall, 'at' | 'epoch'>
  /** Key `live.group_bytes`. */
  groupBytes: number
}

export interface Live {
  /** What the recorded stream of a camera tells. */
  tapOf(camera: string): PictureTap
  /** Shows a camera to a viewer; one without a sub stream shows its main one. @returns ends it */
  watch(camera: string, profile: LiveProfile, viewer: LiveViewer): () => void
  /** Ends all who watch a camera. */
  removed(camera: string): void
  /** Ends all who watch a camera, since it has masks from now on. */
  hide(camera: string): void
}

export function createLive(parts: LiveParts): Live {
  const channels = new Map<string, Channel>()

  function channelOf(camera: string): Channel {
    const channel = channels.get(camera) ?? createChannel(parts)
    channels.set(camera, channel)
    return channel
  }

  return {
    tapOf: channelOf,
    watch: (camera, _profile, viewer) => channelOf(camera).watch(viewer),
    removed(camera) {
      const gone = channels.get(camera)
      channels.delete(camera)
      for (const viewer of [...(gone?.viewers() ?? [])]) viewer.end('removed')
    },
    hide(camera) {
      for (const viewer of [...(channels.get(camera)?.viewers() ?? [])]) viewer.end('masked')
    },
  }
}
