/**
 * Recognises what was seen: of each vehicle that a detector follows it keeps the moments that show it best, has these cut out
 * of the recorded picture, which is larger than the watched one, and read, one after the other; and says who it was.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Box } from '../sight/boxes.ts'
import { areaOf } from '../sight/boxes.ts'
import type { EventPhase, SightEvent } from '../sight/events.ts'
import type { CameraSight } from '../sight/sight.ts'
import type { IdentityBook } from './identities.ts'
import { foldedPlate, type PlateReading } from './plates.ts'
import { cutOut, type Recognised, type RecognisedStore, type Recogniser, type ThingPicture } from './recognised.ts'

interface RecognitionParts {
  clock: Clock
  book: Pick<IdentityBook, 'isOn' | 'match'>
  store: Pick<RecognisedStore, 'recognise'>
  /** Undefined: none looks now. */
  recogniser(): Recogniser | undefined
  /** The recorded picture of a moment, with the camera's masks. Fault `no_footage`: not yet, or not any more. */
  pictureAt(camera: string, at: number): Promise<ThingPicture>
  limits: {
    /** Key `recognition.looks`. */
    looks: number
    /** Key `recognition.waiting`. */
    waiting: number
    /** Key `recognition.look_ms`. */
    lookMs: number
  }
  /** It is known, or known better. */
  onRecognised(event: SightEvent, recognised: Recognised): void
}

export interface Recognition {
  happened(event: SightEvent, phase: EventPhase): void
  sighted(sight: CameraSight): void
  /** What is known of an event that goes on, or was just over. */
  of(eventId: string): Recognised | undefined
  /** Names or plates are others now. */
  bookChanged(): void
  counts(): { looked: number; failed: number; leftOut: number }
  start(): void
  stop(): void
}

/** Moments of one thing that are kept, and how far apart they are. */
const MOST_MOMENTS = 8
const APART_MS = 700
/** The first look waits for better moments, and for the recorded group to be whole. */
const FIRST_MS = 3000
const AGAIN_MS = 2000
const MOST_TRIES = 4
/** It is kept so long after its end, so that its pictures are there. */
const OVER_MS = 20_000
/** One busy road, or a camera that makes things up, leaves room for the others. */
const MOST_PART = 0.5
/** From here on one reading is enough; else two have to agree. */
const CLEAR_CONFIDENCE = 0.95

interface Moment {
  at: number
  box: Box
  tries: number
  /** On the monotonic clock. */
  dueMs: number
}

interface Thing {
  event: SightEvent
  trackId: number
  isOver: boolean
  beganMs: number
  overMs: number
  moments: Moment[]
  lookedAt: number[]
  /** By folded text. */
  readings: Map<string, { best: PlateReading; count: number; sum: number }>
  recognised: Recognised | undefined
}

export function createRecognition(parts: RecognitionParts): Recognition {
  return new VehicleRecognition(parts)
}

class VehicleRecognition implements Recognition {
  readonly #parts: RecognitionParts
  /** By id of the event. */
  readonly #things = new Map<string, Thing>()
  readonly #counts = { looked: 0, failed: 0, leftOut: 0 }
  #ticking: Timer | undefined
  #isLooking = false

  constructor(parts: RecognitionParts) {
    this.#parts = parts
  }

  happened(event: SightEvent, phase: EventPhase): void {
    const thing = this.#things.get(event.id)
    if (thing) this.#goesOn(thing, event, phase)
    else if (phase === 'begin' && event.source === 'external' && event.group === 'vehicle') this.#begin(event)
  }

  sighted({ at, boxes, cameraId }: CameraSight): void {
    const nowMs = this.#parts.clock.monotonicMs()
    for (const thing of this.#things.values()) {
      if (thing.event.cameraId !== cameraId || thing.isOver) continue
      const seen = boxes.find(({ trackId }) => trackId === thing.trackId)
      if (seen) addMoment(thing, { at, box: seen.box, tries: 0, dueMs: nowMs + AGAIN_MS })
    }
  }

  of(eventId: string): Recognised | undefined {
    return this.#things.get(eventId)?.recognised
  }

  bookChanged(): void {
    for (const thing of this.#things.values()) if (thing.recognised) void this.#judge(thing)
  }

  counts() {
    return { ...this.#counts }
  }

  start(): void {
    const { clock, limits } = this.#parts
    this.#ticking ??= clock.every(limits.lookMs, () => void this.#tick())
  }

  stop(): void {
    this.#ticking?.cancel()
    this.#ticking = undefined
    this.#things.clear()
  }

  #begin(event: SightEvent): void {
    const { book, clock, limits } = this.#parts
    if (!book.isOn() || !this.#mayLook()) return
    const ofCamera = this.#things.values().filter((thing) => thing.event.cameraId === event.cameraId)
    if (this.#things.size >= limits.waiting || ofCamera.toArray().length >= Math.ceil(limits.waiting * MOST_PART)) {
      this.#counts.leftOut++
      return
    }
    const beganMs = clock.monotonicMs()
    const thing: Thing = {
      ...{ event, trackId: Number(event.id.split('-').at(-1)), isOver: false, beganMs, overMs: 0 },
      ...{ moments: [], lookedAt: [], readings: new Map(), recognised: undefined },
    }
    if (event.box) addMoment(thing, { at: event.bestAt, box: event.box, tries: 0, dueMs: beganMs + FIRST_MS })
    this.#things.set(event.id, thing)
  }

  #goesOn(thing: Thing, event: SightEvent, phase: EventPhase): void {
    thing.event = event
    if (phase !== 'end') return
    thing.isOver = true
    thing.overMs = this.#parts.clock.monotonicMs()
  }

  async #tick(): Promise<void> {
    const { book, clock } = this.#parts
    const nowMs = clock.monotonicMs()
    for (const [id, thing] of this.#things)
      if (thing.isOver && (nowMs - thing.overMs > OVER_MS || this.#isDone(thing))) this.#things.delete(id)
    if (this.#isLooking || !book.isOn() || !this.#mayLook()) return
    const next = this.#next(nowMs)
    if (!next) return
    this.#isLooking = true
    try {
      await this.#look(next.thing, next.moment)
    } finally {
      this.#isLooking = false
    }
  }

  /** Whether there is who looks now: what is not looked at has no plate that nobody knows. */
  #mayLook(): boolean {
    return this.#parts.recogniser()?.recognises().includes('plate') === true
  }

  #isDone({ lookedAt, moments, readings, recognised }: Thing): boolean {
    if (lookedAt.length >= this.#parts.limits.looks || (moments.length === 0 && recognised !== undefined)) return true
    return [...readings.values()].some(({ best, count }) => count >= 2 || best.confidence >= CLEAR_CONFIDENCE)
  }

  /** The largest of the one that has waited longest. */
  #next(nowMs: number): { thing: Thing; moment: Moment } | undefined {
    for (const thing of this.#things.values()) {
      if (this.#isDone(thing) || nowMs - thing.beganMs < FIRST_MS) continue
      const due = thing.moments.filter(({ dueMs }) => dueMs <= nowMs)
      const moment = due.toSorted((a, b) => areaOf(b.box) - areaOf(a.box))[0]
      if (moment) return { thing, moment }
    }
    return undefined
  }

  async #look(thing: Thing, moment: Moment): Promise<void> {
    const { clock, pictureAt, recogniser } = this.#parts
    try {
      const picture = await pictureAt(thing.event.cameraId, moment.at)
      const cut = cutOut(picture, moment.box)
      const looker = recogniser()
      if (!looker) return
      const answer = cut && (await looker.recognise(cut))
      this.#counts.looked++
      looked(thing, moment)
      for (const plate of answer?.plates.slice(0, 1) ?? []) addReading(thing, plate)
      await this.#judge(thing)
    } catch {
      moment.tries++
      moment.dueMs = clock.monotonicMs() + AGAIN_MS
      if (moment.tries < MOST_TRIES) return
      this.#counts.failed++
      looked(thing, moment)
    }
  }

  /** Says what is known by now, where that is other than before. */
  async #judge(thing: Thing): Promise<void> {
    const { book, onRecognised, store } = this.#parts
    const [best] = [...thing.readings.values()].toSorted((a, b) => b.sum - a.sum)
    const next = best ? judged(best.best, book) : NOTHING_READ
    if (JSON.stringify(next) === JSON.stringify(thing.recognised)) return
    thing.recognised = next
    onRecognised(thing.event, next)
    // What cannot be written is in the ledger already: events cannot either.
    await store.recognise(thing.event.id, next).catch(() => {})
  }
}

const NOTHING_READ: Recognised = { identityId: null, method: null, plate: null }

function judged({ confidence, text }: PlateReading, book: Pick<IdentityBook, 'match'>): Recognised {
  const { identityId, state } = book.match(text, confidence)
  return { identityId, method: identityId === null ? null : 'plate', plate: { text, state, confidence } }
}

function looked(thing: Thing, moment: Moment): void {
  thing.moments = thing.moments.filter((one) => one !== moment)
  thing.lookedAt.push(moment.at)
}

function addReading({ readings }: Thing, plate: PlateReading): void {
  const folded = foldedPlate(plate.text)
  const known = readings.get(folded) ?? { best: plate, count: 0, sum: 0 }
  const best = plate.confidence > known.best.confidence ? plate : known.best
  readings.set(folded, { best, count: known.count + 1, sum: known.sum + plate.confidence })
}

/** Keeps the largest ones, none near another. */
function addMoment(thing: Thing, moment: Moment): void {
  if (thing.lookedAt.some((at) => Math.abs(at - moment.at) < APART_MS)) return
  const near = thing.moments.findIndex(({ at }) => Math.abs(at - moment.at) < APART_MS)
  const nearOne = thing.moments[near]
  if (nearOne) {
    if (areaOf(nearOne.box) < areaOf(moment.box)) thing.moments[near] = moment
    return
  }
  thing.moments.push(moment)
  if (thing.moments.length <= MOST_MOMENTS) return
  const smallest = thing.moments.reduce((one, other) => (areaOf(other.box) < areaOf(one.box) ? other : one))
  thing.moments = thing.moments.filter((one) => one !== smallest)
}
