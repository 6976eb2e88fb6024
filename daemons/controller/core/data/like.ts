/** Patterns of `_like` and `_contains`, matched in time that grows with the text, whatever the pattern. */

/** Stands for any one character. */
const ANY = -1
const BITS = 32

/**
 * LIKE as SQLite has it: `%` is any characters, `_` any one, letters A to Z match without case, others exactly; nothing
 * escapes. A character is a code point.
 * @source sqlite.org, lang_expr.html, LIKE
 */
export function likeTest(pattern: string): (text: string) => boolean {
  const items: number[] = []
  const loops = new Set<number>()
  for (const character of pattern) {
    if (character === '%') loops.add(items.length)
    else items.push(character === '_' ? ANY : (character.codePointAt(0) ?? 0))
  }
  return machine(items, loops)
}

/** `_like` with `%` at both ends, and `%` and `_` in between taken as they are. */
export function containsTest(literal: string): (text: string) => boolean {
  const items = Array.from(literal, (character) => character.codePointAt(0) ?? 0)
  return machine(items, new Set([0, items.length]))
}

/**
 * All states of the pattern at once, one bit each: bit n is set while the first n items match what was read.
 * In a state of `loops` any character may pass by.
 * @source Baeza-Yates and Gonnet, A New Approach to Text Searching, 1992 (shift-and)
 */
function machine(items: readonly number[], loops: ReadonlySet<number>): (text: string) => boolean {
  const words = Math.floor(items.length / BITS) + 1
  const stays = new Int32Array(words)
  for (const state of loops) setBit(stays, state)
  const any = new Int32Array(words)
  for (const [at, item] of items.entries()) if (item === ANY) setBit(any, at)
  const masks = new Map<number, Int32Array>()
  for (const [at, item] of items.entries()) if (item !== ANY) for (const form of casesOf(item)) setBit(maskOf(form), at)

  function maskOf(character: number): Int32Array {
    let mask = masks.get(character)
    if (mask === undefined) {
      mask = any.slice()
      masks.set(character, mask)
    }
    return mask
  }

  const isOpenEnded = loops.has(items.length)
  return (text) => {
    const states = new Int32Array(words)
    states[0] = 1
    for (let at = 0; at < text.length; at++) {
      const character = text.codePointAt(at) ?? 0
      if (character > 0xffff) at++
      if (isOpenEnded && hasBit(states, items.length)) return true
      if (!step(states, masks.get(character) ?? any, stays)) return false
    }
    return hasBit(states, items.length)
  }
}

/** @returns whether any state is left */
function step(states: Int32Array, mask: Int32Array, stays: Int32Array): boolean {
  let carry = 0
  let left = 0
  for (let word = 0; word < states.length; word++) {
    const state = states[word] ?? 0
    const passed = state & (mask[word] ?? 0)
    const next = (passed << 1) | carry | (state & (stays[word] ?? 0))
    carry = passed >>> (BITS - 1)
    states[word] = next
    left |= next
  }
  return left !== 0
}

function setBit(bits: Int32Array, at: number): void {
  const word = Math.floor(at / BITS)
  bits[word] = (bits[word] ?? 0) | (1 << (at % BITS))
}

function hasBit(bits: Int32Array, at: number): boolean {
  return (((bits[Math.floor(at / BITS)] ?? 0) >>> (at % BITS)) & 1) === 1
}

function casesOf(character: number): number[] {
  const isUpper = character >= 0x41 && character <= 0x5a
  const isLower = character >= 0x61 && character <= 0x7a
  return isUpper || isLower ? [character, character ^ 0x20] : [character]
}
