/** The route: what to play, as saved; validated forms, and changes one after the other. */
import { createSerialTurn } from '#kit/pure/pace.ts'
import {
  badFields,
  readSettingText,
  type Setting,
  type SettingValue,
  unknownField,
} from '../../../core/settings/setting.ts'
import { groupFault, ipv4Fault, parseIpv4 } from '../../../wire/addresses.ts'
import type { StreamEncoding } from '../../../wire/streams/description.ts'

/** As saved. null follows the stream's announcement, or the settings. @source Interface 2, B, POST /api/route */
export interface RouteRecord {
  /** Empty: nothing is played. */
  mcast: string
  port: number
  /** Address of the only sender that is played. */
  source: string | null
  link_ms: number | null
  mclk_offset: number | null
  encoding: StreamEncoding | null
}

const ROUTE_GROUP = 'Route'

const ROUTE_FIELDS: readonly Setting[] = [
  {
    kind: 'address',
    name: 'mcast',
    group: ROUTE_GROUP,
    default: '',
    maxLength: 15,
    meaning: 'Multicast group of the stream; empty stops.',
    fault: groupFault,
  },
  number('port', [1, 65_535], 5004, 'UDP port of the stream.'),
  {
    kind: 'address',
    name: 'source',
    group: ROUTE_GROUP,
    default: '',
    maxLength: 15,
    meaning: 'Address of the sender; empty takes the announced one, else the first that is heard.',
    fault: sourceFault,
  },
  {
    ...number('link_ms', [0.25, 2000], 10, 'Time from a sample at the sender to its sound; empty takes the settings.'),
    decimals: 2,
    unit: 'ms',
  },
  number('mclk_offset', [0, 0xffff_ffff], 0, "Media clock offset; empty takes the announcement's, else 0."),
  {
    kind: 'choice',
    name: 'encoding',
    group: ROUTE_GROUP,
    default: 'L24',
    choices: ['L16', 'L24'],
    meaning: "Bits of a sample; empty takes the announcement's, else L24.",
  },
]

/** Names and meanings of the fields, for OpenAPI. */
export const routeFields: readonly Pick<Setting, 'name' | 'meaning'>[] = ROUTE_FIELDS

/**
 * @param given texts by name; an empty one counts as absent, except for `mcast`, where it stops
 * @returns the whole new route: absent fields are not taken from the last one
 * @throws Fault `bad_fields` with everything that is wrong or unknown
 * @source Interface 2, B, POST /api/route, rules 1 and 2
 */
export function readRouteForm(given: Readonly<Record<string, string>>, now: RouteRecord): RouteRecord {
  const known = ROUTE_FIELDS.map(({ name }) => name)
  const faults = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => unknownField(name, known))
  const read: Record<string, SettingValue | null> = {}
  for (const setting of ROUTE_FIELDS) {
    const text = given[setting.name]?.trim() ?? ''
    read[setting.name] = null
    if (text === '') continue
    const { value, fault } = readSettingText(setting, text)
    if (fault === undefined) read[setting.name] = value
    else faults.push({ field: setting.name, message: fault })
  }
  const { mcast } = given
  if (mcast === undefined) faults.push({ field: 'mcast', message: 'It is missing. Send a group, or nothing to stop.' })
  else if (mcast.trim() !== '' && (given.port ?? '').trim() === '')
    faults.push({ field: 'port', message: 'It is missing. Send the UDP port of the stream, such as 5004.' })
  if (faults.length > 0) throw badFields(faults)
  if (read.mcast === null) return { ...stopped, port: now.port }
  return read as unknown as RouteRecord
}

/** The route when nothing is played. */
const stopped: Omit<RouteRecord, 'port'> = {
  mcast: '',
  source: null,
  link_ms: null,
  mclk_offset: null,
  encoding: null,
}

/** The route that the settings give. */
export function routeOfSettings({ mcast, port }: { mcast: string; port: number }): RouteRecord {
  return { ...stopped, mcast, port }
}

/** Loopback and link-local senders are allowed: a sender may be on this machine, or have assigned its own address. */
function sourceFault(text: string): string | undefined {
  const address = parseIpv4(text)
  if (address === undefined) return ipv4Fault(text)
  const first = address >>> 24
  if (first === 0) return `${text} stands for no address. Give that of the sender.`
  if (first >= 224 && first <= 239) return `${text} is a multicast group. Give the sender's own address.`
  return first >= 240 ? `${text} is reserved. Give the sender's own address.` : undefined
}

function number(name: string, [min, max]: [number, number], value: number, meaning: string) {
  return { kind: 'number', name, group: ROUTE_GROUP, default: value, min, max, decimals: 0, meaning } satisfies Setting
}

// Changes: checked, saved, then applied, one after the other.

/** The file: the route, and the settings at the time it was made. */
export interface SavedRoute {
  route: RouteRecord
  settings: { mcast: string; port: number }
}

/** Dependencies. */
interface RouteBookParts {
  /** As loaded; null if none was ever saved. */
  saved: SavedRoute | null
  /** Group and port of the settings. */
  settings: { mcast: string; port: number }
  /** @throws Fault `store_write_failed` */
  save(saved: SavedRoute): Promise<void>
  /** Plays it at once. */
  apply(route: RouteRecord): void
}

export interface RouteBook {
  readonly route: RouteRecord
  /**
   * Saves, then plays: what cannot be saved is not played either, so that a restart continues with the same stream.
   * @param given texts by name, see `readRouteForm`
   * @throws Fault `bad_fields`, `store_write_failed`
   */
  change(given: Readonly<Record<string, string>>): Promise<RouteRecord>
  /**
   * Call once at the start: forgets a route made under other settings, so that it does not return with the old ones.
   * @throws Fault `store_write_failed`
   */
  settle(): Promise<void>
}

/**
 * At first a board plays the group of its settings, and later what it was routed to. A group newly set in the settings
 * wins over an older route.
 * @source Interface 2, B, POST /api/route; Settings
 */
export function createRouteBook({ saved, settings, save, apply }: RouteBookParts): RouteBook {
  const inTurn = createSerialTurn()
  const isOfTheseSettings = saved?.settings.mcast === settings.mcast && saved.settings.port === settings.port
  let route = saved !== null && isOfTheseSettings ? saved.route : routeOfSettings(settings)

  return {
    async settle() {
      if (saved !== null && !isOfTheseSettings) await inTurn(() => save({ route, settings }))
    },
    get route() {
      return route
    },
    change: (given) =>
      inTurn(async () => {
        const next = readRouteForm(given, route)
        await save({ route: next, settings })
        route = next
        apply(next)
        return next
      }),
  }
}
