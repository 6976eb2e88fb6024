/** What the controller asks for, logs and shows of updates, with an update service of the test. */
import { type Test, t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { UpdateRun, UpdateTold } from '#kit/pure/update-told.ts'
import { type Asked, type UpdateDesk, type UpdateLimits, Updates } from '../../core/updates.ts'

type End = NonNullable<UpdateRun['end']>

/** An update service: what is asked begins a run, which the test goes on with. */
function machine(t: Test, limits: Partial<UpdateLimits> = {}) {
  const clock = fakeClock()
  const log: string[] = []
  const records: string[] = []
  const asks: string[] = []
  const state = {
    told: undefined as UpdateTold | undefined,
    isRunning: false,
    foreign: undefined as Awaited<ReturnType<UpdateDesk['foreign']>>,
    canAsk: true,
    answers: [] as string[],
    kept: undefined as Asked | undefined,
    minute: 12 * 60,
  }
  let count = 0
  function begin(task: UpdateRun['task']): number {
    const begunAt = ++count
    state.told = { looked: null, last: null, ...state.told, run: { task, begunAt, lines: [], end: null } }
    state.isRunning = true
    return begunAt
  }
  const run = () => {
    if (state.told === undefined) throw new Error('nothing has begun')
    return state.told.run
  }
  const desk: UpdateDesk = {
    foreign: async () => state.foreign,
    canAsk: () => state.canAsk,
    told: async () => structuredClone(state.told),
    isRunning: async () => state.isRunning,
    async ask(task) {
      asks.push(task)
      return state.answers.shift() ?? `begun ${begin(task)}`
    },
    asked: async () => state.kept,
    async keep(asked) {
      state.kept = asked
    },
  }
  const open = async () => {
    const updates = new Updates({
      ...{ clock, desk, version: '1.0.0', chance: () => 0.5, minuteOfDay: () => state.minute },
      limits: { window: '', lookMs: 0, retryMs: 1_800_000, answerMs: 5000, watchMs: 1000, ...limits },
      log: (line) => void log.push(line),
      record: (who, what, { what: text = '' }) => void records.push(`${who}: ${what} ${text}`.trim()),
    })
    await updates.start()
    t.teardown(() => updates.stop())
    return updates
  }
  return {
    ...{ asks, begin, clock, log, open, records, state },
    say: (text: string) => void run().lines.push({ at: clock.epochMs(), text }),
    end(outcome: End['outcome'], text: string, more: Partial<UpdateTold> = {}) {
      run().end = { at: clock.epochMs(), outcome, text }
      Object.assign(state.told ?? {}, more)
      state.isRunning = false
    },
  }
}

t.test('C.2 on the newest build the signal logs that, and nothing else', async (t) => {
  const { asks, clock, end, log, open } = machine(t)
  const updates = await open()
  await updates.signal()
  end('current', 'already current, nothing to do')
  await clock.run(5000)
  t.same(log, ['[UPDATE] signal: already current, nothing to do'])
  t.same(asks, ['apply'])
})

t.test('C.2 the progress of a signal is logged with its prefix, each line once, over the restart too', async (t) => {
  const { clock, end, log, open, records, say, state } = machine(t)
  const before = await open()
  await before.signal()
  say('1.1.0 is there, 1.0.0 runs')
  await clock.run(1000)
  say('the states are kept in /backups/one')
  say('restarting controller')
  await clock.run(1000)
  before.stop()
  say('1.1.0 answers; it is watched for 60 s')
  const after = await open()
  await clock.run(3000)
  end('applied', '1.1.0 runs, in the place of 1.0.0')
  await clock.run(3000)
  t.same(
    log,
    [
      ...['1.1.0 is there, 1.0.0 runs', 'the states are kept in /backups/one', 'restarting controller'],
      ...['1.1.0 answers; it is watched for 60 s', '1.1.0 runs, in the place of 1.0.0'],
    ].map((line) => `[UPDATE] signal: ${line}`),
  )
  t.same(records, ['signal: update asked for', 'signal: update ended 1.1.0 runs, in the place of 1.0.0'])
  t.equal(state.kept, undefined)
  t.match(after.view(), { state: 'idle', run: { end: { outcome: 'applied' } } })
})

t.test('C.2 a signal while an update runs is logged and ignored, whoever started that', async (t) => {
  const { asks, begin, end, log, open, state } = machine(t)
  begin('apply')
  const updates = await open()
  state.answers = ['running']
  await updates.signal()
  t.same(log, ['[UPDATE] signal: an update is running already, this signal is ignored'])
  end('applied', 'done')
  await Promise.all([updates.signal(), updates.signal()])
  t.equal(log.length, 2, 'of two at once one is ignored')
  t.same(asks, ['apply', 'apply'])
})

t.test('C.4 where dependencies fail the log names the backup from before', async (t) => {
  const { clock, end, log, open } = machine(t)
  await (await open()).signal()
  const text =
    'what the update needs could not be installed (npm ended with 1); nothing was restarted, and what runs stays. The backup from before is /var/lib/plantroom/update/backups/1.0.0-to-1.1.0: put it back before any restart.'
  end('failed', text)
  await clock.run(1000)
  t.same(log, [`[UPDATE] signal: ${text}`])
})

t.test('a request waits for a look that runs or has just ended', async (t) => {
  const { asks, begin, clock, log, open, state } = machine(t)
  begin('check')
  const updates = await open()
  state.answers = ['running', 'soon']
  const signalled = updates.signal()
  await clock.run(2000)
  await signalled
  t.same(asks, ['apply', 'apply', 'apply'])
  t.same(log, [])
  state.answers = Array(100).fill('soon')
  const busy = t.rejects(updates.look(), { code: 'update_busy' })
  await clock.run(10_000)
  await busy
})

t.test('where apt or somebody else updates Plantroom nothing is asked, and page and signal say who', async (t) => {
  const { asks, clock, log, open, state } = machine(t, { window: '00:00-00:00', lookMs: 60_000 })
  state.foreign = {
    kind: 'debian',
    sentence: 'this Plantroom belongs to the Debian package plantroom, and apt updates it',
  }
  const updates = await open()
  t.match(updates.view(), { state: 'apt', why: state.foreign.sentence })
  await updates.signal()
  t.same(log, [`[UPDATE] signal: ${state.foreign.sentence}`])
  await t.rejects(updates.apply('ada'), { code: 'update_foreign' })
  await clock.run(3_600_000)
  t.same(asks, [])
})

t.test('without an update service the page says what to do, and by itself nothing is asked', async (t) => {
  const { asks, clock, log, open, state } = machine(t, { lookMs: 60_000 })
  state.canAsk = false
  const updates = await open()
  t.match(updates.view(), { state: 'absent', why: /systemctl enable --now plantroom-update\.socket/ })
  await clock.run(3_600_000)
  t.same(asks, [])
  t.same(log, [])
})

t.test('what the service refuses, or says in another tongue, is told', async (t) => {
  const { log, open, records, state } = machine(t)
  const updates = await open()
  for (const [answer, code] of [
    ['refused update.toml is damaged', 'update_refused'],
    ['unknown', 'update_unreachable'],
    ['begun tomorrow', 'update_unreachable'],
    ['', 'update_unreachable'],
  ] as const) {
    state.answers = [answer]
    await t.rejects(updates.apply('ada'), { code })
  }
  state.answers = ['refused update.toml is damaged']
  await updates.signal()
  t.same(log, ['[UPDATE] signal: update.toml is damaged'])
  t.same(records, [])
})

t.test('a page is told each line, and what came of it', async (t) => {
  const { clock, end, open, say } = machine(t)
  const updates = await open()
  const seen: string[] = []
  const stop = updates.onChange(
    ({ run, state }) => void seen.push(`${state} ${run?.lines.length} ${run?.end?.outcome}`),
  )
  await updates.apply('ada')
  say('1.1.0 is there, 1.0.0 runs')
  await clock.run(3000)
  end('rolled_back', '1.1.0 was taken back', { last: { at: 1, outcome: 'rolled_back', text: '1.1.0 was taken back' } })
  await clock.run(3000)
  stop()
  await updates.look()
  t.same(seen, ['applying 0 undefined', 'applying 1 undefined', 'idle 1 rolled_back'])
  t.match(updates.view(), { state: 'looking', last: { outcome: 'rolled_back' } })
})

t.test('a run that has no end and does not run was cut off, and the log says so', async (t) => {
  const { clock, log, open, state } = machine(t)
  const updates = await open()
  await updates.signal()
  state.isRunning = false
  await clock.run(2000)
  t.match(updates.view(), { state: 'idle', isCut: true })
  t.match(log, [/^\[UPDATE\] signal: it was cut off/])
})

t.test('an update that is there waits for the hours that are set, and is tried again within them', async (t) => {
  const { asks, begin, clock, end, log, open, state } = machine(t, { window: '03:00-04:00' })
  begin('check')
  end('available', '1.1.0 is there', { looked: { at: 1, newest: '1.1.0' } })
  const updates = await open()
  t.equal(updates.view().window, '03:00-04:00')
  await clock.run(600_000)
  t.same(asks, [], 'not at noon')
  state.minute = 3 * 60
  await clock.run(60_000)
  t.same(asks, ['apply'])
  end('put_off', 'macros ran for all of the 10 min')
  await clock.run(600_000)
  t.same(asks, ['apply'], 'not at once')
  await clock.run(1_800_000)
  t.same(asks, ['apply', 'apply'])
  end('applied', '1.1.0 runs', { looked: { at: 2, newest: null } })
  await clock.run(3_600_000)
  t.same(asks, ['apply', 'apply'], 'it is current')
  t.match(log, [/^\[UPDATE\] window: macros ran/, '[UPDATE] window: 1.1.0 runs'])
})

t.test('the hours of the update server count where none are set, and none with never', async (t) => {
  for (const [window, expected] of [
    ['', '02:00-03:00'],
    ['never', null],
    ['22:00-23:00', '22:00-23:00'],
  ] as const) {
    const { begin, clock, asks, end, open, state } = machine(t, { window })
    begin('check')
    end('available', 'there', { looked: { at: 1, newest: '1.1.0', window: '02:00-03:00' } })
    const updates = await open()
    t.equal(updates.view().window, expected)
    state.minute = 2 * 60 + 30
    await clock.run(60_000)
    t.same(asks, expected === '02:00-03:00' ? ['apply'] : [])
  }
})

t.test('a version that was taken back is not tried by itself', async (t) => {
  const { asks, begin, clock, end, open } = machine(t, { window: '00:00-00:00' })
  begin('check')
  end('bad', 'not tried again', { looked: { at: 1, newest: '1.1.0', bad: 'gateway has ended' } })
  const updates = await open()
  t.equal(updates.view().window, null)
  await clock.run(7_200_000)
  t.same(asks, [])
})

t.test(
  'an update is looked for now and then, the first time soon after the start, and never while one runs',
  async (t) => {
    const { asks, clock, end, open } = machine(t, { lookMs: 3_600_000 })
    await open()
    await clock.run(240_000)
    t.same(asks, [])
    await clock.run(120_000)
    t.same(asks, ['check'], 'half of ten minutes, by chance')
    await clock.run(36_000_000)
    t.same(asks, ['check'], 'it runs')
    end('failed', 'the update server does not answer')
    await clock.run(120_000)
    t.same(asks, ['check', 'check'])
  },
)

t.test('a fault of the program in a look is no fault of the machine', async (t) => {
  const { open, state } = machine(t)
  const updates = await open()
  Object.defineProperty(state, 'answers', {
    get: () => {
      throw new Fault('update_unreachable', 'it cannot be asked (ECONNREFUSED)')
    },
  })
  await t.rejects(updates.look(), { code: 'update_unreachable' })
  t.match(updates.view(), { state: 'idle' })
})
