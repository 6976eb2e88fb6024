/** Routes of the settings: read, save, and the form that a page shows. */
import { Type } from 'typebox'
import { type Ask, ifMatch, type Route, route, withRevision } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import { revisionOf } from '#kit/revision.ts'
import type { Rebooter } from '../core/machine/ports.ts'
import type { RoleFitness } from '../core/role.ts'
import type { Absent, SettingsBook } from '../core/settings/book.ts'
import type { Setting } from '../core/settings/setting.ts'
import { boardSettings, settingsForm } from '../core/settings/settings.ts'
import { formAnswer } from './answers.ts'

/** Dependencies of the settings routes. */
interface ConfigParts {
  book: SettingsBook
  rebooter: Rebooter
  recorder: Recorder
  /** Whether this machine has what each role needs. */
  fitness(): Promise<readonly RoleFitness[]>
}

/**
 * A schema for OpenAPI only: it accepts any text, so that core can report all faults at once, in its own words,
 * including fields that do not fit each other.
 */
const form = Type.Object(
  Object.fromEntries(
    boardSettings.map(({ name, meaning }) => [name, Type.Optional(Type.String({ description: meaning }))]),
  ),
  { additionalProperties: Type.String() },
)

const saved = Type.Object({
  saved: Type.Literal(true),
  revision: Type.String({ description: 'of the settings as this call saved them; also the ETag' }),
  changed: Type.Array(Type.String({ description: 'names of settings that are otherwise than before' })),
  warning: Type.Optional(
    Type.String({
      description: 'what is otherwise than before though nobody named it: switches that were not in the form',
    }),
  ),
  restarts: Type.Literal(true, { description: 'the board restarts whatever was changed' }),
  reboots_machine: Type.Boolean({
    description: "the whole machine does, since it is the board's own (`machine.owned`)",
  }),
  about_s: Type.Integer({ description: 'seconds until it answers again, about' }),
})

export function configRoutes({ book, rebooter, recorder, fitness }: ConfigParts): Route[] {
  async function save(ask: Ask<unknown, unknown, unknown>, absent: Absent) {
    const { settings, changed, switchedOff } = await book.save(ask.body as Record<string, string>, absent, ifMatch(ask))
    const now = Object.fromEntries(changed.map((name) => [name, settings[name]]))
    await recorder.changed(ask, 'settings saved', settings.hostname, now)
    await rebooter.reboot('config')
    const { aboutS, isOfMachine } = rebooter
    // Revision of what this caller saved: somebody else may have saved since.
    const revision = revisionOf(settings)
    const restart = { restarts: true, reboots_machine: isOfMachine, about_s: aboutS } as const
    const warning = switchedOff.length === 0 ? {} : { warning: warningOf(switchedOff) }
    return withRevision({ saved: true, revision, changed, ...restart, ...warning }, revision)
  }
  return [
    route({
      method: 'GET',
      path: '/api/config',
      who: 'admin',
      summary: 'The saved settings, which can be posted back as they are',
      reply: Type.Object(Object.fromEntries(boardSettings.map((setting) => [setting.name, shapeOf(setting)]))),
      handle: () => withRevision(book.saved(), book.revision()),
    }),
    route({
      method: 'GET',
      path: '/api/config/form',
      who: 'admin',
      reply: formAnswer,
      summary:
        'The settings as a form: groups, fields, bounds, meanings, what they are now; and which roles this machine can',
      async handle() {
        const shown = { ...settingsForm(book.saved(), book.first), revision: book.revision() }
        return withRevision({ ...shown, roles: await fitness() }, shown.revision)
      },
    }),
    route({
      method: 'POST',
      path: '/api/config',
      who: 'admin',
      summary: 'Checks and saves the settings, then restarts the board; a switch that is absent is off',
      takesIfMatch: true,
      body: form,
      reply: saved,
      handle: (ask) => save(ask, 'off'),
    }),
    route({
      method: 'PATCH',
      path: '/api/config',
      who: 'admin',
      summary: 'Changes the settings it names and no other, then restarts the board; for scripts',
      takesIfMatch: true,
      body: form,
      reply: saved,
      handle: (ask) => save(ask, 'kept'),
    }),
  ]
}

function warningOf(names: readonly string[]): string {
  const are = names.length === 1 ? 'is off now, since it was' : 'are off now, since they were'
  return `${names.join(' and ')} ${are} not in the form. To change one setting and keep all others, send it by PATCH.`
}

function shapeOf({ kind, meaning: description }: Setting) {
  if (kind === 'number') return Type.Number({ description })
  return kind === 'switch' ? Type.Boolean({ description }) : Type.String({ description })
}
