import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { answerOf, type SessionForm, stage } from './stage.ts'

const SCOPED: SessionForm = { uis: [1] }
const OPEN: SessionForm = { uis: [2] }
const ELEVATED: SessionForm = { isElevated: true, uis: [] }

/** Title, session, body, what the driver gets. */
const granted: [string, SessionForm, unknown, string][] = [
  [
    '1 Command payload a zone is named by its id',
    OPEN,
    { zone_id: 1, command: 'level', args: { level: 40 } },
    '10 zone 1 level {"level":40}',
  ],
  ['1 Command payload a zone is named by its name', OPEN, { zone: 'Hall', command: 'on' }, '10 zone 1 on {}'],
  ['1 Command payload a device is named by its id', OPEN, { device_id: 11, command: 'open' }, '11 whole open {}'],
  ['1 Command payload a device is named by its name', OPEN, { device: 'Blinds', command: 'open' }, '11 whole open {}'],
  [
    '1 Command payload id and name of one zone agree',
    OPEN,
    { zone_id: 1, zone: 'Hall', command: 'on' },
    '10 zone 1 on {}',
  ],
  [
    '1 Command payload a zone and its device agree, the zone is commanded',
    OPEN,
    { zone_id: 1, device: 'Dimmer', command: 'on' },
    '10 zone 1 on {}',
  ],
  [
    '1 Command payload a name of two zones is one with its device',
    OPEN,
    { zone: 'Double', device_id: 15, command: 'on' },
    '15 zone 9 on {}',
  ],
  [
    '1 Command payload shorthand is the verb with its value in args',
    OPEN,
    { zone_id: 1, level: 40 },
    '10 zone 1 level {"level":40}',
  ],
  [
    '1 Command payload shorthand takes a zone by name, and keeps args',
    OPEN,
    { zone: 'Hall', level: 40, args: { fade: 2 } },
    '10 zone 1 level {"fade":2,"level":40}',
  ],
  [
    '1 Command payload every field of the table, null if it is not used',
    OPEN,
    { zone_id: 1, zone: null, device_id: null, device: null, command: 'on', args: null, macro_id: null },
    '10 zone 1 on {}',
  ],
  [
    '1 Command payload shorthand next to fields that are null',
    OPEN,
    { zone_id: null, zone: 'Hall', command: null, args: null, macro_id: null, level: 40 },
    '10 zone 1 level {"level":40}',
  ],
  ['1 Command payload shorthand takes any value', OPEN, { zone_id: 1, on: null }, '10 zone 1 on {"on":null}'],
  [
    '1 POST control a zone_id inside args becomes the one resolved',
    OPEN,
    { zone_id: 1, command: 'on', args: { zone_id: 4, a: 1 } },
    '10 zone 1 on {"a":1,"zone_id":1}',
  ],
  [
    '1 POST control every target inside args is dropped',
    OPEN,
    { zone_id: 1, command: 'on', args: { zone: 'Vault door', device_id: 12, device: 'Vault', a: 1 } },
    '10 zone 1 on {"a":1}',
  ],
  [
    '1 POST control a zone_id inside args of a device command is dropped',
    OPEN,
    { device_id: 11, command: 'open', args: { zone_id: 4 } },
    '11 whole open {}',
  ],
  [
    '1 POST control args of an elevated session are as they are',
    ELEVATED,
    { zone_id: 1, command: 'on', args: { zone_id: 4 } },
    '10 zone 1 on {"zone_id":4}',
  ],
  [
    '1 POST control an elevated session commands elevated devices',
    ELEVATED,
    { zone_id: 4, command: 'open' },
    '12 zone 4 open {}',
  ],
  ['1 POST control an elevated session needs no UI', ELEVATED, { zone_id: 5, command: 'open' }, '13 zone 5 open {}'],
  [
    '1 POST control a zone next to an elevated one is commanded',
    OPEN,
    { zone_id: 6, command: 'on' },
    '13 zone 6 on {}',
  ],
  ['1 POST control scope: a zone of the UI', SCOPED, { zone_id: 1, command: 'on' }, '10 zone 1 on {}'],
  [
    '1 POST control scope: a zone of a subgroup of the UI',
    SCOPED,
    { zone_id: 3, command: 'open' },
    '11 zone 3 open {}',
  ],
  [
    '1 POST control scope: a device one of whose zones is on the UI',
    SCOPED,
    { device_id: 10, command: 'on' },
    '10 whole on {}',
  ],
  [
    '1 POST control scope: one UI without a scope opens all',
    { uis: [1, 2] },
    { zone_id: 2, command: 'on' },
    '10 zone 2 on {}',
  ],
  [
    '1 Command payload a verb called __proto__ is a verb',
    OPEN,
    { zone_id: 1, command: '__proto__' },
    '10 zone 1 __proto__ {}',
  ],
  [
    '1 Command payload shorthand called constructor is a verb',
    OPEN,
    { zone_id: 1, constructor: 1 },
    '10 zone 1 constructor {"constructor":1}',
  ],
  [
    '1 Command payload keys of args are kept whatever they are called',
    OPEN,
    JSON.parse('{"zone_id":1,"command":"on","args":{"__proto__":{"zone_id":4}}}'),
    '10 zone 1 on {"__proto__":{"zone_id":4}}',
  ],
]

for (const [title, who, body, expected] of granted)
  t.test(title, async (t) => {
    const { command, session, reached } = stage()
    const answer = answerOf(await command(session(who), body))
    t.match(answer, { status: 200, success: true, reason: null })
    t.strictSame(reached, [expected])
  })

t.test('1 POST control a macro_id in a command body runs a macro, whatever else the body holds', async (t) => {
  const { command, session, reached, macros } = stage()
  const body = { macro_id: 7, zone_id: 4, command: 'open', args: { zone_id: 4 } }
  const answer = answerOf(await command(session({ may: ['macro'], uis: [] }), body))
  t.match(answer, { status: 200, target: 'macro 1' })
  t.strictSame(macros, [{ ref: { macro_id: 7 }, args: { zone_id: 4 }, origin: 'command' }])
  await command(session(), { macro_id: 7, zone_id: null, command: null, args: null })
  t.strictSame(macros[1], { ref: { macro_id: 7 }, args: null, origin: 'command' })
  t.strictSame(reached, [])
})

t.test("1 POST control a driver's failure is 200 with success false", async (t) => {
  const { command, session } = stage({}, async () => {
    throw new Fault('driver_timeout', 'device 10 did not answer within 5000 ms')
  })
  t.match(answerOf(await command(session(), { zone_id: 1, command: 'on' })), {
    status: 200,
    json: { success: false, error: 'device 10 did not answer within 5000 ms', code: 'driver_timeout' },
    reason: null,
    target: 'zone 1',
  })
})

t.test('1 Errors an error that is not a failure of a driver is passed on', async (t) => {
  const { command, session } = stage({}, async () => {
    throw new TypeError('a slip')
  })
  await t.rejects(command(session(), { zone_id: 1, command: 'on' }), { message: 'a slip' })
})

t.test('1 POST control success names what was commanded, and the answer of the device', async (t) => {
  const { command, session } = stage({}, async () => ({ answer: { lux: 5 } }))
  t.strictSame(answerOf(await command(session(), { zone: 'Hall', on: true })).json, {
    success: true,
    zone_id: 1,
    command: 'on',
    answer: { lux: 5 },
  })
})

t.test('a zone without a device and a disabled device are failures', async (t) => {
  const device = [{ id: 10, name: 'Dimmer', enabled: false }]
  for (const [tables, zoneId, code] of [
    [{}, 7, 'zone_without_device'],
    [{ device }, 1, 'device_disabled'],
    [{ device: [{ id: 10, subsystem_id: 1 }], subsystem: [{ id: 1, enabled: false }] }, 1, 'device_disabled'],
  ] as const) {
    const { command, session, reached } = stage(tables)
    const answer = answerOf(await command(session(), { zone_id: zoneId, command: 'on' }))
    t.match(answer, { status: 200, success: false, json: { code } })
    t.strictSame(reached, [])
  }
})

t.test('1 Guards 5 secrets in the answers and faults of a device are for elevated sessions only', async (t) => {
  const answering = stage({}, async () => ({
    answer: { model: 'x', session_keys: ['s3cret'], url: 'http://u:s3cret@a/' },
  }))
  const failing = stage({}, async () => {
    throw new Fault('driver_failed', 'device 10: http://u:s3cret@a/ refused')
  })
  for (const { command, session } of [answering, failing]) {
    const body = { zone_id: 1, command: 'on' }
    t.notMatch(JSON.stringify(await command(session({ uis: [2] }), body)), /s3cret/)
    t.match(JSON.stringify(await command(session({ isElevated: true }), body)), /s3cret/)
  }
})

t.test('1 Audit record the command and its result are put into words, and hold no code', async (t) => {
  const door = { id: 1, name: 'open', enabled: true }
  const on = stage({ command: [door] })
  const refusing = stage({}, async () => {
    throw new Fault('driver_failed', 'device 10: relay stuck, http://u:s3cret@a/')
  })
  const { session } = on
  const said = async (body: unknown, { command } = on) => {
    const { facts, reason } = await command(session({ uis: [1] }), body)
    return [facts?.action, facts?.outcome, facts?.detail, reason]
  }
  t.same(await said({ zone_id: 1, level: 40 }), ['level 40 on "Hall"', 'done', null, null])
  t.same(await said({ zone_id: 1, command: 'on', args: { fade: 'slow', code: 471_123, pin: 7 } }), [
    'on (fade …, code …, pin …) on "Hall"',
    'done',
    null,
    null,
  ])
  t.same(await said({ device_id: 10, command: 'key', args: { key: 'a1' } }), ['key … on "Dimmer"', 'done', null, null])
  t.same(await said({ zone_id: 1, on: true }, refusing), [
    'on true on "Hall"',
    'failed',
    'driver_failed: device 10: relay stuck, http://***@a/',
    null,
  ])
  t.same(await said({ zone_id: 2, command: 'on' }), ['on on "Attic"', 'refused', null, 'scope_denied'])
  t.same(await said({ zone_id: 1, level: 101 }), [
    'level 101 on "Hall"',
    'refused',
    'level 101 is above 100, the most of zone 1',
    'bad_args',
  ])
  t.same((await said({ zone_id: 1 })).slice(0, 2), ['command', 'refused'])
})
