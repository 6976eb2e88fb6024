/** Articles, counts and durations within sentences, for daemons and pages alike: nobody reads `a encoder` or `24814 ms`. */

/** Said with a vowel in front, or written so: `an hour`, `an M-Bus`, but `a unit` and `a USB server`. */
const VOWEL = /^(?:[aeio]|hour|honest|un(?!i)|up|[FHLMNRSX](?=[A-Z\d-]|$))/
const CAPITAL_VOWEL = /^(?:[AEIO]|Hour|Un(?!i)|Up)/

/** `an encoder`, `a decoder`. @param noun begins as it is written within a sentence */
export function withArticle(noun: string): string {
  return `${VOWEL.test(noun) || CAPITAL_VOWEL.test(noun) ? 'an' : 'a'} ${noun}`
}

/** The noun that fits a number: `character` for 1, else `characters`. */
export function nounFor(value: number, one: string, more = `${one}s`): string {
  return value === 1 ? one : more
}

/** `1 character`, `12 characters`. */
export function counted(value: number, one: string, more?: string): string {
  return `${value} ${nounFor(value, one, more)}`
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/** `300 ms`, `24.8 s`, `2 min 5 s`, `3 h`: as exact as somebody needs who reads it. */
export function durationText(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${tenths / 10} s`
  let rest = Math.round(ms / 1000)
  const words: string[] = []
  for (const [name, size] of UNITS) {
    const value = Math.floor(rest / size)
    rest -= value * size
    if (value > 0) words.push(`${value} ${name}`)
    if (words.length === 2 || (words.length === 1 && value === 0)) break
  }
  return words.join(' ')
}
