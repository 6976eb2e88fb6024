// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Json } from '../../../core/json.ts'
import { jsonChars } from '../../../core/macros/values.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { bodyOf, came, type RigMacro, rig, say, session, start } from './macro-rig.ts'

const slow = (mode: string, more: Record<string, Json> = {}): RigMacro => ({
  name: 'Slow',
  mode,
  ...more,
  steps: [{ type: 'delay', args: { ms: 1000 } }, say('${args.who}')],
})

t.test('single: an active run keeps another out', async (t) => {
  const house = rig([slow('single')])
  start(house, 1, { who: 'a' })
  t.throws(() => start(house, 1, { who: 'b' }), { code: 'macro_busy' })
  await house.clock.run(1000)
  start(house, 1, { who: 'c' })
  await house.clock.run(1000)
  t.same(house.notices, ['a', 'c'])
})

t.test('restart: a newer run replaces the active one', async (t) => {
  const house = rig([slow('restart')])
  const first = start(house, 1, { who: 'a' })
  await house.clock.run(500)
  start(house, 1, { who: 'b' })
  await house.clock.run(1000)
  t.same(came(house, first), ['cancelled', 'macro_cancelled', ['b']])
  t.same(
    house.rows.map(({ end }) => end?.result),
    ['cancelled', 'done'],
  )
})

t.test('queued: runs go one after another in order, at most max_runs of them at once', async (t) => {
  const house = rig([slow('queued', { max_runs: 3 })])
  const runs = ['a', 'b', 'c'].map((who) => start(house, 1, { who }))
  t.throws(() => start(house, 1, { who: 'd' }), { code: 'macro_queue_full' })
  await house.clock.run(500)
  t.same(
    runs.map(({ state }) => state),
    ['running', 'queued', 'queued'],
  )
  await house.clock.run(1000)
  t.same(house.notices, ['a'])
  await house.clock.run(1500)
  t.same(house.notices, ['a', 'b', 'c'])
  t.same(house.engine.living(), [])
})

t.test('queued: a run that is cancelled while it waits does not hold up the next ones', async (t) => {
  const house = rig([slow('queued')])
  const [, second] = ['a', 'b', 'c'].map((who) => start(house, 1, { who }))
  await house.clock.run(100)
  second?.cancel('not wanted')
  await house.clock.run(2000)
  t.same(house.notices, ['a', 'c'])
})

t.test('queued: a run that gets no turn in time fails with that reason', async (t) => {
  const house = rig([{ name: 'Stuck', mode: 'queued', steps: [{ type: 'delay', args: { ms: 80_000 } }] }])
  start(house)
  const second = start(house)
  await house.clock.run(60_000)
  t.same(came(house, second), ['timed_out', 'macro_no_turn', []])
})

t.test('parallel: runs go side by side, at most max_runs of them', async (t) => {
  const house = rig([slow('parallel', { max_runs: 2 })])
  start(house, 1, { who: 'a' })
  start(house, 1, { who: 'b' })
  t.throws(() => start(house, 1, { who: 'c' }), { code: 'macro_busy' })
  await house.clock.run(1000)
  t.same(house.notices, ['a', 'b'])
})

t.test('no more runs are active at once than the daemon allows', async (t) => {
  const house = rig([slow('parallel', { max_runs: 999 })], { runs: 3 })
  for (const who of ['a', 'b', 'c']) start(house, 1, { who })
  t.throws(() => start(house, 1, { who: 'd' }), { code: /macro_busy|macro_too_many_runs/ })
  await house.clock.run(1000)
  t.equal(house.notices.length, 3)
})

t.test('one user has no more runs than are allowed to one, however many macros; others have theirs', async (t) => {
  const macros = ['A', 'B', 'C'].map((name) => ({ ...slow('parallel', { max_runs: 9 }), name }))
  const house = rig(macros, {}, 2)
  const start = (macro_id: number, userId: number) =>
    house.runMacro(session({ userId }), { macro_id, args: { who: 'x' } })
  const runs = [start(1, 7), start(2, 7), start(3, 7), start(3, 8)]
  await house.clock.run(10_000)
  const told = (await Promise.all(runs)).map((outcome) => bodyOf(outcome).error ?? 'done')
  t.strictSame(told, ['done', 'done', 'macro_too_many_runs', 'done'])
  const later = start(3, 7)
  await house.clock.run(10_000)
  t.match(bodyOf(await later), { success: true })
})

t.test('timeout_ms of the macro ends its run, and whatever it waits for', async (t) => {
  const house = rig([{ name: 'Long', timeout_ms: 700, steps: [{ type: 'delay', args: { ms: 5000 } }, say('over')] }])
  const run = start(house)
  await house.clock.run(700)
  t.same(came(house, run), ['timed_out', 'macro_timed_out', []])
  t.equal(house.clock.pending(), 0)
  t.match(house.trace(1).entries, [{ result: { state: 'cancelled' }, at: 0, ended_at: 700 }])
})

t.test('while it is held no run begins, those that live go on, and it is let go once', async (t) => {
  const house = rig([slow('parallel')])
  start(house, 1, { who: 'a' })
  const [one, other] = [house.engine.hold(), house.engine.hold()]
  t.throws(() => start(house, 1, { who: 'b' }), { code: 'macro_stopping', message: /restart with an update/ })
  one()
  one()
  t.throws(() => start(house, 1, { who: 'b' }), { code: 'macro_stopping' }, 'the other still holds')
  other()
  start(house, 1, { who: 'c' })
  await house.clock.run(1000)
  t.same(house.notices, ['a', 'c'])
})

t.test('when the daemon stops, runs end as cancelled and are recorded, and no new one starts', async (t) => {
  const house = rig([slow('parallel')])
  start(house, 1, { who: 'a' })
  await house.clock.run(10)
  start(house, 1, { who: 'b' })
  const stopped = house.engine.stop()
  t.throws(() => start(house), { code: 'macro_stopping' })
  await stopped
  t.same(
    house.rows.map(({ end }) => end?.result),
    ['cancelled', 'cancelled'],
  )
  t.equal(house.clock.pending(), 0)
  await house.clock.run(5000)
  t.same(house.notices, [])
})

t.test('the row of a run is on the disk before its first step', async (t) => {
  const house = rig([{ name: 'Say', steps: [say('done')] }])
  const kept = Promise.withResolvers<number>()
  house.ports.keeper.begin = () => kept.promise
  start(house)
  await house.clock.run(1000)
  t.same(house.notices, [])
  kept.resolve(1)
  await house.clock.run(0)
  t.same(house.notices, ['done'])
})

t.test('a macro step runs another macro with its own args, and fails if that fails', async (t) => {
  const house = rig([
    {
      name: 'Outer',
      steps: [{ type: 'macro', args: { macro: 'Inner', args: { text: 'hello ${args.who}' } } }, say('outer')],
    },
    { name: 'Inner', steps: [say('${args.text}')] },
  ])
  const run = start(house, 1, { who: 'you' })
  await house.clock.run(0)
  t.same(came(house, run), ['done', undefined, ['hello you', 'outer']])
  t.same(
    house.rows.map(({ macro_id, end }) => [macro_id, end?.result]),
    [
      [1, 'done'],
      [2, 'done'],
    ],
  )
  t.same(house.trace(2).depth, 2)
  const wrong = rig([
    { name: 'Outer', steps: [{ type: 'parallel', args: { macros: [{ macro: 'Inner' }] } }] },
    { name: 'Inner', steps: [say('${args.text}')] },
  ])
  const failed = start(wrong)
  await wrong.clock.run(0)
  t.same(came(wrong, failed), ['failed', 'macro_arg_missing', []])
})

t.test('a call of a busy macro is tried again later; a call of a missing one is not', async (t) => {
  const calls = (macro: string) => ({
    type: 'macro',
    args: { macro, args: { who: 'b' } },
    on_error: 'retry',
    retries: 3,
  })
  const house = rig([
    slow('single'),
    { name: 'Busy', steps: [calls('Slow'), say('outer')] },
    { name: 'Lost', steps: [calls('Nobody'), say('outer')] },
  ])
  start(house, 1, { who: 'a' })
  const busy = start(house, 2)
  const lost = start(house, 3)
  await house.clock.run(0)
  t.equal(lost.state, 'failed')
  await house.clock.run(10_000)
  t.same(came(house, busy), ['done', undefined, ['a', 'b', 'outer']])
})

t.test('a run that ends also ends the runs it called', async (t) => {
  const house = rig([
    { name: 'Outer', steps: [{ type: 'macro', args: { macro_id: 2 } }] },
    { name: 'Inner', steps: [{ type: 'delay', args: { ms: 60_000 } }] },
  ])
  const run = start(house)
  await house.clock.run(10)
  t.equal(house.engine.living().length, 2)
  run.cancel('enough')
  await house.clock.run(0)
  t.same(
    house.rows.map(({ end }) => end?.result),
    ['cancelled', 'cancelled'],
  )
  t.same([house.engine.living().length, house.clock.pending()], [0, 0])
})

t.test(
  'macros cannot call themselves, not even through others, nor more than 8 deep, nor too many others',
  async (t) => {
    const call = (macro_id: number): RigMacro['steps'] => [{ type: 'macro', args: { macro_id } }]
    const circle = rig([
      { name: 'a', mode: 'parallel', steps: call(2) },
      { name: 'b', mode: 'parallel', steps: call(1) },
    ])
    const around = start(circle)
    await circle.clock.run(0)
    t.same([around.end?.code, circle.rows.length], ['macro_cycle', 2])
    const chain = rig(
      Array.from({ length: 9 }, (_, at) => ({ name: `m${at}`, steps: at === 8 ? [say('end')] : call(at + 2) })),
    )
    const deep = start(chain)
    await chain.clock.run(0)
    t.same([deep.end?.code, chain.rows.length, chain.notices], ['macro_too_deep', 8, []])
    const eight = rig(
      Array.from({ length: 8 }, (_, at) => ({ name: `m${at}`, steps: at === 7 ? [say('end')] : call(at + 2) })),
    )
    start(eight)
    await eight.clock.run(0)
    t.same(eight.notices, ['end'])
    const many = rig(
      [
        { name: 'a', steps: Array.from({ length: 5 }, () => ({ type: 'macro', args: { macro_id: 2 } })) },
        { name: 'b' },
      ],
      { calls: 4 },
    )
    const last = start(many)
    await many.clock.run(0)
    t.same([last.end?.code, many.rows.length], ['macro_too_many_calls', 5])
  },
)

t.test('a long run lets other work of the process have its turn between its steps', async (t) => {
  const house = rig([{ name: 'Long', steps: Array.from({ length: 35 }, () => say('x')) }])
  start(house)
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(house.notices.length > 0 && house.notices.length <= 11, `${house.notices.length} before others`)
  await house.clock.run(0)
  t.equal(house.notices.length, 35)
})

/** A list of such items that has almost this many characters. */
function listOf(item: (at: number) => Json, chars: number): Json {
  const list: Json[] = []
  for (let left = chars - 40, at = 0; left > 0; at++) {
    list.push(item(at))
    left -= jsonChars(list[at], 1e6)
  }
  return JSON.parse(JSON.stringify(list))
}

const KINDS: Record<string, (at: number) => Json> = {
  'a long text': (at) => `${at}`.padEnd(300, 'ж'),
  'short texts': (at) => `t${at}`,
  figures: (at) => at + 0.5,
  'empty objects': () => ({}),
  'empty lists': () => [],
  'objects of a name of their own': (at) => ({ [`name${at}`]: {} }),
  'objects that have a number as name': (at) => ({ [at % 1000]: 0 }),
  'objects with a secret': (at) => ({ pin: at }),
}

t.test('whatever runs hold, and the runs they called leave behind, is no more than their row says', async (t) => {
  const limits = { steps: 16, calls: 4, planChars: 20_000, valueChars: 8000, traceChars: 20_000 }
  const settings = Object.entries({ ...limits, runs: 1 }).map(([name, value]): [string, number] => [
    `macros.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
    value,
  ])
  const { eachBytes = 0 } = rowOf(memoryPlan().rows, 'runs of macros that live', Object.fromEntries(settings))
  for (const [title, item] of Object.entries(KINDS)) {
    const runs = 6
    const ended = { type: 'delay', args: { ms: 1e6 } }
    const inner = (at: number) => ({
      ...{ type: 'command', zone_id: 1, command: 'level', on_error: 'continue' },
      args: { list: listOf((place) => item(at * 100 + place), 3500) },
    })
    const call = { type: 'macro', args: { macro_id: 1, args: { list: '${args.list}' } } }
    const own = Array.from({ length: 4 }, (_, at) => inner(at + 5))
    const steps = JSON.stringify([...own, call, call, call, call, ended])
    let taken = 0
    const bytes = await heapBytesOf(async () => {
      const macros = Array.from({ length: runs }, (_, at) => ({ name: `outer ${at}`, steps: JSON.parse(steps) }))
      const called = {
        name: 'inner',
        mode: 'parallel',
        max_runs: 64,
        steps: Array.from({ length: 4 }, (_, at) => inner(at)),
      }
      const house = rig([called, ...macros], limits)
      for (let at = 0; at < runs * 20; at++)
        house.answers.push(
          at % 2 ? { answer: listOf(item, 900) } : new Fault('driver_failed', `${at}`.padEnd(500, 'ж')),
        )
      const living = macros.map((_, at) => start(house, at + 2, { list: listOf(item, 7500) }))
      for (let turn = 0; turn < 40; turn++) await house.clock.run(10)
      taken = living.reduce((count, run) => count + run.entries.length + run.called.size, 0)
      for (const list of [house.sent, house.answers, house.rows]) list.length = 0
      return [house, living]
    })
    t.equal(taken, runs * 13, `${title}: each has taken its steps, and waits`)
    t.ok(bytes / runs < eachBytes, `${title}: ${bytes / runs} bytes a run, of ${eachBytes}`)
  }
})
