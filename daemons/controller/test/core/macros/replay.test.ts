import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { Json } from '../../../core/json.ts'
import type { RunEnd } from '../../../core/macros/ports.ts'
import { readTrace, replay } from '../../../core/macros/replay.ts'
import type { Trace } from '../../../core/macros/run.ts'
import type { Row } from '../../../core/site/book.ts'
import { argsOf, type Rig, rig, rigSecrets } from './macro-rig.ts'
import { randomArgs, randomMacros, SECRET } from './random-macro.ts'

/** Events around a run: commands that fail or never end, changing values, time, an end from outside. */
const weather = fc.record({
  answers: fc.array(fc.constantFrom<'ok' | 'fails' | 'never' | 'tells'>('ok', 'ok', 'ok', 'fails', 'tells', 'never'), {
    maxLength: 12,
  }),
  changes: fc.array(fc.record({ afterMs: fc.nat(60), level: fc.constantFrom<Json>(5, null, 'day') }), { maxLength: 4 }),
  cancelMs: fc.option(fc.nat(400)),
  chance: fc.double({ min: 0, max: 0.999, noNaN: true }),
})

async function runOne(
  house: Rig,
  args: Record<string, Json>,
  sky: typeof weather extends fc.Arbitrary<infer Sky> ? Sky : never,
): Promise<void> {
  const answers = {
    ok: {},
    tells: { answer: { level: 3, token: SECRET } },
    never: 'never' as const,
    fails: new Fault('driver_failed', 'no answer'),
  }
  house.ports.chance = () => sky.chance
  for (const kind of sky.answers) house.answers.push(answers[kind])
  house.values.set('mode', { value: 'day', isSecure: false })
  house.values.set('door_pin', { value: SECRET, isSecure: false })
  house.live.set('1.level', 5)
  house.live.set('1.blob', { token: SECRET, level: 5 })
  const run = house.engine.start({
    plan: house.book.plan(house.book.find({ id: 1 }) as Row),
    args: argsOf(args),
    caller: null,
  })
  if (sky.cancelMs !== null) house.clock.after(sky.cancelMs, () => run.cancel('test'))
  for (const { afterMs, level } of sky.changes) {
    await house.clock.run(afterMs)
    house.live.set('1.level', level)
    house.changed()
  }
  await house.clock.run(700_000)
}

t.test('a trace replays to the same trace, whatever the macro and whatever happened around it', async (t) => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, weather, async (macros, args, sky) => {
      const house = rig(macros, { steps: 60, traceChars: 3000 })
      await runOne(house, args, sky)
      return house.rows.every(({ end }) => {
        const trace = end?.trace as Trace
        seen.add(trace.end.state)
        if (trace.entries.some(({ withheld }) => withheld)) seen.add('withheld')
        const again = replay(readTrace(trace), rigSecrets)
        return again.deviatesAt === null && isDeepStrictEqual(JSON.parse(JSON.stringify(again.trace)), trace)
      })
    }),
    { numRuns: 80 },
  )
  for (const kind of ['done', 'failed', 'cancelled', 'timed_out', 'withheld']) t.ok(seen.has(kind), `some were ${kind}`)
})

t.test('no trace holds a secret, nor does an answer of a step', async (t) => {
  let entries = 0
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, weather, async (macros, args, sky) => {
      const house = rig(macros)
      await runOne(house, args, sky)
      entries += house.rows.reduce((sum, { end }) => sum + (end?.trace?.entries.length ?? 0), 0)
      return !JSON.stringify(house.rows).includes(SECRET)
    }),
    { numRuns: 80 },
  )
  t.ok(entries > 100)
})

t.test('no run exceeds its limits, whatever its steps are, and nothing is left behind', async () => {
  const limits = { steps: 12, calls: 3, runs: 6, branches: 3, timeoutMs: 50_000, traceChars: 2000 }
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, weather, async (macros, args, sky) => {
      const house = rig(macros, limits)
      try {
        await runOne(house, args, sky)
      } catch (thrown) {
        // More steps than a macro may have.
        return (thrown as Fault).code === 'macro_invalid'
      }
      const isTidy = house.engine.living().length === 0 && house.clock.pending() === 0
      return (
        isTidy &&
        house.rows.length <= 1 + limits.calls &&
        house.rows.every(({ end }) => {
          const { entries, end: over } = (end as RunEnd).trace as Trace
          const chars = JSON.stringify(entries).length
          return entries.length <= limits.steps && chars < limits.traceChars + 500 * limits.steps && over.at <= 60_000
        })
      )
    }),
    { numRuns: 80 },
  )
})

t.test('the same macro, seed and events give the same trace', async () => {
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, weather, async (macros, args, sky) => {
      const houses = [rig(macros), rig(macros)] as const
      for (const house of houses) await runOne(house, args, sky)
      const [first, second] = houses.map(({ rows }) => rows.map(({ end }) => end))
      return isDeepStrictEqual(first, second)
    }),
    { numRuns: 60 },
  )
})

t.test('a run that is cancelled has ended within 100 ms, with all that it called, and sends nothing more', async () => {
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, fc.nat(400), async (macros, args, afterMs) => {
      const house = rig(macros)
      house.live.set('1.level', 5)
      const plan = house.book.plan(house.book.find({ id: 1 }) as Row)
      const run = house.engine.start({ plan, args: argsOf(args), caller: null })
      await house.clock.run(afterMs)
      run.cancel('test')
      const before = [house.sent.length, house.notices.length]
      await house.clock.run(100)
      const isOver = house.engine.living().length === 0 && house.rows.every(({ end }) => end !== undefined)
      await house.clock.run(700_000)
      const isStill = isDeepStrictEqual([house.sent.length, house.notices.length], before)
      return isOver && isStill && house.clock.pending() === 0
    }),
    { numRuns: 60 },
  )
})

t.test('a run that retries too often ends at its limit of steps', async (t) => {
  const steps = Array.from({ length: 8 }, () => ({ type: 'command', zone_id: 1, command: 'on', on_error: 'retry' }))
  const house = rig([{ name: 'Again', steps }], { steps: 12 })
  for (let n = 0; n < 8; n++) house.answers.push(new Fault('driver_failed', 'no'), {})
  const run = house.engine.start({
    plan: house.book.plan(house.book.find({ id: 1 }) as Row),
    args: argsOf({}),
    caller: null,
  })
  await house.clock.run(60_000)
  t.same([run.end?.code, run.entries.length, house.sent.length], ['macro_too_many_steps', 12, 8])
  t.equal(replay(run.trace(), rigSecrets).deviatesAt, null)
})

async function traceOf(right: Json): Promise<Trace> {
  const args = { left: { zone_id: 1, field: 'level' }, op: 'lt', right, else: { skip: 1 } }
  const house = rig([
    {
      name: 'If',
      steps: [
        { type: 'condition', args },
        { type: 'notify', args: { text: 'low' } },
      ],
    },
  ])
  house.live.set('1.level', 5)
  const run = house.engine.start({
    plan: house.book.plan(house.book.find({ id: 1 }) as Row),
    args: argsOf({}),
    caller: null,
  })
  await house.clock.run(0)
  return run.trace()
}

t.test('a replay says where a run would go differently now', async (t) => {
  const trace = await traceOf(10)
  t.equal(replay(trace, rigSecrets).deviatesAt, null)
  const plan = JSON.parse(JSON.stringify(trace.plan).replace('10', '3'))
  t.equal(replay({ ...trace, plan }, rigSecrets).deviatesAt, 0)
  t.equal(replay({ ...trace, plan: [...trace.plan, trace.plan[1] as Json] }, rigSecrets).deviatesAt, 2)
  t.equal(replay({ ...trace, end: { ...trace.end, at: 1 } }, rigSecrets).deviatesAt, 2)
})

t.test('anything that is not a trace is refused', async (t) => {
  const trace = JSON.parse(JSON.stringify(await traceOf(1)))
  t.same(readTrace(trace), trace)
  for (const odd of [null, [], {}, { ...trace, version: 2 }, { ...trace, limits: {} }, { ...trace, entries: [1] }])
    t.throws(() => readTrace(odd), { code: 'macro_trace' })
})
