/** What the pages of clocks say, without a browser. */
import t from 'tap'
import { createForm } from '#kit/web/form.ts'
import { driftText, judgeCameraClock, offsetText, outcomeOf } from '../../web/camera-clock-page.ts'
import { judgeClock, wishOf } from '../../web/clock-page.ts'

const time = { available: true, ntp: true, canNtp: true, synchronized: true }

t.test('the clock of the machine is judged by what the clock service says, and by nothing else', async (t) => {
  t.match(judgeClock(time), { lit: 'ok', sentence: /comes from the network/ })
  t.match(judgeClock({ ...time, ntp: false }), { lit: 'ok', sentence: /another program/ })
  t.match(judgeClock({ ...time, synchronized: false }), { lit: 'warn', sentence: /no server has answered/ })
  t.match(judgeClock({ ...time, synchronized: false, ntp: false }), { lit: 'warn', why: /Switch network time on/ })
  t.match(judgeClock({ ...time, synchronized: false, ntp: false, canNtp: false }), { why: /Install/ })
  t.match(judgeClock({ ...time, available: false, error: 'It is not there.' }), {
    lit: 'warn',
    why: 'It is not there.',
  })
})

t.test('only what was changed is asked for, and a time only while network time is off', async (t) => {
  const form = createForm({ zone: 'Etc/UTC', ntp: true, time: '' }, 'edit')
  t.same(wishOf(form), {})
  form.set('zone', ' Europe/Berlin ')
  form.set('time', '2031-03-09 14:05')
  t.same(wishOf(form), { zone: 'Europe/Berlin' })
  form.set('ntp', false)
  t.same(wishOf(form), { zone: 'Europe/Berlin', ntp: false, time: '2031-03-09 14:05' })
})

t.test('how far a camera is off, and its local time, are said as people say them', async (t) => {
  t.match(driftText(0.44), /^0\.4\s+?s ahead$/u)
  t.match(driftText(-3720), /^1\s+?h 2\s+?min behind$/u)
  t.equal(driftText(0), 'none')
  t.same([null, 0, 330, -210].map(offsetText), ['–', 'UTC+00:00', 'UTC+05:30', 'UTC−03:30'])
  const state = { driftSeconds: 1.9, offsetMinutes: 0, dateTimeType: 'Manual' } as const
  t.match(judgeCameraClock(state), { lit: 'ok' })
  t.match(judgeCameraClock({ ...state, driftSeconds: -2.1 }), { lit: 'warn', why: 'Set the clock.' })
  t.match(judgeCameraClock({ ...state, driftSeconds: 90, dateTimeType: 'NTP' }), { why: /from a server/ })
})

t.test('what came of each kind of write is said in a few words', async (t) => {
  t.match(outcomeOf({ driftAfterSeconds: 0.4, verified: true }), /^0\.4\s+?s ahead$/u)
  t.equal(outcomeOf({ preset: '1', presetName: 'Gate' }), 'Gate')
  t.match(outcomeOf({ pan: 1, seconds: 1.25, ended: 'time' }), /^for 1\.3\s+?s$/u)
  t.equal(outcomeOf({ error: 'It was refused.' }), 'It was refused.')
  t.equal(outcomeOf({}), '–')
})
