/**
 * One stream of a camera as it is watched: the group of pictures under way with its sound, and fragments of one picture
 * or one frame of sound each, made once for all who watch.
 */
import { unitsOf } from '../../wire/mp4-samples.ts'
import { TICKS_PER_S, writeFragment, writeHead, writeSoundFragment } from '../../wire/mp4-write.ts'
import type { ParameterSets, Picture } from '../../wire/pictures.ts'
import type { SoundFormat, SoundFrame } from '../../wire/sound.ts'
import type { ChosenPicture } from '../pictures/choice.ts'
import type { CodedGroup, CodedPicture } from '../ports.ts'
import { bytesOf, releaseAll } from '../recording/groups.ts'
import { soundBytesOf } from '../recording/held-sound.ts'
import type { StreamTap } from '../recording/stream.ts'
import type { StreamMemory } from '../recording/stream-memory.ts'
import type { Wall } from '../recording/timeline.ts'

/** What comes before the first fragment, and again where the camera's parameters or its kind of sound change. */
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
  /** Whether they want the sound too. */
  readonly isHearing: boolean
  /** What follows belongs to this head, and begins with a key frame. */
  begin(head: LiveHead): void
  show(fragment: LiveFragment): void
  /** A fragment of sound, which lies at its own time, whatever pictures were shown before it. */
  hear(bytes: Uint8Array): void
  /** Nothing follows: the camera was removed, or has masks, which are not painted here. */
  end(why: 'removed' | 'masked'): void
}

/** A stream of a camera; it outlives sessions. */
export interface Channel extends StreamTap {
  /** Shows the group of pictures under way, and what comes. @returns ends it */
  watch(viewer: LiveViewer): () => void
  viewers(): ReadonlySet<LiveViewer>
  /** What it shows now; undefined while the camera does not send. */
  newest(): ChosenPicture | undefined
  /** The key frame of the group under way. */
  keyFrame(): ChosenPicture | undefined
  /** When that and the newest picture were taken, epoch milliseconds: for who looks often, and rarely takes one. */
  moments(): { keyAt: number; newestAt: number } | undefined
}

interface ChannelParts {
  wall: Pick<Wall, 'at' | 'epoch'>
  memory: StreamMemory
  /** Of a larger group the rest is not held: who comes then waits for the next key frame, and the newest picture stands. */
  groupBytes: number
}

/** A picture of the group under way, and its fragment while somebody watches. */
interface Held {
  picture: Picture
  positionMs: number
  fragment?: LiveFragment
}

/** Sound of the group under way, and its fragment while somebody hears it. */
interface HeldSound {
  frame: SoundFrame
  positionMs: number
  bytes?: Uint8Array | undefined
}

/**
 * A film with sound stands still in a browser where none comes. Where a camera has sent none for so long, its film goes
 * on without, from the next key frame on.
 */
const SOUND_GONE_MS = 2000

const TICKS_PER_MS = TICKS_PER_S / 1000

/** How long the first picture is shown before the distance of two is known, and the last one before a hole. */
const USUAL_MS = 40

export function createChannel({ groupBytes, memory, wall }: ChannelParts): Channel {
  const viewers = new Set<LiveViewer>()
  const group = createHeldGroup({ groupBytes, memory, isShown: () => viewers.size > 0 })
  const filming = createFilming(wall, viewers)
  /** Whether the pictures that come can be decoded: a key frame was there, and nothing has been missed since. */
  let isWhole = false

  return {
    picture(picture, { isBreak, positionMs }) {
      if (picture.isKey && picture.sets) {
        group.forget()
        isWhole = true
      } else if (isBreak) isWhole = false
      if (!isWhole) return group.forget()
      const held: Held = { picture, positionMs }
      group.add(held)
      if (viewers.size === 0) return
      const fragment = filming.fragmentOf(held)
      if (fragment) for (const viewer of viewers) viewer.show(fragment)
    },
    hear: (format) => filming.hear(format),
    sound(frame, positionMs) {
      if (!filming.isHeard(positionMs)) return
      const held: HeldSound = { frame, positionMs }
      if (isWhole) group.addSound(held)
      const hearing = [...viewers].filter(({ isHearing }) => isHearing)
      const bytes = hearing.length > 0 ? filming.soundOf(held) : undefined
      if (bytes) for (const viewer of hearing) viewer.hear(bytes)
    },
    lost() {
      isWhole = false
      group.forget()
    },
    watch(viewer) {
      const { pictures, sounds } = group.whole()
      // The first makes the fragments of the group that is held; for others they are there.
      for (const held of pictures) filming.fragmentOf(held)
      const head = filming.headFor(viewer)
      if (head) viewer.begin(head)
      for (const { fragment } of pictures) if (fragment) viewer.show(fragment)
      for (const held of viewer.isHearing ? sounds : []) {
        const bytes = filming.soundOf(held)
        if (bytes) viewer.hear(bytes)
      }
      viewers.add(viewer)
      group.count()
      return () => {
        viewers.delete(viewer)
        if (viewers.size > 0) return
        filming.end()
        group.forgetFragments()
      }
    },
    viewers: () => viewers,
    newest: () => chosenOf(group.newest()),
    keyFrame: () => chosenOf(group.first()),
    moments() {
      const moments = group.moments()
      return moments && { keyAt: Math.round(wall.at(moments.keyMs)), newestAt: Math.round(wall.at(moments.newestMs)) }
    },
  }

  function chosenOf(taken: { group: CodedGroup; takenMs: number } | undefined): ChosenPicture | undefined {
    return taken && { group: taken.group, shownAt: Math.round(wall.at(taken.takenMs)) }
  }
}

/** Makes fragments of what comes, and begins a film for all who watch where one has to begin. */
function createFilming(wall: ChannelParts['wall'], viewers: ReadonlySet<LiveViewer>) {
  let film: Film | undefined
  let format: SoundFormat | undefined
  /** Of the newest sound, or of the key frame from which on some is waited for. */
  let soundMs: number | undefined

  /** A key frame may begin another film, or the same one with other sound. */
  function begin(sets: ParameterSets, positionMs: number): void {
    const isOther = !film?.isOf(sets, wall.epoch())
    if (!film || isOther) film = createFilm(sets, wall, positionMs)
    soundMs ??= positionMs
    const isHeardAnew = film.takeSound(positionMs - soundMs > SOUND_GONE_MS ? undefined : format)
    for (const viewer of viewers)
      if (isOther || (isHeardAnew && viewer.isHearing)) viewer.begin(film.headFor(viewer.isHearing))
  }

  return {
    fragmentOf(held: Held): LiveFragment | undefined {
      if (held.fragment) return held.fragment
      const { isKey, sets } = held.picture
      if (isKey && sets) begin(sets, held.positionMs)
      held.fragment = film?.add(held.picture, held.positionMs)
      return held.fragment
    },
    hear(announced: SoundFormat | undefined): void {
      format = announced && isPlayedLive(announced) ? announced : undefined
      soundMs = undefined
    },
    /** @returns whether the sound that has come is one that can be heard */
    isHeard(positionMs: number): boolean {
      if (format) soundMs = positionMs
      return format !== undefined
    },
    soundOf(held: HeldSound): Uint8Array | undefined {
      held.bytes ??= film?.addSound(held.frame, held.positionMs)
      return held.bytes
    },
    headFor: ({ isHearing }: LiveViewer): LiveHead | undefined => film?.headFor(isHearing),
    /** Nobody watches. */
    end(): void {
      film = undefined
    },
  }
}

/** What browsers take piece by piece: no G.711, though they play files with it. @source measured: Chromium */
function isPlayedLive({ entry }: SoundFormat): boolean {
  return entry === 'mp4a'
}

interface HeldParts extends Pick<ChannelParts, 'groupBytes' | 'memory'> {
  /** Fragments are held beside the pictures and the sound while somebody watches. */
  isShown(): boolean
}

/** The group under way, from its key frame on, as far as it is held, and its sound. */
function createHeldGroup({ groupBytes, isShown, memory }: HeldParts) {
  let pictures: Held[] = []
  let sounds: HeldSound[] = []
  let bytes = 0
  /** No more of this group is held: a picture refers to those before it. */
  let isFull = false
  const holder = memory.holder(give)

  /** Keeps so many of the first pictures. */
  function keep(count: number): void {
    releaseAll(pictures.slice(count))
    pictures = pictures.slice(0, count)
    sounds = []
    bytes = pictures.reduce((sum, { picture }) => sum + bytesOf(picture), 0)
  }

  function count(): void {
    holder.hold(isShown() ? 2 * bytes : bytes)
  }

  /** All streams hold too much: the key frame stays as what is shown, and goes too if that is not enough. */
  function give(): void {
    keep(pictures.length + sounds.length > 1 ? 1 : 0)
    isFull = true
    count()
  }

  /** @returns whether so many bytes more are held */
  function makeRoom(more: number): boolean {
    isFull ||= bytes + more > groupBytes
    if (!isFull) bytes += more
    return !isFull
  }

  return {
    count,
    /** Nothing if a part of it is not held. */
    whole: () => (isFull ? { pictures: [], sounds: [] } : { pictures, sounds }),
    add(one: Held): void {
      if (!makeRoom(bytesOf(one.picture))) return
      one.picture.block?.hold()
      pictures.push(one)
      count()
    },
    addSound(one: HeldSound): void {
      if (!makeRoom(soundBytesOf(one.frame))) return
      sounds.push(one)
      count()
    },
    forget(): void {
      keep(0)
      isFull = false
      count()
    },
    /** Nobody watches. */
    forgetFragments(): void {
      for (const held of pictures) delete held.fragment
      for (const held of sounds) delete held.bytes
      count()
    },
    ...readersOf(() => pictures),
  }
}

/** What single pictures are taken from. */
function readersOf(held: () => readonly Held[]) {
  const newestMs = () => Math.max(...held().map(({ positionMs }) => positionMs))
  return {
    /** The picture that is shown last, with all that it needs. */
    newest() {
      const pictures = held()
      const sets = pictures[0]?.picture.sets
      if (!sets) return undefined
      const takenMs = newestMs()
      const last = pictures.findLastIndex(({ positionMs }) => positionMs === takenMs)
      return { group: { sets, pictures: pictures.slice(0, last + 1).map(copyOf) }, takenMs }
    },
    /** The key frame alone. */
    first() {
      const [key] = held()
      const sets = key?.picture.sets
      return key && sets && { group: { sets, pictures: [copyOf(key)] }, takenMs: key.positionMs }
    },
    moments() {
      const [key] = held()
      return key?.picture.sets && { keyMs: key.positionMs, newestMs: newestMs() }
    },
  }
}

/** It is decoded later, and its memory may be another picture's by then. */
function copyOf({ picture: { data }, positionMs }: Held): CodedPicture {
  return { units: unitsOf(data.slice(), 0, data.length), shownMs: positionMs }
}

type Film = ReturnType<typeof createFilm>

/** Puts pictures and sound on the line of time that begins with the first of them. */
function createFilm(sets: ParameterSets, wall: ChannelParts['wall'], firstMs: number) {
  const facts = sets.codec.factsOf(sets.units)
  const { codec, height, width } = facts
  const zeroMs = firstMs - USUAL_MS
  const startAt = wall.at(zeroMs)
  const epoch = wall.epoch()
  let sequence = 0
  let nextTicks = 0
  let usualTicks = USUAL_MS * TICKS_PER_MS
  let sound: SoundFormat | undefined
  /** Behind the newest sound, in ticks of its rate. */
  let soundTicks = Number.NEGATIVE_INFINITY

  const headWith = (format: SoundFormat | undefined): LiveHead => ({
    ...{ mime: `video/mp4; codecs="${[codec, ...(format ? [format.codec] : [])].join(', ')}"`, width, height, startAt },
    bytes: writeHead({ sets, facts, sound: format, hiddenTicks: 0 }),
  })
  const silent = headWith(undefined)
  let heard = silent

  return {
    headFor: (isHearing: boolean): LiveHead => (isHearing ? heard : silent),
    /** Which sound comes from now on. @returns whether it is another than before */
    takeSound(format: SoundFormat | undefined): boolean {
      if (format === sound) return false
      sound = format
      soundTicks = Number.NEGATIVE_INFINITY
      heard = headWith(format)
      return true
    },
    /**
     * As pictures, sound begins where the one before ended, as long as the two are not half of it apart; then there is a
     * hole.
     * @returns undefined for what lies before the film, or before what was heard
     */
    addSound({ bytes, ticks }: SoundFrame, positionMs: number): Uint8Array | undefined {
      if (!sound) return undefined
      const ownTicks = Math.round(((positionMs - zeroMs) * sound.rate) / 1000)
      if (ownTicks < 0 || ownTicks < soundTicks - ticks / 2) return undefined
      const decodeTicks = ownTicks > soundTicks + ticks / 2 ? ownTicks : soundTicks
      const durationTicks = Math.max(1, ownTicks + ticks - decodeTicks)
      soundTicks = decodeTicks + durationTicks
      sequence++
      return writeSoundFragment(sequence, { decodeTicks, frames: [{ bytes, durationTicks }] })
    },
    isOf: (other: ParameterSets, now: number) => other === sets && now === epoch,
    /**
     * When the next picture comes is not known yet. So a picture is decoded from the time of the one before it on, for as
     * long as the two are apart, and shown at its own: a browser that misses time between two fragments would wait for
     * the next key frame.
     */
    add({ data, isKey }: Picture, positionMs: number): LiveFragment {
      const shownTicks = Math.max(0, Math.round((positionMs - zeroMs) * TICKS_PER_MS))
      // Behind a hole a key frame begins anew, else it would be shown for as long as the hole.
      if (isKey && shownTicks - nextTicks > TICKS_PER_S) nextTicks = shownTicks - usualTicks
      const decodeTicks = nextTicks
      const durationTicks = Math.max(1, shownTicks - decodeTicks)
      nextTicks = decodeTicks + durationTicks
      if (durationTicks > 1 && durationTicks < TICKS_PER_S) usualTicks = durationTicks
      sequence++
      const sample = { data, isKey, durationTicks, offsetTicks: shownTicks - decodeTicks }
      const wallMs = startAt + shownTicks / TICKS_PER_MS
      return { isKey, bytes: writeFragment({ sequence, decodeTicks, wallMs, samples: [sample] }) }
    },
  }
}
