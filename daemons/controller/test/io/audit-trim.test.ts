/** Tests of io/audit-file.ts: what is trimmed, how much at once, and what happens while ages are unknown. */
import t, { type Test } from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { until } from '#kit/test/until.ts'
import type { AuditRecord } from '../../core/audit.ts'
import { openAudit, recordOf, rowsIn } from './audit-here.ts'

const DAY_MS = 86_400_000
const START = 1_900_000_000_000

/** A trim in progress has no timer; after it has ended, it waits for the next. */
const ended = (clock: FakeClock) => until('the trim has ended', () => clock.pending() > 0)

/** Skips the pauses between the steps of a trim, until the next wait is longer. */
async function settle(folder: string, clock: FakeClock): Promise<number[]> {
  do {
    await ended(clock)
    clock.advance(50)
  } while (clock.pending() === 0)
  return rowsIn(folder).map(({ id }) => Number(id))
}

/** Writes rows of these ages, in days, then restarts so that a trim follows at once. */
async function withAges(t: Test, ages: number[], limits: Record<string, number>) {
  return withRows(
    t,
    ages.map((days) => ({ at: START - days * DAY_MS })),
    limits,
  )
}

/** The same with rows that differ from the default in these fields. */
async function withRows(t: Test, rows: Partial<AuditRecord>[], limits: Record<string, number>) {
  const folder = t.testdir()
  const first = await openAudit(t, { folder })
  await Promise.all(rows.map((row) => first.audit.add(recordOf(row), true)))
  await first.stop()
  const clock = fakeClock(START)
  const { lines } = await openAudit(t, { folder, clock, limits: { trim_rows: 3, trim_ms: 60_000, ...limits } })
  return { folder, clock, lines }
}

/** Lets a day pass without a change of the clock: the first trim by age follows. */
async function steadyDay(folder: string, clock: FakeClock): Promise<void> {
  await settle(folder, clock)
  clock.advance(DAY_MS)
  await settle(folder, clock)
  clock.advance(60_000)
}

t.test('removes rows that are too old, a few at a time', async (t) => {
  const { folder, clock } = await withAges(t, [40, 39, 38, 37, 36, 35, 34, 33, 20, 10, 0], { keep_days: 30 })
  await steadyDay(folder, clock)
  await ended(clock)
  t.equal(rowsIn(folder).length, 8, 'three of eight at first')
  t.same(await settle(folder, clock), [9, 10, 11])
})

t.test('removes the oldest if there are too many', async (t) => {
  const { folder, clock } = await withAges(t, Array(20).fill(0), { most_rows: 5 })
  t.same(await settle(folder, clock), [16, 17, 18, 19, 20])
})

t.test('removes old rows that anybody can cause before rows of users', async (t) => {
  const nobody = { userId: null, username: null, path: '/api/health' }
  const refused = { granted: false, status: 401, reason: 'bad_credentials' as const }
  for (const cheap of [nobody, refused]) {
    const rows = [{}, cheap, {}, ...Array(7).fill(cheap)]
    const { folder, clock } = await withRows(t, rows, { most_rows: 6 })
    t.same(await settle(folder, clock), [1, 3, 7, 8, 9, 10], JSON.stringify(cheap))
  }
})

t.test('removes the oldest rows of users if those that anybody can cause are in the newest half', async (t) => {
  const nobody = { userId: null, username: null }
  const { folder, clock } = await withRows(t, [nobody, {}, {}, {}, {}, {}, nobody, nobody, nobody], { most_rows: 6 })
  t.same(await settle(folder, clock), [4, 5, 6, 7, 8, 9])
})

t.test('keeps half of its rows for users, however many requests strangers send', async (t) => {
  const stranger = { userId: null, username: null, granted: false }
  const rows = [...Array(8).fill({}), ...Array(60).fill(stranger)]
  const { folder, clock } = await withRows(t, rows, { most_rows: 16 })
  t.same((await settle(folder, clock)).slice(0, 9), [1, 2, 3, 4, 5, 6, 7, 8, 61])
})

t.test('keeps a row that is old only because the clock was set back, and the rows after it', async (t) => {
  const { folder, clock } = await withAges(t, [0, 100, 100, 0], { keep_days: 30 })
  await steadyDay(folder, clock)
  t.same(await settle(folder, clock), [1, 2, 3, 4])
})

t.test('removes nothing by age on the first day: the clock can be wrong from the start', async (t) => {
  const ages = [40, 35, 0]
  const { folder, clock } = await withAges(t, ages, { keep_days: 30 })
  for (let hour = 0; hour < 23; hour++) {
    t.equal((await settle(folder, clock)).length, 3)
    clock.advance(3_600_000)
  }
  await settle(folder, clock)
  clock.advance(3_600_000)
  await settle(folder, clock)
  clock.advance(60_000)
  t.same(await settle(folder, clock), [3])
})

t.test('removes nothing by age until a day after the clock was set', async (t) => {
  const { folder, clock } = await withAges(t, [2, 1, 0], { keep_days: 30 })
  t.equal((await settle(folder, clock)).length, 3)
  clock.stepEpoch(1000 * DAY_MS)
  clock.advance(60_000)
  t.equal((await settle(folder, clock)).length, 3, 'the clock was set years ahead')
  clock.stepEpoch(-1000 * DAY_MS)
  clock.advance(60_000)
  await settle(folder, clock)
  clock.advance(DAY_MS)
  await settle(folder, clock)
  clock.advance(60_000)
  t.equal((await settle(folder, clock)).length, 3, 'and set back')
})

t.test('removes by age again once the clock has been steady for a day', async (t) => {
  const { folder, clock } = await withAges(t, [2, 1, 0], { keep_days: 30 })
  await settle(folder, clock)
  clock.stepEpoch(1000 * DAY_MS)
  clock.advance(60_000)
  await settle(folder, clock)
  clock.advance(DAY_MS)
  t.same(await settle(folder, clock), [1, 2, 3])
  clock.advance(60_000)
  t.same(await settle(folder, clock), [])
})
