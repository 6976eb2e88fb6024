/** Routes of the recorder's clock and of cameras' clocks, and of what was written to cameras. */
import { Type } from 'typebox'
import { instant, object, orNull, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { CameraClocks } from '../core/clocks/camera-clock.ts'
import type { ClockSync } from '../core/clocks/clock-sync.ts'
import type { OwnClock } from '../core/clocks/own-clock.ts'
import type { Writes } from '../core/clocks/writes.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

const timeType = Type.Enum(['NTP', 'Manual'], { description: 'whether it takes its time from a server' })
const seconds = Type.Number({ description: 'camera minus recorder, to a tenth' })

const stateAnswer = object({
  driftSeconds: seconds,
  offsetMinutes: orNull(
    Type.Integer({ description: 'its local time minus its UTC; null where it tells but one of them' }),
  ),
  dateTimeType: timeType,
})

const setAnswer = object({
  verified: Type.Boolean({ description: 'whether it shows the right time afterwards; false where it lied' }),
  ...{ driftBeforeSeconds: seconds, driftAfterSeconds: seconds },
  timeZoneBefore: orNull(text),
  timeZoneSet: orNull(Type.String({ description: 'null: it showed the right offset, and kept its string' })),
  timeZonePreserved: yesNo,
  zoneVerified: orNull(Type.Boolean({ description: 'null: it cannot be told' })),
  ntpServerSet: orNull(Type.String({ description: 'address of the recorder that it was given, as it says itself' })),
  ntpError: orNull(Type.String({ description: 'why it was not given the recorder as its server' })),
  ...{ dateTimeTypeBefore: timeType, dateTimeTypeSet: timeType },
  streamReopened: Type.Boolean({ description: 'its stream is timed without its clock: never' }),
  ntpKept: Type.Boolean({ description: 'whether it goes on to take its time from the server that it had' }),
})

interface ClockRouteParts {
  cameras: CameraBook
  callers: Callers
  clocks: CameraClocks
  writes: Writes
  ownClock: OwnClock
  sync: ClockSync
  recorder: Recorder
}

export function clockRoutes(parts: ClockRouteParts): Route[] {
  return [...cameraClockRoutes(parts), ...syncRoutes(parts), ...ownClockRoutes(parts)]
}

function cameraClockRoutes({ callers, cameras, clocks, recorder, writes }: ClockRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/clock',
      who: 'admin',
      summary: 'What the clock of a camera shows now',
      params: cameraParams,
      reply: stateAnswer,
      handle: ({ caller, params }) => clocks.read(cameras.require(params.id, callers.accountOf(caller)).record),
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/clock',
      who: 'admin',
      summary:
        "Set a camera's clock and zone, make this machine its server of time where it serves that, and read it again",
      params: cameraParams,
      body: Type.Object(
        { switchToManual: Type.Boolean({ description: 'its time no longer comes from a server of time' }) },
        { additionalProperties: false },
      ),
      reply: setAnswer,
      async handle(ask) {
        const { record } = cameras.require(ask.params.id, callers.accountOf(ask.caller))
        const { switchToManual } = ask.body
        const what = switchToManual ? 'clock of a camera set to manual' : 'clock of a camera set'
        const result = await clocks.set(record, { switchToManual }, ask.caller?.name ?? null)
        await recorder.changed(ask, what, record.name, { id: record.id, ...result })
        return result
      },
    }),
    route({
      method: 'GET',
      path: '/api/cameras/:id/writes',
      who: 'admin',
      summary: 'What was written to a camera, newest first',
      params: cameraParams,
      query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })) }),
      reply: Type.Array(
        object({
          at: instant,
          operation: Type.String({
            description:
              '`clock`, `clock_manual` for a switch to manual time, or how it was turned, such as `ptz_move`',
          }),
          performed_by: orNull(Type.String({ description: 'null: the recorder by itself' })),
          detail: Type.Record(Type.String(), Type.Union([text, Type.Number(), yesNo, Type.Null()])),
        }),
      ),
      handle({ caller, params, query }) {
        const { record } = cameras.require(params.id, callers.accountOf(caller))
        return writes.of(record.id, query.limit ?? 100).map(({ at, detail, operation, performedBy }) => ({
          ...{ at, operation, performed_by: performedBy, detail: { ...detail } },
        }))
      },
    }),
  ]
}

const enabled = Type.Boolean({ description: 'whether the recorder corrects clocks of cameras by itself' })

function syncRoutes({ recorder, sync }: ClockRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/clock-sync',
      who: 'admin',
      summary: 'Whether the recorder corrects clocks of cameras; it looks at them either way',
      reply: object({ enabled }),
      handle: () => ({ enabled: sync.isEnabled() }),
    }),
    route({
      method: 'PUT',
      path: '/api/clock-sync',
      who: 'admin',
      summary:
        'Correct clocks of cameras that are seconds out, have another zone or ask another server of time, or leave them; all are looked at now',
      body: Type.Object({ enabled }, { additionalProperties: false }),
      reply: object({ enabled }),
      async handle(ask) {
        await sync.enable(ask.body.enabled)
        await recorder.changed(ask, `correcting clocks of cameras switched ${ask.body.enabled ? 'on' : 'off'}`)
        return { enabled: sync.isEnabled() }
      },
    }),
  ]
}

const ownTime = {
  available: Type.Boolean({ description: "whether the system's clock service can be reached" }),
  error: Type.Optional(Type.String({ description: 'why it cannot be reached' })),
  zone: Type.String({ description: "the recorder's zone, as the IANA names it" }),
  ntp: orNull(Type.Boolean({ description: 'whether its time comes from the network; null: not known' })),
  canNtp: Type.Boolean({ description: 'whether something is installed that can fetch it' }),
  synchronized: orNull(Type.Boolean({ description: 'whether it was fetched; null: not known' })),
  now: instant,
  pinnedZone: orNull(Type.String({ description: 'pinned by SVC_TZ in the environment of the recorder' })),
  timeServer: Type.Boolean({ description: 'whether cameras can take their time from here' }),
  timeServerError: orNull(Type.String({ description: 'why they cannot' })),
}
const timeWish = Type.Object(
  {
    zone: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'one of zones' })),
    ntp: Type.Optional(Type.Boolean({ description: 'whether the time comes from the network' })),
    time: Type.Optional(
      Type.String({
        ...{ minLength: 16, maxLength: 16, pattern: '^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d$' },
        description: 'YYYY-MM-DD HH:MM in the zone; only while network time is off, or is switched off with it',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
)

function ownClockRoutes({ ownClock, recorder }: ClockRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/recorder/time',
      who: 'admin',
      summary: 'The clock of this machine: zone, network time, and the zones that may be set',
      reply: object({ ...ownTime, zones: Type.Array(text, { description: 'none while the zone is pinned' }) }),
      async handle() {
        const [time, zones] = await Promise.all([ownClock.read(), ownClock.zones()])
        return { ...time, zones: time.available ? zones : [] }
      },
    }),
    route({
      method: 'PUT',
      path: '/api/recorder/time',
      who: 'admin',
      summary: "Set the zone, network time or the time, by the system's clock service",
      body: timeWish,
      reply: object(ownTime),
      handle: (ask) => ownClock.change(ask.body, (sentence) => recorder.changed(ask, sentence.slice(0, -1))),
    }),
  ]
}
