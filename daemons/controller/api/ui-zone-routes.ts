/** Zones with their live state, and what is asked of them. */
import type { Route } from '#kit/http/route.ts'
import type { LiveBook } from '../core/live.ts'
import { listMacros } from '../core/macro-list.ts'
import { siteView } from '../core/person.ts'
import type { Book } from '../core/row.ts'
import type { UiControl } from '../core/ui-ports.ts'
import { groupZones } from '../core/zone-groups.ts'
import { commanded, zonesAnswer } from './answers.ts'
import { controlBody } from './rest-description.ts'
import { createUiGate, granted, type UiGateParts } from './ui-gate.ts'

/** What these routes stand on. */
export interface UiZoneParts extends UiGateParts {
  control: UiControl
  book: Book
  live: LiveBook
}

/** Routes of what a person sees and does. @source document 1, POST /api/control/:action */
export function uiZoneRoutes(parts: UiZoneParts): Route[] {
  const { control, book, live, clock } = parts
  const gate = createUiGate(parts)
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
  ]
}
