/** Tables of macros, what starts them, and what came of their runs. */
import { flag, integer, json, label, owner, reference, secret, table, text, time } from './column.ts'

/** What a macro does when it is started while it runs. */
const macroModes = ['single', 'restart', 'queued', 'parallel'] as const

const stepTypes = ['command', 'delay', 'wait', 'condition', 'set', 'macro', 'notify', 'parallel', 'stop'] as const

export const macroTables = [
  table('macro', [
    label('name', { isUnique: true }),
    text('description'),
    flag('elevated', false),
    flag('enabled', true),
    text('mode', { isRequired: true, default: 'single', choices: macroModes }),
    integer('max_runs', { minimum: 1 }),
    integer('timeout_ms', { minimum: 1 }),
    json('args_schema'),
  ]),
  table(
    'macro_step',
    [
      owner('macro_id', 'macro'),
      integer('position', { isRequired: true, default: 0 }),
      text('type', { isRequired: true, default: 'command', choices: stepTypes }),
      reference('zone_id', 'zone'),
      reference('device_id', 'device'),
      text('command'),
      json('args'),
      text('on_error', { isRequired: true, default: 'stop', choices: ['stop', 'continue', 'retry'] }),
      integer('retries', { isRequired: true, default: 0, minimum: 0 }),
    ],
    { key: ['macro_id', 'position'] },
  ),
  table(
    'macro_run',
    [
      owner('macro_id', 'macro'),
      reference('user_id', 'auth_user'),
      integer('seed'),
      time('started_at'),
      time('ended_at'),
      text('result'),
      json('trace'),
    ],
    { keeping: 'record', endColumn: 'ended_at' },
  ),
  table('schedule', [
    label(),
    owner('macro_id', 'macro'),
    text('kind', { isRequired: true, default: 'cron', choices: ['cron', 'sunrise', 'sunset'] }),
    text('cron'),
    integer('offset_min', { isRequired: true, default: 0 }),
    text('days'),
    json('args'),
    flag('enabled', true),
  ]),
  table('trigger', [
    label(),
    owner('macro_id', 'macro'),
    text('kind', { isRequired: true, choices: ['attribute', 'webhook', 'device'] }),
    reference('attribute_id', 'attribute'),
    reference('device_id', 'device'),
    text('event'),
    json('condition'),
    json('args'),
    secret('secret'),
    flag('enabled', true),
  ]),
]
