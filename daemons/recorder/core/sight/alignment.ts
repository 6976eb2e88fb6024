/**
 * How far the boxes of a camera lie beside its footage: detectors look at a smaller stream, which may come later or earlier
 * than the one that is recorded. Pictures of the footage are compared with where the boxes were.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Shades } from '../ports.ts'
import { type Box, overlapOf } from './boxes.ts'
import type { EventBook, EventPhase, EventStore, SightEvent, Sighting, TrackPiece } from './events.ts'

/** A picture of the footage. */
export interface FootagePicture {
  at: number
  shades: Shades
}

/** Further than this no offset is looked for. */
const FARTHEST_MS = 2000
const STEP_MS = 50
/** A point that is other than it mostly is by so much belongs to what moves. */
const STARK = 25
/** How much more of a box than of what is around it has to move, at the best offset. */
const LEAST_CONTRAST = 0.15
/** At another offset, a second away, it has to fit worse than this part of the best. */
const LEAST_DISTINCT = 0.8
const APART_MS = 1000
/** Offsets that fit so nearly as well as the best are as good: the middle of them is taken. */
const AS_GOOD = 0.95
const FEWEST_PICTURES = 10
const FEWEST_SIGHTINGS = 4
/** Between pictures further apart nothing is known. */
const GAP_MS = 500

/**
 * @param sightings of one thing that moves through the picture
 * @returns milliseconds to add to when boxes were seen, so that they fit the pictures; undefined where that cannot be told
 */
export function offsetBetween(
  pictures: readonly FootagePicture[],
  sightings: readonly Pick<Sighting, 'at' | 'box'>[],
): number | undefined {
  if (pictures.length < FEWEST_PICTURES || sightings.length < FEWEST_SIGHTINGS) return undefined
  const moving = movingIn(pictures)
  const fits = sightings.map(({ at, box }) => ({ at, values: moving.map((sums) => contrastOf(sums, box)) }))
  const scores: { offset: number; score: number }[] = []
  for (let offset = -FARTHEST_MS; offset <= FARTHEST_MS; offset += STEP_MS) {
    const found = fits.flatMap(({ at, values }) => valueAt(pictures, values, at + offset) ?? [])
    // An offset at which most boxes lie beyond the pictures says nothing.
    if (found.length < 0.8 * fits.length) continue
    scores.push({ offset, score: found.reduce((sum, value) => sum + value, 0) / found.length })
  }
  const best = scores.reduce((one, other) => (other.score > one.score ? other : one), { offset: 0, score: 0 })
  if (best.score < LEAST_CONTRAST) return undefined
  const rivals = scores.filter(({ offset }) => Math.abs(offset - best.offset) >= APART_MS)
  if (rivals.length === 0 || rivals.some(({ score }) => score > LEAST_DISTINCT * best.score)) return undefined
  const good = scores.filter(({ score }) => score >= AS_GOOD * best.score).map(({ offset }) => offset)
  return Math.round((Math.min(...good) + Math.max(...good)) / 2)
}

interface Sums {
  width: number
  height: number
  /** How many points move above and left of each: a row and a column longer than the picture. */
  table: Uint32Array
}

/** What of each picture is other than what most of them show. */
function movingIn(pictures: readonly FootagePicture[]): Sums[] {
  const { height = 0, width = 0 } = pictures[0]?.shades ?? {}
  const same = pictures.map(({ shades }) => shades.bytes)
  const usual = new Uint8Array(width * height)
  const values = new Uint8Array(same.length)
  for (let at = 0; at < usual.length; at++) {
    for (const [place, bytes] of same.entries()) values[place] = bytes[at] ?? 0
    usual[at] = values.sort()[values.length >> 1] ?? 0
  }
  return same.map((bytes) => sumsOf(bytes, usual, width))
}

function sumsOf(bytes: Uint8Array, usual: Uint8Array, width: number): Sums {
  const height = usual.length / width
  const table = new Uint32Array((width + 1) * (height + 1))
  for (let y = 0; y < height; y++) {
    let row = 0
    for (let x = 0; x < width; x++) {
      const at = y * width + x
      if (Math.abs((bytes[at] ?? 0) - (usual[at] ?? 0)) > STARK) row++
      table[(y + 1) * (width + 1) + x + 1] = row + (table[y * (width + 1) + x + 1] ?? 0)
    }
  }
  return { width, height, table }
}

/** How much more of a box moves than of the rest of the picture, -1 to 1. */
function contrastOf({ height, table, width }: Sums, [left, top, right, bottom]: Box): number {
  const [x1, x2] = [Math.floor(left * width), Math.ceil(right * width)]
  const [y1, y2] = [Math.floor(top * height), Math.ceil(bottom * height)]
  const sum = (x: number, y: number) => table[y * (width + 1) + x] ?? 0
  const inside = sum(x2, y2) - sum(x1, y2) - sum(x2, y1) + sum(x1, y1)
  const area = (x2 - x1) * (y2 - y1)
  const rest = width * height - area
  return inside / Math.max(1, area) - (sum(width, height) - inside) / Math.max(1, rest)
}

function valueAt(pictures: readonly FootagePicture[], values: readonly number[], at: number): number | undefined {
  const after = pictures.findIndex((one) => one.at >= at)
  const [one, other] = [pictures[after - 1], pictures[after]]
  if (!one || !other || other.at - one.at > GAP_MS) return undefined
  const part = (at - one.at) / Math.max(1, other.at - one.at)
  return (values[after - 1] ?? 0) * (1 - part) + (values[after] ?? 0) * part
}

interface AlignmentParts {
  clock: Clock
  store: Pick<EventStore, 'pieces' | 'putOffset'>
  events: Pick<EventBook, 'waiting'>
  /** The last picture of the footage at or before a moment, small. @throws Fault where none is kept, or it cannot be decoded */
  footageAt(camera: string, at: number, signal: AbortSignal): Promise<FootagePicture>
}

export interface Alignment {
  /** Hears of all events; one that fits is measured by, once its footage is on the disk. */
  heard(event: SightEvent, phase: EventPhase): void
  close(): Promise<void>
}

/** Of each camera so often; sooner where the last try told nothing. */
const EVERY_MS = 3_600_000
const TRY_MS = 300_000
/** Until the footage of an event is on the disk. */
const WAIT_MS = 15_000
/** What of an event is measured by, and how many pictures of it. */
const LONGEST_MS = 6000
const PICTURE_MS = 200
const SHORTEST_MS = 1500
/** What hardly moves from its place shows no offset: boxes of its beginning and its end have to have less in common. */
const MOST_SHARED = 0.3

/** One event is measured by at a time; others pass. */
export function createAlignment({ clock, events, footageAt, store }: AlignmentParts): Alignment {
  const dueMs = new Map<string, number>()
  const ending = new AbortController()
  let waiting: Timer | undefined
  let measuring: Promise<void> | undefined

  async function picturesOf(camera: string, from: number, to: number): Promise<FootagePicture[]> {
    const pictures: FootagePicture[] = []
    for (let at = from; at <= to; at += PICTURE_MS) {
      ending.signal.throwIfAborted()
      const picture = await footageAt(camera, at, ending.signal).catch(() => undefined)
      const first = pictures[0]?.shades ?? picture?.shades
      const isSame = picture?.shades.width === first?.width && picture?.shades.height === first?.height
      if (picture && isSame && picture.at > (pictures.at(-1)?.at ?? 0)) pictures.push(picture)
    }
    return pictures
  }

  async function measure({ beganAt, cameraId, id, lastAt }: SightEvent): Promise<void> {
    const until = Math.min(lastAt, beganAt + LONGEST_MS)
    const pieces = [...(await store.pieces(cameraId, beganAt, until + 1)), ...events.waiting(cameraId)]
    const sightings = sightingsOf(pieces, Number(id.split('-')[2]), beganAt, until)
    if (!hasCrossed(sightings)) return
    const pictures = await picturesOf(cameraId, beganAt - FARTHEST_MS, until + FARTHEST_MS)
    const offset = offsetBetween(pictures, sightings)
    if (offset === undefined) return
    dueMs.set(cameraId, clock.monotonicMs() + EVERY_MS)
    await store.putOffset(cameraId, beganAt, offset)
  }

  return {
    heard(event, phase) {
      const { beganAt, box, cameraId, lastAt } = event
      if (phase !== 'end' || !box || lastAt - beganAt < SHORTEST_MS || waiting || measuring || ending.signal.aborted)
        return
      if (clock.monotonicMs() < (dueMs.get(cameraId) ?? 0)) return
      dueMs.set(cameraId, clock.monotonicMs() + TRY_MS)
      waiting = clock.after(WAIT_MS, () => {
        waiting = undefined
        // What cannot be measured now is measured by a later event.
        measuring = measure(event)
          .catch(() => {})
          .finally(() => {
            measuring = undefined
          })
      })
    },
    async close() {
      waiting?.cancel()
      ending.abort()
      await measuring
    },
  }
}

function sightingsOf(pieces: readonly TrackPiece[], track: number, from: number, to: number): Sighting[] {
  return pieces
    .filter(({ trackId }) => trackId === track)
    .flatMap(({ sightings }) => [...sightings])
    .filter(({ at }) => at >= from && at <= to)
}

function hasCrossed(sightings: readonly Sighting[]): boolean {
  const [first, last] = [sightings[0], sightings.at(-1)]
  return first !== undefined && last !== undefined && overlapOf(first.box, last.box) < MOST_SHARED
}
