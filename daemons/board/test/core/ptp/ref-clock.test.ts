/** Tests of core/ptp/ptp.ts. */
import t from 'tap'
import { type Grandmaster, refClockOf } from '../../../core/ptp/ptp.ts'
import { isSameClock } from '../../../wire/streams/description.ts'
import { FAKE_MAC, fakePtp } from './fake-ptp.ts'

const grandmaster: Grandmaster = {
  id: '00-1D-C1-FF-FE-12-34-56',
  domain: 3,
  priority1: 128,
  priority2: 128,
  clock_class: 248,
  is_self: false,
}
const mac = '00-1d-c1-00-00-01'
const ptp = { kind: 'ptp', grandmaster: grandmaster.id, domain: 3 } as const

t.test('a board that is locked, holds over or is the clock names the grandmaster', async (t) => {
  for (const state of ['locked', 'holdover', 'master'] as const) t.same(refClockOf({ state, grandmaster }, mac), ptp)
})

t.test('a board in any other state names its own machine', async (t) => {
  for (const state of ['off', 'absent', 'starting', 'listening', 'locking', 'fault'] as const)
    t.same(refClockOf({ state, grandmaster }, mac), { kind: 'localmac', mac })
  t.same(refClockOf({ state: 'locked', grandmaster: null }, mac), { kind: 'localmac', mac })
})

t.test('distinguishes clocks', async (t) => {
  t.ok(isSameClock(ptp, { ...ptp }))
  t.notOk(isSameClock(ptp, { ...ptp, domain: 4 }))
  t.notOk(isSameClock(ptp, { ...ptp, grandmaster: '00-1D-C1-FF-FE-12-34-57' }))
  t.notOk(isSameClock(ptp, { kind: 'localmac', mac }))
  t.notOk(isSameClock({ kind: 'localmac', mac }, ptp))
  t.ok(isSameClock({ kind: 'localmac', mac }, { kind: 'localmac', mac }))
  t.notOk(isSameClock({ kind: 'localmac', mac }, { kind: 'localmac', mac: '00-1d-c1-00-00-02' }))
})

t.test('a sender is told when its clock changes', async (t) => {
  const clock = fakePtp()
  const heard: unknown[] = []
  const end = clock.onChange(() => heard.push([clock.isLocked(), clock.refClock()]))
  clock.become({ enabled: true, state: 'locked', grandmaster })
  end()
  clock.become({ state: 'off' })
  t.same(heard, [[true, ptp]])
  t.same(clock.refClock(), { kind: 'localmac', mac: FAKE_MAC })
})
