/** A switch as people and programs write it: on or off in the words that forms, shells and site files use. */

const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['on', true],
  ['yes', true],
  ['0', false],
  ['false', false],
  ['off', false],
  ['no', false],
])

/** What a switch may be written as, for sentences. */
export const SWITCH_WORDS = '1 or 0 (or true, false, on, off, yes, no)'

/** @returns what the text says, in capitals or not; undefined where it says neither on nor off, as an empty one */
export function readSwitch(text: string): boolean | undefined {
  return SWITCHES.get(text.trim().toLowerCase())
}
