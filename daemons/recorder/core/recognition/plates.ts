/** Plates: what is taken of a detector's readings, and when two of them are of one vehicle. */
import type { Box } from '../sight/boxes.ts'

/** How sure it is who it was. */
export type Certainty = 'known' | 'unsure' | 'unknown'

/** A plate as a detector read it. */
export interface PlateReading {
  /** As it stands there: letters, digits, and what is between them. */
  text: string
  confidence: number
  box: Box
}

/** Of what a detector says of one picture. */
const MOST_PLATES = 4
const MOST_TEXT = 40
/** Letters and digits of a plate. */
export const SIGNS = { least: 2, most: 16 } as const

/** Letters and digits alone, in capitals: how a plate is compared. */
export function plainPlate(text: string): string {
  return [
    ...text
      .slice(0, 2 * MOST_TEXT)
      .normalize('NFKC')
      .toUpperCase(),
  ]
    .filter((sign) => /[\p{L}\p{N}]/u.test(sign))
    .join('')
}

/** Signs that are taken for each other. @source measured with PP-OCRv4: O/0, 5/S, 8/B; I/1 and Z/2 look alike on many plates */
const LOOKALIKES: ReadonlyMap<string, string> = new Map([
  ...([...'OQ'].map((sign) => [sign, '0']) as [string, string][]),
  ...[['S', '5'] as const, ['B', '8'] as const, ['I', '1'] as const, ['Z', '2'] as const],
])

/** The same for two plates that differ in lookalikes alone. */
export function foldedPlate(text: string): string {
  return [...plainPlate(text)].map((sign) => LOOKALIKES.get(sign) ?? sign).join('')
}

/** Whether the two differ in one character: a wrong one, a missing one or one too many. */
export function isOneOff(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [[...one], [...other]] : [[...other], [...one]]
  if (long.length - short.length > 1) return false
  const differs = short.findIndex((sign, at) => sign !== long[at])
  if (differs < 0) return long.length > short.length
  const rest = (signs: readonly string[], from: number) => signs.slice(from).join('')
  return rest(short, differs + (short.length === long.length ? 1 : 0)) === rest(long, differs + 1)
}

/**
 * What of an answer makes sense. A detector may be anybody's program.
 * @returns the best one first, and how many were left out
 */
export function checkedPlates(answer: unknown): { plates: PlateReading[]; refused: number } {
  if (answer === undefined) return { plates: [], refused: 0 }
  if (!Array.isArray(answer)) return { plates: [], refused: 1 }
  const plates = answer.slice(0, MOST_PLATES).flatMap((one) => checkedPlate(one) ?? [])
  plates.sort((a, b) => b.confidence - a.confidence)
  return { plates, refused: answer.length - plates.length }
}

function checkedPlate(one: unknown): PlateReading | undefined {
  if (typeof one !== 'object' || one === null) return undefined
  const { box, confidence, text } = one as Record<string, unknown>
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) return undefined
  if (typeof text !== 'string' || text.length > MOST_TEXT || /\p{C}/u.test(text)) return undefined
  const signs = [...plainPlate(text)].length
  if (signs < SIGNS.least || signs > SIGNS.most) return undefined
  if (!Array.isArray(box) || box.length !== 4) return undefined
  if (!box.every((side) => typeof side === 'number' && side >= 0 && side <= 1)) return undefined
  const [left, top, right, bottom] = box as [number, number, number, number]
  return left < right && top < bottom ? { text: text.trim(), confidence, box: [left, top, right, bottom] } : undefined
}
