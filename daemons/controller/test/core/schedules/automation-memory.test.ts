/** Tests of the rows of schedules and triggers in core/memory.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { HouseRuns } from '../../../core/macros/house-runs.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { Schedules } from '../../../core/schedules/schedules.ts'
import { createBook, type Row } from '../../../core/site/book.ts'
import { Triggers } from '../../../core/triggers/triggers.ts'
import { rig } from '../macros/macro-rig.ts'

const MANY = 300

t.test('schedules and triggers take no more than their row says', async (t) => {
  const book = createBook()
  for (let id = 1; id <= MANY; id++) {
    book.put('schedule', { id, kind: 'cron', cron: '* * * * *', updated_at: 0 } as unknown as Row)
    book.put('trigger', { id, kind: 'attribute', attribute_id: 1 } as unknown as Row)
  }
  const bytes = await heapBytesOf(() => {
    const clock = fakeClock()
    const limits = { most: MANY, lookMs: 1000, lateMs: 0, catchUpMs: 0, backMs: 0 }
    const schedules = new Schedules({ book, clock, limits, run() {}, missed() {}, keep() {} })
    let value = 0
    const triggers = new Triggers({
      ...{ book, clock, limits: { most: MANY, perMinute: 60, depth: 8, longestMs: 1000 } },
      attributes: { read: () => ({ value: String(value), isSecret: false }), onChange: (listener) => hear(listener) },
      devices: { onEvent: () => () => {} },
      runs: { start() {}, refuse() {} },
    })
    let tell = (_: number, __: number) => {}
    function hear(listener: typeof tell) {
      tell = listener
      return () => {}
    }
    schedules.start()
    triggers.start()
    for (value = 1; value <= 60; value++) tell(1, 0)
    return [schedules, triggers, clock]
  })
  const row = rowOf(memoryPlan().rows, 'schedules that are run', { 'schedules.most': MANY, 'triggers.most': MANY })
  t.ok(bytes < row.allBytes, `${bytes} bytes of ${row.allBytes}`)
  t.ok(bytes > row.allBytes / 10, `and the row is filled: ${bytes} bytes of ${row.allBytes}`)
})

t.test('runs that wait take no more than their row says', async (t) => {
  const chars = 30_000
  const bytes = await heapBytesOf(() => {
    const { book, clock, engine, limits } = rig([{ name: 'Slow', steps: [{ type: 'delay', args: { ms: 60_000 } }] }])
    const audit = { add: async () => {} }
    const runs = new HouseRuns({ book, engine, clock, audit, limits: { ...limits, houseRuns: 1, houseWaiting: MANY } })
    const row = { id: 1, macro_id: 1, args: null } as unknown as Row
    for (let n = 0; n <= MANY; n++) runs.start({ kind: 'trigger', row, event: textOf(n, chars), chain: 0 })
    return [runs, clock]
  })
  const row = rowOf(memoryPlan().rows, 'runs of schedules and triggers', {
    ...{ 'macros.house_waiting': MANY, 'triggers.hook_bytes': chars, 'live.field_chars': 4096 },
  })
  t.ok(bytes < row.allBytes, `${bytes} bytes of ${row.allBytes}`)
  t.ok(bytes > row.allBytes / 10, `and the row is filled: ${bytes} bytes of ${row.allBytes}`)
})

/** Read from bytes, as the body of a call is: put together, a text would share its parts with others. */
function textOf(n: number, chars: number): { text: string } {
  return JSON.parse(JSON.stringify({ text: `\u2603${n}`.padEnd(chars, 'x') }))
}
