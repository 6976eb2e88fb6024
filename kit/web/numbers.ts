/** Numbers, ages, times and sentences in the format of every page: the same in every country. */
import { nounFor } from '../pure/text.ts'

/** Narrow no-break space: between thousands, and between a value and its unit. */
export const THIN = '\u202f'
/** Shown for unknown values: never 0. */
export const UNKNOWN = '–'
const MINUS = '\u2212'

/** A whole number in full with narrow spaces for thousands, `3 600 412`; `–` when unknown. */
export function count(value: number | null | undefined): string {
  return fixed(value, 0)
}

/** A number with a fixed count of decimals, true minus, narrow spaces; `–` when unknown. */
export function fixed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN
  const [whole = '', fraction] = Math.abs(value).toFixed(decimals).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN)
  const text = fraction === undefined ? grouped : `${grouped}.${fraction}`
  const isZero = !/[1-9]/.test(text)
  return value < 0 && !isZero ? MINUS + text : text
}

/** Milliseconds on a bus, without decimals; less than one reads `<1`. */
export function msText(ms: number | null | undefined): string {
  return ms !== null && ms !== undefined && ms < 0.5 ? '<1' : fixed(ms, 0)
}

/** Bits per second as installers write them: `9600`, but `115 200`. */
export function baudText(baud: number): string {
  return baud < 10_000 ? String(baud) : count(baud)
}

/** Bytes in decimal units with one decimal at most: `118 MB`, `2.4 GB`. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return UNKNOWN
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let value = bytes
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000
    at += 1
  }
  return `${fixed(value, at > 0 && value < 10 ? 1 : 0)}${THIN}${units[at]}`
}

const STEPS: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/**
 * A duration: `0.4 s`, `12 s`, `3 min 12 s`, `41 d 6 h`.
 * @param parts 2 in sentences, 1 in tables
 */
export function age(durationMs: number, parts: 1 | 2 = 2): string {
  const seconds = Math.max(0, durationMs) / 1000
  if (seconds < 1) return `${fixed(seconds, 1)}${THIN}s`
  let rest = Math.floor(seconds)
  const words: string[] = []
  for (const [unit, size] of STEPS) {
    const many = Math.floor(rest / size)
    rest -= many * size
    if (many === 0 && words.length === 0) continue
    if (many > 0) words.push(`${many}${THIN}${unit}`)
    if (words.length === parts || many === 0) break
  }
  return words.join(' ')
}

const formats = new Map<string, Intl.DateTimeFormat>()

function partsOf(atMs: number, zone: string | undefined): Record<string, string> {
  const key = zone ?? ''
  let format = formats.get(key)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      fractionalSecondDigits: 3,
    })
    formats.set(key, format)
  }
  return Object.fromEntries(format.formatToParts(atMs).map((part) => [part.type, part.value]))
}

/**
 * Time of day in the site's zone: `14:02:31.482`, `14:02:31` or `14:02`.
 * @param zone IANA name; default: the reader's own zone
 */
export function timeOf(atMs: number, zone?: string, detail: 'ms' | 's' | 'min' = 's'): string {
  const p = partsOf(atMs, zone)
  const minutes = `${p.hour}:${p.minute}`
  if (detail === 'min') return minutes
  return detail === 's' ? `${minutes}:${p.second}` : `${minutes}:${p.second}.${p.fractionalSecond}`
}

/** Date in the site's zone: `2031-03-09`. */
export function dateOf(atMs: number, zone?: string): string {
  const p = partsOf(atMs, zone)
  return `${p.year}-${p.month}-${p.day}`
}

/** A start time, as short as possible: `13:40` today, `2031-03-09 13:40` before. */
export function sinceText(atMs: number, nowMs: number, zone?: string): string {
  const time = timeOf(atMs, zone, 'min')
  return dateOf(atMs, zone) === dateOf(nowMs, zone) ? time : `${dateOf(atMs, zone)} ${time}`
}

/** `1 line`, `2 lines`. */
export function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${nounFor(value, one, more)}`
}

/** `Both lines`, `All 5 lines`: the whole of two or more. */
export function whole(value: number, more: string): string {
  return value === 2 ? `Both ${more}` : `All ${count(value)} ${more}`
}

/** `a`, `a and b`, `a, b and c`; beyond `most` names the rest is counted. */
export function listed(names: string[], most = 3): string {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names
  if (shown.length < 2) return shown.join('')
  return `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

// Makes words of daemons and devices stand alone: capital first, full stop last.

/** `usb device` reads `Usb device`. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Adds a full stop, unless the text ends with punctuation. */
export function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Makes a fragment a sentence: under a field or in a dialog it stands alone. */
export function sentence(text: string): string {
  return ended(capital(text))
}
