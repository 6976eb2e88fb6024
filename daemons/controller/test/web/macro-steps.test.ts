/** Tests of web/macro-steps.ts and web/macro-words.ts: steps as fields of a form and back, and in words. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import type { Json } from '../../core/json.ts'
import {
  argsReferred,
  changeList,
  fieldOfFault,
  movedBy,
  newStep,
  openSteps,
  STEP_TYPES,
  stepsOf,
  textOfValue,
  valueOfText,
  withFields,
  withJson,
} from '../../web/macro-steps.ts'
import { decidedOf, macrosVerdict, sayStep, stepEnding } from '../../web/macro-words.ts'

const NAMES = { zone: { 1: 'Lobby' }, device: { 3: 'Projector' }, macro: { 6: 'Tell' } }
const base = { zone_id: null, device_id: null, command: null, on_error: 'stop', retries: 0 }

/** A step, and what it does in words. */
const ROWS: readonly (readonly [step: { readonly [key: string]: Json }, words: string])[] = [
  [{ ...base, type: 'command', zone_id: 1, command: 'level', args: { level: 40 } }, 'Lobby: level 40'],
  [{ ...base, type: 'command', device_id: 3, command: 'on', args: {} }, 'Projector: on'],
  [{ ...base, type: 'command', command: 'on', args: { zone: '${args.where}' } }, '${args.where}: on'],
  [
    { ...base, type: 'command', command: 'on', args: { zone_id: '${args.id}', speed: 'fast' } },
    '${args.id}: on speed fast',
  ],
  [
    { ...base, type: 'delay', on_error: 'continue', args: { ms: 500, spread_ms: 200 } },
    'pause 500 ms, and up to 200 ms more by chance',
  ],
  [
    { ...base, type: 'wait', args: { zone_id: 1, field: 'level', op: 'gte', value: 40, timeout_ms: 30_000 } },
    'wait until Lobby level is at least 40, 30 s at most',
  ],
  [
    { ...base, type: 'condition', args: { attribute: 'mode', value: 'night', else: { skip: 2 } } },
    'only if mode is night; else leave out the next 2 steps',
  ],
  [{ ...base, type: 'set', args: { attribute: 'mode', value: '007' } }, 'set mode to 007'],
  [{ ...base, type: 'set', args: { device_id: 3, attribute: 'n', value: '7' } }, 'set Projector n to 7'],
  [{ ...base, type: 'macro', args: { macro_id: 6, args: { level: '${args.level}' } } }, 'run Tell'],
  [{ ...base, type: 'notify', args: { text: 'Closed', to: ['ada', 'bob'] } }, 'tell ada and bob: Closed'],
  [{ ...base, type: 'stop', args: { reason: 'late', failed: true } }, 'end here as failed: late'],
  [{ ...base, type: 'command', zone_id: 1, command: 'on', on_error: 'retry', retries: 3, args: {} }, 'Lobby: on'],
  [
    {
      ...{ ...base, type: 'parallel' },
      args: { steps: [[{ ...base, type: 'stop', args: {} }], [{ ...base, type: 'delay', args: { ms: 1 } }]] },
    },
    '2 branches at the same time',
  ],
]

t.test('each step comes back from its fields as it was, and is told in words', async (t) => {
  for (const [step, words] of ROWS) {
    const { tree, values } = openSteps([{ id: 7, ...step }], NAMES)
    t.equal(values[`${tree[0]?.key}.isJson`], false, `${words}: in fields`)
    t.same(stepsOf(tree, values), [{ id: 7, ...step }], words)
    t.equal(sayStep(String(step.type), decidedOf(step), NAMES).replaceAll('\u202f', ' '), words)
  }
})

t.test('several spellings of one step open in the same fields', async (t) => {
  const spelled = (step: object) => {
    const { tree, values } = openSteps([step as { readonly [key: string]: Json }], NAMES)
    return stepsOf(tree, values)[0]
  }
  t.match(spelled({ type: 'command', command: 'on', args: { zone: 'Lobby' } }), { zone_id: 'Lobby', args: {} })
  t.match(spelled({ type: 'macro', args: { macro: 'Tell' } }), { args: { macro_id: 'Tell' } })
  t.match(spelled({ type: 'notify', args: { text: 'x', to: ['ada'] } }), { args: { text: 'x', to: 'ada' } })
  t.match(spelled({ type: 'condition', args: { attribute: 'a', op: 'eq', value: 1, else: 'stop' } }), {
    args: { attribute: 'a', value: 1 },
  })
  t.match(spelled({ type: 'parallel', args: { steps: [{ type: 'stop' }] } }), { args: { steps: [[{ type: 'stop' }]] } })
})

t.test('what no field can hold is edited as JSON, and comes back unchanged', async (t) => {
  for (const args of [
    { left: { attribute: 'a' }, right: { attribute: 'b' } },
    { left: 1, op: 'lt', right: { zone_id: 1, field: 'level' } },
  ]) {
    const { tree, values } = openSteps([{ ...base, type: 'condition', args: args as unknown as Json }], NAMES)
    t.equal(values[`${tree[0]?.key}.isJson`], true)
    t.same(stepsOf(tree, values)[0]?.args, args)
    t.equal(withFields(tree[0] as (typeof tree)[0], values), undefined)
    const broken = { ...values, [`${tree[0]?.key}.json`]: '{"left": ' }
    t.throws(() => stepsOf(tree, broken), /This is not JSON/)
  }
  const { tree, values } = openSteps([{ ...base, type: 'delay', args: { ms: 5 } }], NAMES)
  const json = withJson(tree[0] as (typeof tree)[0], values)
  t.same(stepsOf(tree, json)[0]?.args, { ms: 5 })
  const back = withFields(tree[0] as (typeof tree)[0], { ...json, [`${tree[0]?.key}.json`]: '{"ms": 6}' })
  t.same(stepsOf([back?.node as (typeof tree)[0]], back?.values ?? {})[0]?.args, { ms: 6 })
})

t.test('values keep their kind through a text field', async (t) => {
  for (const value of [40, -1.5, true, null, 'fast', '40', 'true', '', ' x', '"q"', { a: [1] }, '${args.x}', '007'])
    t.same(valueOfText(textOfValue(value as Json)), value, JSON.stringify(value))
})

t.test('a fault is put at the field of its step', async (t) => {
  const inner = {
    type: 'parallel',
    args: {
      steps: [
        [{ type: 'stop' }],
        [{ type: 'stop' }, { type: 'set', args: { zone_id: 'x', attribute: 'a', value: 1 } }],
      ],
    },
  }
  const { tree, values } = openSteps([{ type: 'delay', args: {} }, inner as never], NAMES)
  const [first, second] = tree
  t.equal(fieldOfFault('steps[0].args.ms', tree, values), `${first?.key}.ms`)
  t.equal(fieldOfFault('steps[0]', tree, values), `${first?.key}.type`)
  t.equal(fieldOfFault('steps[0].args.strange', tree, values), `${first?.key}.type`)
  const deep = second?.branches[1]?.[1]
  t.equal(fieldOfFault('steps[1].args.steps[1][1].args.zone_id', tree, values), `${deep?.key}.place`)
  t.equal(fieldOfFault('name', tree, values), 'name')
  t.equal(fieldOfFault('steps[9]', tree, values), 'steps')
})

t.test('steps are moved and removed wherever they are, and a new one of each kind can be kept', async (t) => {
  const { tree } = openSteps(
    [{ type: 'stop' }, { type: 'parallel', args: { steps: [[{ type: 'stop' }, { type: 'delay' }]] } }],
    NAMES,
  )
  const [, last] = tree[1]?.branches[0] ?? []
  const moved = changeList(tree, last?.key ?? '', (list, at) => movedBy(list, at, -1))
  t.equal(moved[1]?.branches[0]?.[0]?.key, last?.key)
  t.same(movedBy(tree, 0, -1), tree)
  t.equal(changeList(tree, tree[0]?.key ?? '', (list, at) => list.filter((_, n) => n !== at)).length, 1)
  for (const type of STEP_TYPES) {
    const { node, values } = newStep(type)
    t.equal(stepsOf([node], values)[0]?.type, type)
  }
  t.same(argsReferred({ a: 'x ${args.level} ${args.zone}', b: true, c: '${args.level}' }), ['level', 'zone'])
})

t.test('what became of a step and of the macros is a sentence', async (t) => {
  const step = {
    step: '1',
    type: 'command',
    at: 10,
    decided: {},
    answer: null,
    error: null,
    message: null,
    withheld: false,
  }
  const said = (more: object) => stepEnding({ ...step, ended_at: 22, state: 'done', ...more }).replaceAll('\u202f', ' ')
  t.equal(said({}), 'Done after 12 ms.')
  t.equal(said({ state: 'failed', message: 'no answer in 5 s', ended_at: 5010 }), 'Failed after 5 s: no answer in 5 s.')
  t.equal(said({ state: 'running', ended_at: null }), 'Under way.')
  t.equal(
    said({ type: 'condition', answer: { holds: false }, withheld: true }),
    'Done after 12 ms. It did not hold. A secret took part in it, and is not shown.',
  )
  const last = {
    id: 1,
    macro_id: 1,
    macro: 'Night',
    by: null,
    called: false,
    started_at: 0,
    ended_at: 5,
    result: 'failed',
    why: 'no answer',
  }
  const macro = {
    id: 1,
    name: 'Night',
    description: null,
    enabled: true,
    elevated: false,
    steps: 1,
    pending: null,
    flaw: null,
    last: null,
  }
  t.match(macrosVerdict([], 0), { lit: 'off' })
  t.match(macrosVerdict([macro], 0), { lit: 'ok', why: 'None has run yet.' })
  t.match(macrosVerdict([{ ...macro, enabled: false }], 0), { lit: 'off', sentence: 'No macro is switched on.' })
  t.match(macrosVerdict([{ ...macro, last }], 0, 'UTC'), { lit: 'warn', why: /Night, 00:00: no answer\./ })
  t.match(macrosVerdict([{ ...macro, flaw: 'step 1 has no ms' }], 0), { lit: 'warn', sentence: /1 macro cannot run/ })
})
