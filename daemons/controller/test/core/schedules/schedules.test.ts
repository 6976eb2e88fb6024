/** Tests of core/schedules/schedules.ts: what is run while clocks are set, controllers are down, and rows change. */
import * as fc from 'fast-check'
import t from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { type ScheduleLimits, Schedules, scheduleFlaw } from '../../../core/schedules/schedules.ts'
import { createBook, type Row } from '../../../core/site/book.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const LIMITS: ScheduleLimits = {
  most: 100,
  lookMs: 1000,
  lateMs: 10 * MINUTE_MS,
  catchUpMs: 6 * HOUR_MS,
  backMs: 2 * HOUR_MS,
}

/** 11:00 in UTC. */
const ELEVEN = Date.UTC(2026, 5, 1, 11)

function stage(rows: Record<string, unknown>[], { clock = fakeClock(ELEVEN), limits = LIMITS, site = {} } = {}) {
  const book = createBook()
  book.put('site', { id: 1, ...site } as unknown as Row)
  rows.forEach(
    (row, at) =>
      void book.put('schedule', { id: at + 1, updated_at: clock.epochMs(), kind: 'at', ...row } as unknown as Row),
  )
  const ran: string[] = []
  const missed: string[] = []
  const at = (ms: number) => new Date(ms).toISOString().slice(5, 16)
  function open() {
    return new Schedules({
      book,
      clock,
      limits,
      run: ({ id }, dueMs) => ran.push(`${id} ${at(dueMs)}`),
      missed: ({ id }, dueMs) => missed.push(`${id} ${at(dueMs)}`),
      keep: (id, lastAt) =>
        book.put('schedule', { ...(book.row('schedule', id) as Row), last_at: lastAt, updated_at: clock.epochMs() }),
    })
  }
  const schedules = open()
  schedules.start()
  return { book, clock, ran, missed, schedules, open }
}

t.test('a schedule runs when it is due, and says when it runs next', async (t) => {
  const { clock, ran, schedules } = stage([
    { at: '11:30' },
    { kind: 'cron', cron: '*/20 * * * *' },
    { at: '12:00', enabled: false },
  ])
  t.equal(schedules.list()[0]?.nextAt, ELEVEN + 30 * MINUTE_MS)
  t.equal(schedules.list()[2]?.nextAt, null)
  clock.advance(HOUR_MS)
  t.same(ran, ['2 06-01T11:20', '1 06-01T11:30', '2 06-01T11:40', '2 06-01T12:00'])
  t.match(schedules.list()[0], {
    nextAt: ELEVEN + 30 * MINUTE_MS + DAY_MS,
    lastAt: ELEVEN + 30 * MINUTE_MS,
    flaw: null,
  })
  schedules.stop()
  t.equal(clock.pending(), 0)
})

t.test('without a schedule the clock is not looked at', async (t) => {
  t.equal(stage([]).clock.pending(), 0)
})

t.test('a clock that is set back runs nothing again, and leaves nothing out', async (t) => {
  const { clock, ran } = stage([{ at: '11:15' }, { at: '11:45' }])
  clock.advance(30 * MINUTE_MS)
  clock.stepEpoch(-20 * MINUTE_MS)
  clock.advance(50 * MINUTE_MS)
  t.same(ran, ['1 06-01T11:15', '2 06-01T11:45'])
})

t.test('a time that was not run before the clock was set back is run', async (t) => {
  const { clock, ran } = stage([{ at: '10:30' }])
  clock.stepEpoch(-HOUR_MS)
  clock.advance(40 * MINUTE_MS)
  t.same(ran, ['1 06-01T10:30'])
})

t.test('after a clock that was far off, times run as they come', async (t) => {
  const clock = fakeClock(Date.UTC(2031, 0, 1, 11))
  const { ran, book } = stage([{ at: '11:15' }], { clock })
  clock.advance(20 * MINUTE_MS)
  clock.stepEpoch(ELEVEN - clock.epochMs())
  clock.advance(20 * MINUTE_MS)
  t.same(ran, ['1 01-01T11:15', '1 06-01T11:15'])
  t.equal(book.row('schedule', 1)?.last_at, ELEVEN + 15 * MINUTE_MS)
})

t.test('a time that the clock is set over runs late, once; one that is too old does not', async (t) => {
  const { clock, ran, missed } = stage([{ at: '11:05' }, { kind: 'cron', cron: '*/2 * * * *' }, { at: '11:01' }])
  clock.stepEpoch(12 * MINUTE_MS)
  clock.advance(1000)
  t.same(ran, ['1 06-01T11:05', '2 06-01T11:12'])
  t.same(missed, ['3 06-01T11:01'])
})

t.test('what was missed while the controller was down runs within the bound, if it is to be caught up', async (t) => {
  for (const [downMs, late, caught] of [
    [5 * MINUTE_MS, ['1 06-01T12:00', '2 06-01T12:00'], []],
    [5 * HOUR_MS, ['2 06-01T12:00'], []],
    [7 * HOUR_MS, [], []],
    [3 * DAY_MS + 2 * HOUR_MS, ['2 06-04T12:00'], []],
  ] as const) {
    const { clock, ran, schedules, open } = stage([{ at: '12:00' }, { at: '12:00', catch_up: true }])
    clock.advance(58 * MINUTE_MS)
    schedules.stop()
    clock.advance(downMs)
    t.same(ran, caught)
    open().start()
    clock.advance(1000)
    t.same(ran, late, `${downMs / MINUTE_MS} minutes`)
  }
})

t.test('a restart right after a time runs it no second time', async (t) => {
  const { clock, ran, schedules, open } = stage([{ at: '11:30', catch_up: true }])
  clock.advance(30 * MINUTE_MS)
  schedules.stop()
  open().start()
  clock.advance(MINUTE_MS)
  t.same(ran, ['1 06-01T11:30'])
})

t.test('a new or changed schedule catches nothing up, and one that is renamed goes on', async (t) => {
  const { book, clock, ran, schedules } = stage([{ at: '12:00', catch_up: true }])
  clock.advance(10 * MINUTE_MS)
  const change = (columns: object) => {
    book.put('schedule', { ...(book.row('schedule', 1) as Row), ...columns, updated_at: clock.epochMs() })
    schedules.refresh()
  }
  change({ at: '11:05' })
  clock.advance(MINUTE_MS)
  change({ at: '11:12', name: 'Later' })
  change({ name: 'Still later' })
  clock.advance(MINUTE_MS)
  book.put('schedule', {
    id: 2,
    kind: 'at',
    at: '11:10',
    catch_up: true,
    updated_at: clock.epochMs(),
  } as unknown as Row)
  schedules.refresh()
  book.remove('schedule', 1)
  schedules.refresh()
  clock.advance(HOUR_MS)
  t.same(ran, ['1 06-01T11:12'])
})

t.test('one that cannot be read, and one too many, say why they do not run', async (t) => {
  const limits = { ...LIMITS, most: 1 }
  const { schedules } = stage([{ at: 'noon' }, { at: '12:00' }, { at: '12:00' }], { limits })
  t.match(
    schedules.list().map(({ flaw }) => flaw),
    [/^at is "noon"/, null, /^only 1 schedules are run/],
  )
  t.match(scheduleFlaw({ id: 1, kind: 'sunset' } as unknown as Row, undefined), /latitude/)
  t.equal(scheduleFlaw({ id: 1, kind: 'at', at: '1:00' } as unknown as Row, undefined), undefined)
})

t.test(
  'over a year in six zones each runs once a day, while NTP sets the clock and the controller restarts',
  async (t) => {
    for (const timezone of [
      'Europe/Berlin',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'Pacific/Auckland',
      'America/St_Johns',
    ]) {
      const clock = fakeClock(Date.UTC(2026, 0, 1))
      const site = { timezone, latitude: timezone === 'Asia/Kolkata' ? 22 : 45, longitude: 10 }
      const limits = { ...LIMITS, lookMs: HOUR_MS }
      const rows = [
        { at: '02:30' },
        { at: '00:15' },
        { kind: 'cron', cron: '5 3 * * *' },
        { kind: 'sunset', offset_min: -15 },
      ]
      const { ran, schedules, open } = stage(rows, { clock, site, limits })
      let running = schedules
      for (let day = 0; day < 365; day++) {
        clock.advance(11 * HOUR_MS + (day % 7) * MINUTE_MS)
        // Within the bounds, and back to where it was: a year has no more days than that.
        clock.stepEpoch(day % 2 === 0 ? 5 * MINUTE_MS : -5 * MINUTE_MS)
        if (day % 30 === 0) {
          running.stop()
          running = open()
          running.start()
        }
        clock.advance(13 * HOUR_MS - (day % 7) * MINUTE_MS)
      }
      for (const id of [1, 2, 3, 4]) {
        const own = ran.filter((each) => each.startsWith(`${id} `))
        t.ok(
          own.length >= 364 && own.length <= 366,
          `${timezone} ${rows[id - 1]?.at ?? rows[id - 1]?.kind}: ${own.length}`,
        )
        t.equal(new Set(own).size, own.length, 'none twice')
      }
      running.stop()
    }
  },
)

t.test('no series of small steps runs a time twice or leaves one out', async () => {
  const step = fc.record({
    passMs: fc.integer({ min: 0, max: 90 * MINUTE_MS }),
    stepMs: fc.integer({ min: -9 * MINUTE_MS, max: 9 * MINUTE_MS }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const { clock, ran } = stage([{ kind: 'cron', cron: '0 * * * *' }])
      for (const { passMs, stepMs } of steps) {
        clock.advance(passMs)
        clock.stepEpoch(stepMs)
        clock.advance(1000)
      }
      return isEveryHour(ran, clock)
    }),
    { numRuns: 40 },
  )
})

/** Hours in a row, up to the clock: steps back come to less than two hours. */
function isEveryHour(ran: readonly string[], clock: FakeClock): boolean {
  const hours = ran.map((each) => Date.parse(`2026-${each.slice(2)}Z`))
  const isRow = hours.every((at, n) => n === 0 || at === (hours[n - 1] as number) + HOUR_MS)
  return isRow && (hours.at(-1) ?? ELEVEN) + HOUR_MS > clock.epochMs()
}
