/** Tests of createMacroCancel: who may end a run, and what is left of it. */
import t from 'tap'
import { createMacroCancel } from '../../../core/macros/engine.ts'
import { bodyOf, rig, session } from './macro-rig.ts'

const hold = { type: 'delay', args: { ms: 60_000 } }

async function running() {
  const house = rig([
    { name: 'Hold', steps: [{ type: 'macro', args: { macro: 'Inner' } }] },
    { name: 'Inner', steps: [hold] },
  ])
  void house.runMacro(session(), { macro_id: 1 })
  await house.clock.run(10)
  return { ...house, cancel: createMacroCancel(house.engine) }
}

t.test('whoever asked for a run may end it, with the runs that it called', async (t) => {
  const { cancel, clock, rows } = await running()
  const outcome = cancel(session(), { run_id: 1 })
  t.match(outcome, { status: 200, reason: null, target: 'macro 1', runId: 1, facts: { action: 'cancel macro "Hold"' } })
  t.match(bodyOf(outcome), { success: true, run_id: 1, state: 'cancelled' })
  await clock.run(100)
  t.match(rows, [
    { end: { result: 'cancelled', trace: { end: { sentence: 'ada ended it' } } } },
    { end: { result: 'cancelled' } },
  ])
  t.match(bodyOf(cancel(session(), { run_id: 1 })), { success: false, error: 'unknown run' })
})

t.test('an elevated session may end any run; for others it is unknown, as are called runs', async (t) => {
  const { cancel, engine } = await running()
  for (const [who, body] of [
    [session({ userId: 8 }), { run_id: 1 }],
    [session(), { run_id: 2 }],
    [session(), { run_id: null }],
    [session(), {}],
    [session(), 'x'],
  ] as const)
    t.match(bodyOf(cancel(who, body)), { success: false, error: 'unknown run' })
  t.match(cancel(session({ may: () => false }), { run_id: 1 }), { status: 403, reason: 'role_denied' })
  t.equal(engine.living().length, 2)
  t.match(bodyOf(cancel(session({ userId: 8, isElevated: true }), { run_id: 1 })), { success: true })
  t.equal(engine.living().length, 0)
})
