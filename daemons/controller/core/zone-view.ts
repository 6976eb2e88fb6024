/** A zone as a page shows it: what it is, what it does now, and what may be asked of it. */
import { seenValue } from './data/attribute-value.ts'
import type { DeviceState, LiveBook, LiveDevice, LiveZone } from './live.ts'
import type { Json, Row } from './row.ts'
import { NAME_RULES } from './sensitive-name.ts'

/** What of a zone's live state goes to pages. Drivers report more, which may hold what no page should learn. */
const SHOWN = [
  'state',
  'on',
  'level',
  'setpoint',
  'temperature',
  'humidity',
  'value',
  'mode',
  'position',
  'volume',
  'mute',
  'source',
] as const

/** Longer texts are cut: a device may say anything. */
const LONGEST_TEXT = 120

/** Live values by name: texts, numbers and booleans alone. */
export type ZoneValues = Readonly<Partial<Record<(typeof SHOWN)[number], string | number | boolean>>>

/** What a zone does now. */
export interface ZoneState {
  id: number
  values: ZoneValues
  /** Of the device behind it; null where it has none. */
  device: { state: DeviceState; lastSeenAt: number | null } | null
}

/** A zone with all that does not change by itself. */
export interface ZoneView extends ZoneState {
  name: string
  type: string | null
  unit: string | null
  min: number | null
  max: number | null
  /** What may be asked of it, `on`, `level`; empty where this person may not command it. */
  verbs: readonly string[]
  /** Why there are none, where it is a matter of rights. */
  refused: 'role' | 'elevation' | null
}

/** What it does now. */
export function zoneState(zone: Row, live: Pick<LiveBook, 'zone' | 'device'>): ZoneState {
  const deviceId = zone.device_id
  const device = typeof deviceId === 'number' ? deviceOf(live.device(deviceId)) : null
  return { id: zone.id, values: shownOf(live.zone(zone.id)), device }
}

function deviceOf({ state, lastSeenAt }: LiveDevice): ZoneState['device'] {
  return { state, lastSeenAt }
}

function shownOf(live: LiveZone): ZoneValues {
  const values: Record<string, string | number | boolean> = {}
  for (const name of SHOWN) {
    const value = Object.hasOwn(live, name) ? plain(live[name]) : undefined
    if (value !== undefined) values[name] = value
  }
  return values
}

function plain(value: Json | undefined): string | number | boolean | undefined {
  if (typeof value === 'string') return seenText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  return typeof value === 'boolean' ? value : undefined
}

/** As reads over REST show it to who is not elevated: a page hangs on a wall, whoever signed in there. */
function seenText(text: string): string | undefined {
  const seen = seenValue(NAME_RULES, text)
  return typeof seen === 'string' ? seen.slice(0, LONGEST_TEXT).toWellFormed() : undefined
}
