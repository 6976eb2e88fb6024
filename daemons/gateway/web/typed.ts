/** What hands type, read for the API: text as bytes, lists of numbers, headers. */
import { typedNumber } from '#kit/web/form.ts'

/** Text as spaced hex of its UTF-8 bytes: `02 50 03`. */
export function hexOfText(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ')
}

/** Numbers separated by commas or blanks; `0x1F`, `on` and `off` are understood. What is no number stays text, for the API to name. */
export function listOf(text: string): (number | string)[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((word) => {
      if (/^(on|off)$/i.test(word)) return word.toLowerCase() === 'on' ? 1 : 0
      return /^0x[0-9a-f]+$/i.test(word) ? Number(word) : typedNumber(word)
    })
}

/** Names separated by commas or blanks, each once. */
export function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter(Boolean))]
}

/** One header a line, `Name: value`. A line without a colon becomes a name without value, for the API to refuse. */
export function headersOf(text: string): Record<string, string> {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/** Headers as they are typed, one a line. */
export function headersText(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}
