/** Tests of core/triggers/condition.ts: the table of states, and when a condition holds or is over. */
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import {
  type ConditionEvent,
  type ConditionState,
  conditionStateTable,
  judge,
  nextConditionState,
  readCondition,
} from '../../../core/triggers/condition.ts'

const rows: [ConditionState, ConditionEvent, ConditionState][] = [
  ['unseen', 'holds', 'pending'],
  ['unseen', 'held', 'fired'],
  ['unseen', 'ended', 'ready'],
  ['ready', 'holds', 'pending'],
  ['pending', 'passed', 'fired'],
  ['pending', 'ended', 'ready'],
  ['fired', 'ended', 'ready'],
]

for (const [state, event, next] of rows)
  t.test(`a condition that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextConditionState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  for (const state of Object.keys(conditionStateTable) as ConditionState[])
    for (const event of ['holds', 'held', 'passed', 'ended'] as const)
      if (!listed.has(`${state} ${event}`)) t.equal(nextConditionState(state, event), state, `${state} on ${event}`)
})

t.test('a number has to come back by the hysteresis before it counts as over', async (t) => {
  const judged = (condition: Json, ...values: Json[]) => {
    const read = readCondition(condition, 1000)
    return values.map((value) => read && judge(read, value))
  }
  t.same(judged({ op: '>', value: 26, hysteresis: 2 }, '27', '26', '24.5', '24', '3'), [
    'holds',
    undefined,
    undefined,
    'ended',
    'ended',
  ])
  t.same(judged({ op: '<=', value: 5, hysteresis: 1 }, 5, 5.5, 6, 6.1), ['holds', undefined, undefined, 'ended'])
  t.same(judged({ op: '>=', value: '26' }, 26, 25.9), ['holds', 'ended'])
  t.same(judged({ op: '>', value: 26 }, 'unknown', null, ''), [undefined, undefined, undefined], 'nothing is known')
  t.same(judged({ value: 'open' }, 'open', 'shut', null), ['holds', 'ended', 'ended'])
  t.same(judged({ op: 'in', value: ['a', 'b'] }, 'b', 'c'), ['holds', 'ended'])
})

t.test('a condition that cannot be meant is refused', async (t) => {
  const bad: [Json, RegExp][] = [
    ['x', /not an object/],
    [{ op: '~', value: 1 }, /op that is none/],
    [{ op: '>' }, /no value/],
    [{ op: '>', value: 'warm' }, /no number/],
    [{ value: 1, hysteresis: 1 }, /takes none/],
    [{ op: '>', value: 1, hysteresis: -1 }, /hysteresis/],
    [{ value: 1, for_ms: 1001 }, /for_ms that is no number from 0 to 1000/],
    [{ value: 1, forms: 1 }, /"forms"; the nearest is for_ms/],
  ]
  for (const [json, message] of bad) t.throws(() => readCondition(json, 1000), { code: 'trigger_invalid', message })
  t.equal(readCondition(null, 1000), undefined)
})
