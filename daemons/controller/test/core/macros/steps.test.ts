// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { Json } from '../../../core/json.ts'
import { came, rig, say, start } from './macro-rig.ts'

t.test('on_error decides what follows a step that failed', async (t) => {
  const failing = { type: 'command', zone_id: 1, command: 'on', retries: 2 }
  const rows: [string, number, string, string[], number][] = [
    ['stop', 1, 'failed', [], 1],
    ['continue', 1, 'done', ['after'], 1],
    ['retry', 2, 'done', ['after'], 3],
    ['retry', 3, 'failed', [], 3],
  ]
  for (const [onError, failures, state, notices, sent] of rows) {
    const house = rig([{ name: 'Try', steps: [{ ...failing, on_error: onError }, say('after')] }])
    for (let n = 0; n < failures; n++) house.answers.push(new Fault('driver_failed', 'no'))
    const run = start(house)
    await house.clock.run(10_000)
    t.same([run.state, house.notices, house.sent.length], [state, notices, sent], `${onError}, ${failures} failures`)
  }
})

t.test('pauses between retries double, are limited, and come from the seed', async (t) => {
  const house = rig([
    { name: 'Try', steps: [{ type: 'command', zone_id: 1, command: 'on', on_error: 'retry', retries: 99 }] },
  ])
  for (let n = 0; n < 40; n++) house.answers.push(new Fault('driver_failed', 'no'))
  start(house)
  await house.clock.run(590_000)
  t.equal(house.sent.length, 11, 'the most retries there are, and the first try')
  const pauses = house
    .trace(1)
    .entries.filter(({ type }) => type === 'retry')
    .map(({ decided }) => (decided as { wait_ms: number }).wait_ms)
  t.equal(pauses.length, 10)
  pauses.forEach((ms, at) => {
    const whole = Math.min(30_000, 500 * 2 ** at)
    t.ok(ms >= whole / 2 && ms <= whole, `pause ${at} of ${ms} ms`)
  })
})

t.test('a refusal is not tried again', async (t) => {
  const house = rig([
    { name: 'Try', steps: [{ type: 'command', zone_id: 1, command: 'on', on_error: 'retry', retries: 5 }] },
  ])
  house.answers.push(new Fault('not_authorized', 'not authorized'))
  const run = start(house)
  await house.clock.run(60_000)
  t.same([run.end?.code, house.sent.length], ['not_authorized', 1])
})

t.test('a condition continues, skips steps, or ends the run', async (t) => {
  const rows: [Json, Json, string[]][] = [
    [60, 'stop', ['one', 'two', 'three']],
    [40, 'stop', []],
    [40, { skip: 2 }, ['three']],
    [40, { skip: '${args.n}' }, ['two', 'three']],
    [40, { skip: 999 }, []],
    [null, 'stop', []],
  ]
  for (const [level, otherwise, notices] of rows) {
    const args = { left: { zone_id: 1, field: 'level' }, op: '>', right: 50, else: otherwise }
    const house = rig([{ name: 'If', steps: [{ type: 'condition', args }, say('one'), say('two'), say('three')] }])
    house.live.set('1.level', level)
    const run = start(house, 1, { n: 1 })
    await house.clock.run(0)
    t.same([run.state, house.notices], ['done', notices], JSON.stringify([level, otherwise]))
  }
})

t.test(
  'a wait ends once its condition holds, fails if it does not hold in time, and leaves nothing behind',
  async (t) => {
    const args = { attribute: 'door', zone_id: 1, op: 'eq', value: 'open', timeout_ms: 5000 }
    const house = rig([{ name: 'Wait', mode: 'parallel', steps: [{ type: 'wait', args }, say('open')] }])
    house.values.set('door@1', { value: 'shut', isSecure: false })
    const [met, late] = [start(house), start(house)]
    await house.clock.run(3000)
    t.same(house.notices, [])
    late.cancel('only one is wanted')
    house.values.set('door@1', { value: 'open', isSecure: false })
    house.changed()
    await house.clock.run(0)
    t.same(came(house, met), ['done', undefined, ['open']])
    t.equal(house.clock.pending(), 0)
    house.values.set('door@1', { value: 'shut', isSecure: false })
    const missed = start(house)
    await house.clock.run(5000)
    t.same(came(house, missed), ['failed', 'macro_wait_timeout', ['open']])
  },
)

t.test('set changes the value of an attribute, and fails if the attribute does not exist', async (t) => {
  const set = (attribute: string) => ({ type: 'set', args: { attribute, value: '${args.mode}' } })
  const house = rig([{ name: 'Set', steps: [set('house_mode'), set('nothing')] }])
  house.values.set('house_mode', { value: 'day', isSecure: false })
  const run = start(house, 1, { mode: 'night' })
  await house.clock.run(0)
  t.equal(house.values.get('house_mode')?.value, 'night')
  t.same([run.state, run.end?.code], ['failed', 'no_attribute'])
})

t.test('stop ends the run as done or as failed, also from inside a branch', async (t) => {
  const rows: [Json, string][] = [
    [{}, 'done'],
    [{ failed: true, reason: 'no power' }, 'failed'],
  ]
  for (const [args, state] of rows) {
    const steps = [
      [
        { type: 'delay', args: { ms: 10 } },
        { type: 'stop', args },
      ],
      { type: 'delay', args: { ms: 5000 } },
    ]
    const house = rig([{ name: 'Stop', steps: [{ type: 'parallel', args: { steps } }, say('after')] }])
    const run = start(house)
    await house.clock.run(10)
    t.same([run.state, house.notices, house.clock.pending()], [state, [], 0])
  }
})

t.test('parallel steps continue when all branches have ended, and fail if one failed', async (t) => {
  const branch = (ms: number, text: string) => [{ type: 'delay', args: { ms } }, say(text)]
  const steps = [branch(20, 'b'), branch(10, 'a'), { type: 'command', zone_id: 1, command: 'on' }]
  const house = rig([{ name: 'Both', mode: 'parallel', steps: [{ type: 'parallel', args: { steps } }, say('after')] }])
  start(house)
  await house.clock.run(20)
  t.same(house.notices, ['a', 'b', 'after'])
  house.answers.push(new Fault('driver_failed', 'no'))
  const failed = start(house)
  await house.clock.run(20)
  t.same([failed.state, failed.end?.code, house.notices.slice(3)], ['failed', 'driver_failed', ['a', 'b']])
})

t.test('a delay lasts as long as it says, and its jitter comes from the seed', async (t) => {
  const house = rig([{ name: 'Wait', steps: [{ type: 'delay', args: { ms: 100, spread_ms: 1000 } }] }])
  const run = start(house)
  await house.clock.run(1100)
  const [entry] = run.entries
  const { wait_ms } = (entry?.decided ?? {}) as { wait_ms: number }
  t.ok(wait_ms >= 100 && wait_ms <= 1100)
  t.equal(entry?.ended_at, wait_ms)
})

t.test('a value of the wrong kind fails its step', async (t) => {
  const rows: [string, Json, Json][] = [
    ['delay', { ms: '${args.x}' }, '10'],
    ['delay', { ms: '${args.x}' }, -1],
    ['delay', { ms: '${args.x}' }, 1e12],
    ['condition', { left: 1, right: 2, else: { skip: '${args.x}' } }, 'stop'],
    ['macro', { macro_id: '${args.x}' }, 1.5],
    ['set', { attribute: '${args.x}', value: 1 }, { a: 1 }],
    ['command', { zone_id: '${args.x}' }, '1'],
    ['command', { zone: '${args.x}' }, null],
  ]
  for (const [type, args, x] of rows) {
    const house = rig([{ name: 'Odd', steps: [{ type, args, command: 'on' }] }])
    const run = start(house, 1, { x })
    await house.clock.run(0)
    t.same([run.state, run.end?.code, house.sent], ['failed', 'macro_step_value', []], JSON.stringify([args, x]))
  }
})

t.test('a notice shows no args that are secret by their name or by where they are used', async (t) => {
  const steps = [
    say('Door ${args.door} opens with ${args.pin}, ${args.word} and ${args.who}'),
    { type: 'set', args: { attribute: 'door_pin', value: '${args.word}' } },
    say('${args.pin}'),
  ]
  const house = rig([{ name: 'Tell', steps }])
  house.values.set('door_pin', { value: '', isSecure: true })
  start(house, 1, { door: 3, pin: '4711', word: 'sesame', who: { name: 'Ada', api_key: 'k-123' } })
  await house.clock.run(1000)
  t.same(house.notices, ['Door 3 opens with null, null and {"name":"Ada","api_key":null}', 'null'])
})
