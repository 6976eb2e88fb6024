/** The tables of a building: devices, zones, sound and vision, people, macros, user interfaces, the controller. */
import {
  flag,
  integer,
  json,
  jsonWithSecrets,
  label,
  owner,
  real,
  reference,
  secret,
  table,
  text,
  time,
} from './column.ts'

// The building: sites, devices, zones and their attributes.

/** What an attribute may belong to; all except `controller` are tables. */
export const attributeTargets = ['device', 'zone', 'subsystem', 'macro', 'controller'] as const

export const buildingTables = [
  table('site', [
    label(),
    text('timezone'),
    real('latitude', { minimum: -90, maximum: 90 }),
    real('longitude', { minimum: -180, maximum: 180 }),
  ]),
  table('subsystem', [label(), text('type'), text('icon'), integer('position'), flag('enabled', true)]),
  table('zone_group', [label(), reference('parent_id', 'zone_group'), integer('position')]),
  table('device', [
    label(),
    reference('subsystem_id', 'subsystem'),
    text('driver'),
    text('command_set'),
    // The address to connect to may contain its password.
    jsonWithSecrets('transport'),
    text('address'),
    text('ip_address'),
    text('mac'),
    text('serial_number'),
    text('model'),
    text('firmware'),
    reference('parent_id', 'device'),
    flag('elevated', false),
    flag('enabled', true),
    integer('poll_ms', { minimum: 0 }),
    text('username'),
    secret('password'),
    secret('api_key'),
    jsonWithSecrets('config'),
  ]),
  table('zone', [
    label(),
    reference('device_id', 'device'),
    reference('subsystem_id', 'subsystem'),
    reference('zone_group_id', 'zone_group'),
    text('address'),
    text('type'),
    integer('channel_no'),
    flag('elevated', false),
    real('min'),
    real('max'),
    text('unit'),
    text('icon'),
    integer('position'),
    json('overrides'),
  ]),
  table(
    'attribute',
    [
      label(),
      text('value', { isAnyJson: true }),
      text('previous_value', { isAnyJson: true }),
      text('type'),
      flag('secure', false),
      text('system_target', { isRequired: true, choices: attributeTargets }),
      integer('target_id', { referenceBy: 'system_target' }),
      text('unit'),
      time('changed_at'),
    ],
    { key: ['system_target', 'target_id', 'name'] },
  ),
  table('attribute_history', [owner('attribute_id', 'attribute'), text('value'), time('at')], {
    keeping: 'record',
    isOnDisk: true,
  }),
  table('command', [
    label(),
    text('label'),
    reference('subsystem_id', 'subsystem'),
    reference('device_id', 'device'),
    text('zone_type'),
    json('args_schema'),
    flag('elevated', false),
    flag('enabled', true),
  ]),
]

// Sound and vision: sources, the zones they play in, channels.

export const avTables = [
  table('av_source', [
    label(),
    reference('device_id', 'device'),
    text('input'),
    text('icon'),
    integer('position'),
    // Where a camera's picture is fetched, with its credentials.
    jsonWithSecrets('stream'),
  ]),
  table('av_zone', [
    label(),
    reference('zone_id', 'zone'),
    reference('device_id', 'device'),
    text('output'),
    reference('source_id', 'av_source'),
    real('volume'),
    flag('mute', false),
    real('max_volume'),
    real('default_volume'),
  ]),
  table('channel_provider', [label(), text('type'), text('country'), jsonWithSecrets('config')]),
  table(
    'channel',
    [
      owner('provider_id', 'channel_provider'),
      // Radio channels have fractions: 101.3.
      real('number'),
      label(),
      text('logo'),
      flag('favourite', false),
      reference('av_source_id', 'av_source'),
      json('command_args'),
    ],
    { key: ['provider_id', 'name'] },
  ),
]

// People: who may sign in, with which roles, at which sites.

export const peopleTables = [
  table('auth_role', [
    label(),
    flag('elevated', false),
    // Off is a deliberate exception: a role that does not mention it keeps nobody out.
    flag('allow_remote', true),
    flag('skip_2fa_local', false),
    text('rules', { isRequired: true, default: '' }),
    // 0: never, for wall panels.
    integer('session_timeout_min', { minimum: 0 }),
  ]),
  table(
    'auth_user',
    [
      label('username', { isUnique: true, isNoCase: true }),
      text('full_name'),
      text('email'),
      secret('hash'),
      secret('salt'),
      secret('pin'),
      secret('rfid'),
      secret('duress_pin'),
      flag('enabled', true),
      time('revoked_at'),
      time('valid_from'),
      time('valid_until'),
      flag('two_factor_auth', false),
      text('two_factor_token', { isSecret: true, isInner: true }),
      time('two_factor_issued_at', { isInner: true }),
      flag('must_change_password', false),
      secret('push_subscription'),
      text('language'),
      // Zones and macros that this person wants first.
      json('favourites', { isInner: true, isPrivate: true }),
    ],
    { label: 'username' },
  ),
  table('auth_user_role', [owner('user_id', 'auth_user'), owner('role_id', 'auth_role')], {
    key: ['user_id', 'role_id'],
    uniqueTogether: ['user_id', 'role_id'],
  }),
  table('auth_user_site', [owner('user_id', 'auth_user'), owner('site_id', 'site')], {
    key: ['user_id', 'site_id'],
    uniqueTogether: ['user_id', 'site_id'],
  }),
]

// Macros, what starts them, and records of their runs.

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
    text('kind', { isRequired: true, default: 'cron', choices: ['cron', 'at', 'sunrise', 'sunset'] }),
    text('cron'),
    // A time of the day: 07:30.
    text('at'),
    integer('offset_min', { isRequired: true, default: 0, minimum: -720, maximum: 720 }),
    text('days'),
    // Dates with a year, or without one for every year.
    text('from_date'),
    text('until_date'),
    text('timezone'),
    flag('catch_up', false),
    json('args'),
    flag('enabled', true),
    // The time that was run last.
    time('last_at', { isInner: true }),
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

// User interfaces: what they show, and the zones that form their scope.

export const uiTables = [
  table('ui_theme', [label(), json('tokens'), flag('dark', false)]),
  table('ui', [label(), text('type'), reference('theme_id', 'ui_theme'), flag('enabled', true)]),
  table('ui_page_ui', [owner('ui_id', 'ui'), label(), text('icon'), integer('position'), json('layout')], {
    key: ['ui_id', 'name'],
  }),
  table('ui_widget', [label(), text('type'), json('schema')]),
  table(
    'ui_page_widget',
    [
      owner('page_id', 'ui_page_ui'),
      owner('widget_id', 'ui_widget'),
      integer('x'),
      integer('y'),
      integer('w'),
      integer('h'),
      reference('zone_id', 'zone'),
      reference('device_id', 'device'),
      reference('macro_id', 'macro'),
      json('options'),
    ],
    { key: ['page_id', 'widget_id', 'x', 'y'] },
  ),
  table('ui_control', [owner('ui_id', 'ui'), text('zone_type'), text('control'), json('options')], {
    key: ['ui_id', 'zone_type'],
  }),
  table('ui_macro', [owner('ui_id', 'ui'), owner('macro_id', 'macro'), integer('position')], {
    key: ['ui_id', 'macro_id'],
    uniqueTogether: ['ui_id', 'macro_id'],
  }),
  table('ui_zone', [owner('ui_id', 'ui'), owner('zone_id', 'zone'), integer('position')], {
    key: ['ui_id', 'zone_id'],
    uniqueTogether: ['ui_id', 'zone_id'],
  }),
  table('ui_zone_group_ui', [owner('ui_id', 'ui'), owner('zone_group_id', 'zone_group'), integer('position')], {
    key: ['ui_id', 'zone_group_id'],
    uniqueTogether: ['ui_id', 'zone_group_id'],
  }),
]

// The controller itself: its credentials for other systems, its settings, its records.

export const systemTables = [
  table('credential', [
    label(),
    text('type'),
    text('username'),
    secret('password'),
    secret('private_key'),
    secret('bearer_token'),
    secret('credential_hash'),
  ]),
  table('web_service', [
    label(),
    text('url'),
    text('method'),
    reference('credential_id', 'credential'),
    jsonWithSecrets('headers'),
    text('body'),
    secret('api_key'),
    secret('secret'),
    text('version'),
  ]),
  table(
    'license',
    [text('key_hint'), text('plan'), text('state'), json('features'), time('valid_until'), secret('token')],
    { key: ['key_hint'] },
  ),
  table('setting', [label('key', { isUnique: true }), text('value')], { label: 'key' }),
  table(
    'request_history',
    [
      time('at'),
      text('request_type'),
      text('method'),
      text('path'),
      integer('status'),
      integer('elapsed_ms'),
      text('client_ip'),
      reference('user_id', 'auth_user'),
      text('username'),
      flag('granted', false),
      text('reason'),
      text('target'),
      reference('run_id', 'macro_run'),
      text('action'),
      text('outcome'),
      text('detail'),
    ],
    { keeping: 'audit' },
  ),
  table(
    'mail_queue',
    [
      text('recipient'),
      text('subject'),
      // Holds codes of the second factor.
      secret('body'),
      integer('tries', { isRequired: true, default: 0 }),
      time('next_at'),
      time('sent_at'),
      text('error'),
    ],
    { keeping: 'record' },
  ),
  table(
    'pending_change',
    [
      text('kind', { isRequired: true, choices: ['add', 'change', 'remove'] }),
      label('entity'),
      integer('row_id', { isRequired: true }),
      // Whole rows, including hashes and passwords.
      json('columns', { isSecret: true }),
      text('summary'),
      text('author'),
    ],
    { keeping: 'inner' },
  ),
  // The history up to here is in the rows of attributes.
  table('history_mark', [integer('history_id', { isRequired: true })], { keeping: 'inner' }),
  table('schema_migration', [integer('version', { isRequired: true }), label()], { keeping: 'inner' }),
]
