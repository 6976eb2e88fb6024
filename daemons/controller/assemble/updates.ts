/** Updates: what asks for them, what tells the updater whether macros run, and the restart that somebody asks for. */
import { join } from 'node:path'
import type { Part } from '#kit/run/parts.ts'
import { limitsOf } from '../core/keys.ts'
import { openTimeZone } from '../core/schedules/time-zone.ts'
import type { UiUpdates } from '../core/surfaces.ts'
import { Updates } from '../core/updates.ts'
import { createQuietSocket, createUpdateDesk, onUpdateSignal } from '../io/update-desk.ts'
import type { House } from './house.ts'
import type { Brought } from './rules.ts'

/** An answer gets out before the controller restarts. */
const ANSWER_MS = 500

/** @param args of the command line, for the controller that goes on in this one's place */
export function openUpdates(house: House, { control }: Brought, args: () => string[]): UiUpdates & { part: Part } {
  const { context, records } = house
  const { clock, config, log, restart, stateFolder, version } = context
  const limits = limitsOf(config.updating)
  const updates = new Updates({
    ...{ clock, version, limits, chance: Math.random },
    desk: createUpdateDesk({ ...{ stateFolder, clock, limits }, programs: import.meta.dirname }),
    minuteOfDay: () => openTimeZone(zoneOf(house)).minuteOf(clock.epochMs()),
    log: (line) => log.notice(line),
    record: (who, what, detail) =>
      records.journal.record({ who, from: detail.by ?? 'page', what, target: 'update', detail }),
  })
  const quiet = createQuietSocket({
    path: limits.quietSocket || quietPath(process.env.RUNTIME_DIRECTORY),
    macros: { living: () => control.engine.living().length, hold: () => control.engine.hold() },
    ...{ clock, holdMs: limits.holdMs },
  })
  onUpdateSignal(() => void updates.signal())
  return {
    view: () => updates.view(),
    look: () => updates.look(),
    apply: (who) => updates.apply(who),
    onChange: (listener) => updates.onChange(listener),
    restart(by) {
      records.journal.record({ who: by, from: 'page', what: 'restart asked for', target: 'controller' })
      clock.after(ANSWER_MS, () => restart({ reason: `asked for by ${by}`, args: args() }))
    },
    part: {
      name: 'updates',
      async start() {
        await quiet.start()
        await updates.start()
      },
      stop() {
        updates.stop()
        quiet.stop()
      },
    },
  }
}

function zoneOf({ site }: House): string {
  const name = site.book.rows('site')[0]?.timezone
  try {
    return typeof name === 'string' ? openTimeZone(name).name : 'UTC'
  } catch {
    return 'UTC'
  }
}

/** systemd names the folder; several are separated by colons. */
function quietPath(folders: string | undefined): string {
  const [folder = ''] = (folders ?? '').split(':')
  return folder === '' ? '' : join(folder, 'quiet.sock')
}
