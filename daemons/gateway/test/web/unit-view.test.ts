/** Tests of one unit as the page shows it. */
import t from 'tap'
import { barsOf, mayForget, unitFacts } from '../../web/port-panels.ts'
import { replyMs, type UnitView, unitLit, unitViews, unitWord } from '../../web/port-verdict.ts'
import { when } from './port-fixture.ts'
import { busUnit, seenUnit } from './unit-fixture.ts'

function view(...args: Parameters<typeof unitViews>): UnitView {
  const [first] = unitViews(...args)
  if (!first) throw new Error('no unit')
  return first
}

t.test('takes the state from the gateway and the times from the frames', async (t) => {
  const both = view([busUnit()], [seenUnit({ middleMs: 33 })])
  t.equal(replyMs(both), 33)
  t.equal(replyMs(view([busUnit()], [])), 20)
  t.equal(replyMs(view([busUnit({ latencyMs: null })], [])), null, 'unknown is null, never 0')
})

t.test('shows a state by shape and word', async (t) => {
  const silent = view([busUnit({ state: 'silent', nextTryAt: when.nowMs + 1000 })], [])
  t.equal(unitLit(silent), 'fault')
  t.equal(unitWord(silent, when), 'silent, asked at 14:00:01')
  const past = view([busUnit({ state: 'silent', nextTryAt: when.nowMs - 1, stateSince: when.nowMs - 1000 })], [])
  t.equal(unitWord(past, when), 'silent since 13:59', 'an instant that has passed is not announced')
  const lately = { exchanges: 100, damaged: 16, missing: 0, twice: 0, lastBadAt: when.nowMs }
  const noisy = view([busUnit({ state: 'noisy', lately })], [])
  t.equal(unitLit(noisy), 'warn')
  t.equal(unitWord(noisy, when), '16 of 100 damaged')
  const mixed = view([busUnit({ state: 'noisy', lately: { ...lately, missing: 2, twice: 1 } })], [])
  t.equal(unitWord(mixed, when), '19 of 100 bad')
  const refusing = view([busUnit()], [seenUnit({ exceptions: 2 })])
  t.equal(unitLit(refusing), 'warn')
  t.equal(unitWord(refusing, when), '2 refused')
})

t.test('lists the counts, without those that are zero', async (t) => {
  const lately = { exchanges: 12, damaged: 0, missing: 2, twice: 0, lastBadAt: when.nowMs }
  const facts = Object.fromEntries(unitFacts(busUnit({ timeouts: 2, lately, heldUntil: when.nowMs + 1500 }), when))
  t.same(facts, {
    Requests: '10',
    Replies: '10',
    'Without reply': '2',
    'Of the last 12': '2 missing',
    'Last reply': 'none yet',
    'Held back': '1\u202fs more',
  })
})

t.test('makes bars of cumulative counts, empty ones at the ends left out', async (t) => {
  const cumulative = [0, 4, 4, 6, 6]
  const bounds = [5, 10, 20, 50, null]
  const bars = barsOf(bounds.map((leMs, at) => ({ leMs, count: cumulative[at] ?? 0 })))
  t.same(bars, [
    { fromMs: 5, toMs: 10, count: 4, share: 1 },
    { fromMs: 10, toMs: 20, count: 0, share: 0 },
    { fromMs: 20, toMs: 50, count: 2, share: 0.5 },
  ])
  t.same(barsOf([{ leMs: null, count: 0 }]), [])
})

t.test('a unit that is silent, or that never answered, can be forgotten', (t) => {
  const never = { replies: 0, lateReplies: 0 }
  t.ok(mayForget(busUnit({ state: 'silent' })))
  t.ok(mayForget(busUnit({ state: 'probing' })))
  t.ok(mayForget(busUnit({ state: 'failing', ...never })))
  t.ok(mayForget(busUnit({ state: 'unknown', ...never })))
  t.ok(mayForget(busUnit({ state: 'noisy' })), 'once its cable is mended')
  t.notOk(mayForget(busUnit({ state: 'failing' })))
  t.notOk(mayForget(busUnit({ state: 'slow', replies: 0, lateReplies: 1 })))
  t.notOk(mayForget(busUnit()))
  t.end()
})
