/** Reads a search in words: labels, names of cameras, and when. What nobody understands is said, not guessed. */
import { instantOf } from '#kit/pure/wall-time.ts'
import { groupOf, isLabelGroup, MOTION } from './labels.ts'

interface SearchFacts {
  /** Those that the searcher may see. */
  cameras: readonly { id: string; name: string }[]
  /** Epoch milliseconds. */
  now: number
  /** Zone in which days begin, as the IANA names it. */
  zone: string
}

export interface ReadSearch {
  labels: string[]
  cameraIds: string[]
  since: number | null
  until: number | null
  ignored: string[]
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** Parts of a day, in hours; a night ends on the next day. */
const PARTS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  morning: [5, 12],
  noon: [11, 14],
  afternoon: [12, 18],
  evening: [17, 23],
  night: [21, 30],
}

const SPANS: ReadonlyMap<string, number> = new Map([
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['week', 604_800_000],
])

/** Words that people put between the others. */
const FILLERS = new Set('a an the in on at by near of and or with last this was were seen events event all'.split(' '))

const SYNONYMS: Readonly<Record<string, string>> = {
  people: 'person',
  persons: 'person',
  man: 'person',
  woman: 'person',
  somebody: 'person',
  someone: 'person',
  vehicles: 'vehicle',
  animals: 'animal',
  lorry: 'truck',
  bike: 'bicycle',
  motorbike: 'motorcycle',
  buses: 'bus',
  movement: MOTION,
}

export function readSearch(text: string, facts: SearchFacts): ReadSearch {
  const { cameraIds, rest } = takeCameras(spoken(text), facts.cameras)
  const when = takeTime(rest.match(/[\p{L}\p{N}:-]+/gu) ?? [], facts)
  const labels: string[] = []
  const ignored: string[] = []
  for (const word of when.rest) {
    if (FILLERS.has(word)) continue
    const label = labelOf(word)
    if (label === undefined) ignored.push(word)
    else if (!labels.includes(label)) labels.push(label)
  }
  // So many ask the database at once.
  return { labels: labels.slice(0, 4), cameraIds, since: when.since, until: when.until, ignored }
}

function labelOf(word: string): string | undefined {
  const known = Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] ?? word) : word
  for (const one of [known, known.replace(/s$/, '')])
    if (isLabelGroup(one) || one === MOTION || groupOf(one) !== 'other') return one
  return undefined
}

/** An umlaut is one sign or two, depending on the keyboard. */
function spoken(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/** The longest names first: "Door 2" is not "Door". */
function takeCameras(text: string, cameras: SearchFacts['cameras']): { cameraIds: string[]; rest: string } {
  const cameraIds: string[] = []
  let rest = ` ${text} `
  for (const { id, name } of cameras.toSorted((a, b) => b.name.length - a.name.length)) {
    // Nothing else may be escaped in an expression of this kind.
    const lower = spoken(name)
    const plain = lower.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    const at = rest.search(new RegExp(`(?<![\\p{L}\\p{N}])${plain}(?![\\p{L}\\p{N}])`, 'u'))
    if (at < 0) continue
    cameraIds.push(id)
    rest = `${rest.slice(0, at)} ${rest.slice(at + lower.length)}`
  }
  return { cameraIds, rest }
}

interface ReadTime {
  since: number | null
  until: number | null
  rest: string[]
}

/** "today", "yesterday evening", "tuesday", "2031-03-09", "last 2 hours". */
function takeTime(words: readonly string[], { now, zone }: SearchFacts): ReadTime {
  const rest: string[] = []
  let day: string | undefined
  let part: readonly [number, number] | undefined
  let ago: number | undefined
  for (const [place, word] of words.entries()) {
    const spanMs = SPANS.get(word.replace(/s$/, ''))
    const before = Number(words[place - 1])
    if (word === 'last' || (/^\d+$/.test(word) && SPANS.has(words[place + 1]?.replace(/s$/, '') ?? ''))) continue
    if (spanMs !== undefined) ago = spanMs * (before > 0 ? before : 1)
    else if (word === 'today') day = dayOf(now, zone)
    else if (word === 'yesterday') day = daysBefore(dayOf(now, zone), 1)
    else if (isDay(word)) day = word
    else if (WEEKDAYS.includes(word)) day = lastWeekday(dayOf(now, zone), WEEKDAYS.indexOf(word))
    else if (Object.hasOwn(PARTS, word)) part = PARTS[word]
    else rest.push(word)
  }
  if (ago !== undefined) return { since: Math.max(0, Math.round(now - ago)), until: now, rest }
  if (day === undefined && part === undefined) return { since: null, until: null, rest }
  const whole = part ?? [0, 24]
  const of =
    day ?? (startOf(dayOf(now, zone), whole[0], zone) > now ? daysBefore(dayOf(now, zone), 1) : dayOf(now, zone))
  return { since: startOf(of, whole[0], zone), until: startOf(of, whole[1], zone) - 1, rest }
}

function dayOf(at: number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(at)
}

/** Of a century in which something may have been recorded; a 31st of February is none. */
function isDay(word: string): boolean {
  const at = Date.parse(/^20\d{2}-\d{2}-\d{2}$/.test(word) ? `${word}T12:00:00Z` : '')
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(word)
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(`${day}T12:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10)
}

/** Today counts. */
function lastWeekday(today: string, weekday: number): string {
  const present = new Date(`${today}T12:00:00Z`).getUTCDay()
  return daysBefore(today, (present - weekday + 7) % 7)
}

function startOf(day: string, hour: number, zone: string): number {
  const date = hour >= 24 ? daysBefore(day, -1) : day
  return instantOf(`${date}T${String(hour % 24).padStart(2, '0')}:00`, zone)
}
