/** Things that move through pictures, as a detector would see them: with noise, and sometimes not at all. */
import type { Box, SeenBox } from '../../../core/sight/boxes.ts'

/** Chance that is the same in each run. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export interface Thing {
  label: string
  /** Middle at the start, and its way in a second. */
  from: readonly [number, number]
  perS: readonly [number, number]
  size: readonly [number, number]
}

export function boxOf({ from, perS, size }: Thing, atMs: number): Box {
  const [x, y] = [from[0] + (perS[0] * atMs) / 1000, from[1] + (perS[1] * atMs) / 1000]
  return [x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2]
}

interface Wobble {
  chance(): number
  /** Of each side, in parts of the size. */
  noise: number
  /** How often a thing is not seen. */
  missed: number
}

export function seenOf(thing: Thing, atMs: number, { chance, missed, noise }: Wobble): SeenBox[] {
  const off = (size: number) => (chance() - 0.5) * 2 * noise * size
  const [left, top, right, bottom] = boxOf(thing, atMs)
  const [width, height] = thing.size
  const box: Box = [left + off(width), top + off(height), right + off(width), bottom + off(height)]
  return chance() < missed ? [] : [{ label: thing.label, score: 0.5 + 0.5 * chance(), box }]
}
