/** Versions of firmware: three numbers, compared one after the other. */

/** What a version looks like: `2.0.13`, each number at most six digits, none with a zero before it. */
export const VERSION_PATTERN = '^(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})$'

const VERSION = new RegExp(VERSION_PATTERN)

/** Whether the text is a version. */
export function isVersion(text: string): boolean {
  return VERSION.test(text)
}

/** @returns below 0 where `one` is older than `other`, 0 where they are the same; both are versions */
export function compareVersions(one: string, other: string): number {
  const numbers = other.split('.').map(Number)
  const differences = one.split('.').map((text, at) => Number(text) - (numbers[at] ?? 0))
  return differences.find((difference) => difference !== 0) ?? 0
}
