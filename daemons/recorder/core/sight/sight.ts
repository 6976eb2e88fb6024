/**
 * What the recorder sees: takes the newest picture of each camera, one camera after the other, looks whether something
 * moves, asks the detector, and follows what it finds. Nothing queues: of each camera one picture waits, and a newer one
 * takes its place.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Mask } from '../../wire/mask.ts'
import type { ChosenPicture } from '../pictures/choice.ts'
import type { CodedGroup, Shades } from '../ports.ts'
import { type Box, partWithin, type SeenBox } from './boxes.ts'
import type { Detector, SightPicture } from './detector.ts'
import type { Claim, EventBook } from './events.ts'
import { MOTION, UNKNOWN_THING } from './labels.ts'
import { createMotionModel, type MotionModel } from './motion.ts'
import { createMotionTracker } from './motion-track.ts'
import { createTracker, type Tracker, type TrackerLimits, type TrackerNews, type TrackSight } from './tracker.ts'

/** The stream of a camera that is looked at. Instants are epoch milliseconds on the clock of the recording. */
export interface Looker {
  /** When the newest key frame and the newest picture were taken; undefined while nothing comes. */
  moments(): { keyAt: number; newestAt: number } | undefined
  keyFrame(): ChosenPicture | undefined
  newest(): ChosenPicture | undefined
  end(): void
}

/** A picture to be made for a detector. */
export interface LookWish {
  camera: string
  group: CodedGroup
  masks: readonly Mask[]
  /** What it has to fit into. */
  most: { width: number; height: number }
}

/** A picture as a detector takes it, and the same small and grey. */
export interface Look {
  width: number
  height: number
  rgb: Uint8Array
  shades: Shades
}

export interface LookDecoder {
  /** @throws Fault, as `PictureDecoder.picture` */
  look(wish: LookWish, signal: AbortSignal): Promise<Look>
}

/** A camera to look at. */
export interface LookedAt {
  camera: string
  /** Pictures a second while something moves; 0: key frames alone. */
  fps: number
}

/** What one picture of a camera shows. */
export interface CameraSight {
  cameraId: string
  at: number
  boxes: TrackSight[]
}

/** Bounds, by the names of their settings. */
export interface SightLimits extends TrackerLimits {
  lookMs: number
  staleMs: number
  waitingBytes: number
}

interface SightParts {
  clock: Clock
  /** The clock of the recording. */
  nowAt(): number
  limits: SightLimits
  look(camera: string): Looker
  decoder: LookDecoder
  masksOf(camera: string): readonly Mask[]
  events: EventBook
  /** Whether something moves in a camera's pictures is another than before. */
  onActivity(camera: string, isActive: boolean): void
}

export interface Sight {
  /** @param external undefined: only whether something moves */
  begin(external: Detector | undefined): void
  /** Looks at these cameras, and at no others. */
  lookAt(cameras: readonly LookedAt[]): void
  /** Hears each picture in which something is seen, and the first one without. @returns ends it */
  onSighting(listener: (sight: CameraSight) => void): () => void
  /** Believes what these cameras claim themselves, and no others. */
  believe(cameras: readonly string[]): void
  /** What a camera says of itself, without boxes; nothing comes of it where it is not believed. */
  claim(claim: Claim): void
  isActive(camera: string): boolean
  health(): SightHealth
  close(): void
}

/** Since the start. */
export interface SightHealth {
  /** Pictures that were looked at, that could not be decoded, and that waited too long for the detector. */
  looked: number
  failed: number
  stale: number
  /** Why the last picture was not looked at; null: it was. */
  fault: { code: string; message: string } | null
}

/** Something moved so short a time ago: pictures between key frames are looked at. */
const ACTIVE_MS = 3000
/** Where nothing has moved for so long, the detector is not asked: what stands still there is no news. */
const STILL_MS = 30_000
/** Where no picture was followed for so long, whoever looks is gone or fails: what was there then may be there no more. */
const UNSEEN_MS = 30_000
/** What of a moving thing may lie in a box of the detector, and it is that. */
const SAME_PART = 0.3
/**
 * Numbers of tracks begin by the time, one in so long, and so beyond those of before a restart, or before another choice of
 * detectors: things of the same number would be one. They come again after four months, and stay below those of claims.
 */
const NUMBER_MS = 125
const NUMBERS = 90_000_000
/** How small pictures are in which movement is looked for. */
export const MOTION_SIZE = { width: 160, height: 120 } as const

interface Eye {
  camera: string
  fps: number
  looker: Looker
  motion: MotionModel
  tracker: Tracker
  keyAt: number
  lookedAt: number
  servedMs: number
  movedMs: number
  followedMs: number
  isActive: boolean
  showsSomething: boolean
}

/** A picture that waits for the detector. */
interface Waiting {
  picture: SightPicture
  moving: readonly Box[]
  sinceMs: number
}

export function createSight(parts: SightParts): Sight {
  return new Seeing(parts)
}

class Seeing implements Sight {
  readonly #parts: SightParts
  readonly #eyes = new Map<string, Eye>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #listeners = new Set<(sight: CameraSight) => void>()
  readonly #counts = { looked: 0, failed: 0, stale: 0 }
  #fault: SightHealth['fault'] = null
  #external: Detector | undefined
  #believed: readonly string[] = []
  #isDecoding = false
  #isJudging = false
  #ticking: Timer | undefined
  #ending = new AbortController()

  constructor(parts: SightParts) {
    this.#parts = parts
  }

  begin(external: Detector | undefined): void {
    for (const camera of [...this.#eyes.keys()]) this.#close(camera)
    this.#external = external
  }

  lookAt(cameras: readonly LookedAt[]): void {
    for (const camera of [...this.#eyes.keys()]) if (!cameras.some((one) => one.camera === camera)) this.#close(camera)
    for (const { camera, fps } of cameras) {
      const eye = this.#eyes.get(camera)
      if (eye) eye.fps = fps
      else this.#eyes.set(camera, this.#eyeOf(camera, fps))
    }
    const { clock, limits } = this.#parts
    if (this.#eyes.size > 0) this.#ticking ??= clock.every(limits.lookMs, () => this.#tick())
    else this.#rest()
  }

  onSighting(listener: (sight: CameraSight) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  believe(cameras: readonly string[]): void {
    this.#believed = cameras
    this.#parts.events.endClaims(cameras)
  }

  claim(claim: Claim): void {
    if (this.#believed.includes(claim.cameraId)) this.#parts.events.claim(claim)
  }

  isActive(camera: string): boolean {
    return this.#eyes.get(camera)?.isActive === true
  }

  health(): SightHealth {
    return { ...this.#counts, fault: this.#fault }
  }

  close(): void {
    this.lookAt([])
    this.believe([])
    this.#ending.abort()
  }

  #eyeOf(camera: string, fps: number): Eye {
    const { limits, look, nowAt } = this.#parts
    const numbered = Math.floor(nowAt() / NUMBER_MS) % NUMBERS
    return {
      ...{ camera, fps, looker: look(camera), motion: createMotionModel() },
      tracker: this.#external ? createTracker(limits, numbered) : createMotionTracker(limits, numbered),
      ...{ keyAt: 0, lookedAt: 0, servedMs: 0, movedMs: Number.NEGATIVE_INFINITY, followedMs: 0 },
      ...{ isActive: false, showsSomething: false },
    }
  }

  #close(camera: string): void {
    const eye = this.#eyes.get(camera)
    eye?.looker.end()
    this.#eyes.delete(camera)
    this.#waiting.delete(camera)
    if (eye) this.#activity(eye, false)
    this.#parts.events.endAll(camera)
  }

  #rest(): void {
    this.#ticking?.cancel()
    this.#ticking = undefined
  }

  #tick(): void {
    const { clock, nowAt } = this.#parts
    const nowMs = clock.monotonicMs()
    for (const eye of this.#eyes.values()) {
      if (eye.isActive && nowMs - eye.movedMs > ACTIVE_MS) this.#activity(eye, false)
      // A camera that sends nothing any more shows nothing.
      if (!eye.looker.moments() || nowMs - eye.followedMs > UNSEEN_MS) this.#ended(eye, eye.tracker.expire(nowAt()))
    }
    this.#next()
  }

  /** Decodes the picture of the camera that has waited longest. */
  #next(): void {
    if (this.#isDecoding) return
    const most = this.#external ? this.#external.wants() : MOTION_SIZE
    if (!most) return
    const due = [...this.#eyes.values()].filter((eye) => this.#isDue(eye))
    const [eye] = due.toSorted((a, b) => a.servedMs - b.servedMs)
    if (eye) void this.#look(eye, most)
  }

  #isDue(eye: Eye): boolean {
    const moments = eye.looker.moments()
    if (!moments) return false
    return moments.keyAt > eye.keyAt || this.#isBetween(eye, moments.newestAt)
  }

  /** Whether a picture that is no key frame is looked at. */
  #isBetween({ fps, isActive, lookedAt }: Eye, newestAt: number): boolean {
    return isActive && fps > 0 && newestAt - lookedAt >= 1000 / fps
  }

  async #look(eye: Eye, most: LookWish['most']): Promise<void> {
    const { clock, decoder, masksOf } = this.#parts
    const { camera, looker } = eye
    const newestAt = looker.moments()?.newestAt ?? 0
    const chosen = this.#isBetween(eye, newestAt) ? looker.newest() : looker.keyFrame()
    eye.keyAt = looker.moments()?.keyAt ?? eye.keyAt
    eye.lookedAt = chosen?.shownAt ?? eye.lookedAt
    eye.servedMs = clock.monotonicMs()
    if (!chosen) return
    this.#isDecoding = true
    try {
      const wish = { camera, group: chosen.group, masks: masksOf(camera), most }
      const look = await decoder.look(wish, this.#ending.signal)
      this.#counts.looked++
      this.#fault = null
      if (this.#eyes.get(camera) === eye) this.#looked(eye, look, chosen.shownAt)
    } catch (error) {
      const { code = 'internal', message } = error as Error & { code?: string }
      this.#counts.failed++
      this.#fault = { code, message }
    } finally {
      this.#isDecoding = false
    }
    this.#next()
  }

  #looked(eye: Eye, { height, rgb, shades, width }: Look, at: number): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const moving = eye.motion.look(shades, at)
    if (moving.length > 0) {
      eye.movedMs = nowMs
      this.#activity(eye, true)
    }
    if (!this.#external) {
      this.#follow(
        eye,
        at,
        moving.map((box) => ({ label: MOTION, score: 0.9, box })),
      )
      return
    }
    if (nowMs - eye.movedMs > STILL_MS) {
      this.#follow(eye, at, [])
      return
    }
    this.#queue({ picture: { camera: eye.camera, at, width, height, rgb }, moving, sinceMs: nowMs })
    if (!this.#isJudging) void this.#judge(this.#external)
  }

  /** Takes the place of an older one of its camera; where all wait with too much, the oldest goes. */
  #queue(next: Waiting): void {
    this.#waiting.set(next.picture.camera, next)
    let bytes = 0
    for (const { picture } of this.#waiting.values()) bytes += picture.rgb.length
    for (const [camera, { picture }] of this.#waiting) {
      if (bytes <= this.#parts.limits.waitingBytes) break
      this.#waiting.delete(camera)
      this.#counts.stale++
      bytes -= picture.rgb.length
    }
  }

  /** Until nothing waits. */
  async #judge(external: Detector): Promise<void> {
    const { clock, limits } = this.#parts
    this.#isJudging = true
    for (const [camera, waiting] of this.#waiting) {
      this.#waiting.delete(camera)
      if (clock.monotonicMs() - waiting.sinceMs > limits.staleMs) {
        this.#counts.stale++
        continue
      }
      try {
        const { boxes } = await external.judge(waiting.picture)
        const eye = this.#eyes.get(camera)
        if (eye && this.#external === external)
          this.#follow(eye, waiting.picture.at, [...boxes, ...unnamed(waiting.moving, boxes, limits.score)])
      } catch {
        // Its health says what is wrong with it; tracks end by time.
      }
    }
    this.#isJudging = false
  }

  #follow(eye: Eye, at: number, boxes: readonly SeenBox[]): void {
    const { events } = this.#parts
    const source = this.#external ? 'external' : 'motion'
    eye.followedMs = this.#parts.clock.monotonicMs()
    const news = eye.tracker.update(at, boxes)
    for (const { before, track } of news.begun) events.begin(eye.camera, track, before, source)
    events.seen(eye.camera, at, news.seen)
    this.#tell(eye, at, news.seen)
    this.#ended(eye, news.ended)
  }

  #ended({ camera }: Eye, tracks: TrackerNews['ended']): void {
    for (const track of tracks) this.#parts.events.end(camera, track)
  }

  #tell(eye: Eye, at: number, seen: TrackerNews['seen']): void {
    if (seen.length === 0 && !eye.showsSomething) return
    eye.showsSomething = seen.length > 0
    const boxes = seen.map(({ box, group, label, score, trackId }) => ({ trackId, label, group, score, box }))
    for (const listener of this.#listeners) listener({ cameraId: eye.camera, at, boxes })
  }

  #activity(eye: Eye, isActive: boolean): void {
    if (eye.isActive === isActive) return
    eye.isActive = isActive
    this.#parts.onActivity(eye.camera, isActive)
  }
}

/** What moves, and is nothing that the detector named. */
function unnamed(moving: readonly Box[], named: readonly SeenBox[], score: number): SeenBox[] {
  const isNamed = (box: Box) =>
    named.some((one) => partWithin(box, one.box) > SAME_PART || partWithin(one.box, box) > SAME_PART)
  return moving.filter((box) => !isNamed(box)).map((box) => ({ label: UNKNOWN_THING, score, box }))
}
