/** Tests of core/macros/house-runs.ts: runs of the building, their gates, their turn, and what the audit says of them. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { AuditRecord } from '../../../core/audit.ts'
import type { Json } from '../../../core/json.ts'
import { type HouseCause, HouseRuns } from '../../../core/macros/house-runs.ts'
import type { Row } from '../../../core/site/book.ts'
import { type RigMacro, rig, say } from './macro-rig.ts'

function stage(macros: readonly RigMacro[], limits: { houseRuns?: number; houseWaiting?: number } = {}) {
  const house = rig(macros)
  const records: AuditRecord[] = []
  const runs = new HouseRuns({
    ...{ book: house.book, engine: house.engine, clock: house.clock },
    audit: { add: async (record) => void records.push(record) },
    limits: { ...house.limits, houseRuns: 8, houseWaiting: 8, ...limits },
  })
  return { ...house, records, runs }
}

const cause = (columns: Record<string, Json> = {}, event: Record<string, Json> = {}): HouseCause => ({
  kind: 'trigger',
  row: { id: 3, name: 'Dusk', macro_id: 1, args: null, ...columns } as unknown as Row,
  event,
  chain: 0,
})

t.test(
  'a run of the building is a row of nobody, and a record with its schedule or trigger and what came of it',
  async (t) => {
    const { clock, records, rows, runs } = stage([{ name: 'Night', steps: [say('good night')] }])
    runs.start({ ...cause(), kind: 'schedule' })
    await clock.run(10)
    t.match(rows, [{ macro_id: 1, user_id: null, end: { result: 'done' } }])
    t.match(records, [
      {
        ...{ requestType: 'schedule', method: 'RUN', path: '/schedule/3', userId: null, granted: true, reason: null },
        ...{ target: 'macro 1', runId: 1 },
        facts: { action: 'macro "Night" by schedule "Dusk"', outcome: 'done', detail: null },
      },
    ])
  },
)

t.test('what happened is put into the args by its names, and what is secret in it is told to nobody', async (t) => {
  const macros = [{ name: 'Tell', mode: 'parallel', steps: [say('${args.level} of ${args.of}, ${args.word}')] }]
  const { clock, notices, rows, runs } = stage(macros)
  const args = { level: '${args.value}', of: 'max ${args.most}', word: '${args.token}' }
  runs.start(cause({ args }, { value: 7, most: 9, token: 'geheim' }))
  runs.start({ ...cause({ args }, { value: 'geheim', most: 9, token: 'x' }), secret: ['value'] })
  await clock.run(10)
  t.same(notices, ['7 of max 9, null', 'null of max 9, null'])
  t.notMatch(JSON.stringify(rows), /geheim/)
})

t.test(
  'targets that came from outside are as elevated as the macro; what stands in the macro is not looked at',
  async (t) => {
    const step = { type: 'command', command: 'on', args: { zone_id: '${args.zone}' } }
    for (const [elevated, zone, sent] of [
      [false, 1, 1],
      [false, 2, 0],
      [true, 2, 1],
    ] as const) {
      const house = stage([{ name: 'On', elevated, steps: [step] }])
      house.ports.refusal = (session, target) =>
        session === null && target.zone_id === 2 ? 'elevation_denied' : undefined
      house.runs.start(cause({ args: { zone: '${args.where}' } }, { where: zone }))
      await house.clock.run(10)
      t.equal(house.sent.length, sent, `elevated ${elevated}, zone ${zone}`)
      const reason = sent === 1 ? null : 'elevation_denied'
      t.match(house.records, [{ reason, granted: sent === 1, facts: { outcome: sent === 1 ? 'done' : 'failed' } }])
    }
    const own = stage([{ name: 'Own', steps: [{ type: 'command', command: 'on', args: { zone_id: 2 } }] }])
    own.ports.refusal = () => 'elevation_denied'
    own.runs.start(cause())
    await own.clock.run(10)
    t.equal(own.sent.length, 1)
  },
)

t.test('an elevated macro that is named from outside is not called by one that is not', async (t) => {
  const call = { type: 'macro', args: { macro: '${args.name}' } }
  const { clock, notices, records, runs } = stage([
    { name: 'Any', steps: [call] },
    { name: 'Boiler', elevated: true, steps: [say('heats')] },
  ])
  runs.start(cause({ args: { name: '${args.macro}' } }, { macro: 'Boiler' }))
  await clock.run(10)
  t.same(notices, [])
  t.match(records, [{ reason: 'elevation_denied' }])
})

t.test('what cannot be started is recorded with its reason', async (t) => {
  const { clock, records, runs } = stage([
    { name: 'Slow', steps: [{ type: 'delay', args: { ms: 500 } }] },
    { name: 'Off', enabled: false },
  ])
  runs.start(cause())
  runs.start(cause())
  runs.start(cause({ macro_id: 2 }))
  runs.start(cause({ macro_id: 9 }))
  runs.start(cause({ args: { level: '${args.nothing}' } }))
  runs.refuse(cause(), 'too often', 'trigger_limit', 12)
  await clock.run(600)
  t.same(
    records.map(({ granted, reason, facts }) => [granted, reason, facts?.outcome, facts?.detail?.split(':')[0]]),
    [
      [true, null, 'failed', 'macro_busy'],
      [true, null, 'failed', 'unknown_macro'],
      [true, null, 'failed', 'unknown_macro'],
      [true, null, 'failed', 'macro_arg_missing'],
      [false, 'trigger_limit', 'refused', 'too often (12 times)'],
      [true, null, 'done', undefined],
    ],
  )
})

t.test('a run that cannot be started when its turn comes leaves the turn to the next', async (t) => {
  const { clock, records, runs } = stage(
    [{ name: 'Slow', mode: 'parallel', steps: [{ type: 'delay', args: { ms: 500 } }] }],
    { houseRuns: 1 },
  )
  runs.start(cause())
  for (let n = 0; n < 3; n++) runs.start(cause({ macro_id: 9 }))
  runs.start(cause())
  await clock.run(1100)
  t.same(
    records.map(({ facts }) => facts?.outcome),
    ['done', 'failed', 'failed', 'failed', 'done'],
  )
})

t.test('runs beyond the bound wait for their turn, for a while, and so many of them', async (t) => {
  const slow: RigMacro = {
    name: 'Slow',
    mode: 'parallel',
    max_runs: 99,
    steps: [{ type: 'delay', args: { ms: 50_000 } }],
  }
  const { clock, engine, records, runs } = stage([slow], { houseRuns: 2, houseWaiting: 3 })
  for (let n = 0; n < 6; n++) runs.start(cause())
  await clock.run(1)
  t.equal(engine.living().length, 2)
  t.match(records, [{ reason: 'busy', facts: { detail: '3 runs of schedules and triggers wait already' } }])
  await clock.run(51_000)
  t.equal(engine.living().length, 2, 'the next two')
  await clock.run(10_000)
  t.match(records.filter(({ reason }) => reason === 'busy').at(-1), {
    facts: { detail: /^it had no turn within .*, as 2 runs/ },
  })
  runs.stop()
  await engine.stop()
  t.equal(clock.pending(), 0)
})

t.test('a long run is recorded as running, once', async (t) => {
  const { clock, records, runs } = stage([{ name: 'Long', steps: [{ type: 'delay', args: { ms: 60_000 } }] }])
  runs.start(cause())
  await clock.run(61_000)
  t.match(records, [{ elapsedMs: 10_000, runId: 1, facts: { outcome: 'running' } }])
})

t.test('a step that fails makes the run partly done or failed', async (t) => {
  const { answers, clock, records, runs } = stage([
    { name: 'Try', steps: [{ type: 'command', zone_id: 1, command: 'on', on_error: 'continue' }] },
  ])
  answers.push(new Fault('driver_failed', 'no answer'))
  runs.start(cause())
  await clock.run(10)
  t.match(records, [{ granted: true, facts: { outcome: 'partly', detail: /no answer/ } }])
})
