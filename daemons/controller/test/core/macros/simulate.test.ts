// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import fc from 'fast-check'
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { readTrace, replay } from '../../../core/macros/replay.ts'
import { type SimulatedWorld, simulate } from '../../../core/macros/simulate.ts'
import type { Row } from '../../../core/site/book.ts'
import { argsOf, type RigMacro, rig, rigSecrets } from './macro-rig.ts'
import { randomArgs, randomMacros } from './random-macro.ts'

function world(macros: readonly RigMacro[], more: Partial<SimulatedWorld> = {}): SimulatedWorld {
  const { book, limits } = rig(macros)
  return {
    book,
    attributes: { read: ({ name }) => (name === 'mode' ? { value: 'day', isSecure: false } : undefined) },
    live: { read: (target, field) => (target.zone_id === 1 && field === 'level' ? 5 : undefined) },
    secrets: rigSecrets,
    limits,
    seed: 1,
    startedAt: 1_900_000_000_000,
    waits: 'met',
    ...more,
  }
}

function simulated(macros: readonly RigMacro[], args: Record<string, Json> = {}, more: Partial<SimulatedWorld> = {}) {
  const there = world(macros, more)
  return simulate(there.book.plan(there.book.find({ id: 1 }) as Row), argsOf(args), there)
}

const evening: RigMacro[] = [
  {
    name: 'Evening',
    steps: [
      { type: 'set', args: { attribute: 'mode', value: 'night' } },
      { type: 'delay', args: { ms: 3_600_000 } },
      { type: 'condition', args: { attribute: 'mode', value: 'night' } },
      { type: 'parallel', args: { macros: [{ macro: 'Light', args: { level: '${args.level}' } }, { macro: 'Say' }] } },
      {
        type: 'command',
        device_id: 4,
        command: 'login',
        args: { password: '${args.word}', note: 'with ${args.word}' },
      },
    ],
    timeout_ms: 7_200_000,
  },
  { name: 'Light', steps: [{ type: 'command', zone_id: 1, command: 'level', args: { level: '${args.level}' } }] },
  {
    name: 'Say',
    steps: [
      { type: 'delay', args: { ms: 500 } },
      { type: 'notify', args: { text: 'good night' } },
    ],
  },
]

t.test('a simulation lists what would be sent and when, called macros included, without secrets', async (t) => {
  const { state, sent } = simulated(evening, { level: 20, word: 'geheim' })
  t.equal(state, 'done')
  t.same(sent, [
    { at: 0, macro: 'Evening', step: '1', type: 'set', what: { attribute: 'mode', value: 'night' } },
    {
      at: 3_600_000,
      macro: 'Light',
      step: '1',
      type: 'command',
      what: { zone_id: 1, command: 'level', args: { level: 20 } },
    },
    { at: 3_600_500, macro: 'Say', step: '2', type: 'notify', what: { text: 'good night' } },
    {
      at: 3_600_500,
      macro: 'Evening',
      step: '5',
      type: 'command',
      what: { device_id: 4, command: 'login', args: { password: null, note: 'with null' } },
    },
  ])
})

t.test('a simulation sends nothing and changes nothing, whatever the macro', async () => {
  await fc.assert(
    fc.asyncProperty(randomMacros, randomArgs, fc.integer(), async (macros, args, seed) => {
      const house = rig(macros)
      house.values.set('mode', { value: 'day', isSecure: false })
      house.values.set('door_pin', { value: 'x', isSecure: false })
      const before = JSON.stringify([...house.values])
      const there = world(macros, {
        book: house.book,
        attributes: house.ports.attributes,
        live: house.ports.live,
        seed,
      })
      simulate(there.book.plan(there.book.find({ id: 1 }) as Row), argsOf(args), there)
      await house.clock.run(1000)
      const isSame = JSON.stringify([...house.values]) === before
      return isSame && house.sent.length + house.notices.length + house.rows.length + house.clock.pending() === 0
    }),
    { numRuns: 60 },
  )
})

t.test('the same world and seed give the same simulation, another seed a different one', async (t) => {
  const macros: RigMacro[] = [
    {
      name: 'Away',
      steps: [
        { type: 'delay', args: { ms: 0, spread_ms: 1e6 } },
        { type: 'notify', args: { text: 'x' } },
      ],
    },
  ]
  t.same(simulated(macros), simulated(macros))
  t.not(simulated(macros).sent[0]?.at, simulated(macros, {}, { seed: 2 }).sent[0]?.at)
})

t.test('an unmet wait is assumed to be met later, or to expire', async (t) => {
  const macros: RigMacro[] = [
    {
      name: 'Wait',
      steps: [
        { type: 'wait', args: { zone_id: 1, field: 'level', value: 9, timeout_ms: 4000 } },
        { type: 'notify', args: { text: 'x' } },
      ],
    },
  ]
  t.same(
    simulated(macros).sent.map(({ at }) => at),
    [0],
  )
  const expired = simulated(macros, {}, { waits: 'expired' })
  t.same([expired.state, expired.trace.end.at, expired.sent], ['failed', 4000, []])
})

t.test('a simulation ends within the limits of a run', async (t) => {
  const late = simulated([{ name: 'Late', timeout_ms: 100, steps: [{ type: 'delay', args: { ms: 5000 } }] }])
  t.same([late.state, late.trace.end.at], ['timed_out', 100])
  const circle = simulated([{ name: 'a', steps: [{ type: 'macro', args: { macro: 'a' } }] }])
  t.same([circle.state, circle.trace.end.code], ['failed', 'macro_cycle'])
  const many = simulated([
    { name: 'Many', steps: Array.from({ length: 300 }, () => ({ type: 'notify', args: { text: 'x' } })) },
  ])
  t.same([many.state, many.sent.length], ['done', 300])
})

t.test('a simulation does not set an attribute that does not exist', async (t) => {
  const { state } = simulated([{ name: 'A', steps: [{ type: 'set', args: { attribute: 'nothing', value: 1 } }] }])
  t.equal(state, 'failed')
})

t.test('a simulation calls no more macros than a run may', async (t) => {
  const call = { type: 'macro', args: { macro: 'Inner' } }
  const inner = { name: 'Inner', steps: [{ type: 'notify', args: { text: 'x' } }] }
  const calling = (count: number) => [{ name: 'Outer', steps: Array.from({ length: count }, () => call) }, inner]
  const { limits } = world([])
  const least = { limits: { ...limits, calls: 3 } }
  t.equal(simulated(calling(3), {}, least).state, 'done')
  const { state, sent } = simulated(calling(4), {}, least)
  t.same([state, sent.length], ['failed', 3])
})

t.test('args that do not fit are refused before anything is simulated', async (t) => {
  t.throws(() => simulated([{ name: 'a', args_schema: { required: ['x'] } }]), { code: 'macro_args' })
})

t.test('the trace of a simulation replays to itself', async (t) => {
  const { trace } = simulated(evening, { level: 20, word: 'geheim' })
  const read = readTrace(JSON.parse(JSON.stringify(trace)))
  t.equal(replay(read, rigSecrets).deviatesAt, null)
  t.notMatch(JSON.stringify(trace), /geheim/)
})
