/** Tests of core/site/changes.ts. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Json } from '../../../core/json.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createBook } from '../../../core/site/book.ts'
import { type Change, createKeeper, type KeptRow } from '../../../core/site/changes.ts'

function stage({ mostRecords = 10, recordChars = 20_000 } = {}) {
  const clock = fakeClock()
  const book = createBook()
  book.replace('zone', [
    { id: 1, name: 'a', max: 1, min: 1, updated_at: 0 },
    { id: 2, name: 'b', max: 2, min: 2, updated_at: 0 },
  ])
  const written: KeptRow[][] = []
  let fails = false
  let nextId = 5
  let held: Promise<void> = Promise.resolve()
  const keeper = createKeeper({
    book,
    clock,
    commitMs: 20,
    mostRecords,
    recordChars,
    takeId: () => nextId++,
    async write(rows) {
      await held
      if (fails) throw new Error('full')
      written.push([...rows])
    },
  })
  return {
    clock,
    book,
    keeper,
    written,
    fail: (yes: boolean) => {
      fails = yes
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}

t.test('a change is seen at once and durable when its promise resolves', async (t) => {
  const { clock, book, keeper, written } = stage()
  const done = keeper.change('zone', 1, { max: 9 })
  t.equal(book.row('zone', 1)?.max, 9)
  t.equal(book.row('zone', 1)?.updated_at, clock.epochMs())
  await clock.run(19)
  t.same(written, [])
  await clock.run(1)
  await done
  t.same(
    written.map((rows) => rows.map(({ row }) => row.max)),
    [[9]],
  )
})

t.test('changes that come together are one transaction, and one row is written once', async (t) => {
  const { clock, keeper, written } = stage()
  const all = [
    keeper.change('zone', 1, { max: 3 }),
    keeper.change('zone', 2, { max: 4 }),
    keeper.change('zone', 1, { min: 5 }),
  ]
  await clock.run(20)
  await Promise.all(all)
  t.same(
    written.map((rows) => rows.map(({ row }) => [row.id, row.max, row.min])),
    [
      [
        [1, 3, 5],
        [2, 4, 2],
      ],
    ],
  )
})

t.test('a change that could not be written is undone, and later ones stay', async (t) => {
  const { clock, book, keeper, fail, hold } = stage()
  const goOn = hold()
  fail(true)
  const lost = t.rejects(keeper.change('zone', 1, { max: 9, name: 'lost' }), { message: 'full' })
  await clock.run(20)
  const kept = keeper.change('zone', 1, { min: 7 })
  goOn()
  await lost
  t.match(book.row('zone', 1), { name: 'a', max: 1, min: 7 })
  fail(false)
  await clock.run(20)
  await kept
  t.match(book.row('zone', 1), { name: 'a', max: 1, min: 7 })
})

t.test('a missing row, an unknown column and a value of another type are refused', async (t) => {
  const { book, keeper } = stage()
  await t.rejects(keeper.change('zone', 7, { max: 1 }), { code: 'row_gone' })
  const refused: Record<string, Json>[] = [{ id: 3 }, { nowhere: 1 }, { constructor: 1 }, { max: 'x' }, { name: null }]
  for (const columns of [...refused, JSON.parse('{"__proto__": 1}')])
    await t.rejects(keeper.change('zone', 1, columns), { code: 'bad_column' })
  t.match(book.row('zone', 1), { name: 'a', max: 1 })
})

t.test('changes of a whole site wait for earlier changes and keep those that come meanwhile', async (t) => {
  const { clock, book, keeper, written, hold } = stage()
  const before = keeper.change('zone', 1, { min: 3 })
  const changes: Change[] = [
    { kind: 'change', table: 'zone', id: 1, columns: { max: 50 } },
    { kind: 'remove', table: 'zone', id: 2 },
    { kind: 'add', table: 'zone', id: 4, row: { id: 4, name: 'new' } },
  ]
  let goOn = () => {}
  const applied = keeper.apply(() => {
    t.equal(written.length, 1, 'earlier changes are on the disk')
    goOn = hold()
    return { changes, write: () => new Promise<void>((resolve) => void clock.after(5, resolve)) }
  })
  await before
  const meanwhile = keeper.change('zone', 1, { name: 'renamed' })
  const gone = keeper.change('zone', 2, { name: 'gone' })
  t.equal(book.row('zone', 1)?.max, 1)
  await clock.run(5)
  await applied
  t.match(book.row('zone', 1), { name: 'renamed', max: 50, min: 3 })
  t.same(
    book.rows('zone').map(({ id }) => id),
    [1, 4],
  )
  goOn()
  await clock.run(20)
  await Promise.all([meanwhile, gone])
  t.same(
    written[1]?.map(({ row }) => [row.id, row.name, row.max]),
    [[1, 'renamed', 50]],
  )
})

t.test('changes of a whole site that could not be written change nothing', async (t) => {
  const { book, keeper } = stage()
  const changes: Change[] = [{ kind: 'remove', table: 'zone', id: 1 }]
  const write = () => Promise.reject(new Error('full'))
  await t.rejects(
    keeper.apply(() => ({ changes, write })),
    { message: 'full' },
  )
  t.equal(book.row('zone', 1)?.name, 'a')
})

t.test('a change that a flush has written is neither written again nor undone when its time comes', async (t) => {
  const { clock, book, keeper, written, fail } = stage()
  const done = keeper.change('zone', 1, { max: 9 })
  await keeper.flush()
  await done
  fail(true)
  await clock.run(100)
  t.equal(written.length, 1)
  t.equal(book.row('zone', 1)?.max, 9)
})

t.test('a record is added with its defaults, seen at once and durable when its promise resolves', async (t) => {
  const { clock, book, keeper, written } = stage()
  const added = keeper.add('macro_run', { macro_id: 3, result: 'done' })
  t.match(book.rows('macro_run'), [{ id: 5, macro_id: 3, result: 'done', trace: null }])
  const changed = keeper.change('macro_run', 5, { result: 'stopped' })
  await clock.run(20)
  t.match(await added, { id: 5, result: 'done' })
  await changed
  t.match(written, [[{ table: 'macro_run', row: { id: 5, macro_id: 3, result: 'stopped' } }]])
})

t.test('a record that could not be written is removed again', async (t) => {
  const { clock, book, keeper, fail } = stage()
  fail(true)
  const lost = t.rejects(keeper.add('macro_run', { macro_id: 3 }), { message: 'full' })
  await clock.run(20)
  await lost
  t.same(book.rows('macro_run'), [])
})

t.test('the newest records stay in memory, and all are written', async (t) => {
  const { clock, book, keeper, written } = stage()
  const all = Array.from({ length: 40 }, (_, n) => keeper.add('attribute_history', { attribute_id: 1, at: n }))
  await clock.run(20)
  await Promise.all(all)
  t.equal(written[0]?.length, 40)
  const kept = book.rows('attribute_history')
  t.ok(kept.length <= 11)
  t.equal(kept.at(-1)?.at, 39)
})

t.test('a record that has not ended stays in memory, and gets its end, however many come after it', async (t) => {
  const { clock, book, keeper, written } = stage()
  const held = keeper.add('macro_run', { macro_id: 3, ended_at: null })
  const others = Array.from({ length: 40 }, (_, n) => keeper.add('macro_run', { macro_id: 3, ended_at: n }))
  await clock.run(20)
  await Promise.all([held, ...others])
  const { id } = await held
  t.equal(book.row('macro_run', id)?.ended_at, null)
  t.ok(book.rows('macro_run').length <= 12)
  const ended = keeper.change('macro_run', id, { ended_at: 99, result: 'done' })
  await clock.run(20)
  await ended
  t.match(written[1], [{ table: 'macro_run', row: { id, ended_at: 99, result: 'done' } }])
  for (let n = 0; n < 12; n++) void keeper.add('macro_run', { macro_id: 3, ended_at: n })
  t.equal(book.row('macro_run', id), undefined, 'and can be dropped then')
  await clock.run(20)
})

t.test(
  'records with long traces keep no more characters in memory than are allowed, and all are written',
  async (t) => {
    const { clock, book, keeper, written } = stage()
    const trace = { note: 'x'.repeat(5000) }
    const runs = Array.from({ length: 4 }, () => keeper.add('macro_run', { macro_id: 3, ended_at: null }))
    await clock.run(20)
    const rows = await Promise.all(runs)
    const end = async (at: number) => {
      const ended = keeper.change('macro_run', rows[at]?.id ?? 0, { ended_at: 7, trace })
      await clock.run(20)
      await ended
    }
    for (const at of [1, 2, 3]) await end(at)
    t.equal(book.rows('macro_run').length, 4, 'filled to the bound')
    await end(0)
    const chars = book.rows('macro_run').reduce((sum, row) => sum + JSON.stringify(row).length, 0)
    t.ok(chars <= 20_000 && chars > 5000, `${chars} characters stay`)
    t.ok(book.row('macro_run', rows[3]?.id ?? 0), 'the newest stay')
    t.same(
      written.flat().flatMap(({ row }) => (row.trace ? [row.id] : [])),
      [rows[1]?.id, rows[2]?.id, rows[3]?.id, rows[0]?.id],
      'the trace of each is on the disk',
    )
  },
)

t.test('rows of the site cannot be added as records', async (t) => {
  const { keeper } = stage()
  for (const table of ['zone', 'auth_user', 'pending_change', 'nowhere', '__proto__'])
    await t.rejects(keeper.add(table, {}), { code: 'bad_column' }, table)
})

t.test('runs that have ended take no more memory than their row says, whatever their traces hold', async (t) => {
  const recordChars = 400_000
  const list = (value: (at: number) => Json) => Array.from({ length: 200 }, (_, at) => value(at))
  const kinds: Record<string, (at: number) => Json> = {
    'a long text': (at) => `${at}`.padEnd(5000, 'ж'),
    'empty objects': () => list(() => ({})),
    'objects of a name of their own': (at) => list((place) => ({ [`${at}-${place}`]: {} })),
    'a number as name': (at) => list((place) => ({ [(at + place) % 1000]: 0 })),
    nothing: () => null,
  }
  const { allBytes } = rowOf(memoryPlan().rows, 'runs of macros that have ended', { 'store.record_chars': recordChars })
  for (const [title, trace] of Object.entries(kinds)) {
    let forgotten = 0
    const bytes = await heapBytesOf(async () => {
      const { clock, book, keeper, written } = stage({ mostRecords: 1e5, recordChars })
      for (let at = 0; at < 2000 && (at < 20 || book.rows('macro_run').length > at - 1); at++) {
        const added = keeper.add('macro_run', {
          macro_id: 3,
          ended_at: 7,
          trace: JSON.parse(JSON.stringify(trace(at))),
        })
        await clock.run(20)
        await added
        written.length = 0
        forgotten = at + 1 - book.rows('macro_run').length
      }
      return [book, keeper]
    })
    t.ok(forgotten > 0, `${title}: filled to the bound`)
    t.ok(bytes < allBytes, `${title}: ${bytes} bytes, of ${allBytes}`)
  }
})
