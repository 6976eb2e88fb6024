/** Tests of core/macros/editing.ts, desk.ts and past-runs.ts: macros as an administrator edits them. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { createMacroDesk } from '../../../core/macros/desk.ts'
import type { MacroWish } from '../../../core/macros/editing.ts'
import { MACRO_LIMITS } from '../../../core/macros/values.ts'
import type { Change } from '../../../core/site/changes.ts'
import { bookOf } from '../site/book-of.ts'

const times = { created_at: 0, updated_at: 0 }
const step = (id: number, position: number, more: object) => ({
  ...{ ...times, id, macro_id: 5, position, type: 'command', zone_id: null, device_id: null, command: null },
  ...{ args: null, on_error: 'stop', retries: 0, ...more },
})

function here(waiting: readonly Change[] = []) {
  const book = bookOf({
    zone: [
      { ...times, id: 1, name: 'Lobby', type: 'dimmer', device_id: 1 },
      { ...times, id: 2, name: 'Bar', device_id: 1 },
      { ...times, id: 3, name: 'Twin', device_id: 1 },
      { ...times, id: 4, name: 'Twin', device_id: 1 },
    ],
    device: [{ ...times, id: 1, name: 'Rack' }],
    macro: [
      { ...times, id: 5, name: 'Close down', mode: 'single', enabled: true, elevated: false },
      { ...times, id: 6, name: 'Tell', mode: 'single', enabled: true, elevated: false },
    ],
    macro_step: [
      step(11, 1, { zone_id: 1, command: 'off' }),
      step(12, 2, { type: 'macro', args: { macro_id: 6 } }),
      { ...step(13, 1, { type: 'notify', args: { text: 'Closed' } }), macro_id: 6 },
    ],
    attribute: [{ ...times, id: 1, name: 'mode', value: 'day', system_target: 'controller', target_id: null }],
    macro_run: [],
    auth_user: [{ ...times, id: 1, username: 'ada' }],
  })
  const desk = createMacroDesk({
    site: () => ({ book, waiting, freeId: (table) => (table === 'macro' ? 7 : 14) }),
    ...{ limits: MACRO_LIMITS, mostRuns: 100, nowMs: () => 1000, living: () => [] },
    liveField: (_, field) => (field === 'level' ? 40 : null),
    knownVerbs: () => [],
  })
  return { book, desk }
}

const opened = (desk: ReturnType<typeof here>['desk']): Required<MacroWish> => {
  const { macro, steps } = desk.open(5) as NonNullable<ReturnType<typeof desk.open>>
  return { id: 5, values: {}, steps, seen: { values: macro.values, steps } }
}

t.test('a macro opens with its steps in order, and the names behind their ids', async (t) => {
  const { desk } = here()
  const macro = desk.open(5)
  t.match(macro, {
    macro: { name: 'Close down', pending: null },
    names: { zone: { 1: 'Lobby' }, macro: { 6: 'Tell' } },
  })
  t.same(
    macro?.steps.map(({ id, type }) => [id, type]),
    [
      [11, 'command'],
      [12, 'macro'],
    ],
  )
  t.equal(desk.open(99), undefined)
})

t.test('names become ids wherever a run expects an id, in branches too', async (t) => {
  const { desk } = here()
  const wish = opened(desk)
  const steps = [
    { ...wish.steps[1] },
    { type: 'command', zone_id: 'Bar', command: 'on' },
    { type: 'wait', args: { zone_id: 'Lobby', field: 'level', value: 0, timeout_ms: 100 } },
    {
      type: 'parallel',
      args: { steps: [[{ type: 'command', device_id: 'Rack', command: 'on' }], [{ type: 'stop' }]] },
    },
    { type: 'macro', args: { macro_id: 'Tell', args: { zone_id: 'as it is' } } },
  ]
  const draft = desk.draft({ ...wish, steps: steps as MacroWish['steps'] })
  t.same(draft.faults, [])
  t.same(draft.remove, { macro_step: [11] })
  t.match(draft.rows.macro_step, [
    { id: 12, position: 1, macro_id: 5 },
    { id: 14, position: 2, zone_id: 2, on_error: 'stop', retries: 0 },
    { id: 15, args: { zone_id: 1 } },
    { id: 16, args: { steps: [[{ device_id: 1 }], [{ type: 'stop' }]] } },
    { id: 17, args: { macro_id: 6, args: { zone_id: 'as it is' } } },
  ])
})

t.test('all that is wrong is told at its place', async (t) => {
  const { desk } = here()
  const faultsOf = (steps: object[], values = {}) =>
    desk.draft({ values: { name: 'New', ...values }, steps: steps as unknown as MacroWish['steps'] }).faults
  t.match(
    faultsOf([
      { type: 'command', zone_id: 'Loby', command: 'on' },
      { type: 'command', zone_id: 'Twin', command: 'on' },
      { type: 'command', zone_id: 99, command: 'on' },
      { type: 'parallel', args: { steps: [[{ type: 'stop' }, { type: 'set', args: { zone_id: 'Cellar' } }]] } },
    ]),
    [
      { field: 'steps[0].zone_id', message: 'There is no zone of this name, the nearest is Lobby.' },
      { field: 'steps[1].zone_id', message: /2 of the table zone/ },
      { field: 'steps[2].zone_id', message: 'There is no zone 99.' },
      { field: 'steps[3].args.steps[0][1].args.zone_id', message: /no zone of this name/ },
    ],
  )
  t.match(faultsOf([{ type: 'delay', args: {} }, { type: 'stop' }, { type: 'dance' }]), [
    { field: 'steps[0].args.ms', message: /step 1 has no ms/ },
    { field: 'steps[2]', message: /has a type that is none of/ },
  ])
  t.match(faultsOf([{ type: 'stop' }], { args_schema: { pattern: 'x' } }), [{ field: 'args_schema' }])
  let deep: unknown = 1
  for (let n = 0; n < 100; n++) deep = { steps: [deep] }
  t.match(faultsOf([{ type: 'parallel', args: deep }]), [{ field: 'steps[0]', message: /levels deep/ }])
})

t.test('of two editors with the same macro open the second does not undo the first', async (t) => {
  const { desk, book } = here()
  const wish = opened(desk)
  book.set('macro_step', [...book.rows('macro_step'), step(20, 3, { type: 'stop' })])
  t.match(desk.draft(wish).faults, [{ field: 'steps', message: /Somebody else has changed the steps/ }])
  const again = opened(desk)
  t.same(desk.draft(again).faults, [])
  book.set('macro', [{ ...book.row('macro', 5), name: 'Close all' }, { ...book.row('macro', 6) }])
  t.match(desk.draft({ ...again, values: { name: 'Closing' } }).faults, [{ field: 'name', message: /Somebody else/ }])
  t.same(desk.draft({ ...again, values: { description: 'x' } }).faults, [], 'another column')
})

t.test('a step of another macro is not taken away from it', async (t) => {
  const { desk } = here()
  const wish = opened(desk)
  for (const ids of [[13], [11, 11]]) {
    const steps = ids.map((id) => ({ id, type: 'stop' }))
    t.match(desk.draft({ ...wish, steps }).faults, [{ field: 'steps', message: /not one of this macro/ }])
  }
})

t.test('a dry run goes through what is edited, with what the building does now, and sends nothing', async (t) => {
  const { desk } = here()
  const wish = {
    ...opened(desk),
    steps: [
      { type: 'condition', args: { zone_id: 1, field: 'level', op: 'gte', value: 40 } },
      { type: 'set', args: { attribute: 'mode', value: '${args.mode}' } },
      { type: 'delay', args: { ms: 5000 } },
      { type: 'command', zone_id: 'Bar', command: 'level', args: { level: 20, pin: '${args.pin}' } },
      { type: 'macro', args: { macro_id: 'Tell' } },
    ],
  }
  const trial = desk.tryOut(desk.draft(wish as unknown as MacroWish), {
    args: { mode: 'night', pin: '4711' },
    waits: 'met',
  })
  t.match(trial, { state: 'done', ended_at: 5000, names: { zone: { 2: 'Bar' } }, left: 0 })
  t.match(trial.sent, [
    { at: 0, step: '2', type: 'set', what: { attribute: 'mode', value: 'night' } },
    { at: 5000, step: '4', type: 'command', what: { zone_id: 2, command: 'level', args: { level: 20, pin: null } } },
    { at: 5000, macro: 'Tell', type: 'notify', what: { text: 'Closed' } },
  ])
  t.notOk(JSON.stringify(trial).includes('4711'), 'a secret is not shown')
  const wait = { type: 'wait', args: { zone_id: 1, field: 'level', value: 0, timeout_ms: 900 } }
  const late: MacroWish = { ...opened(desk), steps: [wait] }
  t.match(desk.tryOut(desk.draft(late), { args: {}, waits: 'expired' }), { state: 'failed', ended_at: 900 })
  t.match(desk.tryOut(desk.draft(late), { args: {}, waits: 'met' }), { state: 'done' })
})

t.test('the list says what waits, and what cannot run', async (t) => {
  const change: Change = { kind: 'change', table: 'macro_step', id: 11, columns: { command: null } }
  t.match(here([change]).desk.list(), [
    { name: 'Close down', steps: 2, pending: 'change', flaw: /has no command/, last: null },
    { name: 'Tell', steps: 1, pending: null, flaw: null },
  ])
})

t.test('runs are told newest first, with why they failed; a trace of another version is none', async (t) => {
  const { desk, book } = here()
  const entry = {
    step: '1',
    type: 'command',
    at: 0,
    ended_at: 12,
    turn: 1,
    decided: { zone_id: 1, command: 'off', args: {} },
  }
  const failed = { ...entry, result: { state: 'failed', code: 'driver_failed', sentence: 'no answer', final: false } }
  const trace = {
    ...{ version: 1, macro: { id: 5, name: 'Close down' }, plan: [], args: {}, seed: 1, depth: 1, started_at: 1000 },
    ...{ limits: MACRO_LIMITS, entries: [failed], end: { state: 'failed', at: 12, turn: null, code: 'driver_failed' } },
  }
  const run = (id: number, more: object) => ({ ...times, id, macro_id: 5, user_id: 1, started_at: id * 1000, ...more })
  book.set('macro_run', [
    run(1, { ended_at: 1012, result: 'failed', trace }),
    run(2, { ended_at: 2500, result: 'interrupted', trace: null, user_id: null }),
    run(3, { ended_at: null, result: null, trace: null }),
    run(4, { ended_at: 4001, result: 'done', trace: { version: 9 } }),
  ])
  const runs = desk.runs({ macro: 5, before: 4, limit: 2 })
  t.match(runs, [
    { id: 3, result: 'running', ended_at: null, by: 'ada' },
    { id: 2, result: 'interrupted', by: null },
  ])
  t.match(desk.runs({ macro: 5, before: 2, limit: 9 }), [
    { id: 1, result: 'failed', why: 'no answer', macro: 'Close down' },
  ])
  t.match(desk.run(1), {
    steps: [{ step: '1', state: 'failed', message: 'no answer', at: 0, ended_at: 12 }],
    names: { zone: { 1: 'Lobby' } },
    left: 0,
  })
  t.equal(desk.run(4)?.steps, null)
  t.equal(desk.run(9), undefined)
  t.throws(() => desk.replay(4), { code: 'macro_trace' })
})
