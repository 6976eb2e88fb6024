/** The settings that stand in the table `setting`: what they are, within which bounds, and what they are now. */
import { readSwitch } from '#kit/bytes/switch-text.ts'
import type { Book, Json } from './row.ts'

/** One setting of the site. */
export interface SettingFacts {
  key: string
  type: 'integer' | 'boolean'
  default: number | boolean
  minimum?: number
  maximum?: number
  unit?: string
  meaning: string
}

const DAY_MS = 86_400_000

/** @source document 1, Configuration keys that govern the API */
export const siteSettings: readonly SettingFacts[] = [
  {
    key: 'api_token_life',
    type: 'integer',
    default: 3_600_000,
    minimum: 1,
    maximum: 3650 * DAY_MS,
    unit: 'ms',
    meaning: 'how long a session token lives, from when it was given',
  },
  {
    key: 'api_2fa_ttl_seconds',
    type: 'integer',
    default: 300,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    meaning: 'how long a mailed code is accepted',
  },
  {
    key: 'rest_api_enabled',
    type: 'boolean',
    default: true,
    meaning: 'whether the REST surface answers; read at start',
  },
]

/** What the settings are now. */
export interface SiteSettings {
  api_token_life: number
  api_2fa_ttl_seconds: number
  rest_api_enabled: boolean
}

/** The settings of a book; what no row says, or says out of bounds, is the default. */
export function settingOf(book: Book): SiteSettings {
  const said = new Map(book.rows('setting').map((row) => [row.key, row.value]))
  const values = siteSettings.map((facts) => [facts.key, readSetting(facts, said.get(facts.key)) ?? facts.default])
  return Object.fromEntries(values)
}

/** @returns the value that a text, number or boolean says, or undefined where it is none of this setting */
export function readSetting(facts: SettingFacts, said: Json | undefined): number | boolean | undefined {
  const text = String(said ?? '').trim()
  if (facts.type === 'boolean') return readSwitch(text)
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = facts
  return number >= minimum && number <= maximum ? number : undefined
}
