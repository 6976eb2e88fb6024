/** The route of the devices page: which devices of the site are there, and why the others are not. */
import { Type } from 'typebox'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { count, instant, object, orNull, type Route, text, yesNo } from '#kit/http/route.ts'
import { driverNameOf } from '../core/drivers/driver.ts'
import type { LiveBook, LiveDevice } from '../core/live/live-book.ts'
import type { Book, Row } from '../core/site/book.ts'
import type { UiTraffic } from '../core/surfaces.ts'
import { granted, type UiGate } from './ui-gate.ts'

/** Most devices of one answer. */
const MOST = 200

const readDevices = createReader(
  Type.Object(
    {
      find: Type.Optional(Type.String({ maxLength: 200, description: 'part of its name, its driver or its error' })),
      limit: Type.Integer({ minimum: 1, maximum: MOST, default: 100 }),
    },
    { additionalProperties: false },
  ),
  '?',
  'text',
)

const devicesAnswer = object({
  now: instant,
  online: count,
  offline: count,
  unknown: Type.Integer({ minimum: 0, description: 'nothing was heard of them yet, or nothing drives them' }),
  off: Type.Integer({ minimum: 0, description: 'not enabled' }),
  matching: Type.Integer({ minimum: 0, description: 'all that `find` fits, of which an answer has some' }),
  devices: Type.Array(
    object({
      id: Type.Integer(),
      name: text,
      driver: text,
      state: Type.Enum(['online', 'offline', 'unknown', 'off']),
      error: orNull(text),
      last_seen: orNull(instant),
      ip_address: orNull(text),
      zones: count,
    }),
  ),
})

const readTraffic = createReader(
  Type.Object(
    {
      device: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      after: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: '`next` of before',
      }),
    },
    { additionalProperties: false },
  ),
  '?',
  'text',
)

const trafficAnswer = object({
  entries: Type.Array(
    object({
      n: count,
      at: instant,
      way: Type.Enum(['out', 'in', 'note'], { description: 'a note is what the controller says of the device' }),
      about: Type.String({ description: 'what carried it: method and path, status, topic' }),
      text: Type.String({ description: 'its first bytes; control characters and what is no text stand escaped' }),
      hex: text,
      size: Type.Integer({ minimum: 0, description: 'bytes of all of it' }),
      isCut: yesNo,
      isWithheld: Type.Boolean({ description: 'part of a sign-in, and not shown' }),
    }),
  ),
  next: count,
  dropped: Type.Integer({ minimum: 0, description: 'messages that came since `after` and are kept no more' }),
  lane: orNull(object({ queued: count, done: count, failed: count, timed_out: count })),
})

interface DeviceParts {
  traffic: UiTraffic
  book: Book
  live: LiveBook
  clock: { epochMs(): number }
}

/** For elevated sessions: a device's error may name its address. */
export function uiDeviceRoutes(gate: UiGate, parts: DeviceParts): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/devices',
      query: readDevices,
      reply: devicesAnswer,
      summary: 'The devices of the site, those that are away first',
      handle({ query }) {
        const { find = '', limit } = readDevices({ ...(query as object) })
        return granted(viewOf(parts, find.toLowerCase(), limit))
      },
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/devices/traffic',
      query: readTraffic,
      reply: trafficAnswer,
      summary: 'What goes to and comes from one device from now on, without its secrets',
      handle({ query }) {
        const { device: id, after } = readTraffic({ ...(query as object) })
        const device = parts.book.row('device', id)
        if (!device) throw fieldsFault([{ field: 'device', message: `There is no device ${id}.` }])
        return granted({ ...parts.traffic.look(device, after), lane: laneOf(parts, id) }, `device ${id}`)
      },
    }),
  ]
}

function laneOf({ traffic }: DeviceParts, id: number) {
  const lane = traffic.lane(id)
  if (lane === undefined) return null
  const { queued, done, failed, timedOut } = lane
  return { queued, done, failed, timed_out: timedOut }
}

type State = LiveDevice['state'] | 'off'

/** Those that somebody has to look at come first. */
const ORDER: Readonly<Record<State, number>> = { offline: 0, unknown: 1, online: 2, off: 3 }

function viewOf({ book, live, clock }: DeviceParts, find: string, limit: number) {
  const counts: Record<State, number> = { online: 0, offline: 0, unknown: 0, off: 0 }
  const devices = book.rows('device').map((row) => {
    const known = live.device(row.id)
    const state: State = row.enabled === false ? 'off' : known.state
    counts[state]++
    return { row, known, state }
  })
  const fits = devices.filter(
    ({ row, known }) =>
      find === '' ||
      [row.name, driverNameOf(row), known.error].some((said) =>
        String(said ?? '')
          .toLowerCase()
          .includes(find),
      ),
  )
  const first = fits.toSorted((one, other) => ORDER[one.state] - ORDER[other.state] || one.row.id - other.row.id)
  const zones = zonesOf(book)
  return {
    now: clock.epochMs(),
    ...counts,
    matching: fits.length,
    devices: first.slice(0, limit).map(({ row, known, state }) => ({
      ...{ id: row.id, name: String(row.name), driver: driverNameOf(row), state },
      ...{ error: state === 'offline' ? known.error : null, last_seen: known.lastSeenAt },
      ...{ ip_address: known.ipAddress ?? textOrNull(row.ip_address), zones: zones.get(row.id) ?? 0 },
    })),
  }
}

function zonesOf(book: Book): Map<number, number> {
  const zones = new Map<number, number>()
  for (const { device_id: id } of book.rows('zone')) if (typeof id === 'number') zones.set(id, (zones.get(id) ?? 0) + 1)
  return zones
}

function textOrNull(value: Row[string] | undefined): string | null {
  return typeof value === 'string' ? value : null
}
