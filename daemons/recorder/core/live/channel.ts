/**
 * One stream of a camera as it is watched: the group of pictures under way, and fragments of one picture each, made once
 * for all who watch.
 */
import { TICKS_PER_S, writeFragment, writeHead } from '../../wire/mp4-write.ts'
import type { Picture } from '../../wire/pictures.ts'
import type { ChosenPicture } from '../pictures/choice.ts'
import type { PictureTap } from '../recording/stream.ts'
import type { Wall } from '../recording/timeline.ts'

/** What comes before the first fragment, and again where the camera's parameters change. */
export interface LiveHead {
  /** As `MediaSource` takes it. */
  mime: string
  width: number
  height: number
  /** Wall time of media time 0, epoch milliseconds with a fraction. */
  startAt: number
  /** `ftyp` and `moov`. */
  bytes: Uint8Array
}

/** One picture. Its `prft` says when it was taken. */
export interface LiveFragment {
  isKey: boolean
  bytes: Uint8Array
}

/** Who watches a channel. */
export interface LiveViewer {
  /** What follows belongs to this head, and begins with a key frame. */
  begin(head: LiveHead): void
  show(fragment: LiveFragment): void
  /** Nothing follows: the camera was removed, or has masks, which are not painted here. */
  end(why: 'removed' | 'masked'): void
}

/** A stream of a camera; it outlives sessions. */
export interface Channel extends PictureTap {
  /** Shows the group of pictures under way, and what comes. @returns ends it */
  watch(viewer: LiveViewer): () => void
  viewers(): ReadonlySet<LiveViewer>
  /** What it shows now; undefined while the camera does not send. */
  newest(): ChosenPicture | undefined
}

interface ChannelParts {
  wall: Pick<Wall, 'at' | 'epoch'>
  /** Of a larger group the rest is not held: who comes then waits for the next key frame, and the newest picture stands. */
  groupBytes: number
}

/** A picture of the group under way, and its fragment while somebody watches. */
interface Held {
  picture: Picture
  positionMs: number
  fragment?: LiveFragment
}

/** What a NAL unit takes beside its bytes: a camera may send pictures of many that are tiny. */
const UNIT_BYTES = 512

const TICKS_PER_MS = TICKS_PER_S / 1000

/** How long the first picture is shown before the distance of two is known, and the last one before a hole. */
const USUAL_MS = 40

export function createChannel({ groupBytes, wall }: ChannelParts): Channel {
  const viewers = new Set<LiveViewer>()
  let group: Held[] = []
  let bytes = 0
  /** More pictures of this group are not held. */
  let isFull = false
  /** Whether the pictures that come can be decoded: a key frame was there, and nothing has been missed since. */
  let isWhole = false
  let film: Film | undefined

  function forget(): void {
    group = []
    bytes = 0
    isFull = false
  }

  function fragmentOf(held: Held): LiveFragment | undefined {
    const { sets } = held.picture
    if (held.picture.isKey && sets && !film?.isOf(sets, wall.epoch())) {
      film = createFilm(sets, wall, held.positionMs)
      for (const viewer of viewers) viewer.begin(film.head)
    }
    held.fragment = film?.add(held.picture, held.positionMs)
    return held.fragment
  }

  return {
    picture(picture, { isBreak, positionMs }) {
      if (picture.isKey && picture.sets) {
        forget()
        isWhole = true
      } else if (isBreak) isWhole = false
      if (!isWhole) return forget()
      const held: Held = { picture, positionMs }
      bytes += picture.units.reduce((sum, { length }) => sum + length + UNIT_BYTES, 0)
      // A picture refers to those before it: where one is left out, all that follow are.
      isFull ||= bytes > groupBytes
      if (!isFull) group.push(held)
      if (viewers.size === 0) return
      const fragment = fragmentOf(held)
      if (fragment) for (const viewer of viewers) viewer.show(fragment)
    },
    lost() {
      isWhole = false
      forget()
    },
    watch(viewer) {
      const shown = isFull ? [] : group
      // The first makes the fragments of the group that is held; for others they are there.
      for (const held of shown) if (!held.fragment) fragmentOf(held)
      if (film) viewer.begin(film.head)
      for (const { fragment } of shown) if (fragment) viewer.show(fragment)
      viewers.add(viewer)
      return () => {
        viewers.delete(viewer)
        if (viewers.size > 0) return
        film = undefined
        for (const held of group) delete held.fragment
      }
    },
    viewers: () => viewers,
    newest() {
      const sets = group[0]?.picture.sets
      if (!sets) return undefined
      const pictures = group.map(({ picture: { units }, positionMs }) => ({ units, shownMs: positionMs }))
      const newestMs = Math.max(...pictures.map(({ shownMs }) => shownMs))
      const last = pictures.findLastIndex(({ shownMs }) => shownMs === newestMs)
      return { group: { sets, pictures: pictures.slice(0, last + 1) }, shownAt: Math.round(wall.at(newestMs)) }
    },
  }
}

type Film = ReturnType<typeof createFilm>

/** Puts pictures on the line of time that begins with the first of them. */
function createFilm(sets: NonNullable<Picture['sets']>, wall: ChannelParts['wall'], firstMs: number) {
  const facts = sets.codec.factsOf(sets.units)
  const { codec, height, width } = facts
  const zeroMs = firstMs - USUAL_MS
  const startAt = wall.at(zeroMs)
  const epoch = wall.epoch()
  let sequence = 0
  let nextTicks = 0
  let usualTicks = USUAL_MS * TICKS_PER_MS

  return {
    head: {
      ...{ mime: `video/mp4; codecs="${codec}"`, width, height, startAt },
      bytes: writeHead({ sets, facts, hiddenTicks: 0 }),
    } satisfies LiveHead,
    isOf: (other: Picture['sets'], now: number) => other === sets && now === epoch,
    /**
     * When the next picture comes is not known yet. So a picture is decoded from the time of the one before it on, for as
     * long as the two are apart, and shown at its own: a browser that misses time between two fragments would wait for
     * the next key frame.
     */
    add({ isKey, units }: Picture, positionMs: number): LiveFragment {
      const shownTicks = Math.max(0, Math.round((positionMs - zeroMs) * TICKS_PER_MS))
      // Behind a hole a key frame begins anew, else it would be shown for as long as the hole.
      if (isKey && shownTicks - nextTicks > TICKS_PER_S) nextTicks = shownTicks - usualTicks
      const decodeTicks = nextTicks
      const durationTicks = Math.max(1, shownTicks - decodeTicks)
      nextTicks = decodeTicks + durationTicks
      if (durationTicks > 1 && durationTicks < TICKS_PER_S) usualTicks = durationTicks
      sequence++
      const sample = { units, isKey, durationTicks, offsetTicks: shownTicks - decodeTicks }
      const wallMs = startAt + shownTicks / TICKS_PER_MS
      return { isKey, bytes: writeFragment({ sequence, decodeTicks, wallMs, samples: [sample] }) }
    },
  }
}
