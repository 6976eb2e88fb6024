/** Tables `schedules` and `triggers` of controller.toml: what starts macros by itself, how often, and how late. */
import { Type } from 'typebox'
import { countKey } from './keys.ts'

/** When schedules run, and when they do not. */
export const scheduleKeys = Type.Object(
  {
    most: countKey('', 1024, [1, 65_536], 'enabled schedules that are run; further ones are not'),
    look_ms: countKey('ms', 1000, [100, 60_000], 'how often the clock is looked at, as somebody may set it'),
    late_ms: countKey(
      'ms',
      600_000,
      [0, 86_400_000],
      'a time that was missed by no more than this is run late: after a step of the clock, a restart, a long sleep',
    ),
    catch_up_ms: countKey('ms', 3_600_000, [0, 604_800_000], 'the same for schedules with catch_up'),
    back_ms: countKey(
      'ms',
      7_200_000,
      [0, 604_800_000],
      'a clock that is set back by no more than this runs no time again; after more, times run as they come',
    ),
  },
  { additionalProperties: false, default: {}, description: 'schedules' },
)

/** How often triggers start macros. */
export const triggerKeys = Type.Object(
  {
    most: countKey('', 1024, [1, 65_536], 'enabled triggers that are watched; further ones are not'),
    per_minute: countKey(
      '',
      60,
      [1, 6000],
      'how often one trigger starts its macro within a minute; further times are refused',
    ),
    depth: countKey('', 8, [1, 64], 'runs that lead to one another by triggers; one more is taken for a loop'),
    hook_bytes: countKey('bytes', 32_768, [256, 1_048_576], 'the longest body of a webhook'),
    hook_calls: countKey(
      '',
      120,
      [1, 6000],
      'calls of webhooks from one network (IPv6: a /64) within a minute; further ones are answered 429',
    ),
    hook_networks: countKey('', 1024, [16, 65_536], 'networks whose calls are counted; the oldest is forgotten'),
  },
  { additionalProperties: false, default: {}, description: 'triggers' },
)
