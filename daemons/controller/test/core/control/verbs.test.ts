import fc from 'fast-check'
import t from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import { answerOf, BUILDING, type SessionForm, stage } from './stage.ts'

const OPEN: SessionForm = { uis: [2] }
const ON = { zone_id: 1, command: 'on' }

/** Title, row of `command`, body, whether it is refused to sessions that are not elevated. */
const elevated: [string, Record<string, unknown>, Record<string, unknown>, boolean][] = [
  ['of the verb', { name: 'on' }, ON, true],
  ['of another verb', { name: 'off' }, ON, false],
  ['of the verb in other letters', { name: 'ON' }, ON, true],
  ['of the verb in full-width letters', { name: 'on' }, { zone_id: 1, command: 'ｏｎ' }, true],
  ['of the verb with a space behind it', { name: 'on' }, { zone_id: 1, command: 'on ' }, true],
  ['of the device', { name: 'on', device_id: 10 }, ON, true],
  ['of another device', { name: 'on', device_id: 11 }, ON, false],
  ['of the type of zone', { name: 'on', zone_type: 'light' }, ON, true],
  ['of another type of zone', { name: 'on', zone_type: 'blind' }, ON, false],
  [
    'of the type of a zone of the device that is commanded',
    { name: 'on', zone_type: 'light' },
    { device_id: 10, command: 'on' },
    true,
  ],
  ['of a subsystem that it is not of', { name: 'on', subsystem_id: 3 }, ON, false],
  ['that is disabled', { name: 'on', enabled: false }, ON, true],
]

for (const [title, row, body, isHeld] of elevated)
  t.test(`1 POST control an elevated command ${title} ${isHeld ? 'is' : 'is not'} held back`, async (t) => {
    const { command, session, reached } = stage({ command: [{ id: 1, enabled: true, ...row, elevated: true }] })
    const answer = answerOf(await command(session(OPEN), body))
    t.match(answer, isHeld ? { status: 403, reason: 'elevation_denied' } : { status: 200, success: true })
    t.equal(reached.length, isHeld ? 0 : 1)
  })

t.test('1 POST control an elevated command is open to an elevated session', async (t) => {
  const { command, session } = stage({ command: [{ id: 1, name: 'on', elevated: true, enabled: true }] })
  t.match(answerOf(await command(session({ isElevated: true }), ON)), { success: true })
})

const LEVEL = {
  type: 'object',
  properties: { level: { type: 'integer', minimum: 0 } },
  required: ['level'],
  additionalProperties: false,
}

/** Title, args, whether they pass. */
const schemas: [string, Record<string, unknown>, boolean][] = [
  ['that fit', { level: 4 }, true],
  ['of a wrong type', { level: 'four' }, false],
  ['out of range', { level: -1 }, false],
  ['without a required one', {}, false],
  ['with more than is allowed', { level: 4, fade: 1 }, false],
  ['with a target, which is not an arg', { level: 4, zone_id: 9 }, true],
]

for (const [title, args, isWell] of schemas)
  t.test(`args ${title} ${isWell ? 'pass' : 'are refused by'} args_schema`, async (t) => {
    const { command, session, reached } = stage({
      command: [{ id: 1, name: 'level', enabled: true, args_schema: LEVEL }],
    })
    const answer = answerOf(await command(session(OPEN), { zone_id: 1, command: 'level', args }))
    t.match(answer, isWell ? { status: 200, success: true } : { status: 400, error: 'invalid args' })
    t.equal(reached.length, isWell ? 1 : 0)
    t.notMatch(String(answer.json.message), /four/)
  })

t.test('the row closest to the target decides for args', async (t) => {
  const rows = [
    { id: 1, name: 'level', enabled: true, args_schema: false },
    { id: 2, name: 'level', enabled: true, zone_type: 'light', args_schema: LEVEL },
    { id: 3, name: 'level', enabled: true, device_id: 11, args_schema: false },
  ]
  const { command, session } = stage({ command: rows })
  t.match(answerOf(await command(session(OPEN), { zone_id: 1, level: 4 })), { success: true })
  t.match(answerOf(await command(session(OPEN), { zone_id: 3, level: 4 })), { status: 400 })
})

t.test('a command that is disabled is a failure', async (t) => {
  const { command, session, reached } = stage({ command: [{ id: 1, name: 'on', enabled: false }] })
  t.match(answerOf(await command(session(OPEN), ON)), {
    status: 200,
    success: false,
    json: { code: 'command_disabled' },
  })
  t.strictSame(reached, [])
})

t.test('a schema that cannot be used refuses, it does not pass', async (t) => {
  const broken = { properties: { level: { pattern: '(' } } }
  const { command, session, reached } = stage({
    command: [{ id: 1, name: 'level', enabled: true, args_schema: broken }],
  })
  t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: 'level', args: { level: 'x' } })), {
    status: 400,
  })
  t.strictSame(reached, [])
})

t.test('a schema with a pattern that would take for ever is refused, and takes no time', async (t) => {
  const slow = { type: 'object', properties: { level: { type: 'string', pattern: '^(a+)+$' } } }
  const { command, session, reached } = stage({ command: [{ id: 1, name: 'level', enabled: true, args_schema: slow }] })
  const body = { zone_id: 1, command: 'level', args: { level: `${'a'.repeat(60)}!` } }
  t.match(answerOf(await command(session(OPEN), body)), { status: 400, json: { message: /pattern/ } })
  t.strictSame(reached, [])
})

t.test('min and max limit the value of a zone, and no other args', async (t) => {
  const { command, session, reached } = stage()
  for (const body of [{ level: 100 }, { level: 0 }, { command: 'fade', args: { fade: 900 } }])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, ...body })), { success: true })
  t.equal(reached.length, 3)
})

t.test(
  'min and max apply to texts that are numbers, to other spellings of the verb, and to a whole device',
  async (t) => {
    const { command, session, reached } = stage()
    const bodies = [
      { zone_id: 1, level: '101' },
      { zone_id: 1, level: ' 1e3 ' },
      { zone_id: 1, level: '0x65' },
      { zone_id: 1, command: 'LEVEL', args: { level: 101 } },
      { zone_id: 1, command: 'ｌevel', args: { Level: -1 } },
      { device_id: 10, command: 'level', args: { level: 101 } },
    ]
    for (const body of bodies)
      t.match(
        answerOf(await command(session(OPEN), body)),
        { status: 400, error: 'invalid args' },
        JSON.stringify(body),
      )
    t.strictSame(reached, [])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, setpoint: 'auto' })), { success: true })
  },
)

t.test('a row for a command applies to every spelling of it, with or without another row in other case', async (t) => {
  const off = { id: 1, name: 'on', enabled: false }
  const { command, session, reached } = stage({ command: [off] })
  t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: 'ON' })), { json: { code: 'command_disabled' } })
  t.strictSame(reached, [])
  const both = stage({ command: [off, { id: 2, name: 'ON', enabled: true }] })
  for (const command of ['on', 'ON'])
    t.match(answerOf(await both.command(both.session(OPEN), { zone_id: 1, command })), {
      json: { code: 'command_disabled' },
    })
  t.strictSame(both.reached, [])
})

t.test(
  'a value that a device could read as a number, but this check cannot, is refused if there is a limit',
  async (t) => {
    const { command, session, reached } = stage()
    const args: [string, Record<string, unknown>][] = [
      ...[
        [101],
        '101%',
        '101,0',
        { v: 101 },
        true,
        false,
        null,
        '١٠١',
        '十',
        '',
        'Infinity',
        '1_01',
        '−5',
        [[31]],
        'Ⅽ',
        '1 0 1',
      ].map((level): [string, Record<string, unknown>] => ['level', { level }]),
      ['level', { value: 101 }],
      ['level', { VALUE: '101' }],
      ['LEVEL', { value: [101] }],
      ['level', { setpoint: 101 }],
      ['fade', { level: 101 }],
      ['value', { value: 101 }],
      ['level', { level: 5, LEVEL: 101 }],
      ['level', { level: 5, value: 101 }],
    ]
    for (const [verb, each] of args)
      for (const target of [{ zone_id: 1 }, { device_id: 10 }])
        t.match(
          answerOf(await command(session(OPEN), { ...target, command: verb, args: each })),
          { status: 400, error: 'invalid args' },
          `${verb} ${JSON.stringify(each)}`,
        )
    t.strictSame(reached, [])
  },
)

t.test('the driver gets the value that was checked', async (t) => {
  const { command, session, reached } = stage({
    command: [
      { id: 1, name: 'playPause', enabled: true },
      { id: 2, name: 'position', enabled: true, args_schema: { properties: { value: { type: 'number' } } } },
    ],
  })
  const sent: [string, Record<string, unknown>, string][] = [
    ['ON', {}, 'on {}'],
    [' oＮ', { ZONE_ID: 4, fade: 'Slow' }, 'on {"fade":"Slow","zone_id":1}'],
    ['LEVEL', { Level: ' ４0 ' }, 'level {"level":40}'],
    ['level', { value: '4e1' }, 'level {"level":40}'],
    ['level', { value: 40, LEVEL: '40.0' }, 'level {"level":40}'],
    ['setpoint', { setpoint: 'auto' }, 'setpoint {"setpoint":"auto"}'],
    ['Position', { position: '007' }, 'position {"value":7}'],
    ['PLAYPAUSE', {}, 'playPause {}'],
    ['doorKey', { doorKey: 1 }, 'doorKey {"doorKey":1}'],
  ]
  for (const [verb, args, line] of sent) {
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: verb, args })), { success: true }, verb)
    t.equal(reached.pop(), `10 zone 1 ${line}`)
  }
})

t.test(
  'max_volume of an av_zone limits every value of its zone and of its whole device that may be the volume',
  async (t) => {
    const { command, session, reached } = stage({
      zone: BUILDING.zone.map((each) => ({ ...each, address: String(each.id) })),
      av_zone: [{ id: 1, name: 'Hall', zone_id: 1, device_id: 10, max_volume: 60 }],
    })
    const say = async (body: Record<string, unknown>) => answerOf(await command(session(OPEN), body))
    for (const body of [{ zone_id: 1 }, { device_id: 10 }])
      for (const args of [{ volume: 61 }, { value: '61' }, { VOLUME: [61] }])
        t.match(await say({ ...body, command: 'volume', args }), { status: 400 }, JSON.stringify(args))
    for (const args of [{ level: 61 }, { value: '61' }])
      t.match(await say({ zone_id: 1, command: 'level', args }), { status: 400 }, 'of some drivers the level')
    t.strictSame(reached, [])
    for (const body of [
      { zone_id: 1, volume: 60 },
      { zone_id: 1, level: 60 },
      { zone_id: 2, volume: 90 },
    ])
      t.match(await say(body), { success: true }, JSON.stringify(body))
  },
)

t.test('a verb in other case is checked and carried out as the same verb, whatever else is sent', async (t) => {
  const row = { id: 1, name: 'off', elevated: true, enabled: true }
  const zone = BUILDING.zone.map((each) =>
    each.id === 1
      ? { ...each, overrides: { open: { zone_id: 5 }, close: { command: 'level', args: { level: 10 } } } }
      : each,
  )
  const verb = fc.constantFrom('on', 'off', 'open', 'close', 'level', 'setpoint', 'value', 'toggle')
  const spell = fc.constantFrom<(text: string) => string>(
    (text) => text.toUpperCase(),
    (text) => ` ${text}`,
    (text) => `${text[0]?.toUpperCase()}${text.slice(1)}`,
    (text) => `${text.slice(0, 1)}\u200b${text.slice(1)}`,
    (text) => text.replace(/[a-z]/g, (sign) => String.fromCodePoint((sign.codePointAt(0) ?? 0) + 0xfee0)),
  )
  const value = fc.oneof(fc.integer({ min: -20, max: 120 }), fc.constantFrom<unknown>([1], true, null, '31%', { v: 1 }))
  const law = fc.asyncProperty(
    fc.record({ verb, spell, value, key: fc.constantFrom('', 'value', 'level', 'zone_id'), isText: fc.boolean() }),
    async ({ verb, spell, value, key, isText }) => {
      const said = async (change: (text: string) => string, given: unknown) => {
        const { command, session, reached } = stage({ command: [row], zone })
        const args = { [change(key === '' ? verb : key)]: given }
        const { status, reason, json } = answerOf(
          await command(session(OPEN), { zone_id: 1, command: change(verb), args }),
        )
        return JSON.stringify([status, reason, json.success, json.message, reached])
      }
      const setsValue = ['level', 'setpoint', 'value'].includes(verb)
      const isValue = key === 'level' || (key !== 'zone_id' && setsValue)
      const text = isText && isValue && typeof value === 'number' ? ` ${value}.0` : value
      return (await said((each) => each, value)) === (await said(spell, text))
    },
  )
  await holdsLater(t, law, { numRuns: 600 })
})
