/** Which sessions reach which targets by POST /api/control of the built controller: UIs, groups, combined roles, the table command. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { recordsOf } from './raw-call.ts'
import { openRestSite, type Told } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

const base = restRows(0)
const every = (rules: string) => `allow api command, macro, query\n${rules}`
const user = (username: string, ...roles: string[]) => ({ username, password: PASSWORD, roles, sites: ['House'] })

/** Groups: 1 is the house, 2 a floor in it, 3 a room on the floor; zones 7 to 9 are in them. */
const rows = {
  auth_role: [
    ...(base.auth_role ?? []),
    { name: 'no-ui', rules: 'allow api *' },
    { name: 'groups', rules: every('allow ui Groups') },
    { name: 'off-ui', rules: every('allow ui Off') },
    { name: 'all-ui', rules: every('allow ui *') },
    { name: 'all-but', rules: every('allow ui *\ndeny ui Whole, Off') },
    { name: 'denies', rules: 'deny api command' },
    { name: 'ground-by-id', rules: every('allow ui 1') },
  ],
  auth_user: [
    ...(base.auth_user ?? []),
    ...[user('noui', 'no-ui'), user('gina', 'groups'), user('otto', 'off-ui'), user('alma', 'all-ui')],
    ...[user('anna', 'all-but'), user('dana', 'open', 'denies'), user('both', 'groups', 'operator')],
    ...[user('ide', 'ground-by-id'), user('eli', 'elevated', 'operator'), user('edna', 'elevated', 'denies')],
  ],
  zone_group: [
    { id: 1, name: 'House' },
    { id: 2, name: 'Floor', parent_id: 1 },
    { id: 3, name: 'Room', parent_id: 2 },
    { id: 4, name: 'Garden' },
  ],
  zone: [
    ...(base.zone ?? []),
    { id: 7, name: 'Desk', device_id: 2, address: 'Z7', zone_group_id: 3, min: 5, max: 50 },
    { id: 8, name: 'Pond', device_id: 2, address: 'Z8', zone_group_id: 4 },
    { id: 9, name: 'Paper', zone_group_id: 3 },
  ],
  ui: [...(base.ui ?? []), { id: 3, name: 'Groups' }, { id: 4, name: 'Off', enabled: false }, { id: 9, name: 'Empty' }],
  ui_zone_group_ui: [
    { ui_id: 3, zone_group_id: 1 },
    { ui_id: 9, zone_group_id: 2 },
  ],
  command: [
    { name: 'purge', elevated: true },
    { name: 'idle', enabled: false },
    { name: 'dim', args_schema: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] } },
  ],
  macro: [...(base.macro ?? []), { id: 4, name: 'Slow' }, { id: 5, name: 'Away', enabled: false }],
  macro_step: [...(base.macro_step ?? []), { macro_id: 4, position: 1, type: 'delay', args: { ms: 60_000 } }],
}

const scope = { status: 403, error: 'unauthorized', reason: 'scope_denied' }
const strange = { status: 400, error: 'unknown field', reason: 'bad_command' }
const elevation = { ...scope, reason: 'elevation_denied' }
const role = { ...scope, reason: 'role_denied' }
const unknownMacro = { status: 403, error: 'unknown macro', reason: 'unknown_macro' }
const bad = (error: string, reason = 'bad_target') => ({ status: 400, error, reason })
const malformed = (error: string) => bad(error, error === 'invalid args' ? 'bad_args' : 'bad_command')

/** Title, user, action, body, result. @source document 1, POST /api/control/:action, and what it leaves open */
const refusals: [string, string, 'command' | 'macro', unknown, typeof scope][] = [
  ['no UI at all', 'noui', 'command', { zone_id: 1, command: 'on' }, scope],
  ['other keys next to a command', 'olga', 'command', { zone_id: 1, command: 'on', level: 3, x: {} }, strange],
  ['no UI at all, a zone that there is not', 'noui', 'command', { zone: 'Nowhere', command: 'on' }, scope],
  ['no UI that is enabled', 'otto', 'command', { zone_id: 1, command: 'on' }, scope],
  ['a zone of no group of the UI', 'gina', 'command', { zone_id: 8, command: 'on' }, scope],
  ['a device without existing zones', 'gina', 'command', { device_id: 5, command: 'on' }, scope],
  ['UIs that all have a scope', 'anna', 'command', { zone_id: 8, command: 'on' }, scope],
  ['a UI by its id', 'ide', 'command', { zone_id: 2, command: 'on' }, scope],
  ['a device that there is not', 'olga', 'command', { device_id: 77, command: 'on' }, scope],
  ['elevation before scope', 'gina', 'command', { zone_id: 3, command: 'on' }, elevation],
  ['elevation before scope, by name', 'gina', 'command', { device: 'Boiler', command: 'on' }, elevation],
  ['a command that is elevated', 'omar', 'command', { zone_id: 1, command: 'purge' }, elevation],
  ['a command that is elevated, in capitals', 'omar', 'command', { zone_id: 1, command: 'PURGE ' }, elevation],
  ['a command that is elevated, in shorthand', 'omar', 'command', { zone: 'Hall', purge: 1 }, elevation],
  ['a deny of one role against an allow of another', 'dana', 'command', { zone_id: 1, command: 'on' }, role],
  ['the same, elevated', 'edna', 'command', { zone_id: 1, command: 'on' }, role],
  ['a macro that there is not, elevated', 'ada', 'macro', { macro_id: 99 }, unknownMacro],
  ['the same by the redirect', 'ada', 'command', { macro_id: 99 }, unknownMacro],
  ['a macro of a name in other capitals', 'ada', 'macro', { macro: 'close down' }, unknownMacro],
  ['a macro that is disabled', 'ada', 'macro', { macro_id: 5 }, unknownMacro],
  ['an id that is a text', 'ada', 'macro', { macro_id: '1' }, unknownMacro],
  ['two macros that disagree', 'ada', 'macro', { macro_id: 1, macro: 'Flush' }, bad('ambiguous target')],
  ['a zone of another device', 'omar', 'command', { zone_id: 1, device_id: 4, command: 'on' }, bad('ambiguous target')],
  ['a zone that there is not, elevated', 'ada', 'command', { zone: 'Nowhere', command: 'on' }, bad('unknown target')],
  ['a name in other capitals', 'ada', 'command', { zone: 'hall', command: 'on' }, bad('unknown target')],
  ['an id that is a text', 'ada', 'command', { zone_id: '1', command: 'on' }, bad('unknown target')],
  ['an id that is a list', 'ada', 'command', { device_id: [2], command: 'on' }, bad('unknown target')],
  ['a target only in args', 'ada', 'command', { command: 'on', args: { zone_id: 1 } }, bad('target required')],
  ['ids that are null', 'ada', 'command', { zone_id: null, device: null, command: 'on' }, bad('target required')],
  ['an id that is null', 'ada', 'macro', { macro_id: null }, bad('macro required')],
  ['no body', 'ada', 'macro', undefined, bad('macro required')],
  ['no body', 'ada', 'command', undefined, malformed('command required')],
  [
    'a command that is null, and no other verb',
    'ada',
    'command',
    { zone_id: 1, command: null },
    malformed('command required'),
  ],
  ['a command that is a list', 'ada', 'command', { zone_id: 1, command: ['on'] }, malformed('command required')],
  ['a command that is empty', 'ada', 'command', { zone_id: 1, command: '' }, malformed('command required')],
  [
    'a command with a line end',
    'ada',
    'command',
    { zone_id: 1, command: 'on\r\nZ2 on' },
    malformed('command required'),
  ],
  ['args that are a text', 'ada', 'command', { zone_id: 1, command: 'on', args: 'x' }, malformed('invalid args')],
  ['args that are a list', 'ada', 'macro', { macro_id: 1, args: [] }, malformed('invalid args')],
  ['args that are a list, by the redirect', 'ada', 'command', { macro_id: 1, args: [] }, malformed('invalid args')],
  [
    'args that the table does not allow',
    'ada',
    'command',
    { zone_id: 1, command: 'dim', args: {} },
    malformed('invalid args'),
  ],
  ['a level beyond the zone', 'ada', 'command', { zone_id: 7, level: 51 }, malformed('invalid args')],
]

/** Title, user, action, body, the lines that devices receive. */
const grants: [string, string, 'command' | 'macro', unknown, string[]][] = [
  ['a zone of a group below that of the UI', 'gina', 'command', { zone_id: 7, command: 'on' }, ['Z7 on {}']],
  ['a device as a whole, by any of its zones', 'gina', 'command', { device_id: 2, command: 'on' }, ['D2 on {}']],
  ['the same by a zone of ui_zone', 'olga', 'command', { device: 'Line', command: 'on' }, ['D2 on {}']],
  ['UIs of both roles', 'both', 'command', { zone: 'Desk', command: 'on' }, ['Z7 on {}']],
  ['UIs of both roles, the other', 'both', 'command', { zone: 'Hall', command: 'on' }, ['Z1 on {}']],
  ['one UI without a scope among all', 'alma', 'command', { zone_id: 8, command: 'on' }, ['Z8 on {}']],
  ['one elevated role of two', 'eli', 'command', { zone_id: 3, command: 'on' }, ['Z3 on {}']],
  ['no UI, elevated', 'ada', 'command', { zone_id: 8, command: 'purge' }, ['Z8 purge {}']],
  [
    'id and name that agree',
    'olga',
    'command',
    { zone_id: 1, zone: 'Hall', device_id: 2, command: 'on' },
    ['Z1 on {}'],
  ],
  [
    'args next to the shorthand',
    'olga',
    'command',
    { zone_id: 1, level: 4, args: { fade: 2 } },
    ['Z1 level {"fade":2,"level":4}'],
  ],
  ['the least and the most of a zone', 'ada', 'command', { zone_id: 7, level: 50 }, ['Z7 level {"level":50}']],
  [
    'every field, null if it is not used',
    'olga',
    'command',
    { zone_id: 1, zone: null, device_id: null, device: null, command: 'on', args: null, macro_id: null },
    ['Z1 on {}'],
  ],
  [
    'the shorthand next to nulls',
    'olga',
    'command',
    { zone_id: null, zone: 'Hall', level: 5, command: null },
    ['Z1 level {"level":5}'],
  ],
  ['a macro next to nulls', 'olga', 'macro', { zone_id: null, macro_id: 1, macro: null, args: null }, ['Z2 off {}']],
  [
    'the redirect next to nulls',
    'olga',
    'command',
    { zone_id: null, macro_id: 1, command: null, args: null },
    ['Z2 off {}'],
  ],
  ['a macro by both keys', 'olga', 'macro', { macro_id: 1, macro: 'Close down' }, ['Z2 off {}']],
  [
    'a zone_id in args, which is the one found',
    'olga',
    'command',
    { zone: 'Hall', command: 'on', args: { zone_id: 2, a: 1 } },
    ['Z1 on {"a":1,"zone_id":1}'],
  ],
  [
    'targets in args, which are dropped',
    'olga',
    'command',
    { zone: 'Hall', command: 'on', args: { zone: 'Cellar', device: 'Boiler', device_id: 3 } },
    ['Z1 on {}'],
  ],
  [
    'a zone_id in args of a device',
    'olga',
    'command',
    { device_id: 2, command: 'on', args: { zone_id: 2 } },
    ['D2 on {}'],
  ],
]

t.test('1 POST /api/control/:action, the reach of each session', async (t) => {
  const site = await openRestSite(t, { sets: ['macros.answer_ms=300'], rows })
  const tokens = new Map<string, string>()
  for (const who of new Set([...refusals, ...grants].map(([, who]) => who))) tokens.set(who, await site.tokenOf(who))
  const ada = tokens.get('ada') ?? ''
  const control = (who: string, action: string, body: unknown): Promise<Told> =>
    site.post(`/api/control/${action}`, body, tokens.get(who))
  const isLast = (line: string) => line.includes(' last ')

  /** Lines that devices receive until a last command has gone the same way. */
  async function heardAfter(act: () => Promise<unknown>): Promise<string[]> {
    const from = site.lines.length
    await act()
    for (const device_id of [2, 3, 4, 5]) await control('ada', 'command', { device_id, command: 'last' })
    await until('the last lines have come', () => site.lines.slice(from).filter(isLast).length === 4)
    return site.lines.slice(from).filter((line) => !isLast(line))
  }

  await t.test('1 Elevated gates: a refusal gives its reason only to the audit, and reaches no driver', async (t) => {
    const told: Told[] = []
    const heard = await heardAfter(async () => {
      for (const [title, who, action, body, { status, error }] of refusals) {
        const answer = await control(who, action, body)
        t.match(answer, { status, body: { error } }, title)
        if (status === 403)
          t.strictSame(Object.keys(answer.body), ['error', 'message'], `${title}: the answer says no more`)
        told.push(answer)
      }
    })
    t.strictSame(heard, [])
    const records = await recordsOf(site, told, ada)
    for (const [at, [title, username, action, , { status, reason }]] of refusals.entries()) {
      const record = records.get(told[at]?.from ?? '')
      t.match(record, { username, status, reason, granted: false, path: `/api/control/${action}` }, title)
    }
  })

  for (const [title, who, action, body, lines] of grants)
    await t.test(`1 POST /api/control/${action}: ${title}, for ${who}`, async (t) => {
      const heard = await heardAfter(async () =>
        t.match(await control(who, action, body), { status: 200, body: { success: true } }),
      )
      t.strictSame(heard, lines)
    })

  await t.test('a command that a driver or the site cannot do is 200 with success false', async (t) => {
    for (const [body, code] of [
      [{ zone_id: 9, command: 'on' }, 'zone_without_device'],
      [{ zone_id: 1, command: 'idle' }, 'command_disabled'],
    ] as const) {
      const told = await control('ada', 'command', body)
      t.match(told, { status: 200, body: { success: false, error: /./, code } })
      t.match(await site.recordOf(told), { status: 200, granted: true, reason: null })
    }
  })

  await t.test(
    '1 Macro payload: a run that takes longer is answered after its time, with the id of the run',
    async (t) => {
      const told = await control('olga', 'macro', { macro: 'Slow' })
      t.strictSame(told.body, { success: true, run_id: told.body.run_id, state: 'running' })
      t.match(await site.recordOf(told), {
        granted: true,
        run_id: told.body.run_id,
        target: 'macro 4',
        username: 'olga',
      })
      t.match((await site.get(`/api/data/macro_run?id=${told.body.run_id}`, ada)).body, [
        { macro_id: 4, ended_at: null },
      ])
    },
  )
})
