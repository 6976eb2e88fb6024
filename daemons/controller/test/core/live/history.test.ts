import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createHistory, type HistoryEntry, type HistoryRow } from '../../../core/live/history.ts'
import { memoryPlan } from '../../../core/memory.ts'

const DAY_MS = 86_400_000
const limits = {
  ...{ keepDays: 2, mostRows: 100, writeMs: 1000, batchRows: 10, queueRows: 20, queueChars: 1000 },
  ...{ deviceRows: 5, settleMs: 60_000, settleRows: 50 },
}

/** A history over a disk that can be full. */
function stage(more: Partial<typeof limits> = {}) {
  const clock = fakeClock(10 * DAY_MS)
  const batches: (readonly HistoryRow[])[] = []
  const settled: { ids: readonly number[]; upTo: number | undefined }[] = []
  const trims: number[] = []
  const faults: unknown[] = []
  const disk = { isFull: false }
  let id = 0
  async function onDisk(write: () => void): Promise<void> {
    if (disk.isFull) throw new Fault('store_write_failed', 'the disk is full')
    write()
  }
  const history = createHistory({
    ...{ clock, limits: { ...limits, ...more }, onFault: (fault) => void faults.push(fault) },
    store: {
      takeId: () => ++id,
      write: (rows) => onDisk(() => void batches.push([...rows])),
      trim: (beforeAt) => onDisk(() => void trims.push(beforeAt)),
      settle: (ids, upTo) => onDisk(() => void settled.push({ ids, upTo })),
    },
  })
  let value = 0
  const add = (attributeId = 1, source = `device ${attributeId}`, more: Partial<HistoryEntry> = {}) =>
    history.add({ attributeId, source, value: `${++value}`, at: clock.epochMs(), ...more })
  const valuesOf = (attributeId: number) =>
    batches.flat().flatMap((row) => (row.attributeId === attributeId ? [row.value] : []))
  return { add, batches, clock, disk, faults, history, settled, trims, valuesOf }
}

t.test('changes are gathered, and written together', async (t) => {
  const { add, batches, clock, history } = stage()
  add(1)
  add(2)
  await clock.run(999)
  add(1)
  t.strictSame([batches.length, history.waiting().length], [0, 3])
  await clock.run(1)
  t.match(batches, [[{ id: 1, attributeId: 1, value: '1', at: 10 * DAY_MS }, { id: 2 }, { id: 3, value: '3' }]])
  t.strictSame(history.waiting(), [])
})

t.test('where nothing changes, nothing is written', async (t) => {
  const { add, batches, clock, settled } = stage()
  add(1)
  await clock.run(60_000)
  t.strictSame([batches.length, settled.length], [1, 1])
  await clock.run(DAY_MS)
  t.strictSame([batches.length, settled.length], [1, 1])
})

t.test('a full batch is written at once', async (t) => {
  const { add, batches, clock, history } = stage({ deviceRows: 100 })
  for (let n = 0; n < 10; n++) add(1)
  await clock.run(0)
  t.equal(batches[0]?.length, 10)
  add(1)
  t.equal(history.waiting().length, 1)
})

t.test('a device that floods keeps the last value of each attribute, and displaces no other device', async (t) => {
  const { add, clock, history, valuesOf } = stage()
  for (let n = 0; n < 100; n++) add(1 + (n % 2), 'device 9')
  add(7)
  await clock.run(1000)
  t.strictSame(valuesOf(1), ['1', '3', '5', '99'])
  t.strictSame(valuesOf(2), ['2', '4', '100'])
  t.strictSame(valuesOf(7), ['101'])
  t.equal(history.thinned(), 93)
  add(1, 'device 9')
  await clock.run(1000)
  t.equal(valuesOf(1).at(-1), '102', 'it has a new share')
})

t.test('while the disk takes nothing, rows wait up to the bound, then the last value of each attribute', async (t) => {
  const { add, batches, clock, disk, faults, history, valuesOf } = stage({ deviceRows: 1000 })
  disk.isFull = true
  for (let n = 0; n < 100; n++) add(1 + (n % 4))
  await clock.run(10_000)
  t.equal(history.waiting().length, 20)
  t.equal(faults.length, 1, 'said once')
  disk.isFull = false
  await clock.run(2000)
  t.strictSame(
    [1, 2, 3, 4].map((id) => valuesOf(id).at(-1)),
    ['97', '98', '99', '100'],
  )
  t.strictSame(
    batches.flat().map(({ id }) => id),
    Array.from({ length: 24 }, (_, n) => n + 1),
    'each once, in the order of their ids',
  )
})

t.test('long values wait up to their characters', async (t) => {
  const { add, clock, disk, history } = stage({ deviceRows: 1000 })
  disk.isFull = true
  for (let n = 0; n < 8; n++) add(n, `device ${n}`, { value: 'x'.repeat(400) })
  t.equal(history.waiting().length, 3)
  disk.isFull = false
  await clock.run(3000)
  t.strictSame(history.waiting(), [])
})

t.test('rows of attributes are written seldom, each once, with how far the history is in them', async (t) => {
  const { add, clock, settled, trims } = stage()
  for (const id of [1, 2, 1]) add(id)
  await clock.run(59_000)
  t.strictSame(settled, [])
  await clock.run(1000)
  t.strictSame(settled, [{ ids: [1, 2], upTo: 3 }])
  t.strictSame(trims, [10 * DAY_MS + 60_000 - 2 * DAY_MS])
})

t.test('so much history that a start would read long is settled before its time', async (t) => {
  const { add, clock, settled } = stage()
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 5; n++) add(1)
    await clock.run(1000)
  }
  t.match(settled, [{ ids: [1], upTo: 50 }])
})

t.test('what waits is written at the end, and the rows of attributes too', async (t) => {
  const { add, batches, history, settled } = stage()
  for (let n = 0; n < 8; n++) add(1)
  await history.close()
  t.strictSame(
    batches.flat().map(({ value }) => value),
    ['1', '2', '3', '4', '5', '8'],
  )
  t.match(settled, [{ ids: [1], upTo: 6 }])
})

t.test('whatever waits for the disk takes no more than its rows of the memory plan say', async (t) => {
  const settings = { 'history.queue_rows': 2000, 'history.queue_chars': 100_000 }
  for (const chars of [0, 40, 4000]) {
    const bytes = await heapBytesOf(() => {
      const { disk, history } = stage({ deviceRows: 1e6, queueRows: 2000, queueChars: 100_000, batchRows: 10_000 })
      disk.isFull = true
      for (let n = 0; n < 10_000; n++)
        history.add({ attributeId: n, source: `device ${n % 7}`, value: `${n}`.padEnd(chars, 'ж'), at: n })
      return history
    })
    const most = ['changes of attributes that wait for the disk', 'their values']
      .map((what) => rowOf(memoryPlan().rows, what, settings).allBytes)
      .reduce((sum, bytes) => sum + bytes)
    t.ok(bytes < most, `${bytes} bytes, of ${most}, values of ${chars} characters`)
  }
})
