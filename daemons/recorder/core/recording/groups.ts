/** Gathers pictures into groups, and groups into files: what is written, and when. */
import { fragmentPieces, type Sample, type SoundRun, TICKS_PER_S, writeHead } from '../../wire/mp4-write.ts'
import type { ParameterSets, Picture, StreamFacts } from '../../wire/pictures.ts'
import type { SoundFormat, SoundFrame } from '../../wire/sound.ts'
import type { FootageFile, FootageStore } from '../ports.ts'
import { createHeldSound, SOUND_LEAD_MS } from './held-sound.ts'
import type { StreamMemory } from './stream-memory.ts'
import type { Wall } from './timeline.ts'

/** Bounds of what is held and written. */
export interface GroupLimits {
  /** A file is ended at the first key frame after this time. */
  fileMs: number
  /** A group of more bytes is written in parts. */
  groupBytes: number
  /** Sound that is held with a group; beyond, the oldest is forgotten. */
  soundBytes: number
  /** More files are not begun: a camera that changes its parameters with each picture would fill the folder with them. */
  filesPerMinute: number
}

interface GroupParts {
  camera: string
  store: FootageStore
  wall: Wall
  memory: StreamMemory
  limits: GroupLimits
  /** Whether a group was written; if not, it is lost: the disk is behind, its moment is recorded, or files are too many. */
  onWritten(isTaken: boolean): void
  /** Another stream: its size and codec. */
  onFacts(facts: StreamFacts): void
}

/** Where a picture belongs, as the timeline has it. */
interface Next {
  positionMs: number
  isBreak: boolean
  /** Whether a file begins with it; then no picture that follows is shown before it. */
  isFirst?: boolean
}

interface Held {
  picture: Picture
  positionMs: number
}

interface Group {
  /** In the order of decoding. */
  held: Held[]
  bytes: number
}

interface OpenFile {
  file: FootageFile
  sets: ParameterSets
  sound: SoundFormat | undefined
  /** Of its first picture. */
  startMs: number
  /** Where its time begins, and at which wall time: a clock that is followed meanwhile moves nothing within a file. */
  zeroMs: number
  zeroAt: number
  /** Behind the last sound that was written, in ticks of its rate. */
  soundTicks: number
  epoch: number
  fragments: number
}

const TICKS_PER_MS = TICKS_PER_S / 1000

/** How long a single picture is shown if nothing says when the next one was due. */
const LONE_MS = 40

/** Takes the pictures of one camera in the order of decoding. */
export interface Groups {
  /** @returns whether it is recorded: nothing can be decoded before the first key frame */
  add(picture: Picture, place: Next): boolean
  /** Which sound comes from now on; undefined for none. A file has it once some has come. */
  hear(format: SoundFormat | undefined): void
  addSound(frame: SoundFrame, positionMs: number): void
  /** Pictures are missing here; what follows is recorded from its next key frame on. */
  lost(): void
  /** Writes what is held, and ends the file. */
  end(): void
}

export function createGroups(parts: GroupParts): Groups {
  return new GroupWriter(parts)
}

class GroupWriter implements Groups {
  readonly #parts: GroupParts
  readonly #mayBegin: (positionMs: number) => boolean
  #group: Group | undefined
  #open: OpenFile | undefined
  #endedMs = Number.NEGATIVE_INFINITY
  readonly #memory: ReturnType<StreamMemory['holder']>
  readonly #sound: ReturnType<typeof createHeldSound>
  #announced: SoundFormat | undefined
  #heard: SoundFormat | undefined

  constructor(parts: GroupParts) {
    this.#parts = parts
    this.#memory = parts.memory.holder(() => this.#give())
    this.#sound = createHeldSound(parts.limits.soundBytes)
    this.#mayBegin = createFileBudget(parts.limits.filesPerMinute)
  }

  add(picture: Picture, { isBreak, positionMs }: Next): boolean {
    const { limits } = this.#parts
    const { isKey } = picture
    if (isBreak) this.#end({ positionMs, isBreak })
    if (isKey) this.#key(picture, positionMs)
    if (!this.#open || (!this.#group && !isKey && this.#open.fragments === 0)) return false
    // Of H.265: shown before the first of this file, it refers to pictures of the last.
    if (!isKey && positionMs < this.#open.startMs) return false
    const bytes = bytesOf(picture)
    if (this.#group && this.#group.bytes + bytes > limits.groupBytes) this.#flush({ positionMs, isBreak: false })
    picture.block?.hold()
    this.#hold({ picture, positionMs }, bytes)
    return true
  }

  #hold(one: Held, bytes: number): void {
    this.#group ??= { held: [], bytes: 0 }
    this.#group.held.push(one)
    this.#group.bytes += bytes
    this.#memory.hold(this.#group.bytes)
  }

  /** All streams hold too much: a part is written now. Its last picture waits, since the next one says how long it is shown. */
  #give(): void {
    const { held = [] } = this.#group ?? {}
    const last = held.length > 1 ? held.pop() : undefined
    this.#flush(last && { positionMs: last.positionMs, isBreak: false })
    if (!last) return
    if (this.#open) this.#hold(last, bytesOf(last.picture))
    else releaseAll([last])
  }

  hear(format: SoundFormat | undefined): void {
    this.#sound.forget()
    this.#announced = format
    this.#heard = undefined
  }

  addSound(frame: SoundFrame, positionMs: number): void {
    this.#heard = this.#announced
    this.#sound.add(frame, positionMs)
  }

  lost(): void {
    this.#end(undefined)
  }

  end(): void {
    this.#end(undefined)
  }

  /** A group ends, and perhaps its file. */
  #key(picture: Picture, positionMs: number): void {
    const { camera, limits, onWritten, store, wall } = this.#parts
    const now = { sets: picture.sets, sound: this.#heard, untilMs: positionMs - limits.fileMs, epoch: wall.epoch() }
    const isFirst = !this.#open || isOver(this.#open, now)
    this.#flush({ positionMs, isBreak: false, isFirst })
    if (this.#open && !isFirst) return
    this.#close()
    const mayRecord = !isBefore(positionMs, this.#endedMs) && store.isReady() && !store.isBehind(camera)
    if (mayRecord && this.#mayBegin(positionMs)) this.#begin(picture, positionMs)
    else onWritten(false)
  }

  #begin({ sets }: Picture, startMs: number): void {
    const { camera, onFacts, store, wall } = this.#parts
    if (!sets) return
    const facts = sets.codec.factsOf(sets.units)
    onFacts(facts)
    const sound = this.#heard
    const leadMs = sound ? SOUND_LEAD_MS : 0
    const head = writeHead({ sets, facts, sound, hiddenTicks: leadMs * TICKS_PER_MS })
    const startAt = wall.at(startMs)
    const file = store.begin({ camera, startAt, facts, head })
    const zero = { zeroMs: startMs - leadMs, zeroAt: startAt - leadMs }
    this.#open = { file, sets, sound, startMs, ...zero, soundTicks: 0, epoch: wall.epoch(), fragments: 0 }
  }

  #close(): void {
    this.#open?.file.close()
    this.#open = undefined
  }

  #end(next: Next | undefined): void {
    this.#flush(next)
    this.#close()
  }

  /** @param next where the next picture begins, and whether it goes on from here; undefined if nobody knows */
  #flush(next: Next | undefined): void {
    const done = this.#group
    const open = this.#open
    this.#group = undefined
    this.#memory.hold(0)
    if (!done) return
    const release = () => releaseAll(done.held)
    if (!open) {
      release()
      return
    }
    const samples = samplesOf(done.held, open.zeroMs, next)
    const first = Math.min(...done.held.map(({ positionMs }) => positionMs))
    open.fragments++
    const decodeTicks = ticksOf(first, open.zeroMs)
    const durationTicks = samples.reduce((sum, sample) => sum + sample.durationTicks, 0)
    this.#endedMs = open.zeroMs + (decodeTicks + durationTicks) / TICKS_PER_MS
    const time = { decodeTicks, durationTicks, wallMs: open.zeroAt + decodeTicks / TICKS_PER_MS }
    const sound = this.#soundOf(open, first, next)
    const pieces = fragmentPieces({ sequence: open.fragments, samples, sound, ...time })
    const heldBytes = done.bytes + lengthOf(pieces) - lengthOf(samples.map(({ data }) => data))
    const fragment = { pieces, heldBytes, onDone: release }
    const isTaken = open.file.append(fragment, { ...time, isKey: samples[0]?.isKey ?? false })
    this.#parts.onWritten(isTaken)
    if (isTaken) return
    release()
    // A hole in the middle of a file would be one that nobody sees.
    this.#close()
  }

  #soundOf(open: OpenFile, fromMs: number, next: Next | undefined): SoundRun | undefined {
    if (!open.sound) return undefined
    const place = { zeroMs: open.zeroMs, rate: open.sound.rate, endTicks: open.soundTicks }
    const run = this.#sound.take(place, { fromMs, toMs: next?.positionMs ?? Number.POSITIVE_INFINITY })
    open.soundTicks = place.endTicks
    return run
  }
}

/** What is in force at a key frame, and when the youngest file began that goes on with it. */
interface Now extends Pick<OpenFile, 'sound' | 'epoch'> {
  sets: ParameterSets | undefined
  untilMs: number
}

/** Whether a key frame begins a file. */
function isOver(open: OpenFile, { epoch, sets, sound, untilMs }: Now): boolean {
  return open.startMs <= untilMs || open.sets !== sets || open.sound !== sound || open.epoch !== epoch
}

/** @returns whether one more file may begin at a position */
function createFileBudget(perMinute: number): (positionMs: number) => boolean {
  let begun: number[] = []
  return (positionMs) => {
    begun = begun.filter((beganMs) => positionMs - beganMs < 60_000)
    if (begun.length >= perMinute) return false
    begun.push(positionMs)
    return true
  }
}

/**
 * Two recordings of one moment must not be: a camera whose stamps ran ahead begins again behind its own end. The end is
 * in whole ticks, and may be rounded up past where the next picture begins.
 */
function isBefore(startMs: number, endedMs: number): boolean {
  return startMs < endedMs - 1 / TICKS_PER_MS
}

/** What a picture takes beside its bytes: a camera may send many that are tiny. */
const PICTURE_BYTES = 768

/** What a picture takes while it is held. */
export function bytesOf({ data, heldBytes = data.length }: Picture): number {
  return heldBytes + PICTURE_BYTES
}

/** They are needed no more. */
export function releaseAll(held: readonly Pick<Held, 'picture'>[]): void {
  for (const { picture } of held) picture.block?.release()
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

function ticksOf(positionMs: number, zeroMs: number): number {
  return Math.max(0, Math.round((positionMs - zeroMs) * TICKS_PER_MS))
}

/**
 * Pictures are decoded one after the other, and shown at their positions: the sorted positions are the times of
 * decoding, and what a picture is off from that is its offset.
 */
function samplesOf(held: readonly Held[], zeroMs: number, next: Next | undefined): Sample[] {
  const shown = held.map(({ positionMs }) => ticksOf(positionMs, zeroMs))
  const decoded = shown.toSorted((a, b) => a - b)
  const last = decoded.at(-1) ?? 0
  const usual = decoded.length > 1 ? last - (decoded.at(-2) ?? 0) : LONE_MS * TICKS_PER_MS
  const due = next ? ticksOf(next.positionMs, zeroMs) : Number.POSITIVE_INFINITY
  // Where pictures change places, some that follow the next key frame may be shown before it, as H.265 allows.
  const isReordered = shown.some((ticks, at) => ticks !== decoded[at])
  const end = next && !next.isBreak && (next.isFirst || !isReordered) ? due : Math.min(last + usual, due)
  return held.map(({ picture: { data, isKey } }, at) => {
    const ticks = decoded[at] ?? 0
    const durationTicks = Math.max(1, (decoded[at + 1] ?? end) - ticks)
    return { data, isKey, durationTicks, offsetTicks: (shown[at] ?? 0) - ticks }
  })
}
