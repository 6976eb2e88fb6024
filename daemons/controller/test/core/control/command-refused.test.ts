import t from 'tap'
import { NOT_ALLOWED } from '../../../core/audit.ts'
import { answerOf, type SessionForm, stage } from './stage.ts'

const SCOPED: SessionForm = { uis: [1] }
const OPEN: SessionForm = { uis: [2] }
const ELEVATED: SessionForm = { isElevated: true, uis: [] }

type Refused = [string, SessionForm, unknown, { status: number; error: string; reason: string; target?: string }]
const UNAUTHORIZED = { status: 403, error: 'unauthorized' }
const ambiguous = { status: 400, error: 'ambiguous target', reason: 'bad_target' }
const unknown = { status: 400, error: 'unknown target', reason: 'bad_target' }
const required = { status: 400, error: 'command required', reason: 'bad_command' }
const scope = { ...UNAUTHORIZED, reason: 'scope_denied' }
const elevation = { ...UNAUTHORIZED, reason: 'elevation_denied' }

const refused: Refused[] = [
  [
    '1 POST control a role without command is refused',
    { may: ['macro'] },
    { zone_id: 1, command: 'on' },
    { ...UNAUTHORIZED, reason: 'role_denied' },
  ],
  [
    '1 POST control a role without macro is refused a macro_id',
    { may: ['command'] },
    { macro_id: 1 },
    { ...UNAUTHORIZED, reason: 'role_denied' },
  ],
  [
    '1 POST control the role comes before the target',
    { may: [], uis: [1] },
    { zone_id: 99, command: 'on' },
    { ...UNAUTHORIZED, reason: 'role_denied' },
  ],
  [
    '1 POST control the role binds elevated sessions',
    { may: [], isElevated: true },
    { zone_id: 1, command: 'on' },
    { ...UNAUTHORIZED, reason: 'role_denied' },
  ],
  [
    '1 Command payload a zone and another device disagree',
    OPEN,
    { zone_id: 1, device_id: 11, command: 'on' },
    ambiguous,
  ],
  [
    '1 Command payload id and name of two zones disagree',
    ELEVATED,
    { zone_id: 1, zone: 'Attic', command: 'on' },
    ambiguous,
  ],
  [
    '1 Command payload id and name of two devices disagree',
    OPEN,
    { device_id: 10, device: 'Blinds', command: 'on' },
    ambiguous,
  ],
  [
    '1 Command payload a zone without a device and a device disagree',
    OPEN,
    { zone_id: 7, device_id: 11, command: 'on' },
    ambiguous,
  ],
  [
    '1 Command payload two targets within scope that disagree are refused, and the answer says that they disagree',
    SCOPED,
    { zone_id: 1, device_id: 11, command: 'on' },
    ambiguous,
  ],
  ...[
    { zone_id: 1, device_id: 12 },
    { zone_id: 1, device: 'Vault' },
    { zone_id: 1, zone: 'Attic' },
    { zone: 'Hall', zone_id: 2 },
    { zone: 'Double' },
    { device: 'Twin' },
    { zone_id: 1, device_id: 99 },
    { zone_id: 1, zone: 'Nowhere' },
  ].map(
    (target): Refused => [
      `1 POST control scope: a target beyond it is treated as if it did not exist, ${JSON.stringify(target)}`,
      SCOPED,
      { ...target, command: 'on' },
      scope,
    ],
  ),
  ['1 Command payload a name of two zones is ambiguous', OPEN, { zone: 'Double', command: 'on' }, ambiguous],
  ['1 Command payload a name of two devices is ambiguous', OPEN, { device: 'Twin', command: 'on' }, ambiguous],
  [
    '1 Command payload an unknown zone, not scoped',
    OPEN,
    { zone_id: 99, command: 'on' },
    { ...unknown, target: 'zone 99' },
  ],
  ['1 Command payload an unknown zone, elevated', ELEVATED, { zone_id: 99, command: 'on' }, unknown],
  ['1 Command payload an unknown name, not scoped', OPEN, { zone: 'hall', command: 'on' }, unknown],
  ['1 Command payload an unknown device next to a zone', OPEN, { zone_id: 1, device: 'None', command: 'on' }, unknown],
  ['1 Command payload an id that is text', OPEN, { zone_id: '1', command: 'on' }, unknown],
  ['1 Command payload an id with a fraction', OPEN, { zone_id: 1.5, command: 'on' }, unknown],
  [
    '1 Command payload an id of null counts as none',
    OPEN,
    { zone_id: null, command: 'on' },
    { status: 400, error: 'target required', reason: 'bad_target' },
  ],
  ...['{"args":{"level":1e999}}', '{"args":{"list":[{"x":-1e999}]}}'].map(
    (more): Refused => [
      `1 Command payload a number that is too large counts as none: ${more}`,
      OPEN,
      { zone_id: 1, command: 'level', ...JSON.parse(more) },
      { status: 400, error: 'invalid args', reason: 'bad_args' },
    ],
  ),
  [
    '1 Command payload nor in the short form',
    OPEN,
    JSON.parse('{"zone_id":1,"level":1e999}'),
    { status: 400, error: 'invalid args', reason: 'bad_args' },
  ],
  ['1 Command payload a command of null counts as none', OPEN, { zone_id: 1, command: null }, required],
  ['1 Command payload a zone that is null, shorthand', OPEN, { zone: null, device_id: 10, level: 4 }, required],
  ['1 Command payload an id that is a list', OPEN, { zone_id: [1], command: 'on' }, unknown],
  ['1 Command payload a name that is a number', OPEN, { zone: 1, command: 'on' }, unknown],
  ['1 Command payload a name like one of Object', OPEN, { zone: 'constructor', command: 'on' }, unknown],
  [
    '1 POST control an unknown zone, scoped, is out of scope',
    SCOPED,
    { zone_id: 99, command: 'on' },
    { ...scope, target: 'zone 99' },
  ],
  ['1 POST control an unknown name, scoped, is out of scope', SCOPED, { device: 'None', command: 'on' }, scope],
  [
    '1 Command payload no target',
    OPEN,
    { command: 'on' },
    { status: 400, error: 'target required', reason: 'bad_target' },
  ],
  [
    '1 Command payload a target inside args does not count',
    ELEVATED,
    { command: 'on', args: { zone_id: 1 } },
    { status: 400, error: 'target required', reason: 'bad_target' },
  ],
  ['1 Command payload no verb key', OPEN, { zone_id: 1 }, required],
  ['1 Command payload two verb keys', OPEN, { zone_id: 1, level: 4, on: true }, required],
  ['1 Command payload shorthand needs a zone', OPEN, { device_id: 10, level: 4 }, required],
  ['1 Command payload a command that is not a text', OPEN, { zone_id: 1, command: 4 }, required],
  ['1 Command payload an empty command', OPEN, { zone_id: 1, command: '' }, required],
  ['1 Command payload a command with a line end', OPEN, { zone_id: 1, command: 'on\n1 off' }, required],
  ['1 Command payload a command with NUL', OPEN, { zone_id: 1, command: 'on\0' }, required],
  ['1 Command payload a command with half a pair', OPEN, { zone_id: 1, command: 'on\ud800' }, required],
  ['1 Command payload a command that is too long', OPEN, { zone_id: 1, command: 'x'.repeat(129) }, required],
  [
    '1 Command payload args that are a list',
    OPEN,
    { zone_id: 1, command: 'on', args: [] },
    { status: 400, error: 'invalid args', reason: 'bad_args' },
  ],
  [
    '1 Command payload a level above the most of the zone',
    OPEN,
    { zone_id: 1, level: 101 },
    { status: 400, error: 'invalid args', reason: 'bad_args', target: 'zone 1' },
  ],
  [
    '1 Command payload a level below the least of the zone',
    OPEN,
    { zone_id: 1, level: -1 },
    { status: 400, error: 'invalid args', reason: 'bad_args', target: 'zone 1' },
  ],
  [
    '1 POST control an elevated device by its zone',
    OPEN,
    { zone_id: 4, command: 'on' },
    { ...elevation, target: 'zone 4' },
  ],
  [
    '1 POST control an elevated device alone',
    OPEN,
    { device_id: 12, command: 'on' },
    { ...elevation, target: 'device 12' },
  ],
  ['1 POST control an elevated zone', OPEN, { zone_id: 5, command: 'on' }, elevation],
  ['1 POST control a device with an elevated zone, as a whole', OPEN, { device_id: 13, command: 'on' }, elevation],
  ['1 POST control elevation comes before scope', SCOPED, { zone_id: 4, command: 'on' }, elevation],
  ['1 POST control a zone on no UI', SCOPED, { zone_id: 2, command: 'on' }, { ...scope, target: 'zone 2' }],
  ['1 POST control a device on no UI', SCOPED, { device_id: 14, command: 'on' }, { ...scope, target: 'device 14' }],
  ['1 POST control with no allowed UI nothing is commanded', { uis: [] }, { zone_id: 1, command: 'on' }, scope],
  [
    '1 Command payload a body that is a list',
    OPEN,
    [],
    { status: 400, error: 'malformed body', reason: 'bad_command' },
  ],
  [
    '1 Command payload a body that is null',
    OPEN,
    null,
    { status: 400, error: 'malformed body', reason: 'bad_command' },
  ],
]

for (const [title, who, body, { status, error, reason, target }] of refused)
  t.test(`${title} (${error}), and no driver is reached`, async (t) => {
    const { command, session, reached, macros } = stage()
    const answer = answerOf(await command(session(who), body))
    t.strictSame({ status: answer.status, error: answer.error, reason: answer.reason }, { status, error, reason })
    if (target !== undefined) t.equal(answer.target, target)
    if (status === 403) t.strictSame(answer.json, { error, message: NOT_ALLOWED }, 'the answer says no more')
    t.strictSame([reached, macros], [[], []])
  })

const fieldsOf = (json: Record<string, unknown>) =>
  (json.fields as { field: string }[] | undefined)?.map(({ field }) => field)

for (const [what, body, fields, why] of [
  [
    'a value beside command',
    { zone_id: 1, command: 'level', level: 3 },
    ['level'],
    /nobody reads "level" beside command/,
  ],
  ['a misspelt target', { zone_id: 1, zon: 'Hall', command: 'on' }, ['zon'], /the nearest field is zone/],
  ['a level that is no number', { zone_id: 1, level: 'up' }, ['args'], /level has to be a number such as 40/],
  [
    'a level that is a list',
    { zone_id: 1, command: 'level', args: { value: [1] } },
    ['args'],
    /level has to be a number/,
  ],
  ['no target', { command: 'on' }, ['zone_id', 'zone', 'device_id', 'device'], /no target/],
  ['a misspelt verb', { zone_id: 1, command: 'levl' }, ['command'], /no command "levl"; the nearest is "level"/],
] as const)
  t.test(`${what} is refused with the field that is wrong`, async (t) => {
    const { command, session, reached } = stage({ zone: [{ id: 1, name: 'Hall', device_id: 10, type: 'dimmer' }] })
    const { status, json } = answerOf(await command(session({ uis: [2] }), body))
    t.equal(status, 400)
    t.match(json.message, why)
    t.strictSame(fieldsOf(json), fields)
    t.strictSame(reached, [])
  })

t.test('fields of a body that are null count as left out', async (t) => {
  const { command, session, reached } = stage()
  const body = { zone_id: 1, zone: null, device: null, command: 'on', level: null, macro_id: null }
  t.match(answerOf(await command(session({ uis: [2] }), body)), { status: 200 })
  t.equal(reached.length, 1)
})

const GATEWAY = { id: 13, name: 'Bus', driver: 'gateway', elevated: false, enabled: true }

t.test('a raw verb of a zone is judged like one to its whole device: it reaches the elevated zones too', async (t) => {
  const { command, session, reached } = stage({ device: [GATEWAY] })
  const may = ['command', 'raw'] as const
  const say = async (verb: string, isElevated = false) =>
    answerOf(await command(session({ isElevated, may }), { zone_id: 6, command: verb, args: { unitId: 9 } }))
  for (const verb of ['request', 'tx', ' ＴX'])
    t.match(await say(verb), { status: 403, reason: 'elevation_denied', target: 'zone 6' }, verb)
  t.strictSame(reached, [])
  t.match(await say('on'), { success: true })
  t.match(await say('request', true), { success: true })
})

t.test('a raw verb needs the function raw, and all zones of its gateway within reach', async (t) => {
  const zone = [
    { id: 1, name: 'Hall', device_id: 13 },
    { id: 2, name: 'Attic', device_id: 13 },
  ]
  const { book, command, session, reached } = stage({ device: [GATEWAY], zone })
  const say = async (form: Parameters<typeof session>[0], target: object = { zone_id: 1 }) =>
    answerOf(await command(session(form), { ...target, command: 'Request', args: { unitId: 9, fc: 6 } }))
  const raw = ['command', 'raw'] as const
  for (const isElevated of [false, true])
    t.match(await say({ isElevated, may: ['command'] }), { status: 403, reason: 'role_denied' })
  for (const target of [{ zone_id: 1 }, { device_id: 13 }])
    t.match(await say({ uis: [1], may: raw }, target), { status: 403, reason: 'scope_denied' })
  t.strictSame(reached, [])
  book.set(
    'ui_zone',
    [1, 2].map((id) => ({ id, ui_id: 1, zone_id: id })),
  )
  t.match(await say({ uis: [1], may: raw }), { success: true })
  t.match(await say({ uis: [2], may: raw }, { device_id: 13 }), { success: true })
  book.set('device', [{ ...GATEWAY, driver: 'sim' }])
  t.match(await say({ uis: [1], may: ['command'] }), { success: true }, 'a word like any other for other devices')
})

t.test('no raw verb writes past a max_volume, whoever sends it and whichever zone has it', async (t) => {
  const zone = [
    { id: 1, name: 'Hall', device_id: 13, address: 'relay' },
    { id: 2, name: 'Bar', type: 'audio', device_id: 13, address: 'amp' },
  ]
  const rows = { device: [GATEWAY], zone, av_zone: [{ id: 1, name: 'Bar', zone_id: 2, max_volume: 60 }] }
  const { book, command, dispatcher, session, reached } = stage(rows)
  const say = async (verb: string, args: object, target: object = { zone_id: 1 }) =>
    answerOf(await command(session({ isElevated: true, may: ['command', 'raw'] }), { ...target, command: verb, args }))
  for (const args of [{ fc: 6 }, { fc: 16 }, { fc: '3' }, { fc: [3] }, {}, { fc: 3, FC: 6, value: 1 }])
    for (const target of [{ zone_id: 1 }, { zone_id: 2 }, { device_id: 13 }]) {
      if (args.fc === 3) continue
      t.match(await say('request', args, target), { status: 400, error: 'invalid args' }, JSON.stringify(args))
    }
  t.match(await say('tx', { hex: '00' }), { json: { message: /zone 2 of it has a max_volume/ } })
  const target = { device: book.row('device', 13) as never }
  await t.rejects(dispatcher.dispatch(target, 'tx', { hex: '00' }), { code: 'args_invalid' }, 'a macro of the house')
  t.strictSame(reached, [])
  t.match(await say('request', { fc: 3 }), { success: true })
  t.equal(reached.length, 1)
})

t.test('a verb without a row is elevated where one that may do the same is', async (t) => {
  const asked: Readonly<Record<string, readonly string[]>> = {
    unlock: ['unlock', 'off', 'close', 'UNLOCK', 'toggle'],
    level: ['level', 'value', 'setpoint', 'position'],
    source: ['source', 'select', 'Route'],
    volume: ['volume', 'up', 'volume_down', 'ramp', 'level'],
  }
  for (const [name, verbs] of Object.entries(asked))
    for (const verb of verbs) {
      const { command, session, reached } = stage({ command: [{ id: 1, name, elevated: true }] })
      const body = { zone_id: 2, command: verb, args: { value: 1 } }
      t.match(answerOf(await command(session(), body)), { status: 403, reason: 'elevation_denied' }, `${name} ${verb}`)
      t.strictSame(reached, [])
    }
  const rows = [
    { id: 1, name: 'on', elevated: true },
    { id: 2, name: 'open' },
  ]
  const { command, session, reached } = stage({ command: rows })
  for (const verb of ['open', 'off', 'level', 'scene'])
    t.match(
      answerOf(await command(session(), { zone_id: 2, command: verb, args: { value: 1 } })),
      { success: true },
      verb,
    )
  t.equal(reached.length, 4)
})
