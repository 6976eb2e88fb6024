/** POST /api/control/:action of the built controller: every gate, in order, and whether a device got the command. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type Told } from './rest-site.ts'

/** A caller, a request, and its result. */
interface Refusal {
  who: string
  action: 'command' | 'macro'
  body: unknown
  status: number
  error: string
  reason: string
}

const denied = { status: 403, error: 'unauthorized' }
const elevation = { ...denied, reason: 'elevation_denied' }
const scope = { ...denied, reason: 'scope_denied' }
const role = { ...denied, reason: 'role_denied' }
const unknownMacro = { status: 403, error: 'unknown macro', reason: 'unknown_macro' }
/** The audit reasons of bodies that were not carried out: `malformed_body` is for one that is not JSON. */
const REASON_OF: Readonly<Record<string, string>> = {
  'command required': 'bad_command',
  'malformed body': 'bad_command',
  'invalid args': 'bad_args',
  malformed_body: 'malformed_body',
}
const malformed = (error: string) => ({ status: 400, error, reason: REASON_OF[error] ?? '' })
const badTarget = (error: string) => ({ status: 400, error, reason: 'bad_target' })

/** Title, user, action, body, result. */
const refusals: [string, string, 'command' | 'macro', unknown, Omit<Refusal, 'who' | 'action' | 'body'>][] = [
  ['a device flagged Elevated', 'olga', 'command', { device_id: 3, command: 'on' }, elevation],
  ['a device flagged Elevated, by name', 'omar', 'command', { device: 'Boiler', command: 'on' }, elevation],
  ['a device flagged Elevated, by its zone', 'olga', 'command', { zone_id: 3, command: 'on' }, elevation],
  ['a device flagged Elevated, in shorthand', 'olga', 'command', { zone: 'Kettle', on: true }, elevation],
  ['a zone flagged Elevated', 'olga', 'command', { zone_id: 5, command: 'open' }, elevation],
  ['a device with such a zone', 'omar', 'command', { device_id: 4, command: 'open' }, elevation],
  ['an override that leads there', 'olga', 'command', { zone_id: 6, command: 'heat' }, elevation],
  ['a zone on no UI', 'olga', 'command', { zone_id: 2, command: 'on' }, scope],
  ['a zone on no UI, by name', 'olga', 'command', { zone: 'Cellar', command: 'on' }, scope],
  ['a zone on no UI, in shorthand', 'olga', 'command', { zone: 'Cellar', on: true }, scope],
  ['a device on no UI', 'olga', 'command', { device_id: 5, command: 'on' }, scope],
  ['a zone that there is not', 'olga', 'command', { zone_id: 99, command: 'on' }, scope],
  ['an override that leads out of scope', 'olga', 'command', { zone_id: 6, command: 'off' }, scope],
  ['a command, for a user that may only read', 'quinn', 'command', { zone_id: 1, command: 'on' }, role],
  ['a macro, for a user that may only read', 'quinn', 'macro', { macro_id: 1 }, role],
  ['a macro, with a deny beside *', 'nora', 'macro', { macro_id: 1 }, role],
  ['a macro by the redirect, gated as a macro', 'nora', 'command', { macro_id: 1 }, role],
  ['a command, for a user that may only run macros', 'mark', 'command', { zone_id: 1, command: 'on' }, role],
  ['the role before the elevation', 'quinn', 'command', { zone_id: 3, command: 'on' }, role],
  ['the role before the macro that is unknown', 'nora', 'macro', { macro_id: 99 }, role],
  ['a macro flagged Elevated', 'olga', 'macro', { macro_id: 2 }, elevation],
  ['a macro flagged Elevated, by name', 'olga', 'macro', { macro: 'Flush' }, elevation],
  ['a macro flagged Elevated, by the redirect', 'omar', 'command', { macro_id: 2 }, elevation],
  ['the redirect with a target next to it', 'olga', 'command', { macro_id: 2, zone_id: 1, command: 'on' }, elevation],
  ['a macro that there is not', 'olga', 'macro', { macro_id: 99 }, unknownMacro],
  ['a macro that there is not, by name', 'olga', 'macro', { macro: 'constructor' }, unknownMacro],
  ['a macro that there is not, by the redirect', 'olga', 'command', { macro_id: 99 }, unknownMacro],
  ['no command', 'ada', 'command', { device_id: 2 }, malformed('command required')],
  ['two verbs in shorthand', 'ada', 'command', { zone_id: 1, on: true, level: 4 }, malformed('command required')],
  ['a shorthand of a device', 'ada', 'command', { device_id: 2, level: 4 }, malformed('command required')],
  ['args that are a list', 'ada', 'command', { zone_id: 1, command: 'on', args: [] }, malformed('invalid args')],
  ['a body that is a list', 'ada', 'command', [], malformed('malformed body')],
  ['half of a body', 'ada', 'command', '{"zone_id": 1', malformed('malformed_body')],
  ['no target', 'ada', 'command', { command: 'on' }, badTarget('target required')],
  [
    'a target that there is not, unscoped',
    'omar',
    'command',
    { zone_id: 99, command: 'on' },
    badTarget('unknown target'),
  ],
  ['two that disagree', 'ada', 'command', { zone_id: 1, zone: 'Cellar', command: 'on' }, badTarget('ambiguous target')],
  ['no macro', 'ada', 'macro', {}, badTarget('macro required')],
]

/** Granted commands, and the line that a device receives. */
const grants: [string, string, unknown, string][] = [
  ['a zone by id', 'olga', { zone_id: 1, command: 'on' }, 'Z1 on {}'],
  ['a zone by name', 'olga', { zone: 'Hall', command: 'on' }, 'Z1 on {}'],
  ['a device by id', 'omar', { device_id: 2, command: 'on' }, 'D2 on {}'],
  ['a device by name', 'omar', { device: 'Line', command: 'on' }, 'D2 on {}'],
  ['args', 'olga', { zone_id: 1, command: 'level', args: { level: 40 } }, 'Z1 level {"level":40}'],
  ['the shorthand', 'olga', { zone_id: 1, level: 41 }, 'Z1 level {"level":41}'],
  ['the shorthand by name', 'olga', { zone: 'Hall', level: 42 }, 'Z1 level {"level":42}'],
  ['an override that stays in scope', 'olga', { zone_id: 6, command: 'on' }, 'Z1 on {}'],
  ['an override, unscoped', 'omar', { zone_id: 6, command: 'off' }, 'Z2 off {}'],
  ['a zone on no UI, if one UI has no scope', 'omar', { zone_id: 2, command: 'on' }, 'Z2 on {}'],
  ['a zone on no UI, elevated', 'ada', { zone_id: 2, command: 'on' }, 'Z2 on {}'],
  ['an elevated device, elevated', 'ada', { device_id: 3, command: 'on' }, 'D3 on {}'],
  ['an override into an elevated device, elevated', 'ada', { zone_id: 6, command: 'heat' }, 'Z3 on {}'],
  ['a user that may command but not run macros', 'nora', { zone_id: 2, command: 'on' }, 'Z2 on {}'],
]

t.test('1 POST /api/control/:action', async (t) => {
  const site = await openRestSite(t)
  const users = ['ada', 'olga', 'omar', 'quinn', 'nora', 'mark']
  const tokens = new Map<string, string>()
  for (const name of users) tokens.set(name, await site.tokenOf(name))
  const control = (who: string, action: string, body: unknown): Promise<Told> =>
    site.post(`/api/control/${action}`, body, tokens.get(who))

  /** Lines that devices receive until a last command has gone the same way. */
  async function heardAfter(act: () => Promise<unknown>): Promise<string[]> {
    const from = site.lines.length
    await act()
    for (const device_id of [2, 3, 4, 5]) await control('ada', 'command', { device_id, command: 'last' })
    await until('the last lines have come', () => site.lines.slice(from).filter(isLast).length === 4)
    return site.lines.slice(from).filter((line) => !isLast(line))
  }

  for (const [title, who, action, body, { status, error, reason }] of refusals)
    await t.test(`1 POST /api/control/${action}, Elevated gates: ${title} is ${reason}`, async (t) => {
      let told: Told | undefined
      const heard = await heardAfter(async () => {
        told = await control(who, action, body)
        t.match(told, { status, body: { error } })
      })
      t.strictSame(heard, [], 'no driver was reached')
      const path = `/api/control/${action}`
      t.match(await site.recordOf(told as Told), { reason, status, granted: false, username: who, path })
    })

  for (const [title, who, body, line] of grants)
    await t.test(`1 Command payload: ${title} reaches its device`, async (t) => {
      let told: Told | undefined
      const heard = await heardAfter(async () => {
        told = await control(who, 'command', body)
        t.match(told, { status: 200, body: { success: true } })
      })
      t.strictSame(heard, [line])
      t.match(await site.recordOf(told as Told), { reason: null, status: 200, granted: true, username: who })
    })

  await t.test(
    '1 POST /api/control/:action: a target inside args is dropped for a session that is not elevated',
    async (t) => {
      const args = { zone_id: 2, zone: 'Cellar', device_id: 3, device: 'Boiler', level: 5 }
      const body = { zone_id: 1, command: 'level', args }
      const [line = ''] = await heardAfter(() => control('olga', 'command', body))
      t.match(line, /^Z1 level /)
      t.notMatch(line, /Cellar|Boiler|"zone_id":2|"device_id":3/)
      t.match(JSON.parse(line.slice('Z1 level '.length)), { level: 5 })
      const [whole = ''] = await heardAfter(() => control('ada', 'command', body))
      t.match(JSON.parse(whole.slice('Z1 level '.length)), args, 'elevated sessions are unaffected')
    },
  )

  await t.test('1 Macro payload: by id, by name, by the redirect; a run is not scoped as a whole', async (t) => {
    for (const [action, body] of [
      ['macro', { macro_id: 1 }],
      ['macro', { macro: 'Close down' }],
      ['command', { macro_id: 1 }],
    ] as const) {
      const heard = await heardAfter(async () => {
        const told = await control('olga', action, body)
        t.match(told, { status: 200, body: { success: true, run_id: Number } })
        t.match(await site.recordOf(told), { reason: null, granted: true, run_id: told.body.run_id, target: 'macro 1' })
      })
      t.strictSame(heard, ['Z2 off {}'])
    }
    t.strictSame(await heardAfter(() => control('ada', 'macro', { macro_id: 2 })), ['Z3 on {}'])
    t.strictSame(await heardAfter(() => control('mark', 'macro', { macro_id: 1 })), ['Z2 off {}'])
  })

  await t.test('1 POST /api/control/macro: a step whose target comes from the request is scoped', async (t) => {
    const run = (who: string, where: unknown) => control(who, 'macro', { macro_id: 3, args: { where } })
    const heard = await heardAfter(async () => {
      const told = await run('olga', 2)
      t.equal(told.status, 200)
      t.match(told.body, { success: false })
      t.match(JSON.stringify(told.body.steps), 'not authorized')
      t.match(JSON.stringify((await run('olga', 3)).body), 'not authorized')
    })
    t.strictSame(heard, [])
    t.strictSame(await heardAfter(() => run('olga', 1)), ['Z1 on {}'])
    t.strictSame(await heardAfter(() => run('omar', 2)), ['Z2 on {}'])
  })

  await t.test(
    '1 POST /api/control/:action: other methods are 405 with Allow: POST, also without a token',
    async (t) => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
        for (const path of ['/api/control/command', '/api/control/macro', '/api/control/dance']) {
          const told = await site.call(method, path)
          t.equal(told.status, 405, `${method} ${path}`)
          t.equal(told.headers.get('allow'), 'POST')
        }
    },
  )

  await t.test('1 POST /api/control/:action: an unknown action is 400, before the token', async (t) => {
    for (const action of ['dance', 'Command', '__proto__', 'command%20']) {
      const told = await control('nobody', action, { zone_id: 1, command: 'on' })
      t.match(told, { status: 400, body: { error: 'invalid action' } }, action)
      t.match(await site.recordOf(told), { reason: 'invalid_action', granted: false })
    }
  })

  await t.test('1 POST /api/control/:action: the body before the token, the token before the role', async (t) => {
    t.match(await site.post('/api/control/command', '{'), { status: 400 })
    const told = await site.post('/api/control/command', { zone_id: 1, command: 'on' })
    t.match(told, { status: 401, body: { error: 'invalid_session' } })
    t.match(await site.recordOf(told), { reason: 'invalid_session', user_id: null })
    const padded = (bytes: number) => JSON.stringify({ zone_id: 1, command: 'on' }).padEnd(bytes)
    t.match(await control('olga', 'command', padded(262_144)), { status: 200, body: { success: true } })
    t.match(await control('olga', 'command', padded(262_145)), { status: 400, body: { message: 'malformed body' } })
  })

  await t.test('1 Errors: a device that fails is 200 with error, and recorded as a granted call', async (t) => {
    const told = await control('omar', 'command', { device_id: 6, command: 'on' })
    t.match(told, { status: 200, body: { success: false, error: String } })
    t.match(await site.recordOf(told), { granted: true, reason: null, status: 200, target: 'device 6' })
  })

  await t.test('1 Entity rows: the effect of a command on a simulated zone is in its live state', async (t) => {
    t.match(await control('olga', 'command', { zone_id: 4, level: 35 }), { status: 200, body: { success: true } })
    const { body } = await site.get('/api/data/zone?id=4&_instance=true', tokens.get('olga'))
    t.match(body, [
      {
        name: 'Lamp',
        level: 35,
        state: 'on',
        attributes: [{ name: 'level', value: '35', previous_value: '70', current: true }],
      },
    ])
  })
})

function isLast(line: string): boolean {
  return line.split(' ')[1] === 'last'
}
