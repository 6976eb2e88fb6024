/** The audit of the built controller while somebody changes the machine's clock. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import type { RestSite, Told } from './rest-site.ts'
import { openTimedSite, STEPS, YEAR_MS } from './timed-site.ts'

/** The contents of the file, in order of id. */
function historyIn({ stateFolder }: RestSite): { id: number; at: number; path: string }[] {
  const db = new DatabaseSync(join(stateFolder, 'audit.db'), { readOnly: true })
  try {
    const rows = db.prepare('SELECT id, at, path FROM request_history ORDER BY id').all()
    return rows.map(({ id, at, path }) => ({ id: Number(id), at: Number(at), path: String(path) }))
  } finally {
    db.close()
  }
}

t.test('1 Audit record: rows keep their order and none is lost while the clock is set', async (t) => {
  const sets = ['audit.keep_days=1', 'audit.most_rows=1000', 'audit.trim_ms=1000']
  const { clock, site } = await openTimedSite(t, { sets })
  let count = 0
  /** Sends numbered calls, and returns how they are recorded. */
  async function calls(most: number): Promise<void> {
    for (let i = 0; i < most; i++) t.equal((await site.get(`/api/data/zone/${count++}`)).status, 404)
    await until('they are on the disk', () => historyIn(site).at(-1)?.path === `/api/data/zone/${count - 1}`)
  }
  const numbers = () => historyIn(site).map(({ path }) => Number(path.split('/').at(-1)))

  await calls(5)
  for (const [, ms] of STEPS) {
    clock.stepWall(ms)
    await calls(5)
  }
  t.strictSame(numbers(), [...Array(20).keys()])
  const at = historyIn(site).map((row) => row.at)
  t.ok(at[5] !== undefined && at[4] !== undefined && at[5] < at[4], 'the records have the time of the clock')
  const like = `_like[path]=${encodeURIComponent('/api/data/zone/%')}`
  const order = ['', '&_orderby=id=desc'].map((more) => `/api/data/request_history?${like}${more}`)
  const token = await site.tokenOf('ada')
  const [up, down] = await Promise.all(order.map((path) => site.get(path, token)))
  const ids = (told?: Told) => told?.body.map(({ id }: { id: number }) => id)
  t.strictSame(
    ids(up),
    [...Array(20).keys()].map((n) => n + 1),
  )
  t.strictSame(ids(down), ids(up).reverse())
})

t.test('1 Audit record: a clock that is years ahead, at the start or later, throws nothing away', async (t) => {
  const sets = ['audit.keep_days=1', 'audit.most_rows=1000', 'audit.trim_ms=1000']
  const { clock, site } = await openTimedSite(t, { sets })
  const many = async (calls: number) => {
    for (let i = 0; i < calls; i += 50)
      await Promise.all(Array.from({ length: Math.min(50, calls - i) }, () => site.get('/api/health')))
  }
  const kept = () => historyIn(site).length

  await many(600)
  await until('they are on the disk', () => kept() === 600)
  clock.stepWall(2 * YEAR_MS)
  await site.restart()
  // A sign-in is written after the trim of the start.
  await site.tokenOf('olga')
  t.equal(kept(), 601)

  clock.stepWall(2 * YEAR_MS)
  await many(500)
  // The trim has run once the oldest rows have been removed by number.
  await until('it was trimmed', () => (historyIn(site)[0]?.id ?? 0) > 1)
  t.ok(kept() >= 1000, `${kept()} rows`)
})
