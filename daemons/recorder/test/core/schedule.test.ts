import t from 'tap'
import { isWithin, sameTimeBefore } from '../../core/schedule.ts'

t.test(
  'A.patrol a schedule is of the zone of the recorder, and over midnight of the day on which it begins',
  async (t) => {
    const of = (days: number[], [from = '', to = '']: string[], at: string, zone = 'UTC') =>
      isWithin({ days, from, to }, Date.parse(at), zone)
    // 2026-11-28 is a Saturday.
    t.equal(of([6], ['08:00', '18:00'], '2026-11-28T08:00Z'), true)
    t.equal(of([6], ['08:00', '18:00'], '2026-11-28T18:00Z'), false)
    t.equal(of([5], ['08:00', '18:00'], '2026-11-28T09:00Z'), false)
    t.equal(of([6], ['22:00', '06:00'], '2026-11-29T05:59Z'), true, 'Sunday morning is of Saturday')
    t.equal(of([6], ['22:00', '06:00'], '2026-11-28T05:59Z'), false)
    t.equal(of([6], ['00:00', '00:00'], '2026-11-28T00:00Z'), true, 'all day')
    t.equal(of([6], ['00:00', '00:00'], '2026-11-29T00:00Z'), false)
    t.equal(of([0], ['00:30', '02:00'], '2026-11-28T23:45Z', 'Europe/Berlin'), true)
  },
)

t.test('a schedule counts in its zone, over midnight, and over the change of the clock', async (t) => {
  const night = { days: [5], from: '22:00', to: '06:00' }
  const at = (text: string) => Date.parse(text)
  const zone = 'Europe/Berlin'
  t.equal(isWithin(night, at('2026-11-27T21:00:00Z'), zone), true, 'Friday 22:00')
  t.equal(isWithin(night, at('2026-11-27T20:59:59Z'), zone), false)
  t.equal(isWithin(night, at('2026-11-28T04:59:59Z'), zone), true, 'Saturday morning belongs to Friday')
  t.equal(isWithin(night, at('2026-11-28T05:00:00Z'), zone), false)
  t.equal(isWithin(night, at('2026-11-28T21:00:00Z'), zone), false)
  t.equal(isWithin({ days: [0], from: '00:00', to: '00:00' }, at('2026-11-29T22:59:00Z'), zone), true, 'a whole day')
  t.equal(
    isWithin({ days: [0], from: '02:00', to: '04:00' }, at('2026-03-29T01:30:00Z'), zone),
    true,
    '03:30 in summer',
  )
})

t.test(
  'the same time on a day before is the same on the clock on the wall, whether the clocks were changed or not',
  async (t) => {
    const before = (at: string, days: number, zone: string) =>
      new Date(sameTimeBefore(Date.parse(at), days, zone)).toISOString().slice(0, 16)
    t.equal(before('2026-11-28T08:15Z', 7, 'UTC'), '2026-11-21T08:15')
    t.equal(before('2026-11-28T08:15Z', 35, 'Europe/Berlin'), '2026-10-24T07:15', 'the summer time ended on 25 October')
    t.equal(before('2026-10-24T22:30Z', 1, 'Europe/Berlin'), '2026-10-23T22:30')
    t.equal(
      before('2026-10-25T23:30Z', 1, 'Europe/Berlin'),
      '2026-10-24T22:30',
      'half past midnight, with one at midnight',
    )
  },
)
