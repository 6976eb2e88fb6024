/** Macros of a controller that is killed while they run: what the devices received, and what is reported afterwards. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'

const STEPS = 5
const LATER = { type: 'delay', args: { ms: 200 } }

/** Numbered lines, with time between them: `Z1 level {"level":<run>,"step":<n>}`. */
const counted = Array.from({ length: STEPS }, (_, step) => [
  { zone_id: 1, command: 'level', args: { level: '${args.run}', step } },
  LATER,
]).flat()

const MACROS: Record<number, { name: string; steps: object[]; mode?: string }> = {
  1: { name: 'Rise', steps: counted },
  2: { name: 'Outer', steps: [{ type: 'macro', args: { macro_id: 1, args: { run: '${args.run}' } } }] },
  3: { name: 'Hold', steps: [{ type: 'delay', args: { ms: 600_000 } }], mode: 'queued' },
  4: { name: 'Quick', steps: [{ type: 'stop' }] },
}

function rows(): Record<string, unknown[]> {
  const all = Object.entries(MACROS).map(([id, macro]) => ({ id: Number(id), mode: 'parallel', ...macro }))
  return {
    macro: all.map(({ steps, ...macro }) => macro),
    macro_step: all.flatMap(({ id, steps }) => steps.map((step, at) => ({ macro_id: id, position: at + 1, ...step }))),
  }
}

async function openHouse(t: Test, sets: string[] = []): Promise<RestSite> {
  return await openRestSite(t, { sets, rows: rows() })
}

/** What the devices received from one run. */
function heard(site: RestSite, run: number): number[] {
  const lines = site.lines.map((line) => JSON.parse(line.split(' ')[2] ?? '{}') as { level: number; step: number })
  return lines.filter(({ level }) => level === run).map(({ step }) => step)
}

async function runsOf(site: RestSite, ada: string): Promise<Record<string, unknown>[]> {
  return (await site.get('/api/data/macro_run?_orderby=id', ada)).body
}

/** Calls that nobody answers any more do not fail the test. */
const unanswered = (call: Promise<Told>): Promise<Told | undefined> => call.catch(() => undefined)

t.test('1 Macro payload: SIGKILL between two steps', async (t) => {
  const site = await openHouse(t)
  let [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]

  for (const [run, macro_id, killedAfter] of [
    [1, 1, 1],
    [2, 1, 2],
    [3, 2, 1],
  ] as const)
    await t.test(
      `1 Macro payload: run ${run}, killed after ${killedAfter} lines: no step runs again on its own`,
      async (t) => {
        const before = (await runsOf(site, ada)).length
        const call = unanswered(site.post('/api/control/macro', { macro_id, args: { run } }, olga))
        await until('the run has come so far', () => heard(site, run).length >= killedAfter)
        await site.stop('SIGKILL')
        t.equal(await call, undefined, 'the call got no answer')
        await site.start()
        ada = await site.tokenOf('ada')
        olga = await site.tokenOf('olga')

        const told = (await runsOf(site, ada)).slice(before)
        t.equal(told.length, macro_id, 'a called run has its own record')
        for (const each of told) {
          t.match(each, { result: 'interrupted', user_id: 2, started_at: Number, ended_at: Number, trace: null })
          t.ok(Number(each.ended_at) >= Number(each.started_at))
        }
        t.equal((await site.get('/api/health')).status, 200)
        t.notMatch(site.output(), / (error|warning) /, 'it starts as after any other stop')

        // If it had continued, it would be as far as a run that starts now.
        const again = await site.post('/api/control/macro', { macro_id: 1, args: { run: run + 100 } }, olga)
        t.match(again.body, { success: true, state: 'done' })
        await until('its lines have come', () => heard(site, run + 100).length === STEPS)
        const sent = heard(site, run)
        t.ok(sent.length >= killedAfter && sent.length < STEPS)
        t.strictSame(sent, [...sent.keys()], 'each line came once, in order')
      },
    )

  await t.test('1 Audit record: a call without an answer has no record; its run names who began it', async (t) => {
    const path = 'path=/api/control/macro&_orderby=id'
    const { body } = await site.get(`/api/data/request_history?${path}`, ada)
    const runs = new Set(body.map(({ run_id }: { run_id: number }) => run_id))
    const told = await runsOf(site, ada)
    const ended = (as: string) => told.filter(({ result }) => result === as)
    t.equal(ended('done').filter(({ id }) => runs.has(id as number)).length, 3)
    const cut = ended('interrupted')
    t.equal(cut.length, 4)
    t.notOk(cut.some(({ id }) => runs.has(id as number)))
    t.ok(cut.every(({ user_id }) => user_id === 2))
  })
})

t.test('1 Audit record: SIGKILL during runs whose calls are answered', async (t) => {
  const site = await openHouse(t, ['macros.answer_ms=100', 'store.records=10'])
  const token = await site.tokenOf('olga')
  const first = await site.post('/api/control/macro', { macro_id: 3 }, token)
  t.match(first, { status: 200, body: { success: true, run_id: Number, state: 'running' } })
  for (let n = 0; n < 15; n++)
    t.match((await site.post('/api/control/macro', { macro_id: 4 }, token)).body, { success: true })
  // On a busy machine an answer may come before the end of its run.
  const ada = await site.tokenOf('ada')
  await until('the quick ones are done', async () =>
    (await runsOf(site, ada)).every(({ macro_id, result }) => macro_id !== 4 || result === 'done'),
  )
  const next = await site.post('/api/control/macro', { macro_id: 3 }, token)
  t.match(next, { status: 200, body: { success: true, run_id: Number, state: 'queued' } })
  await site.stop('SIGKILL')
  await site.start()
  const runs = await runsOf(site, await site.tokenOf('ada'))
  const runOf = (told: Told) => runs.filter(({ id }) => id === told.body.run_id)

  await t.test('1 Audit record: an answered call is in it, with its run', async (t) => {
    for (const told of [first, next])
      t.match(await site.recordOf(told), { granted: true, reason: null, run_id: told.body.run_id, target: 'macro 3' })
  })

  await t.test('1 Macro payload: neither the active nor the waiting run continues', async (t) => {
    for (const told of [first, next]) t.match(runOf(told), [{ result: 'interrupted', ended_at: Number }])
    t.equal((await runsOf(site, await site.tokenOf('ada'))).length, runs.length)
  })

  await t.test('1 Macro payload: a run older than all runs in memory is reported as interrupted too', async (t) => {
    t.equal(runs[0]?.id, first.body.run_id)
    t.equal(runs.length, 11, 'beside the newest ten')
  })
})
