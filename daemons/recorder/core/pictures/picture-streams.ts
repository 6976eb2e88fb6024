/**
 * Cameras as they are now, as JPEG after JPEG: each is decoded once for all who watch it at one width, one camera after
 * the other, and none while nobody watches.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Mask } from '../../wire/mask.ts'
import type { PictureDecoder } from '../ports.ts'
import type { ChosenPicture } from './choice.ts'
import { type MaskedPicture, maskedPicture } from './masked-picture.ts'

/** One picture of a stream. */
export interface StreamedPicture extends MaskedPicture {
  /** When it was taken, epoch milliseconds. */
  shownAt: number
}

/** Somebody who watches. */
export interface PictureViewer {
  show(picture: StreamedPicture): void
  /** Nothing follows. */
  end(why: Error): void
}

/** What they wish to see. */
export interface StreamWish {
  camera: string
  /** Of the JPEG in pixels; undefined: as wide as the camera's picture is. */
  width: number | undefined
  /** Pictures a second, if there are so many. */
  fps: number
}

/** Bounds, by the names of their settings. */
export interface StreamsLimits {
  /** Pictures a second of one stream. */
  fps: number
  /** Pictures that are decoded in a second for all streams. */
  totalFps: number
  /** A stream is ended if no picture of it could be made for so long. */
  waitMs: number
  /** A JPEG of more is not sent. */
  jpegBytes: number
}

interface StreamsParts {
  clock: Clock
  limits: StreamsLimits
  decoder: Pick<PictureDecoder, 'picture'>
  /** What a camera shows now; undefined while it does not send. */
  newest(camera: string): ChosenPicture | undefined
  /** @throws Fault `unknown_camera` once it is gone */
  masksOf(camera: string): readonly Mask[]
}

export interface PictureStreams {
  /**
   * Shows a camera from now on. A viewer that has not seen a picture yet is told at once why there is none.
   * @returns what ends it
   */
  watch(wish: StreamWish, viewer: PictureViewer): () => void
}

interface Seat {
  viewer: PictureViewer
  periodMs: number
  hasSeen: boolean
  /** A picture before then is left out. */
  dueMs: number
}

/** A camera at one width. */
interface Show {
  camera: string
  width: number | undefined
  seats: Set<Seat>
  /** When its newest picture was begun. */
  begunMs: number
  latest: StreamedPicture | undefined
  failingSinceMs: number | undefined
  /** Once nobody watches. */
  over: AbortController
}

/** What passes by itself: the next picture may come out. */
const PASSING: ReadonlySet<string> = new Set(['decoder_busy', 'decoder_failed', 'picture_undecodable'])

export function createPictureStreams(parts: StreamsParts): PictureStreams {
  return new Streams(parts)
}

class Streams implements PictureStreams {
  readonly #parts: StreamsParts
  readonly #shows = new Set<Show>()
  #isMaking = false
  #look: Timer | undefined

  constructor(parts: StreamsParts) {
    this.#parts = parts
  }

  watch({ camera, fps, width }: StreamWish, viewer: PictureViewer): () => void {
    const { clock, limits } = this.#parts
    const show = this.#showOf(camera, width)
    const periodMs = 1000 / Math.min(fps, limits.fps)
    const seat = { viewer, periodMs, hasSeen: false, dueMs: Number.NEGATIVE_INFINITY }
    show.seats.add(seat)
    const isFresh = clock.monotonicMs() - show.begunMs < periodMs
    if (show.latest && isFresh && show.latest.masks === this.#parts.masksOf(camera)) this.#give(seat, show, show.latest)
    if (!this.#isMaking) this.#lookIn(0)
    return () => this.#leave(show, seat)
  }

  #showOf(camera: string, width: number | undefined): Show {
    const known = [...this.#shows].find((one) => one.camera === camera && one.width === width)
    if (known) return known
    const begunMs = Number.NEGATIVE_INFINITY
    const over = new AbortController()
    const show = { camera, width, begunMs, over, seats: new Set<Seat>(), latest: undefined, failingSinceMs: undefined }
    this.#shows.add(show)
    return show
  }

  #leave(show: Show, seat: Seat): void {
    show.seats.delete(seat)
    if (show.seats.size > 0) return
    this.#shows.delete(show)
    show.over.abort()
    if (this.#shows.size === 0) this.#look?.cancel()
  }

  #lookIn(delayMs: number): void {
    this.#look?.cancel()
    this.#look = this.#parts.clock.after(delayMs, () => this.#next())
  }

  /** Begins the picture that is most due; else looks again soon. */
  #next(): void {
    const due: { show: Show; picture: ChosenPicture; turnMs: number }[] = []
    for (const show of [...this.#shows]) {
      const picture = this.#duePicture(show)
      if (picture) due.push({ show, picture, turnMs: this.#turnMsOf(show.camera) })
    }
    const [first] = due.toSorted((a, b) => a.turnMs - b.turnMs || a.show.begunMs - b.show.begunMs)
    if (first) void this.#make(first.show, first.picture)
    else if (this.#shows.size > 0) this.#lookIn(1000 / this.#parts.limits.totalFps)
  }

  /** Cameras come in turn, not widths: who asks for one camera at many has no more of the decoder. */
  #turnMsOf(camera: string): number {
    return Math.max(...[...this.#shows].filter((show) => show.camera === camera).map(({ begunMs }) => begunMs))
  }

  #duePicture(show: Show): ChosenPicture | undefined {
    const { clock, masksOf, newest } = this.#parts
    if (clock.monotonicMs() - show.begunMs < periodOf(show)) return undefined
    try {
      const masks = masksOf(show.camera)
      const picture = newest(show.camera)
      if (!picture) this.#failed(show, noPicture())
      const isNew = picture?.shownAt !== show.latest?.shownAt || show.latest?.masks !== masks
      return isNew ? picture : undefined
    } catch (error) {
      this.#failed(show, error as Error)
      return undefined
    }
  }

  async #make(show: Show, { group, shownAt }: ChosenPicture): Promise<void> {
    const { clock, decoder, limits, masksOf } = this.#parts
    const { camera, over, width } = show
    show.begunMs = clock.monotonicMs()
    this.#isMaking = true
    try {
      const masks = () => masksOf(camera)
      const made = await maskedPicture({ decoder, masks, wish: { camera, group, width } }, over.signal)
      if (made.jpeg.length > limits.jpegBytes) throw tooLarge(made.jpeg.length, limits.jpegBytes)
      show.latest = { ...made, shownAt }
      show.failingSinceMs = undefined
      for (const seat of [...show.seats]) this.#give(seat, show, show.latest)
    } catch (error) {
      // Who comes now is told the truth, and no old picture.
      show.latest = undefined
      this.#failed(show, error as Error)
    }
    this.#isMaking = false
    const tookMs = clock.monotonicMs() - show.begunMs
    // Half of the decoder's time is left to stills and frames.
    if (this.#shows.size > 0) this.#lookIn(Math.max(tookMs, 1000 / limits.totalFps - tookMs))
  }

  #give(seat: Seat, show: Show, picture: StreamedPicture): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (nowMs < seat.dueMs) return
    seat.hasSeen = true
    // Pictures do not come evenly: one that is a little early is none too many.
    seat.dueMs = nowMs + seat.periodMs - periodOf(show) / 2
    seat.viewer.show(picture)
  }

  #failed(show: Show, why: Error): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const isSilent = why instanceof Fault && why.code === 'no_picture'
    const isPassing = why instanceof Fault && PASSING.has(why.code)
    if (isPassing) show.failingSinceMs ??= nowMs
    const isOver = !isPassing && !isSilent
    const isTooLong = show.failingSinceMs !== undefined && nowMs - show.failingSinceMs >= this.#parts.limits.waitMs
    for (const seat of [...show.seats]) {
      if (!isOver && !isTooLong && seat.hasSeen) continue
      // Who does not read is not looked after until the connection goes.
      this.#leave(show, seat)
      seat.viewer.end(why)
    }
  }
}

function periodOf({ seats }: Show): number {
  return Math.min(...[...seats].map(({ periodMs }) => periodMs))
}

export function noPicture(): Fault {
  return new Fault('no_picture', 'The camera sends no picture now. GET /api/cameras says how it is, and why.')
}

function tooLarge(bytes: number, most: number): Fault {
  return new Fault(
    'picture_too_large',
    `The picture takes ${bytes} bytes as a JPEG; live.buffer_bytes allows ${most}. Ask for a smaller width.`,
  )
}
