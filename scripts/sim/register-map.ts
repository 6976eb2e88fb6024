/** Registers of a simulated unit as a list: the value at each address, and its encoding. */
import type { Law } from './laws.ts'

/** One value. A value beyond its type is an error in the map, and is not clipped. */
export interface SimulatedRegister {
  /** First register, as on the wire (0 based). */
  address: number
  /** f32: two registers, high word first. u16 and s16: the value times `scale`, rounded. */
  type: 'f32' | 'u16' | 's16'
  /** Default 1; 10 for a device that reports tenths. */
  scale?: number
  /** A plain number is constant. */
  value: number | Law
}

/** Addresses that exist without a meaning: they read 0. */
export interface Span {
  from: number
  /** The first address after them. */
  to: number
}

/**
 * @param spans addresses around the registers that read 0
 * @returns a table for a simulated unit: words by address, with holes where nothing is
 */
export function wordsAt(registers: readonly SimulatedRegister[], spans: readonly Span[], ageMs: number): number[] {
  const words: number[] = []
  for (const { from, to } of spans) for (let at = from; at < to; at++) words[at] = 0
  for (const register of registers) put(words, register, ageMs)
  return words
}

function put(words: number[], { address, type, scale = 1, value }: SimulatedRegister, ageMs: number): void {
  const now = typeof value === 'number' ? value : value(ageMs)
  if (type === 'f32') {
    const view = new DataView(new ArrayBuffer(4))
    view.setFloat32(0, now)
    words[address] = view.getUint16(0)
    words[address + 1] = view.getUint16(2)
    return
  }
  const word = Math.round(now * scale)
  const [least, most] = type === 's16' ? [-0x8000, 0x7fff] : [0, 0xffff]
  if (!(word >= least && word <= most)) throw new RangeError(`register ${address}: ${now} is no ${type} at ${scale}`)
  words[address] = word & 0xffff
}
