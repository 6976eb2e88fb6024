/** Table `updating` of controller.toml: how the controller asks for updates, by itself or for somebody. */
import { Type } from 'typebox'
import { hours } from '#kit/pure/setting-keys.ts'
import { countKey } from './keys.ts'

const path = (byDefault: string, description: string) =>
  Type.String({ default: byDefault, maxLength: 100, description })

/** What the controller has to do with updates of this machine; where they come from is in update.toml. */
export const updatingKeys = Type.Object(
  {
    window: hours(
      'hours of the building in which updates are applied by themselves, HH:MM-HH:MM; empty: those that the update server sends, if any; never: only when somebody asks',
      ['never'],
    ),
    look_ms: countKey('ms', 21_600_000, [0, 604_800_000], 'how often an update is looked for; 0: only on request'),
    retry_ms: countKey(
      'ms',
      1_800_000,
      [60_000, 86_400_000],
      'least time between two tries within such hours, where macros ran or one failed',
    ),
    answer_ms: countKey('ms', 20_000, [100, 600_000], 'how long the update service may take to begin'),
    watch_ms: countKey('ms', 1000, [50, 60_000], 'how often is read what the updater tells'),
    hold_ms: countKey(
      'ms',
      30_000,
      [100, 300_000],
      'how long an update may keep macros from beginning before its restart',
    ),
    socket: path('/run/plantroom/update.sock', 'socket of the update service'),
    told_file: path('/var/lib/plantroom/update-told/told.json', 'file in which the updater tells what it does'),
    quiet_socket: path(
      '',
      'socket on which the updater hears whether macros run; empty: quiet.sock in the run-time folder that systemd gives',
    ),
  },
  { additionalProperties: false, default: {}, description: 'updates of Plantroom' },
)
