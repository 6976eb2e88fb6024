/** Tests of io/audit-file.ts: when a record is on disk, and what happens when it cannot be written. */
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../core/memory.ts'
import { openAudit, recordOf, rowsIn } from './audit-here.ts'

/** Waits for a reply from the thread. */
const soon = (ms = 30) => new Promise((resolve) => setTimeout(resolve, ms))

t.test('1 Audit record: holds method, path, status, elapsed time, client IP, user, and grant or reason', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder })
  await audit.add(recordOf({ runId: 5 }), true)
  await audit.add(recordOf({ granted: false, reason: 'scope_denied', status: 403, userId: null, username: null }), true)
  const common = { at: 1_900_000_000_000, request_type: 'rest_api', method: 'POST', path: '/api/control/command' }
  t.match(rowsIn(folder), [
    { ...common, id: 1, status: 200, elapsed_ms: 3, client_ip: '10.0.0.7', user_id: 7, username: 'ada', granted: 1 },
    { ...common, id: 2, status: 403, granted: 0, reason: 'scope_denied', user_id: null, username: null, run_id: null },
  ])
  t.match(rowsIn(folder)[0], { reason: null, target: 'zone 12', run_id: 5 })
})

t.test('the file, and the files that SQLite puts beside it, are readable only by their owner', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder })
  await audit.add(recordOf(), true)
  for (const end of ['', '-wal', '-shm']) t.equal(statSync(join(folder, `audit.db${end}`)).mode & 0o777, 0o600, end)
})

t.test(
  'a record that nobody waits for is on the disk within the delay, in one batch with others of that time',
  async (t) => {
    const folder = t.testdir()
    const clock = fakeClock()
    const { audit } = await openAudit(t, { folder, clock })
    const kept = Array.from({ length: 10 }, (_, i) => audit.add(recordOf({ status: 200 + i })))
    clock.advance(99)
    await soon()
    t.equal(rowsIn(folder).length, 0)
    clock.advance(1)
    await Promise.all(kept)
    t.same(
      rowsIn(folder).map(({ status }) => status),
      Array.from({ length: 10 }, (_, i) => 200 + i),
    )
  },
)

t.test('a record that an answer waits for is written at once, with earlier ones', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder, clock: fakeClock() })
  void audit.add(recordOf({ status: 201 }))
  await audit.add(recordOf({ status: 202 }), true)
  t.same(
    rowsIn(folder).map(({ status }) => status),
    [201, 202],
  )
})

t.test('a full batch is written without waiting', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder, clock: fakeClock(), limits: { batch_rows: 5 } })
  const kept = Array.from({ length: 7 }, () => audit.add(recordOf()))
  await kept[4]
  await soon()
  t.equal(rowsIn(folder).length, 5)
})

t.test('10,000 records at once are a few commits, in order, none lost', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder })
  const kept = Array.from({ length: 10_000 }, (_, i) => audit.add(recordOf({ runId: i }), i % 100 === 99))
  await Promise.all(kept)
  const rows = rowsIn(folder)
  t.equal(rows.length, 10_000)
  t.ok(rows.every(({ run_id }, i) => run_id === i))
  t.match(audit.counts(), { written: 10_000, lost: 0, waiting: 0 })
})

t.test(
  'records over the limit are counted and reported in one line, and room is kept for those that answers wait for',
  async (t) => {
    const folder = t.testdir()
    const clock = fakeClock()
    const { audit, lines } = await openAudit(t, { folder, clock, limits: { queue_rows: 100, batch_rows: 1000 } })
    for (let i = 0; i < 500; i++) void audit.add(recordOf())
    t.match(audit.counts(), { waiting: 75, lost: 425 })
    t.equal(audit.takes(), true)
    const awaited = Array.from({ length: 25 }, () => audit.add(recordOf({ status: 299 }), true))
    await Promise.all(awaited)
    t.equal(rowsIn(folder).filter(({ status }) => status === 299).length, 25)
    t.equal(lines.filter((line) => line.includes('audit_records_lost')).length, 1)
    clock.advance(10_000)
    t.match(lines.join(''), /audit_records_lost .*records=424/)
  },
)

t.test('filled with calls of any length, the queue takes no more than its row says', async (t) => {
  const limits = { queue_rows: 800, batch_rows: 1000, wait_ms: 1e6 }
  let folders = 0
  const text = (at: number, sign: string) => Buffer.from(`${at} ${sign.repeat(20_000)}`).toString()
  for (const sign of ['x', 'ж']) {
    const bytes = await heapBytesOf(async () => {
      const { audit } = await openAudit(t, { folder: t.testdir({ [++folders]: {} }), clock: fakeClock(), limits })
      for (let at = 0; at < 900; at++) {
        const long = text(at, sign)
        const facts = { action: text(at, sign), outcome: 'failed', detail: text(at, sign) } as const
        const path = `/api/data/zone?${long}`
        const names = { method: long, username: text(at, sign), target: text(at, sign), clientIp: text(at, sign) }
        void audit.add(recordOf({ path: at % 2 === 0 ? path : long, ...names, facts }))
      }
      // A quarter of the queue is kept free.
      t.match(audit.counts(), { waiting: 600, lost: 300 }, 'filled to the bound')
      return audit
    })
    const row = rowOf(memoryPlan().rows, 'records of the audit', { 'audit.queue_rows': 600, 'audit.batch_rows': 0 })
    t.ok(bytes < row.allBytes, `${sign}: ${bytes / 600} bytes a record, of ${row.eachBytes}`)
  }
})

t.test('texts are cut and cleaned before they are written', async (t) => {
  const folder = t.testdir()
  const { audit } = await openAudit(t, { folder })
  await audit.add(recordOf({ path: `/api/x?token=secret`, username: 'a\0b\u0007\ud800' }), true)
  t.match(rowsIn(folder), [{ path: '/api/x', username: 'a\ufffdb\ufffd\ufffd' }])
})

t.test('continues where it ended, after a stop that wrote all waiting records', async (t) => {
  const folder = t.testdir()
  const first = await openAudit(t, { folder, clock: fakeClock() })
  void first.audit.add(recordOf({ status: 201 }))
  await first.stop()
  t.equal(existsSync(join(folder, 'audit.db-wal')), false)
  const second = await openAudit(t, { folder })
  await second.audit.add(recordOf({ status: 202 }), true)
  t.same(
    rowsIn(folder).map(({ id, status }) => [id, status]),
    [
      [1, 201],
      [2, 202],
    ],
  )
})

t.test('a reader waits only for records from before its request, however many calls come meanwhile', async (t) => {
  const { audit } = await openAudit(t, { folder: t.testdir(), clock: fakeClock() })
  const first = audit.add(recordOf(), true)
  const flushed = audit.flush()
  let calls = 0
  let isFlushed = false
  void flushed.then(() => {
    isFlushed = true
  })
  // There is always one on its way and one behind it.
  async function callOnAndOn(before: Promise<void>): Promise<void> {
    const next = audit.add(recordOf(), true)
    await before
    if (++calls < 200 && !isFlushed) await callOnAndOn(next)
    else await next
  }
  await callOnAndOn(first)
  await flushed
  t.ok(calls < 10, `after ${calls} calls`)
})

t.test('accepts nothing once it has been stopped', async (t) => {
  const folder = t.testdir()
  const { audit, stop } = await openAudit(t, { folder })
  await stop()
  t.equal(audit.takes(), false)
  await audit.add(recordOf())
  t.match(audit.counts(), { lost: 1, waiting: 0 })
})

t.test('a file that is not SQLite is put aside, and a new one begun', async (t) => {
  const folder = t.testdir({ 'audit.db': 'this is not a database'.repeat(100) })
  const { audit, lines } = await openAudit(t, { folder })
  await audit.add(recordOf(), true)
  t.equal(rowsIn(folder).length, 1)
  t.match(readFileSync(join(folder, 'audit.db.broken'), 'utf8'), /^this is not a database/)
  t.match(lines.join(''), /audit_put_aside/)
})

t.test('a corrupt file is put aside when that shows, and no record is lost', async (t) => {
  const folder = t.testdir()
  const first = await openAudit(t, { folder })
  await Promise.all(Array.from({ length: 5000 }, () => first.audit.add(recordOf())))
  await first.stop()
  const file = join(folder, 'audit.db')
  truncateSync(file, Math.floor(readFileSync(file).length / 2))
  const { audit } = await openAudit(t, { folder })
  await audit.add(recordOf({ status: 299 }), true)
  t.equal(rowsIn(folder).at(-1)?.status, 299)
  t.ok(existsSync(`${file}.broken`))
})

t.test('a start fails if there can be no audit', async (t) => {
  const folder = t.testdir({ 'audit.db': {} })
  await t.rejects(openAudit(t, { folder }), { code: 'audit_write_failed' })
})

t.test('1 Audit record an answer that stopped waiting was 500, and the record of the action says so', async (t) => {
  const folder = t.testdir()
  const { audit, stop } = await openAudit(t, { folder })
  const facts = { action: 'on on "Hall"', outcome: 'done', detail: null } as const
  const waiting = recordOf({ path: '/waits', facts })
  const onItsWay = recordOf({ path: '/on-its-way', facts })
  const well = recordOf({ path: '/well', facts })
  // The first is written at once; those after it wait.
  const taken = audit.add(onItsWay, true)
  void audit.add(waiting, true)
  void audit.add(well, true)
  audit.late(onItsWay)
  audit.late(waiting)
  await taken
  await stop()
  const told = rowsIn(folder).map(({ path, status, granted, action, outcome, detail }) => [
    path,
    status,
    granted,
    action,
    outcome,
    detail !== null,
  ])
  const late = [500, 1, 'on on "Hall"', 'done', true]
  t.same(
    told.filter(([path]) => path === '/waits'),
    [['/waits', ...late]],
  )
  t.same(
    told.filter(([path]) => path === '/well'),
    [['/well', 200, 1, 'on on "Hall"', 'done', false]],
  )
  t.same(told.filter(([path]) => path === '/on-its-way').at(-1), ['/on-its-way', ...late])
})

t.test('a file of an older version gets the columns that were added since', async (t) => {
  const folder = t.testdir()
  const first = await openAudit(t, { folder })
  await first.audit.add(recordOf({ path: '/before' }), true)
  await first.stop()
  const db = new DatabaseSync(join(folder, 'audit.db'))
  for (const column of ['action', 'outcome', 'detail']) db.exec(`ALTER TABLE request_history DROP COLUMN ${column}`)
  db.close()
  const again = await openAudit(t, { folder })
  await again.audit.add(recordOf({ facts: { action: 'x', outcome: 'failed', detail: 'y' } }), true)
  await again.stop()
  t.match(rowsIn(folder), [
    { path: '/before', action: null, outcome: null },
    { action: 'x', outcome: 'failed', detail: 'y' },
  ])
})
