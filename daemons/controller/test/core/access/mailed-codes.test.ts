import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { codeStateOf, createMailedCodes } from '../../../core/access/second-factor.ts'
import { ADA } from './people-world.ts'

const START_MS = 1_900_000_000_000
const issued = { two_factor_auth: true, two_factor_token: 'ABC234', two_factor_issued_at: START_MS }
const row = { ...ADA, ...issued }

t.test('the state of a code is read from the account', (t) => {
  const clock = fakeClock(START_MS + 10)
  const codes = createMailedCodes({ clock, keptMs: () => 100 })
  const stateOf = (columns: object) => {
    const row = { ...ADA, ...issued, ...columns }
    return codeStateOf(row, codes.ageMs(row), 100)
  }
  t.equal(stateOf({}), 'issued')
  t.equal(stateOf({ two_factor_token: null }), 'none')
  t.equal(stateOf({ two_factor_token: '' }), 'none')
  t.equal(stateOf({ two_factor_issued_at: START_MS - 90 }), 'lapsed')
  t.equal(stateOf({ two_factor_issued_at: START_MS + 11 }), 'lapsed')
  t.equal(stateOf({ two_factor_issued_at: null }), 'lapsed')
  t.end()
})

t.test('a code mailed by this run ages by the monotonic clock, whatever issue time the account holds', (t) => {
  const clock = fakeClock(START_MS)
  const codes = createMailedCodes({ clock, keptMs: () => 1000 })
  codes.add(1, 'ABC234', clock.monotonicMs())
  clock.advance(70)
  for (const stepMs of [-3_600_000, 7_200_000, -START_MS]) {
    clock.stepEpoch(stepMs)
    t.equal(codes.ageMs(row), 70)
    t.equal(codes.ageMs({ ...row, two_factor_issued_at: null }), 70)
  }
  t.not(codes.ageMs({ ...row, two_factor_token: 'DEF567' }), 70, 'another code has another age')
  t.end()
})

t.test('misses are counted per code', (t) => {
  const codes = createMailedCodes({ clock: fakeClock(START_MS), keptMs: () => 1000 })
  t.strictSame([codes.missed(row), codes.missed(row)], [1, 2])
  codes.add(1, 'DEF567', 0)
  t.equal(codes.missed({ ...row, two_factor_token: 'DEF567' }), 1)
  codes.forget(1)
  t.equal(codes.missed({ ...row, two_factor_token: 'DEF567' }), 1)
  t.end()
})

t.test('the last letter delays the next one, unless it did not arrive, has lapsed, or is forgotten', (t) => {
  const clock = fakeClock(START_MS)
  const codes = createMailedCodes({ clock, keptMs: () => 1000 })
  const didNotArrive = codes.add(1, 'ABC234', clock.monotonicMs())
  t.equal(codes.keepsBack(row, 'issued', 100), true)
  t.equal(codes.keepsBack({ ...row, two_factor_token: null }, 'none', 100), true, 'also after the code is void')
  t.equal(codes.keepsBack(row, 'lapsed', 100), false)
  clock.advance(100)
  t.equal(codes.keepsBack(row, 'issued', 100), false)
  t.equal(codes.keepsBack(row, 'issued', 101), true)
  didNotArrive()
  t.equal(codes.keepsBack(row, 'issued', 101), false)
  codes.add(1, 'ABC234', clock.monotonicMs())
  codes.forget(1)
  t.equal(codes.keepsBack({ ...row, two_factor_token: null }, 'none', 101), false)
  t.end()
})

t.test('an entry too old to matter makes room', (t) => {
  const clock = fakeClock(START_MS)
  const codes = createMailedCodes({ clock, keptMs: () => 1000 })
  for (const id of [1, 2]) codes.add(id, 'ABC234', clock.monotonicMs())
  clock.advance(1000)
  codes.add(3, 'ABC234', clock.monotonicMs())
  const isKept = (id: number) => codes.keepsBack({ ...row, id, two_factor_token: null }, 'none', 5000)
  t.strictSame([1, 2, 3].map(isKept), [false, false, true])
  t.end()
})
