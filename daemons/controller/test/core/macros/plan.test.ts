// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { readPlan } from '../../../core/macros/plan.ts'
import { MACRO_LIMITS } from '../../../core/macros/values.ts'
import type { Row } from '../../../core/site/book.ts'
import { bookOf } from './macro-rig.ts'

function plan(steps: readonly Json[], columns: Record<string, Json> = {}) {
  const book = bookOf([{ name: 'Macro', ...columns, steps: steps as never }])
  return readPlan(book.row('macro', 1) as Row, book.rows('macro_step'), MACRO_LIMITS)
}

const target = { zone_id: 1 }
const rows: [string, Json, RegExp][] = [
  ['no type', {}, /has a type that is none of/],
  ['a type by a name of Object', { type: 'constructor' }, /has a type/],
  ['args that are a list', { type: 'stop', args: [] }, /has args that are no object/],
  ['args that are a reference', { type: 'stop', args: '${args.all}' }, /has args that are no object/],
  ['a strange on_error', { type: 'stop', on_error: 'explode' }, /has an on_error/],
  ['retries below 0', { type: 'stop', retries: -1 }, /has retries/],
  ['a command without a target', { type: 'command', command: 'on' }, /has no target/],
  ['a command without a verb', { type: 'command', ...target }, /has no command/],
  [
    'two targets',
    { type: 'command', ...target, command: 'on', args: target },
    /has a target in its columns and one in its args/,
  ],
  ['a column that is not an id', { type: 'command', zone_id: 'x', command: 'on' }, /has a zone_id that is no id/],
  ['a delay without ms', { type: 'delay' }, /has no ms/],
  ['a misspelt key', { type: 'delay', args: { ms: 1, spred_ms: 2 } }, /is spread_ms meant/],
  ['a wait without an end', { type: 'wait', args: { left: 1, right: 1 } }, /has no timeout_ms/],
  ['an unknown op', { type: 'condition', args: { left: 1, op: 'like', right: 1 } }, /has an op/],
  ['nothing to compare with', { type: 'condition', args: { left: 1 } }, /nothing to compare/],
  ['a side that is an object', { type: 'condition', args: { left: { a: 1 }, right: 1 } }, /compares with an object/],
  ['a field of nothing', { type: 'condition', args: { left: { field: 'level' }, right: 1 } }, /no zone and no device/],
  ['an else of its own', { type: 'condition', args: { left: 1, right: 1, else: 'go' } }, /has an else/],
  ['an else from outside', { type: 'condition', args: { left: 1, right: 1, else: '${args.e}' } }, /has an else/],
  ['a skip of "stop"', { type: 'condition', args: { left: 1, right: 1, else: { skip: 'stop' } } }, /has a skip/],
  ['a set without a value', { type: 'set', args: { attribute: 'a' } }, /has no value/],
  ['two macros', { type: 'macro', args: { macro: 'a', macro_id: 1 } }, /needs one of/],
  ['args of a macro from outside', { type: 'macro', args: { macro: 'a', args: '${args.all}' } }, /no object/],
  ['branches from outside', { type: 'parallel', args: { steps: '${args.steps}' } }, /needs a list/],
  ['no branches', { type: 'parallel', args: { steps: [] } }, /has 0 branches/],
  ['too many branches', { type: 'parallel', args: { macros: Array(17).fill({ macro: 'a' }) } }, /has 17 branches/],
  [
    'a branch that is a reference',
    { type: 'parallel', args: { steps: ['${args.step}'] } },
    /step 1\.1 is not an object/,
  ],
  ['a branch without steps', { type: 'parallel', args: { steps: [[]] } }, /step 1\.1 is a branch without steps/],
  ['a failed that is a text', { type: 'stop', args: { failed: 'yes' } }, /has a failed/],
]
for (const [what, step, message] of rows)
  t.test(`a step with ${what} is refused before the macro runs`, async (t) => {
    t.throws(() => plan([step]), { code: 'macro_invalid', message })
  })

t.test('a macro that is too large is refused', async (t) => {
  const stop = { type: 'stop' }
  t.throws(() => plan(Array(501).fill(stop)), { code: 'macro_invalid', message: /501 steps/ })
  const inBranches = { type: 'parallel', args: { steps: [Array(500).fill(stop)] } }
  t.throws(() => plan([inBranches]), { code: 'macro_invalid', message: /501 steps/ })
  t.throws(() => plan([{ type: 'notify', args: { text: 'x'.repeat(300_000) } }]), { code: 'macro_value_size' })
  let deep: Json = 'x'
  for (let depth = 0; depth < 5000; depth++) deep = { type: 'parallel', args: { steps: [deep] } }
  t.throws(() => plan([deep]), { code: 'macro_value_size' })
})

t.test('columns of a macro are read, and limited', async (t) => {
  t.match(plan([]), { mode: 'single', maxRuns: 10, timeoutMs: 600_000, isElevated: false, schema: undefined })
  t.match(plan([], { mode: 'queued', max_runs: 9999, timeout_ms: 1e12, elevated: true }), {
    mode: 'queued',
    maxRuns: 64,
    timeoutMs: 86_400_000,
    isElevated: true,
  })
  for (const columns of [{ mode: 'twice' }, { max_runs: 0 }, { timeout_ms: -5 }, { timeout_ms: 'x' }])
    t.throws(() => plan([], columns as never), { code: 'macro_invalid' })
})

t.test('steps are ordered by position, then by id', async (t) => {
  const rows = [
    { id: 5, macro_id: 1, position: 2, type: 'notify', args: { text: 'c' } },
    { id: 4, macro_id: 1, position: 2, type: 'notify', args: { text: 'b' } },
    { id: 9, macro_id: 1, position: 1, type: 'notify', args: { text: 'a' } },
  ] as unknown as Row[]
  const { steps } = readPlan({ id: 1, name: 'x' } as Row, rows, MACRO_LIMITS)
  t.same(
    steps.map((step) => (step.raw.args as { text: string }).text),
    ['a', 'b', 'c'],
  )
})
