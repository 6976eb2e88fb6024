// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { Outcome } from '../../../core/audit.ts'
import type { Json } from '../../../core/json.ts'
import { bodyOf, type Rig, type RigMacro, rig, session } from './macro-rig.ts'

const light: RigMacro = {
  name: 'Light',
  steps: [{ type: 'command', zone_id: 1, command: 'on', args: { level: '${args.level}' } }],
}

/** Sends a call, and lets the requested time pass. */
async function called(
  rig: Rig,
  body: unknown,
  over: Parameters<typeof session>[0] & { ms?: number } = {},
): Promise<Outcome> {
  const { ms = 0, ...who } = over
  const outcome = rig.runMacro(session(who), body)
  await rig.clock.run(ms)
  return outcome
}

t.test('1 POST /api/control/:action a macro runs by id and by name', async (t) => {
  for (const by of [{ macro_id: 1 }, { macro: 'Light' }, { macro_id: 1, macro: 'Light' }]) {
    const house = rig([light])
    const outcome = await called(house, { ...by, args: { level: 40 } })
    t.equal(outcome.status, 200)
    t.same(bodyOf(outcome), {
      success: true,
      run_id: 1,
      state: 'done',
      steps: [{ step: '1', type: 'command', state: 'done' }],
    })
    t.same([outcome.reason, outcome.target, outcome.runId], [null, 'macro 1', 1])
    t.same(house.sent, [{ target: { zone_id: 1 }, verb: 'on', args: { level: 40 }, caller: null }])
  }
})

const refusals: [string, unknown, Parameters<typeof session>[0], [number, string, string]][] = [
  [
    'Authentication 7 a role without macro',
    { macro_id: 1 },
    { may: (what) => what !== 'macro' },
    [403, 'unauthorized', 'role_denied'],
  ],
  [
    'POST /api/control/:action a macro that is not there',
    { macro_id: 99 },
    {},
    [403, 'unknown macro', 'unknown_macro'],
  ],
  [
    'POST /api/control/:action the same, elevated',
    { macro_id: 99 },
    { isElevated: true },
    [403, 'unknown macro', 'unknown_macro'],
  ],
  ['POST /api/control/:action an unknown name', { macro: 'light' }, {}, [403, 'unknown macro', 'unknown_macro']],
  ['POST /api/control/:action a name of Object', { macro: '__proto__' }, {}, [403, 'unknown macro', 'unknown_macro']],
  [
    'POST /api/control/:action an id that is not a number',
    { macro_id: '1' },
    {},
    [403, 'unknown macro', 'unknown_macro'],
  ],
  [
    'POST /api/control/:action one known, one not',
    { macro_id: 1, macro: 'x' },
    {},
    [403, 'unknown macro', 'unknown_macro'],
  ],
  [
    'POST /api/control/:action a disabled macro',
    { macro_id: 3 },
    { isElevated: true },
    [403, 'unknown macro', 'unknown_macro'],
  ],
  ['Elevated gates an elevated macro', { macro_id: 2 }, {}, [403, 'unauthorized', 'elevation_denied']],
  [
    'Macro payload two that disagree',
    { macro_id: 1, macro: 'Strong' },
    { isElevated: true },
    [400, 'ambiguous target', 'bad_target'],
  ],
  ['Macro payload neither id nor name', { zone_id: 1 }, {}, [400, 'macro required', 'bad_target']],
  ['Macro payload args that are a list', { macro_id: 1, args: [] }, {}, [400, 'invalid args', 'bad_args']],
  ['Errors a body that is not an object', ['macro_id', 1], {}, [400, 'malformed body', 'bad_command']],
  ['Errors no body', null, {}, [400, 'malformed body', 'bad_command']],
]
for (const [what, body, who, [status, error, reason]] of refusals)
  t.test(`1 ${what} gives ${status} ${error}, and nothing is sent`, async (t) => {
    const house = rig([light, { ...light, name: 'Strong', elevated: true }, { ...light, name: 'Off', enabled: false }])
    const outcome = await called(house, body, who)
    t.equal(outcome.status, status)
    t.equal(bodyOf(outcome).error, error)
    t.equal(outcome.reason, reason)
    t.same(house.sent, [])
    t.same(house.rows, [])
  })

t.test('1 Elevated gates an elevated session runs an elevated macro', async (t) => {
  const outcome = await called(
    rig([{ ...light, elevated: true }]),
    { macro_id: 1, args: { level: 1 } },
    { isElevated: true },
  )
  t.equal(bodyOf(outcome).success, true)
})

t.test('1 POST /api/control/:action a run that takes longer is answered after 10 s', async (t) => {
  const house = rig([
    {
      name: 'Slow',
      steps: [
        { type: 'delay', args: { ms: 60_000 } },
        { type: 'notify', args: { text: 'over' } },
      ],
    },
  ])
  let answer: Outcome | undefined
  const waiting = house.runMacro(session(), { macro_id: 1 }).then((outcome) => {
    answer = outcome
  })
  await house.clock.run(9_999)
  t.equal(answer, undefined)
  await house.clock.run(1)
  await waiting
  t.same(answer && bodyOf(answer), { success: true, run_id: 1, state: 'running' })
  t.equal(answer?.runId, 1)
  await house.clock.run(60_000)
  t.same(house.notices, ['over'])
  t.equal(house.rows[0]?.end?.result, 'done')
  t.equal(house.clock.pending(), 0)
})

t.test(
  '1 POST /api/control/:action a target from the request is checked, and refused with `not authorized`',
  async (t) => {
    const macro: RigMacro = {
      name: 'Any',
      steps: [
        { type: 'command', command: 'on', args: { zone_id: '${args.zone_id}', level: 1 }, on_error: 'continue' },
        { type: 'command', zone_id: 2, command: 'off' },
      ],
    }
    const house = rig([macro])
    const outcome = await called(house, { macro_id: 1, args: { zone_id: 2 } })
    t.same(bodyOf(outcome).steps, [
      { step: '1', type: 'command', state: 'failed', error: 'not authorized' },
      { step: '2', type: 'command', state: 'done' },
    ])
    t.same(
      house.sent.map(({ verb, target }) => [verb, target]),
      [['off', { zone_id: 2 }]],
    )
    await called(house, { macro_id: 1, args: { zone_id: 1 } })
    t.match(house.sent[1], { verb: 'on', target: { zone_id: 1 }, args: { level: 1 }, caller: { userId: 7 } })
    await called(house, { macro_id: 1, args: { zone_id: 2 } }, { isElevated: true })
    t.match(house.sent[3], { verb: 'on', target: { zone_id: 2 } })
  },
)

t.test(
  '1 POST /api/control/:action a caller whose account is lost meanwhile reaches none of its targets',
  async (t) => {
    const house = rig([
      {
        name: 'Later',
        steps: [
          { type: 'delay', args: { ms: 1000 } },
          { type: 'command', command: 'on', args: { zone_id: '${args.zone_id}' } },
        ],
      },
    ])
    const outcome = house.runMacro(session({ isElevated: true }), { macro_id: 1, args: { zone_id: 1 } })
    await house.clock.run(500)
    house.ports.sessionNow = () => null
    await house.clock.run(500)
    t.match(bodyOf(await outcome), { success: false, error: 'not authorized' })
    t.same(house.sent, [])
  },
)

t.test(
  '1 Success of a control call a failure of a driver is reported, its message only to elevated sessions',
  async (t) => {
    const house = rig([light])
    house.answers.push(
      new Fault('driver_timeout', 'device 4 gave no answer'),
      new Fault('driver_timeout', 'device 4 gave no answer'),
    )
    const plain = await called(house, { macro_id: 1, args: { level: 1 } })
    t.equal(plain.status, 200)
    t.same(bodyOf(plain), {
      success: false,
      run_id: 1,
      state: 'failed',
      error: 'driver_timeout',
      steps: [{ step: '1', type: 'command', state: 'failed', error: 'driver_timeout' }],
    })
    const told = await called(house, { macro_id: 1, args: { level: 1 } }, { isElevated: true })
    t.match(bodyOf(told), { message: 'device 4 gave no answer', steps: [{ decided: { command: 'on', zone_id: 1 } }] })
  },
)

t.test('1 Macro payload args that do not fit args_schema give 400 without their values', async (t) => {
  const house = rig([
    { ...light, args_schema: { properties: { level: { type: 'integer', maximum: 100 } }, required: ['level'] } },
  ])
  const outcome = await called(house, { macro_id: 1, args: { level: 4711 } })
  t.equal(outcome.status, 400)
  t.match(String(bodyOf(outcome).message), /args\.level breaks maximum 100/)
  t.notMatch(JSON.stringify(bodyOf(outcome)), /4711/)
  t.same(house.rows, [])
})

t.test('args that are too large or too deep give 400', async (t) => {
  const house = rig([light])
  let deep: Json = 1
  for (let depth = 0; depth < 5000; depth++) deep = [deep]
  for (const level of ['x'.repeat(40_000), deep, Array(40_000).fill(0)]) {
    const outcome = await called(house, { macro_id: 1, args: { level } })
    t.same([outcome.status, bodyOf(outcome).error], [400, 'invalid args'])
  }
})

t.test('a macro that cannot be understood is refused as a whole, before anything is done', async (t) => {
  const house = rig([{ name: 'Odd', steps: [{ type: 'notify', args: { text: 'first' } }, { type: 'explode' }] }])
  const outcome = await called(house, { macro_id: 1 }, { isElevated: true })
  t.match(bodyOf(outcome), { success: false, state: 'refused', error: 'macro_invalid', message: /^step 2 has a type/ })
  t.same(house.notices, [])
})

t.test('a run whose record cannot be written does nothing', async (t) => {
  const house = rig([light])
  house.ports.keeper.begin = async () => {
    throw new Error('disk full')
  }
  const outcome = await called(house, { macro_id: 1, args: { level: 1 } })
  t.match(bodyOf(outcome), { success: false, run_id: null, error: 'macro_not_kept' })
  t.same(house.sent, [])
  t.same(house.engine.living(), [])
})

t.test(
  '1 POST /api/control/:action steps of a called macro are reported inside its step, their values only to elevated sessions',
  async (t) => {
    const macros: RigMacro[] = [
      { name: 'Outer', steps: [{ type: 'macro', args: { macro: 'Inner' } }] },
      { name: 'Inner', steps: [{ type: 'condition', args: { attribute: 'mode', value: 'day' } }] },
    ]
    const house = rig(macros)
    house.values.set('mode', { value: 'day', isSecure: false })
    const inner = { step: '1', type: 'condition', state: 'done' }
    const plain = await called(house, { macro_id: 1 })
    t.same(bodyOf(plain).steps, [{ step: '1', type: 'macro', state: 'done', steps: [inner] }])
    t.notMatch(JSON.stringify(bodyOf(plain)), /day|mode/)
    const elevated = await called(house, { macro_id: 1 }, { isElevated: true })
    t.match(bodyOf(elevated).steps, [
      {
        step: '1',
        answer: { run_id: 4 },
        steps: [{ ...inner, at: 0, ended_at: 0, answer: { holds: true, left: 'day' } }],
      },
    ])
  },
)

t.test('an answer lists 500 steps at most, over all depths', async (t) => {
  const calls = Array.from({ length: 60 }, () => ({ type: 'macro', args: { macro_id: 2 } }))
  const notices = Array.from({ length: 20 }, () => ({ type: 'notify', args: { text: 'x' } }))
  const house = rig([
    { name: 'Outer', steps: calls },
    { name: 'Inner', steps: notices },
  ])
  const outcome = await called(house, { macro_id: 1 })
  t.equal(bodyOf(outcome).success, true)
  t.equal(JSON.stringify(bodyOf(outcome)).match(/"step":/g)?.length, 500)
  t.equal(house.notices.length, 1200)
})

t.test('a run that waits for its turn is reported as queued after 10 s, a busy macro as refused', async (t) => {
  const steps = [{ type: 'delay', args: { ms: 30_000 } }]
  const house = rig([
    { name: 'Line', mode: 'queued', steps },
    { name: 'One', steps },
  ])
  const [first, second] = [1, 1, 2].map((macro_id) => house.runMacro(session(), { macro_id }))
  const busy = await called(house, { macro_id: 2 }, { ms: 10_000 })
  t.same(bodyOf(busy), { success: false, state: 'refused', error: 'macro_busy' })
  t.same([busy.status, busy.reason], [200, null])
  t.equal(bodyOf(await (first as Promise<Outcome>)).state, 'running')
  t.same(bodyOf(await (second as Promise<Outcome>)), { success: true, run_id: 2, state: 'queued' })
})

t.test('an error of a driver that is not a Fault is not reported: it can hold anything', async (t) => {
  const house = rig([light])
  house.ports.dispatch = async () => {
    throw new Error('password geheim')
  }
  const outcome = await called(house, { macro_id: 1, args: { level: 1 } }, { isElevated: true })
  t.match(bodyOf(outcome), { error: 'macro_step_failed', message: 'the step failed' })
  t.notMatch(JSON.stringify(house.rows), /geheim/)
})

t.test(
  '1 Audit record a run is recorded with the results of its steps, one that a gate refused as refused',
  async (t) => {
    const steps: RigMacro['steps'] = [
      { type: 'command', zone_id: 1, command: 'level', args: { level: 30 }, on_error: 'continue' },
      { type: 'command', command: 'on', args: { zone_id: '${args.zone}' }, on_error: 'continue' },
    ]
    const told = async (house: Rig, body: unknown) => {
      const { facts, reason, status } = await called(house, body)
      return [status, reason, facts?.action, facts?.outcome, facts?.detail]
    }
    const house = rig([
      { name: 'Night', steps },
      { name: 'Whole', steps: [{ type: 'macro', args: { macro_id: 1, args: { zone: '${args.zone}' } } }] },
      { name: 'Short', steps: [{ type: 'command', zone_id: 1, command: 'on', on_error: 'stop' }] },
    ])
    t.same(await told(house, { macro_id: 1, args: { zone: 1 } }), [200, null, 'macro "Night"', 'done', null])
    house.answers.push(new Fault('driver_failed', 'device 1 refused'))
    t.same(await told(house, { macro_id: 1, args: { zone: 1 } }), [
      200,
      null,
      'macro "Night"',
      'partly',
      'step 1, level 30 on zone 1: device 1 refused',
    ])
    for (const [macro_id, name, place] of [
      [1, 'Night', '2'],
      [2, 'Whole', '1 > 2'],
    ])
      t.same(await told(house, { macro_id, args: { zone: 2 } }), [
        200,
        'scope_denied',
        `macro "${name}"`,
        'partly',
        `step ${place}, on on zone 2: not authorized`,
      ])
    house.answers.push(new Fault('driver_failed', 'device 1 refused'))
    t.match(await told(house, { macro_id: 3 }), [
      200,
      null,
      'macro "Short"',
      'failed',
      'step 1, on on zone 1: device 1 refused',
    ])
    t.same((await told(house, { macro_id: 1, args: [] })).slice(1, 4), ['bad_args', 'macro "Night"', 'refused'])
  },
)

t.test('1 Audit record a failure in a called run is recorded, also if there is no room for its steps', async (t) => {
  const step = { type: 'command', zone_id: 1, command: 'on', on_error: 'continue' }
  const call = { type: 'macro', args: { macro_id: 1 }, on_error: 'continue' }
  const house = rig(
    [
      { name: 'Inner', mode: 'parallel', steps: [step, step, step] },
      { name: 'Outer', steps: [call, call] },
    ],
    {
      steps: 4,
    },
  )
  house.answers.push(...[{}, {}, {}, {}], new Fault('driver_failed', 'device 1 refused'))
  const outcome = await called(house, { macro_id: 2 }, { isElevated: true })
  t.same(outcome.facts?.outcome, 'partly')
  t.match(outcome.facts?.detail, /^step 2 > 2, on on zone 1: device 1 refused$/)
  const { steps } = bodyOf(outcome) as { steps: { steps: unknown[] }[] }
  t.same(
    steps.map((told) => told.steps.length),
    [3, 1],
  )
})

t.test('values beside the macro that nobody reads are refused with their fields, and nothing is done', async (t) => {
  const house = rig([light])
  const call = (body: object) => house.runMacro(session(), body)
  t.match(await call({ macro: 'Light', level: 20, macroid: 1 }), {
    status: 400,
    reason: 'bad_command',
    body: { json: { error: 'unknown field', fields: [{ field: 'level' }, { field: 'macroid' }] } },
  })
  t.match(await call({ macro: 'Nothing', level: 20 }), { status: 403, reason: 'unknown_macro' })
  t.strictSame(house.sent, [])
  const run = call({ macro: 'Light', zone_id: null })
  await house.clock.run(100)
  t.match(await run, { status: 200 }, 'null is as if it were not there')
})
