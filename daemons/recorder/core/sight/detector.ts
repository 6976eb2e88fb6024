/** What looks at pictures: the port of all detectors, and what is taken of their answers. */
import type { Box, SeenBox } from './boxes.ts'

/** A picture to look at. */
export interface SightPicture {
  camera: string
  /** When it was taken, epoch milliseconds on the clock of the recording. */
  at: number
  width: number
  height: number
  /** Red, green and blue of each pixel, row by row from the top. */
  rgb: Uint8Array
}

export interface Judgement {
  boxes: readonly SeenBox[]
  tookMs: number
}

/** What health says of a detector. */
export interface DetectorHealth {
  state: 'idle' | 'starting' | 'ready' | 'failed'
  /** As it calls itself; null until it has said so. */
  name: string | null
  pictures: number
  /** Boxes that made no sense, and were left out. */
  refusedBoxes: number
  /** Of the last picture; null before the first. */
  tookMs: number | null
  /** Times that it was killed or ended by itself. */
  crashes: number
  fault: { code: string; message: string } | null
}

/** Whatever it does, it looks at one picture at a time, and its faults harm nothing else. */
export interface Detector {
  /** The largest picture that it takes; undefined while it has not said so, and then it takes none. */
  wants(): { width: number; height: number } | undefined
  /** @throws Fault `detector_failed` */
  judge(picture: SightPicture): Promise<Judgement>
  health(): DetectorHealth
  close(): Promise<void>
}

/** Boxes of one picture that are looked at. */
export const MOST_BOXES = 256

/** A box may reach beyond its picture by so much, and is cut off. */
const BEYOND = 0.05

const LABEL = /^[a-z][a-z0-9 _-]{0,39}$/

export function isLabel(text: unknown): text is string {
  return typeof text === 'string' && LABEL.test(text)
}

/**
 * What of an answer makes sense. A detector may be anybody's program.
 * @param known labels that it has announced
 * @returns the best boxes first, and how many were left out
 */
export function checkedBoxes(answer: unknown, known: ReadonlySet<string>): { boxes: SeenBox[]; refused: number } {
  if (!Array.isArray(answer)) return { boxes: [], refused: 1 }
  const boxes: SeenBox[] = []
  // A million of them are not looked at one by one.
  for (const one of answer.slice(0, 4 * MOST_BOXES)) {
    const box = checkedBox(one, known)
    if (box) boxes.push(box)
  }
  boxes.sort((a, b) => b.score - a.score)
  const kept = boxes.slice(0, MOST_BOXES)
  return { boxes: kept, refused: answer.length - kept.length }
}

function checkedBox(one: unknown, known: ReadonlySet<string>): SeenBox | undefined {
  if (typeof one !== 'object' || one === null) return undefined
  const { box: sides, label, score } = one as Record<string, unknown>
  if (!isLabel(label) || !known.has(label)) return undefined
  if (typeof score !== 'number' || !(score >= 0 && score <= 1)) return undefined
  const box = checkedSides(sides)
  return box && { label, score, box }
}

function checkedSides(sides: unknown): Box | undefined {
  if (!Array.isArray(sides) || sides.length !== 4) return undefined
  if (!sides.every((side) => typeof side === 'number' && side >= -BEYOND && side <= 1 + BEYOND)) return undefined
  const [left = 0, top = 0, right = 0, bottom = 0] = sides.map((side: number) => Math.min(1, Math.max(0, side)))
  return left < right && top < bottom ? [left, top, right, bottom] : undefined
}
