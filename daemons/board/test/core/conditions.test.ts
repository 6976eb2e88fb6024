/** The conditions that a board reports to its ledger. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Condition } from '#kit/records/ledger-entry.ts'
import { boardConditions, soundConditions, watchConditions } from '../../core/conditions.ts'
import type { PtpView } from '../../core/ptp/ptp.ts'
import type { Verdict } from '../../core/role.ts'
import type { Check } from '../../core/sound/sound.ts'

const well: Verdict = { state: 'ok', text: 'All is well.' }
const quiet = { role: 'serial', verdict: () => well, peers: () => [], isTimeSynchronised: () => true }

function whats(conditions: readonly Condition[]): string[] {
  return conditions.map(({ what, where }) => `${what} ${where}`)
}

t.test('a board that is well has nothing to say, nor one that does not know', async (t) => {
  t.same(boardConditions(quiet), [])
  t.same(boardConditions({ ...quiet, isTimeSynchronised: () => null }), [])
})

t.test('role, clock, neighbours and time each have their entry', async (t) => {
  const ptp = (state: string, enabled = true) => ({ enabled, state, text: 'Sound goes on.' }) as unknown as PtpView
  t.same(whats(boardConditions({ ...quiet, verdict: () => ({ state: 'fault', text: 'No GStreamer.' }) })), [
    'role_failed serial',
  ])
  t.same(whats(boardConditions({ ...quiet, ptp: () => ptp('holdover') })), ['ptp_lost ptp'])
  t.same(whats(boardConditions({ ...quiet, ptp: () => ptp('locked') })), [])
  t.same(whats(boardConditions({ ...quiet, ptp: () => ptp('fault', false) })), [])
  const peers = () => [
    { name: 'Bar', address: '10.0.0.2', state: 'unreachable' as const },
    { name: 'Gym', address: '10.0.0.3', state: 'alive' as const },
    { name: 'Pool', address: '10.0.0.4', state: 'awaited' as const },
  ]
  t.same(whats(boardConditions({ ...quiet, peers })), ['peer_gone board Bar'])
  t.same(whats(boardConditions({ ...quiet, isTimeSynchronised: () => false })), ['clock_unsynchronised clock'])
})

t.test('a decoder that should play and is silent is an entry, a stopped one is none', async (t) => {
  const verdict: Verdict = { state: 'fault', text: 'Bar is silent. No packet comes.' }
  const check = (name: string, state: Check['state']): Check => ({ name, state, code: null, text: '' })
  const of = (...checks: Check[]) => whats(soundConditions('decoder', verdict, checks))
  t.same(of(check('stream', 'ok'), check('packets', 'fault')), ['sound_silent decoder'])
  t.same(of(check('stream', 'ok'), check('output', 'fault')), ['card_lost decoder'])
  t.same(of(check('stream', 'off')), [])
  t.same(of(check('stream', 'ok'), check('loss', 'warn')), [])
})

t.test('changes that come together are judged once, and what is over is cleared', async (t) => {
  const clock = fakeClock()
  const done: string[] = []
  const conditions = {
    raise: ({ what }: Condition) => void done.push(`+${what}`),
    clear: (what: string) => void done.push(`-${what}`),
    happened: () => {},
  }
  let now: Condition[] = []
  const watch = watchConditions({ clock, conditions, leastMs: 250, read: () => now })
  now = [{ what: 'ptp_lost', where: 'ptp', severity: 'warning', sentence: 'Lost.' }]
  watch.changed()
  watch.changed()
  t.same(done, [])
  clock.advance(250)
  t.same(done, ['+ptp_lost'])
  now = []
  watch.changed()
  clock.advance(250)
  t.same(done, ['+ptp_lost', '-ptp_lost'])
  watch.changed()
  watch.close()
  clock.advance(250)
  t.equal(clock.pending(), 0)
})
