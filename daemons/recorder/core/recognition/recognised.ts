/** What was recognised of an event, and what is asked of such events. */
import type { Box } from '../sight/boxes.ts'
import type { Certainty, PlateReading } from './plates.ts'

/** Who or what a thing was. */
export interface Recognised {
  /** Of the book of identities; null: nobody that is in it. */
  identityId: string | null
  /** By what it was told; null where it was not. */
  method: 'plate' | null
  /** Null: none was read. */
  plate: { text: string; state: Certainty; confidence: number } | null
}

/** What may be asked: everybody of a certainty, or one identity. */
export type WhoWish = { certainty: Certainty } | { identityId: string }

export function certaintyOf({ plate }: Recognised): Certainty {
  return plate?.state ?? 'unknown'
}

/** A plate that belongs to no identity, and how often it was seen. */
export interface UnnamedPlate {
  text: string
  count: number
  lastAt: number
  /** The newest event of it. */
  eventId: string
}

/** What readings are matched by. */
export type MatchedBook = readonly { id: string; plates: readonly string[] }[]

/** Where it is kept. Each call throws Fault `store_read_failed` or `store_write_failed`. */
export interface RecognisedStore {
  /** What was known of the event is replaced. */
  recognise(eventId: string, recognised: Recognised): Promise<void>
  /**
   * Matches earlier readings again.
   * @param folded the plates of the identity; none: it was forgotten
   * @param merged another identity whose readings are of this one from now on
   */
  rejudge(identityId: string, folded: readonly string[], merged?: string): Promise<void>
  /** Identities that readings are of, whether or not they are in the book. */
  held(): Promise<string[]>
  /** Folded texts that are taken for an identity. */
  readingsOf(identityId: string): Promise<string[]>
  /** Whether all that was recorded is matched by this book. */
  isMatchedBy(book: MatchedBook): Promise<boolean>
  /** It is from now on; undefined: it is being matched. Not on the disk before what was matched is. */
  setMatched(book: MatchedBook | undefined): Promise<void>
  /** The ones seen last first. */
  unnamed(limit: number): Promise<UnnamedPlate[]>
}

/** A picture that shows one thing. */
export interface ThingPicture {
  width: number
  height: number
  /** Red, green and blue of each pixel, row by row from the top. */
  rgb: Uint8Array
}

/** What may be recognised. */
export type RecognisedKind = 'plate'

export const recognisedKinds: readonly RecognisedKind[] = ['plate']

/** A detector as it recognises. */
export interface Recogniser {
  /** What it has said that it can; empty until then. */
  recognises(): readonly RecognisedKind[]
  /** Waits for its turn. @throws Fault `detector_failed` */
  recognise(picture: ThingPicture): Promise<{ plates: readonly PlateReading[] }>
}

/** So much of a thing is shown around it: boxes are of smaller pictures, and of another moment by a little. */
const AROUND = 0.1

/** @returns the part of a picture that a box covers, with a little around it; undefined where it is hardly a pixel */
export function cutOut(
  { height, rgb, width }: ThingPicture,
  [left, top, right, bottom]: Box,
): ThingPicture | undefined {
  const [moreX, moreY] = [(right - left) * AROUND, (bottom - top) * AROUND]
  // Even, as the detector protocol has it.
  const fromX = Math.floor(Math.max(0, left - moreX) * width) & ~1
  const fromY = Math.floor(Math.max(0, top - moreY) * height) & ~1
  const cutWidth = (Math.ceil(Math.min(1, right + moreX) * width) - fromX) & ~1
  const cutHeight = (Math.ceil(Math.min(1, bottom + moreY) * height) - fromY) & ~1
  if (cutWidth < LEAST_SIDE || cutHeight < LEAST_SIDE) return undefined
  const made = new Uint8Array(cutWidth * cutHeight * 3)
  for (let row = 0; row < cutHeight; row++) {
    const at = ((fromY + row) * width + fromX) * 3
    made.set(rgb.subarray(at, at + cutWidth * 3), row * cutWidth * 3)
  }
  return { width: cutWidth, height: cutHeight, rgb: made }
}

/** Nothing is legible in less. */
const LEAST_SIDE = 32
