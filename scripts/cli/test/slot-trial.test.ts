/** The trial of a new system: the rules, with a clock of the test. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { UpdateOutcome } from '#kit/release/running-image.ts'
import { isStartable, nextSlot, readBootState, runTrial, type TrialWorld } from '../slot-trial.ts'

const TIMES = { goodMs: 60_000, withinMs: 300_000, lookMs: 2000 }

interface Bed {
  /** As boot-state shows it. */
  state: string
  /** Faults at an instant of the trial, ms. */
  faultsAt?(ms: number): string[]
  last?: UpdateOutcome
  /** Whether the disk takes no outcome. */
  isFull?: boolean
}

/** Runs the trial of slot B, version 2.0.0, beside A, version 1.0.0. */
async function trial({ state, faultsAt = () => [], last, isFull = false }: Bed) {
  const clock = fakeClock()
  const beganMs = clock.monotonicMs()
  const kept: UpdateOutcome[] = last ? [last] : []
  const done: string[] = []
  const known = readBootState(state)
  if (!known) throw new Error(`not a state: ${state}`)
  const world: TrialWorld = {
    clock,
    running: 'B',
    version: '2.0.0',
    bootState: async () => known,
    versionIn: async (slot) => (slot === 'A' ? '1.0.0' : '2.0.0'),
    faults: async () => faultsAt(clock.monotonicMs() - beganMs),
    confirm: async () => void done.push('confirmed'),
    outcome: async () => kept.at(-1) ?? null,
    keep: async (outcome) => {
      if (isFull) throw new Error('ENOSPC: no space left on device')
      kept.push(outcome)
    },
    restart: async () => void done.push('restarted'),
    pause: async (ms) => clock.advance(ms),
    say: () => {},
  }
  const isGood = await runTrial(world, TIMES)
  return { isGood, kept, done, tookMs: clock.monotonicMs() - beganMs }
}

const NEW = 'ORDER=B A\nA_OK=1\nA_LEFT=3\nB_OK=1\nB_LEFT=0\n'
const OLD = 'ORDER=B A\nA_OK=1\nA_LEFT=3\nB_OK=1\nB_LEFT=2\n'

t.test('a new system that is well for a minute is good', async (t) => {
  const { isGood, kept, done, tookMs } = await trial({ state: NEW })
  t.equal(isGood, true)
  t.same(done, ['confirmed'])
  t.equal(tookMs, 60_000)
  t.same(
    kept.map(({ result }) => result),
    ['on_trial', 'good'],
  )
})

t.test('the minute begins anew with each fault', async (t) => {
  const { done, tookMs } = await trial({
    state: NEW,
    faultsAt: (ms) => (ms === 50_000 ? ['the board is activating'] : []),
  })
  t.same(done, ['confirmed'])
  t.equal(tookMs, 112_000)
})

t.test('a new system that does not get well restarts into the old one, and says why', async (t) => {
  const { isGood, kept, done } = await trial({ state: NEW, faultsAt: () => ['plantroom-board is failed'] })
  t.equal(isGood, false)
  t.same(done, ['restarted'])
  t.match(kept.at(-1), {
    result: 'on_trial',
    version: '2.0.0',
    why: /not well within 5 min.*: plantroom-board is failed/,
  })
})

t.test('a new system that gets well late on a slow board has its minute, and none after the next fault', async (t) => {
  const isSlow = (ms: number) => (ms < 290_000 ? ['plantroom-board is activating'] : [])
  const late = await trial({ state: NEW, faultsAt: isSlow })
  t.same(late.done, ['confirmed'])
  t.equal(late.tookMs, 350_000)
  const again = (ms: number) => (ms === 330_000 ? ['plantroom-board is failed'] : isSlow(ms))
  const failed = await trial({ state: NEW, faultsAt: again })
  t.same(failed.done, ['restarted'])
  t.equal(failed.tookMs, 330_000)
  t.match(failed.kept.at(-1), { why: /not well within 5 min.*: plantroom-board is failed/ })
})

t.test('a new system whose daemons cannot even be looked at is given up too', async (t) => {
  const { kept, done } = await trial({
    state: NEW,
    faultsAt: () => {
      throw new Error('Command failed: systemctl list-units\nFailed to connect to bus')
    },
  })
  t.same(done, ['restarted'])
  t.match(kept.at(-1), { why: /cannot be looked at: Command failed: systemctl list-units Failed to connect to bus$/ })
})

t.test('a full disk keeps no system from being judged', async (t) => {
  t.same((await trial({ state: NEW, isFull: true })).done, ['confirmed'])
  t.same((await trial({ state: NEW, isFull: true, faultsAt: () => ['x'] })).done, ['restarted'])
  const fallen = 'ORDER=A B\nA_OK=1\nA_LEFT=0\nB_OK=1\nB_LEFT=2\n'
  t.same((await trial({ state: fallen, isFull: true })).done, ['confirmed'])
})

t.test('a system that was good before is not given up, however long it takes', async (t) => {
  const faultsAt = (ms: number) => (ms < 900_000 ? ['plantroom-gateway: settings refused'] : [])
  const { done, kept } = await trial({ state: OLD, faultsAt })
  t.same(done, ['confirmed'])
  t.same(kept, [])
})

t.test('a new system that nothing could replace is not given up', async (t) => {
  const state = 'ORDER=B A\nA_OK=0\nA_LEFT=0\nB_OK=1\nB_LEFT=0\n'
  t.same((await trial({ state, faultsAt: (ms) => (ms < 900_000 ? ['x'] : []) })).done, ['confirmed'])
})

t.test('the old system tells what became of the new one', async (t) => {
  const state = 'ORDER=A B\nA_OK=1\nA_LEFT=0\nB_OK=1\nB_LEFT=2\n'
  const silent = await trial({ state })
  t.match(silent.kept, [{ result: 'fell_back', version: '1.0.0', runs: '2.0.0', why: /did not start/ }])
  const last = { result: 'on_trial' as const, version: '1.0.0', runs: '1.0.0', why: 'plantroom-board is failed', at: 1 }
  t.match((await trial({ state, last })).kept.at(-1), { result: 'fell_back', why: 'plantroom-board is failed' })
  const other = { ...last, version: '3.0.0' }
  t.match(
    (await trial({ state, last: other })).kept.at(-1),
    { version: '3.0.0' },
    'whoever was on trial said who it was',
  )
})

t.test('a slot that an interrupted installation left is no update that failed', async (t) => {
  t.same((await trial({ state: 'ORDER=A B\nA_OK=0\nA_LEFT=0\nB_OK=1\nB_LEFT=2\n' })).kept, [])
})

t.test('the next slot is the first that has a start left', async (t) => {
  const state = readBootState(NEW)
  if (!state) throw new Error('not a state')
  t.equal(isStartable(state, 'B'), false)
  t.equal(nextSlot(state, 'B'), 'A')
  t.equal(readBootState('nothing'), undefined)
})
