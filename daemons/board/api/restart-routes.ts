/** Routes after which the board begins anew: reboot and factory reset. */
import { Type } from 'typebox'
import { fieldsFault } from '#kit/http/check.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { Rebooter } from '../core/machine-ports.ts'
import type { SettingsBook } from '../core/settings-book.ts'

/** What the routes work on. */
export interface RestartParts {
  book: SettingsBook
  rebooter: Rebooter
  recorder: Recorder
}

const strict = { additionalProperties: false }
const reply = Type.Object({
  reboots: Type.Literal(true),
  about_s: Type.Integer({ description: 'seconds until it answers again, about' }),
})

export function restartRoutes({ book, rebooter, recorder }: RestartParts): Route[] {
  const answer = () => new Reply(202, { reboots: true, about_s: rebooter.aboutS })
  return [
    route({
      method: 'POST',
      path: '/api/reboot',
      who: 'admin',
      status: 202,
      summary: 'Restarts the board',
      body: Type.Object({}, strict),
      reply,
      async handle(ask) {
        await recorder.changed(ask, 'restart')
        await rebooter.reboot('reboot')
        return answer()
      },
    }),
    route({
      method: 'POST',
      path: '/api/factory_reset',
      who: 'admin',
      status: 202,
      summary: 'Forgets all settings and the password, then restarts; confirmed by the hostname',
      body: Type.Object(
        { hostname: Type.String({ maxLength: 63, description: 'the name of this board, as typed by who wants it' }) },
        strict,
      ),
      reply,
      async handle(ask) {
        const { hostname } = book.saved()
        if (ask.body.hostname.trim().toLowerCase() !== hostname)
          throw fieldsFault([{ field: 'hostname', message: `This board is called ${hostname}. Type that to go on.` }])
        await rebooter.reboot('factory_reset')
        await recorder.changed(ask, 'factory reset', hostname)
        return answer()
      },
    }),
  ]
}
