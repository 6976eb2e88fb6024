/** Zones on the pages: the list, commands and macros. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { Reply, type Route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { HARMLESS } from '#kit/pure/picture.ts'
import { siteView } from '../core/access/accounts.ts'
import type { Stills } from '../core/drivers/stills.ts'
import { seenFavourites } from '../core/live/favourites.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import { groupZones, isElevated, listMacros } from '../core/live/zones.ts'
import type { Book } from '../core/site/book.ts'
import type { UiControl, UiRooms } from '../core/surfaces.ts'
import { commanded, doneAnswer, zonesAnswer } from './answers.ts'
import { controlBody } from './rest-endpoints.ts'
import { granted, statusOf, type UiGate } from './ui-gate.ts'

/** What these routes depend on. */
interface UiZoneParts {
  control: UiControl
  stills: Stills
  book: Book
  live: LiveBook
  clock: Clock
  rooms: Pick<UiRooms, 'favourites' | 'choose' | 'plans'>
}

const readStillQuery = createReader(
  Type.Object(
    { zone: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
    { additionalProperties: false },
  ),
  '?',
  'text',
)

const rowId = () => Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

const readFavourite = createReader(
  Type.Object({ zone_id: rowId(), macro_id: rowId(), favourite: Type.Boolean() }, { additionalProperties: false }),
)

/** Routes for what a person sees and does. @source document 1, POST /api/control/:action */
export function uiZoneRoutes(gate: UiGate, parts: UiZoneParts): Route[] {
  const { control, book, live, clock, rooms, stills } = parts
  return [
    stillRoute(gate, parts),
    ...commandRoutes(gate, control),
    gate.signed({
      method: 'GET',
      path: '/ui/zones',
      reply: zonesAnswer,
      summary:
        'Zones that this person may see and command, by room, with what they do now; their macros, favourites and floor plans',
      handle({ session }) {
        const scope = control.scope(session)
        const groups = groupZones({ book, live }, session, scope)
        const macros = listMacros(book, session)
        const zones = new Set(groups.flatMap((group) => group.zones.map(({ id }) => id)))
        const seen = { zones, macros: new Set(macros.map(({ id }) => id)) }
        const own = {
          favourites: seenFavourites(rooms.favourites(session), seen),
          plans: rooms.plans.list(session, scope),
        }
        const facts = { site: siteView(book), now: clock.epochMs(), still_ms: stills.everyMs }
        return granted({ ...facts, groups, macros, ...own })
      },
    }),
    gate.signed({
      method: 'PUT',
      path: '/ui/favourite',
      body: readFavourite,
      reply: doneAnswer,
      summary: 'Puts a zone or a macro among the own favourites, or takes it from there',
      async handle({ session, body }) {
        const { zone_id: zone, macro_id: macro, favourite: isFavourite } = readFavourite(body)
        if ((zone === undefined) === (macro === undefined))
          throw fieldsFault([{ field: 'zone_id', message: 'or macro_id is needed, one of the two' }])
        const id = zone ?? macro ?? 0
        const scope = control.scope(session)
        const isSeen = () =>
          zone === undefined
            ? listMacros(book, session).some((one) => one.id === id)
            : book.row('zone', id) !== undefined && (scope === 'all' || scope.has(id))
        await rooms.choose(session, { kind: zone === undefined ? 'macros' : 'zones', id, isFavourite }, isSeen)
        return granted({ success: true })
      },
    }),
  ]
}

function commandRoutes(gate: UiGate, control: UiControl): Route[] {
  return [
    gate.signed({
      method: 'POST',
      path: '/ui/command',
      body: { schema: controlBody },
      reply: commanded,
      isRecordedFirst: true,
      summary: 'As POST /api/control/command',
      handle: async ({ session, body }) => ({ outcome: await control.command(session, body) }),
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/macro',
      body: { schema: controlBody },
      reply: commanded,
      isRecordedFirst: true,
      summary: 'As POST /api/control/macro',
      handle: async ({ session, body }) => ({ outcome: await control.macro(session, body) }),
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/macro/cancel',
      body: { schema: Type.Object({ run_id: Type.Integer() }) },
      reply: commanded,
      isRecordedFirst: true,
      summary: 'Ends a run of a macro, with those that it called: an own one, or any for elevated sessions',
      handle: ({ session, body }) => ({ outcome: control.cancel(session, body) }),
    }),
  ]
}

/** The same 404 for a zone that is no camera, is not there, or is not for this person. */
function stillRoute(gate: UiGate, { book, control, stills }: UiZoneParts): Route {
  return gate.signed({
    method: 'GET',
    path: '/ui/zone/still',
    query: readStillQuery,
    reply: Type.String(),
    replyType: 'image/jpeg',
    isByItself: true,
    summary: 'What a camera shows, a JPEG, for who sees its zone; the recorder is asked once in `drivers.still_ms`',
    async handle({ session, query }) {
      const { zone: id } = readStillQuery(query)
      const scope = control.scope(session)
      const zone = scope === 'all' || scope.has(id) ? book.row('zone', id) : undefined
      if (!zone || (!session.isElevated && isElevated(book, zone)))
        throw new Fault('no_still', 'This zone is no camera of a recorder.')
      const isRepeat = !stills.isNewLook(session.userId, id)
      const target = `zone ${id}`
      try {
        const { buffer, byteOffset, byteLength } = await stills.still(zone)
        const file = new Reply(200, Buffer.from(buffer, byteOffset, byteLength), STILL_HEAD)
        return { ...granted({}, target), file, isRepeat }
      } catch (fault) {
        if (!(fault instanceof Fault) || fault.code !== 'still_failed') throw fault
        const json = { error: fault.code, message: fault.message }
        return { outcome: { status: statusOf(fault.code), body: { json }, reason: null, target }, isRepeat }
      }
    },
  })
}

const STILL_HEAD = { ...HARMLESS, 'cache-control': 'no-store', 'content-type': 'image/jpeg' }
