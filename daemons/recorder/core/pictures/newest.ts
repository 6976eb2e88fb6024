/** The newest group of each camera, for pictures of what is there now. */
import type { ParameterSets } from '../../wire/pictures.ts'
import type { CodedGroup, CodedPicture } from '../ports.ts'
import type { PictureTap } from '../recording/stream.ts'

interface NewestParts {
  /** Of one camera; what follows in a larger group is not kept. Key `pictures.newest_bytes`. */
  mostBytes: number
  /** Wall time of a position on the monotonic clock. */
  wallAt(positionMs: number): number
}

interface Held {
  sets: ParameterSets
  pictures: CodedPicture[]
  bytes: number
}

/** What a NAL unit takes beside its bytes: a camera may send pictures of many that are tiny. */
const UNIT_BYTES = 512

/** A picture to decode: the last one of the group. */
export interface NewestPicture {
  group: CodedGroup
  /** Epoch milliseconds. */
  shownAt: number
}

export interface Newest {
  /** What the recorded stream of a camera tells. */
  tapOf(camera: string): PictureTap
  /** Undefined while the camera does not send. */
  of(camera: string): NewestPicture | undefined
}

export function createNewest({ mostBytes, wallAt }: NewestParts): Newest {
  const groups = new Map<string, Held>()
  return {
    tapOf: (camera) => ({
      picture({ isKey, sets, units }, { isBreak, positionMs }) {
        if (isBreak) groups.delete(camera)
        if (isKey && sets) groups.set(camera, { sets, pictures: [], bytes: 0 })
        const group = groups.get(camera)
        if (!group) return
        group.bytes += units.reduce((sum, { length }) => sum + length + UNIT_BYTES, 0)
        // A picture refers to those before it: where one is left out, all that follow are.
        if (group.bytes <= mostBytes) group.pictures.push({ units, shownMs: positionMs })
        else group.bytes = Number.POSITIVE_INFINITY
      },
      lost: () => void groups.delete(camera),
    }),
    of(camera) {
      const group = groups.get(camera)
      if (!group || group.pictures.length === 0) return undefined
      const shown = group.pictures.map(({ shownMs }) => shownMs)
      const newestMs = Math.max(...shown)
      const pictures = group.pictures.slice(0, shown.lastIndexOf(newestMs) + 1)
      return { group: { sets: group.sets, pictures }, shownAt: Math.round(wallAt(newestMs)) }
    },
  }
}
