/** Zones on the pages: the list, commands and macros. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Route } from '#kit/http/route.ts'
import { siteView } from '../core/access/accounts.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import { groupZones, listMacros } from '../core/live/zones.ts'
import type { Book } from '../core/site/book.ts'
import type { UiControl } from '../core/surfaces.ts'
import { commanded, zonesAnswer } from './answers.ts'
import { controlBody } from './rest-endpoints.ts'
import { granted, type UiGate } from './ui-gate.ts'

/** What these routes depend on. */
interface UiZoneParts {
  control: UiControl
  book: Book
  live: LiveBook
  clock: Clock
}

/** Routes for what a person sees and does. @source document 1, POST /api/control/:action */
export function uiZoneRoutes(gate: UiGate, { control, book, live, clock }: UiZoneParts): Route[] {
  return [
    gate.signed({
      method: 'GET',
      path: '/ui/zones',
      reply: zonesAnswer,
      summary: 'Zones that this person may see and command, by room, with what they do now; and their macros',
      handle({ session }) {
        const groups = groupZones({ book, live }, session, control.scope(session))
        return granted({ site: siteView(book), now: clock.epochMs(), groups, macros: listMacros(book, session) })
      },
    }),
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
