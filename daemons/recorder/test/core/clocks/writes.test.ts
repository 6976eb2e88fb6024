import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { type CameraWrite, createWrites } from '../../../core/clocks/writes.ts'

const write = (camera: string, operation = 'clock', detail = {}) => ({ camera, operation, performedBy: 'ann', detail })

t.test('the newest of each camera are kept, and of cameras that are gone no more than fit in all', async (t) => {
  const clock = fakeClock()
  let saved: CameraWrite[] = []
  const save = async (records: CameraWrite[]) => {
    saved = records
  }
  const writes = createWrites({ clock, records: [], save, perCamera: 3, inAll: 5 })
  for (let at = 0; at < 5; at++) await writes.add(write('one', `w${at}`))
  t.same(
    writes.of('one', 10).map(({ operation }) => operation),
    ['w4', 'w3', 'w2'],
  )
  t.equal(writes.of('one', 2).length, 2)
  t.same(writes.of('two', 10), [])
  for (const camera of ['two', 'three', 'four']) await writes.add(write(camera))
  t.equal(saved.length, 5)
  t.equal(writes.of('one', 10).length, 2, 'the oldest went')
})

t.test('what a camera has most of makes room for what it has little of', async (t) => {
  const writes = createWrites({ clock: fakeClock(), records: [], save: async () => {}, perCamera: 4, inAll: 99 })
  await writes.add(write('one', 'clock_manual'))
  for (let step = 0; step < 9; step++) await writes.add(write('one', 'ptz_patrol', { step }))
  t.same(
    writes.of('one', 9).map(({ detail, operation }) => [operation, detail.step]),
    [...[8, 7, 6].map((step) => ['ptz_patrol', step]), ['clock_manual', undefined]],
  )
})

t.test('as many as are kept of one camera take no more than their row in the memory plan', async (t) => {
  const detail = {
    ...Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`key${at}`, at])),
    zone: 'x'.repeat(128),
  }
  const bytes = await heapBytesOf(async () => {
    const writes = createWrites({ clock: fakeClock(), records: [], save: async () => {}, perCamera: 100, inAll: 1000 })
    for (let at = 0; at < 100; at++) await writes.add(write('one', 'clock', JSON.parse(JSON.stringify(detail))))
    return writes
  })
  t.ok(bytes < 100 * 2048, `${bytes} bytes`)
})
